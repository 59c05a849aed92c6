"""The shape of the headers: which are present, in which order, and whether the claimed browser sends them so.

Client hints are in `client_hints.py`. Differences from the claimed browser are added up. Only the total counts as
evidence, because proxies, extensions and assistive tools occasionally change a header.
"""

from agentgate.decision.signals.browsers import engine_of
from agentgate.decision.signals.detectors.page_load import follows, own_order, page_load_points
from agentgate.decision.signals.header_forms import ANY, PAGE, LanguageForm
from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.decision.threat_data.views import UserAgentView

FEW_HEADERS, MANY_HEADERS = 4, 40
USUAL_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

# What proxies that sort the others write before them.
WRITTEN_FIRST = frozenset({"host", "user-agent", "content-length"})
# Fewer can be in this order by chance. Every browser sends more.
SORTED_HEADERS = 5
BROWSERS_SEND = (
    ("accept", "http.accept_missing"),
    ("accept-language", "http.accept_language_missing"),
    ("accept-encoding", "http.accept_encoding_missing"),
)

# How unlike a browser each is, in tenths. A proxy that compresses by itself takes Accept-Encoding away.
UNLIKE = {
    "http.accept_missing": 10,
    "http.accept_language_missing": 10,
    "http.accept_encoding_missing": 5,
    "http.order_mismatch": 10,
    "http.few_headers": 5,
}
# A page load that does not ask for a page, and a language that no browser has.
NOT_A_PAGE, ANY_LANGUAGE = 5, 10
# Most of these send it, but not all.
WEBVIEW_WITHOUT_FETCH_METADATA = 5
UNLIKE_FROM = 15
# Devices of which some releases send neither language nor encoding: more must come together.
LENIENT_FROM = 20
LENIENT_DEVICES = frozenset({"tv", "console", "legacy"})
# Browsers fetch subresources with `Accept: */*`, and then send one of these headers.
PART_OF_A_PAGE = frozenset({"referer", "origin", "sec-fetch-site", "range", "upgrade"})


def header_labels(request: SignalInput) -> Labels:
    """Return `http.*` of the headers' shape, and of the few values that have one."""
    view = request.user_agent
    labels = (*shape_labels(request.names, view.engine), *_special(request))
    if (view.engine or "ua.text_browser" in view.labels) and _is_unlike(request, view, labels):
        return (*labels, "http.unlike_browser")
    return labels


def shape_labels(names: tuple[str, ...], engine: str) -> tuple[str, ...]:
    """Return labels of header names and their order that do not fit the claimed User-Agent."""
    present = frozenset(names)
    labels = [label for name, label in BROWSERS_SEND if name not in present]
    if len(names) < FEW_HEADERS:
        labels.append("http.few_headers")
    if len(names) > MANY_HEADERS:
        labels.append("http.many_headers")
    if "via" in present:
        labels.append("http.via")
    if engine and not _is_ordered(names, engine):
        labels.append("http.order_mismatch")
    return tuple(labels)


def _is_ordered(names: tuple[str, ...], engine: str) -> bool:
    if is_sorted(names):
        return True
    names, orders = own_order(names, engine), engine_of(engine).accept_orders
    return not orders or any(follows(names, order) for order in orders)


def is_sorted(names: tuple[str, ...]) -> bool:
    # Some proxies sort all headers, and programs written in Go sort all except the first few. Their order then shows
    # nothing about the client.
    rest = [name for name in names if name not in WRITTEN_FIRST]
    return len(rest) >= SORTED_HEADERS and rest == sorted(rest)


def _is_unlike(request: SignalInput, view: UserAgentView, labels: Labels) -> bool:
    """Return whether the headers, taken together, differ from the headers that the claimed browser sends."""
    points = 0
    for label in labels:
        points += UNLIKE.get(label, 0)
    if PAGE not in request.headers.get("accept", PAGE) and PART_OF_A_PAGE.isdisjoint(request.headers):
        points += NOT_A_PAGE
    if request.language_form is LanguageForm.ANY:
        points += ANY_LANGUAGE
    if view.device == "webview" and view.engine == "chromium" and "sec-fetch-site" not in request.headers:
        points += WEBVIEW_WITHOUT_FETCH_METADATA
    points += page_load_points(request, view, is_sorted=is_sorted(request.names))
    return points >= (LENIENT_FROM if view.device in LENIENT_DEVICES or not view.engine else UNLIKE_FROM)


def _special(request: SignalInput) -> list[str]:
    headers = request.headers
    labels = []
    if headers.get("connection") == "close":
        labels.append("http.connection_close")
    if request.user_agent.engine and headers.get("accept") == ANY and headers.get("sec-fetch-mode") == "navigate":
        labels.append("http.accept_mismatch")
    if len(headers) != len(request.facts.headers):
        labels.append("http.duplicate_header")
    if request.facts.method not in USUAL_METHODS:
        labels.append("http.unusual_method")
    return labels
