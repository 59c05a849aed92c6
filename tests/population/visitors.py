"""People who visit a site: `population(seed, visitors=25_000, pages=8)` yields them, the same ones for the same seed.

A visitor has an address, a browser and the pages of one visit. `navigations(clearance)` yields the requests for these,
`part` is something that a page loads. `in_turns` lets many visits overlap, as they do on a site.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from random import Random
from typing import NamedTuple

from tests.population.addresses import choose_address
from tests.population.browsers import EVERYBODY, Browser, Mix, choose_browser
from tests.population.headers import Headers, Load, headers_of


class _Weighted:
    """Texts with how often each is chosen."""

    def __init__(self, shares: tuple[tuple[str, int], ...]) -> None:
        self.texts = [text for text, _ in shares]
        self.sums = list(accumulate(share for _, share in shares))

    def choose(self, chance: Random) -> str:
        """Return one of the texts."""
        return chance.choices(self.texts, cum_weights=self.sums)[0]


ORIGIN = "https://shop.example"
PAGES = 8
# Visits that are under way at the same time.
AT_ONCE = 10_000
# Referrers with their shares: typed or bookmarked, from a search, from another site.
_COMING_FROM = _Weighted(
    (("", 45), ("https://www.google.com/", 35), ("https://duckduckgo.com/", 4), ("https://news.example/", 16))
)
_LANDING = _Weighted((("/", 50), ("/category/{}", 30), ("/stories/{}", 20)))
_GOING_ON = _Weighted(
    (("/products/{}", 55), ("/search?q=item+{}&page=1", 15), ("/account/orders?page={}", 15), ("/cart/{}", 15))
)
# A few pages are popular, most are rare.
_MOST_ITEMS, _POPULARITY = 20_000, 0.5


class Request(NamedTuple):
    """A GET as it leaves the browser."""

    url: str
    headers: Headers


@dataclass(frozen=True, slots=True)
class Visitor:
    """A person on a visit."""

    number: int
    address: str
    browser: Browser
    origin: str
    # Of each page. The first is a typical landing page.
    paths: tuple[str, ...]
    # The referrer of the first page; empty if there is none.
    came_from: str
    # The site's own, set with the first page.
    cookies: tuple[str, ...]

    @property
    def host(self) -> str:
        """The host of the site."""
        return self.origin.partition("://")[2]

    def navigations(self, clearance: str = "") -> Iterator[Request]:
        """Yield the pages: the first as a new visitor, the others with referrer and cookies, including `clearance`."""
        yield self.first_navigation()
        for page in range(1, len(self.paths)):
            yield self.navigation(page, clearance)

    def first_navigation(self) -> Request:
        """Return the request that begins the visit."""
        site = "cross-site" if self.came_from else "none"
        load = Load(self.host, site=site, referer=self.came_from)
        return Request(self.origin + self.paths[0], headers_of(self.browser, load))

    def navigation(self, page: int, clearance: str = "") -> Request:
        """Return the request for a later page, by a link on the one before. `clearance` is a cookie, name and value."""
        referer = self.origin + self.paths[page - 1]
        load = Load(self.host, site="same-origin", referer=referer, cookie=self.cookie(clearance))
        return Request(self.origin + self.paths[page], headers_of(self.browser, load))

    def part(self, destination: str, path: str, *, page: int = 0, clearance: str = "") -> Request:
        """Return the request for a subresource: `style`, `script`, `image`, `font`, or `empty` for a fetch."""
        referer = self.origin + self.paths[page]
        load = Load(self.host, destination, "same-origin", referer, self.cookie(clearance))
        return Request(self.origin + path, headers_of(self.browser, load))

    def cookie(self, clearance: str = "") -> str:
        """Return the Cookie header: in the order in which they were set, the clearance after the session."""
        first, *others = self.cookies
        return "; ".join(part for part in (first, clearance, *others) if part)


def population(
    seed: int, visitors: int = 25_000, pages: int = PAGES, *, mix: Mix = EVERYBODY, origin: str = ORIGIN
) -> Iterator[Visitor]:
    """Yield visitors. The first ones are the same for any number of them."""
    for number in range(visitors):
        chance = Random(f"{seed}:{number}")
        browser = choose_browser(chance, mix)
        yield make_visitor(chance, number, browser, pages=pages, origin=origin)


def make_visitor(chance: Random, number: int, browser: Browser, *, pages: int = PAGES, origin: str = ORIGIN) -> Visitor:
    """Return a visitor with this browser."""
    paths = [_path(chance, _LANDING), *(_path(chance, _GOING_ON) for _ in range(pages - 1))]
    return Visitor(
        number=number,
        address=choose_address(chance),
        browser=browser,
        origin=origin,
        paths=tuple(paths),
        came_from=_COMING_FROM.choose(chance),
        cookies=tuple(_cookies(chance)),
    )


def strangers(seed: int, visitors: int, *, origin: str = ORIGIN) -> Iterator[Visitor]:
    """Yield visitors who have nothing in common: each with a User-Agent and pages that no other has.

    The User-Agents name the exact build, as embedded browsers do.
    """
    chromes = tuple(entry for entry in EVERYBODY if entry[0] == "Chrome" and entry[1] != "iOS")
    for visitor in population(seed, visitors, 2, mix=chromes, origin=origin):
        major, number = visitor.browser.version[0], visitor.number
        build = f"Chrome/{major}.0.{6000 + number // 250}.{number % 250}"
        named = visitor.browser.user_agent.replace(f"Chrome/{major}.0.0.0", build)
        paths = tuple(f"/products/{number}-{page}" for page in range(2))
        yield replace(visitor, browser=replace(visitor.browser, user_agent=named), paths=paths)


def in_turns(visitors: Iterable[Visitor], seed: int, *, at_once: int = AT_ONCE) -> Iterator[tuple[Visitor, int]]:
    """Yield visitor and page for all pages of all visits, each visit in its order, many of them at the same time."""
    chance, coming = Random(seed), iter(visitors)
    present = [(visitor, 0) for visitor in islice(coming, at_once)]
    while present:
        place = chance.randrange(len(present))
        visitor, page = present[place]
        yield visitor, page
        if page + 1 < len(visitor.paths):
            present[place] = visitor, page + 1
        elif (another := next(coming, None)) is not None:
            present[place] = another, 0
        else:
            present[place] = present[-1]
            present.pop()


def _path(chance: Random, kinds: _Weighted) -> str:
    item = min(int(chance.paretovariate(_POPULARITY)), _MOST_ITEMS)
    return kinds.choose(chance).format(item)


def _cookies(chance: Random) -> Iterator[str]:
    yield f"session={chance.getrandbits(96):024x}"
    if chance.random() < 0.6:
        yield f"consent={chance.choice(('all', 'needed'))}"
    if chance.random() < 0.5:
        yield f"_ga=GA1.1.{chance.getrandbits(30)}.{1_760_000_000 + chance.getrandbits(24)}"
    if chance.random() < 0.2:
        yield f"theme={chance.choice(('dark', 'light'))}"
