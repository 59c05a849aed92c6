"""A page load: which headers the claimed engine sends with it, in which order, and what it accepts.

Engines have written a page load in one order for years, over HTTP/1 and HTTP/2; what scripts and pictures ask for is
written in other orders, so only page loads are judged. Adapters pass all of it on (`docs/reverse-proxies.md`).
"""

import itertools

from agentgate.decision.signals.browsers import engine_of
from agentgate.decision.signals.header_forms import CHROMIUM_PICTURES, ONLY_CHROMIUM, PAGE, PAGE_PREFIX, LanguageForm
from agentgate.decision.signals.signal_input import SignalInput
from agentgate.decision.threat_data.views import UserAgentView

# Destinations of a navigation that loads a page.
PAGE_DESTINATIONS = frozenset({"document", "iframe", "frame"})
_HINTS = ("sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform")
SAFARI_ORDERED = frozenset(itertools.chain(*engine_of("safari").page_orders))
# Of each pair, the first precedes the second in every capture.
SAFARI_PAIRS = (
    *(("accept", "accept-encoding"), ("accept", "accept-language")),
    *(("sec-fetch-site", "sec-fetch-mode"), ("sec-fetch-site", "accept-language")),
)
# Devices whose browsers are not written down well enough.
UNKNOWN_DEVICES = frozenset({"tv", "console", "legacy"})
# Every engine sends these too with a navigation. Chromium and Firefox, which alone say that a
# person did it (Sec-Fetch-User), wish to be led to secure pages.
ALWAYS = ("accept", "accept-language", "accept-encoding", "sec-fetch-dest", "sec-fetch-site")
BY_HAND, UPGRADES = "sec-fetch-user", "upgrade-insecure-requests"
# Headers of a proxy or CDN in front. Such proxies write Accept-Encoding themselves, or omit it.
IN_FRONT = frozenset({"via", "cdn-loop", "cf-ray", "x-varnish", "x-amz-cf-id", "fastly-ff", "x-azure-ref"})
# Proxies written in Go ask for this alone where they were given nothing, and sort the headers.
GO_ENCODING = "gzip"
# Chromium on a desktop sends its hints with every page load that has Sec-Fetch, unless it has another name:
# apps do, which add their own, and drivers, which copy a plain one. A few people's tools take the hints away.
HINTS_SINCE = 95
# How unlike a browser each is, in tenths (`headers.py`).
INCOMPLETE, WRONG_ORDER, WRONG_ACCEPT, NO_PICTURES, WRONG_ENCODING, WRONG_LANGUAGES = 15, 15, 15, 5, 10, 15
# An order of Safari that no capture shows. Alone it challenges no visitor.
UNSEEN_ORDER = 5
NO_HINTS = 15


def page_load_points(request: SignalInput, view: UserAgentView, *, is_sorted: bool) -> int:
    """Return how unlike a page load of the claimed browser this is; nothing where it is none, or none is known."""
    engine = engine_of(view.engine)
    if view.device in UNKNOWN_DEVICES or view.major < engine.page_accept_since:
        return 0
    says_so = _says_page_load(request)
    if says_so and not _is_complete(request):
        return INCOMPLETE
    # Apps change the headers of the browsers in them, unless these say that a page is loaded.
    if not is_page_load(request) or (view.device and not says_so):
        return 0
    points = 0
    if not (is_sorted or view.major < engine.page_order_since):
        points += _order_points(request, view)
    if _lacks_hints(request, view):
        points += NO_HINTS
    return (
        points
        + _accept_points(request, view)
        + _encoding_points(request, is_sorted=is_sorted)
        + _language_points(request)
    )


def is_page_load(request: SignalInput) -> bool:
    """Return whether a person's browser would open a page with this: not a part, not a call of a script."""
    headers = request.headers
    if "sec-fetch-mode" in headers:
        return _says_page_load(request)
    if PAGE not in headers.get("accept", "") or request.facts.method not in {"GET", "HEAD", "POST"}:
        return False
    # Scripts of pages request HTML too. They send X-Requested-With, or the browser adds one of the other two headers.
    return "x-requested-with" not in headers and "referer" not in headers and "sec-fetch-site" not in headers


