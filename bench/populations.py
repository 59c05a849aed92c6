"""The clients in a measurement: each population as the bytes of its checks, from `tests/population`."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from bench.check_heads import CheckForm
from bench.gateway_site import AGENT, BenchSite
from tests.population.browsers import CHROMES
from tests.population.visitors import ORIGIN, Request, Visitor, in_turns, population, strangers

SEED = 27
# Signatures count for so long.
SIGNED_S = 3_600


class Writer(NamedTuple):
    """Writes checks for a site in the form that nginx gives them."""

    form: CheckForm
    site: BenchSite

    def write(self, visitor: Visitor, request: Request) -> bytes:
        """Return the check of a request."""
        return self.form.write(request, visitor.address, self.site.secret)

    def cleared(self, visitor: Visitor, page: int) -> bytes:
        """Return the check of a later page of a visit, with a clearance."""
        return self.write(visitor, visitor.navigation(page, self.site.clearance(visitor)))


def identical(writer: Writer, visitors: int) -> Iterator[bytes]:
    """Yield one check each of visitors who all have the same Chrome."""
    browser = next(population(SEED, 1, mix=(("Chrome", "Windows", 1),))).browser
    browser = replace(browser, http=2, privacy="")
    for visitor in population(SEED, visitors, 2):
        yield writer.cleared(replace(visitor, browser=browser), 1)


def chromes(writer: Writer, visitors: int) -> Iterator[bytes]:
    """Yield one check each of visitors with any Chrome or Edge."""
    for visitor in population(SEED, visitors, 2, mix=CHROMES):
        yield writer.cleared(visitor, 1)


def sessions(writer: Writer, visitors: int) -> Iterator[bytes]:
    """Yield all checks of visits of eight pages: an open one, then seven with a clearance. Visits overlap."""
    cookies: dict[int, str] = {}
    for visitor, page in in_turns(population(SEED, visitors), SEED, at_once=max(visitors * 2 // 5, 1)):
        if page == 0:
            cookies[visitor.number] = writer.site.clearance(visitor)
            yield writer.write(visitor, visitor.first_navigation())
        else:
            yield writer.write(visitor, visitor.navigation(page, cookies[visitor.number]))


def first_visits(writer: Writer, visitors: int) -> Iterator[bytes]:
    """Yield the first check of new visitors, on pages that are open."""
    for visitor in population(SEED, visitors):
        yield writer.write(visitor, visitor.first_navigation())


def challenged(writer: Writer, visitors: int) -> Iterator[bytes]:
    """Yield the first check of new visitors, on pages that need a clearance."""
    for visitor in population(SEED, visitors):
        yield writer.write(visitor, replace(visitor, paths=visitor.paths[1:]).first_navigation())


def distinct(writer: Writer, visitors: int) -> Iterator[bytes]:
    """Yield checks of which no two share User-Agent, address, clearance or page."""
    for visitor in strangers(SEED, visitors):
        yield writer.cleared(visitor, 1)


def signed(writer: Writer, visitors: int, *, nonce: bool = False) -> Iterator[bytes]:
    """Yield checks of one agent's requests, each with a different signature. With a nonce a request counts once."""
    for visitor in population(SEED, visitors, 1):
        url = f"{ORIGIN}/products/{visitor.number}"
        headers = [("Host", visitor.host), ("User-Agent", "ShoppingAgent/1.0"), ("Accept", "text/html")]
        signature = AGENT.headers("GET", url, expires=writer.site.set_up_s + SIGNED_S, nonce=nonce)
        yield writer.write(visitor, Request(url, [*headers, *signature.items()]))


class Population(NamedTuple):
    """A population, and what is measured of it."""

    meaning: str
    visitors: int
    checks: Callable[[Writer, int], Iterator[bytes]]
    expected: int = 204
    # Measured as new visitors, and as returning visitors.
    is_new: bool = False
    is_seen: bool = False


POPULATIONS = {
    "identical": Population("one identical Chrome, seen before", 5_000, identical, is_seen=True),
    "chromes": Population("a usual mix of Chromes and Edges, seen before", 3_000, chromes, is_seen=True),
    "sessions": Population(
        "visits of 8 pages, all browsers: first pass, then seen", 25_000, sessions, is_new=True, is_seen=True
    ),
    "first": Population("first visits to open pages", 40_000, first_visits, is_new=True),
    "challenged": Population(
        "first visits to pages that need a clearance", 40_000, challenged, expected=401, is_new=True
    ),
    "distinct": Population("new User-Agent, address, clearance and page each time", 40_000, distinct, is_new=True),
    "signed": Population("requests that an agent signed, its key known", 4_000, signed, is_seen=True),
}
