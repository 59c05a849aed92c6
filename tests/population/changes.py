"""People's page loads, each changed in one way: the mistakes of a bot that copies a browser's headers.

`changed_page_loads` yields them as requests that should be stopped; `ChangeOutcomes` counts how many of each kind were.
A change that does not alter a page load is skipped, so that hints are taken away from browsers that have some.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from tests.population.client_hints import brand_list
from tests.population.headers import Headers
from tests.population.sent import Sent, Should
from tests.population.visitors import Visitor, population

LEAST_ASKED = 0.95
UNCHANGED = "unchanged"
# For these the bar counts; what is in a header may be odd for more reasons.
BARRED = ("presence", "order", "client hints")
_PLATFORMS = ('"Windows"', '"macOS"', '"Linux"', '"Android"')
_CHROMIUM_PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8"
_OTHER_PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

Change = Callable[[Headers, Random, Visitor], Headers]


def _without(*left_out: str) -> Change:
    return lambda headers, _chance, _visitor: [pair for pair in headers if pair[0].lower() not in left_out]


def _with(name: str, value: str) -> Change:
    def change(headers: Headers, _chance: Random, _visitor: Visitor) -> Headers:
        return [(each, value if each.lower() == name else old) for each, old in headers]

    return change


def _shuffled(headers: Headers, chance: Random, _visitor: Visitor) -> Headers:
    return [headers[0], *chance.sample(headers[1:], len(headers) - 1)]


def _sorted(headers: Headers, _chance: Random, _visitor: Visitor) -> Headers:
    return [headers[0], *sorted(headers[1:], key=lambda pair: pair[0].lower())]


def _reversed(headers: Headers, _chance: Random, _visitor: Visitor) -> Headers:
    return [headers[0], *headers[:0:-1]]


def _first(*names: str) -> Change:
    def change(headers: Headers, _chance: Random, _visitor: Visitor) -> Headers:
        by_name = {pair[0].lower(): pair for pair in headers[1:]}
        moved = [by_name.pop(name) for name in names if name in by_name]
        return [headers[0], *moved, *by_name.values()]

    return change


def _last(moved: str) -> Change:
    def change(headers: Headers, _chance: Random, _visitor: Visitor) -> Headers:
        return sorted(headers, key=lambda pair: pair[0].lower() == moved)

    return change


def _another_platform(headers: Headers, chance: Random, visitor: Visitor) -> Headers:
    others = [name for name in _PLATFORMS if name != f'"{visitor.browser.platform}"']
    if visitor.browser.platform == "Linux":
        # Android asks for the desktop's page under this name.
        others.remove('"Android"')
    elif visitor.browser.platform == "macOS":
        others.remove('"Android"')
    return _with("sec-ch-ua-platform", chance.choice(others))(headers, chance, visitor)


def _another_version(headers: Headers, chance: Random, visitor: Visitor) -> Headers:
    brands = brand_list("Google Chrome", visitor.browser.version[0] - chance.randrange(1, 20))
    return _with("sec-ch-ua", brands)(headers, chance, visitor)


def _hints_of_chromium(headers: Headers, _chance: Random, visitor: Visitor) -> Headers:
    if visitor.browser.engine == "chromium":
        return headers
    hints = [("sec-ch-ua", brand_list("Google Chrome", 140)), ("sec-ch-ua-mobile", "?0")]
    return [headers[0], *hints, ("sec-ch-ua-platform", '"Windows"'), *headers[1:]]


def _other_form_factor(headers: Headers, _chance: Random, visitor: Visitor) -> Headers:
    if visitor.browser.platform == "Linux" or visitor.browser.name == "WebView":
        return headers
    return _with("sec-ch-ua-mobile", "?0" if visitor.browser.mobile else "?1")(headers, _chance, visitor)


def _accept_of_another_engine(headers: Headers, chance: Random, visitor: Visitor) -> Headers:
    accept = _OTHER_PAGE if visitor.browser.engine == "chromium" else _CHROMIUM_PAGE
    return _with("accept", accept)(headers, chance, visitor)


def _without_hints_of_a_desktop(headers: Headers, chance: Random, visitor: Visitor) -> Headers:
    is_desktop = visitor.browser.platform in {"Windows", "macOS", "Linux"} and visitor.browser.name != "WebView"
    return (
        _without("sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform")(headers, chance, visitor)
        if is_desktop
        else headers
    )


CHANGES: dict[str, dict[str, Change]] = {
    UNCHANGED: {UNCHANGED: lambda headers, _chance, _visitor: headers},
    "presence": {
        f"{name} left out": _without(name.lower())
        for name in (
            *("Accept", "Accept-Language", "Accept-Encoding", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest"),
            "Upgrade-Insecure-Requests",
        )
    }
    | {
        "Accept and Accept-Language left out": _without("accept", "accept-language"),
        "Accept-Encoding left out, behind a proxy in Go": lambda headers, chance, visitor: _sorted(
            _with("accept-encoding", "gzip")(headers, chance, visitor), chance, visitor
        ),
    },
    "order": {
        "shuffled": _shuffled,
        "turned round": _reversed,
        "User-Agent first": _first("user-agent"),
        "User-Agent last": _last("user-agent"),
        "Accept last": _last("accept"),
        "Accept-Language first": _first("accept-language"),
        "as Python's requests begins": _first("user-agent", "accept-encoding", "accept", "connection"),
        "as undici begins": _first("accept", "accept-language", "sec-fetch-mode", "user-agent", "accept-encoding"),
    },
    "client hints": {
        "Sec-CH-UA left out": _without("sec-ch-ua"),
        "Sec-CH-UA-Mobile left out": _without("sec-ch-ua-mobile"),
        "Sec-CH-UA-Platform left out": _without("sec-ch-ua-platform"),
        "two hints left out": _without("sec-ch-ua-mobile", "sec-ch-ua-platform"),
        "all hints of a desktop left out": _without_hints_of_a_desktop,
        "another platform": _another_platform,
        "another version": _another_version,
        "phone for desktop, or desktop for phone": _other_form_factor,
        "hints of a browser that has none": _hints_of_chromium,
    },
    # Some captures of Safari, and browsers in apps, have none of the first; proxies sort, and write the encodings that
    # they know.
    "seen of people too": {
        "all Sec-Fetch left out": _without("sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "sec-fetch-user"),
        "names sorted": _sorted,
        "Accept-Encoding: gzip": _with("accept-encoding", "gzip"),
    },
    "values": {
        "Accept: */*": _with("accept", "*/*"),
        "Accept of another engine": _accept_of_another_engine,
        "Accept-Language: *": _with("accept-language", "*"),
        "Accept-Language with spaces": _with("accept-language", "en-US, en;q=0.9"),
        "Accept-Language without quality": _with("accept-language", "en-US,en"),
        "Sec-Fetch-Site: unknown word": _with("sec-fetch-site", "other"),
        "Sec-Fetch-Mode: cors": _with("sec-fetch-mode", "cors"),
        "Sec-Fetch-Dest: image": _with("sec-fetch-dest", "image"),
        "Sec-Fetch-Dest: empty": _with("sec-fetch-dest", "empty"),
    },
}


def changed_page_loads(seed: int, people: int) -> Iterator[Sent]:
    """Yield the first page load of so many people, unchanged and in every kind of change, each at its own time."""
    at_ms = 0
    for group, changes in CHANGES.items():
        for name, change in changes.items():
            for visitor in islice(population(seed, people, 1), people):
                request, chance = visitor.first_navigation(), Random(f"{seed}:{name}:{visitor.number}")
                headers = change(request.headers, chance, visitor)
                if headers == request.headers and group != UNCHANGED:
                    continue
                # A minute apart, so that the request rate is not suspicious.
                at_ms += 60_000
                should = Should.PASS if group == UNCHANGED else Should.STOP
                yield Sent(group, name, "GET", request.url, headers, visitor.address, should, at_ms)


@dataclass
class ChangeOutcomes:
    """How many page loads of each kind of change were challenged or blocked."""

    total: Counter[tuple[str, str]] = field(default_factory=Counter)
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)

    def tell(self, sent: Sent, passed: bool) -> None:
        """Note what became of a page load."""
        self.total[sent.kind, sent.name] += 1
        self.asked[sent.kind, sent.name] += not passed

    def share(self, kind: str, name: str) -> float:
        """Return the share of page loads with a kind of change that were challenged or blocked."""
        return self.asked[kind, name] / self.total[kind, name]

    def below(self, *, keeps_order: bool = True) -> list[str]:
        """Return the kinds of change that miss the bar, including people if any of them were challenged.

        Through a proxy that sorts the headers, their order shows nothing.
        """
        barred = [kind for kind in BARRED if keeps_order or kind != "order"]
        missed = [name for kind, name in self.total if kind in barred and self.share(kind, name) < LEAST_ASKED]
        return missed + ([UNCHANGED] if self.asked[UNCHANGED, UNCHANGED] else [])

    def table(self) -> str:
        """Return the table as Markdown."""
        rows = ["| What | Change | Page loads | Asked |", "| --- | --- | ---: | ---: |"]
        rows += [
            f"| {kind} | {name} | {total:,} | {self.share(kind, name):.1%} |"
            for (kind, name), total in self.total.items()
        ]
        return "\n".join(rows)