def follows(names: tuple[str, ...], expected: tuple[str, ...]) -> bool:
    """Return whether the present headers of an expected order follow it."""
    places = [names.index(name) for name in expected if name in names]
    return places == sorted(places)


def own_order(names: tuple[str, ...], engine: str) -> tuple[str, ...]:
    """Return the names without headers whose position varies for a known reason."""
    if not IN_FRONT.isdisjoint(names):
        names = tuple(name for name in names if name != "accept-encoding")
    if engine == "chromium" and "sec-gpc" in names:
        # Brave rewrites both headers, with Accept-Language after Sec-GPC.
        names = tuple(name for name in names if name != "accept-language")
    return names


def _says_page_load(request: SignalInput) -> bool:
    headers = request.headers
    destination = headers.get("sec-fetch-dest", "document")
    return headers.get("sec-fetch-mode") == "navigate" and destination in PAGE_DESTINATIONS


def _is_complete(request: SignalInput) -> bool:
    headers = request.headers
    missing = [name for name in ALWAYS if name not in headers]
    if missing == ["accept-encoding"]:
        return not IN_FRONT.isdisjoint(headers)
    return not missing and (BY_HAND not in headers or UPGRADES in headers)


def _order_points(request: SignalInput, view: UserAgentView) -> int:
    engine = "chromium" if _is_emulated(request, view) else view.engine
    names = own_order(request.names, engine)
    if engine == "safari":
        return _safari_order_points(names)
    known = engine_of(engine)
    expected = known.page_orders[0]
    if known.prefetch_order is not None and "sec-purpose" in names:
        expected = known.prefetch_order
    elif known.old_page_order is not None and view.engine == engine and view.major < known.old_page_order_below:
        expected = known.old_page_order
    return 0 if follows(names, expected) else WRONG_ORDER


def _safari_order_points(names: tuple[str, ...]) -> int:
    ordered = [name for name in names if name in SAFARI_ORDERED]
    if any(ordered == [name for name in order if name in ordered] for order in engine_of("safari").page_orders):
        return 0
    place = {name: index for index, name in enumerate(names)}
    agent = place.get("user-agent", 0)
    if any(place.get(first, -1) > place.get(second, len(names)) for first, second in SAFARI_PAIRS):
        return WRONG_ORDER
    # The name precedes the language or the encoding, and it precedes Accept only after Sec-Fetch-Dest.
    is_late = agent > max(place.get("accept-language", agent), place.get("accept-encoding", agent))
    is_early = place.get("sec-fetch-dest", -1) > agent < place.get("accept", agent)
    return WRONG_ORDER if is_late or is_early else UNSEEN_ORDER


def _lacks_hints(request: SignalInput, view: UserAgentView) -> bool:
    if not view.is_plain or view.major < HINTS_SINCE or view.mobile or view.platform == "Android":
        return False
    return "sec-fetch-site" in request.headers and request.headers.keys().isdisjoint(_HINTS)


def _accept_points(request: SignalInput, view: UserAgentView) -> int:
    accept = request.headers["accept"]
    if not accept.startswith(PAGE_PREFIX):
        return WRONG_ACCEPT
    if view.engine == "chromium":
        if CHROMIUM_PICTURES in accept:
            return 0
        return WRONG_ACCEPT if BY_HAND in request.headers else NO_PICTURES
    return WRONG_ACCEPT if ONLY_CHROMIUM in accept and not _is_emulated(request, view) else 0


def _is_emulated(request: SignalInput, view: UserAgentView) -> bool:
    """Return whether Chromium loads a page under an iPhone's name: Chrome's engine there, or its developer tools."""
    return view.engine == "safari" and UPGRADES in request.headers and ONLY_CHROMIUM in request.headers["accept"]


def _encoding_points(request: SignalInput, *, is_sorted: bool) -> int:
    headers = request.headers
    encoding = headers.get("accept-encoding", "br")
    # Browsers take Brotli from secure sites only.
    if "br" in encoding or "sec-fetch-site" not in headers or not IN_FRONT.isdisjoint(headers):
        return 0
    return INCOMPLETE if is_sorted and encoding == GO_ENCODING else WRONG_ENCODING


def _language_points(request: SignalInput) -> int:
    return WRONG_LANGUAGES if request.language_form in {LanguageForm.ANY, LanguageForm.ODD} else 0
