"""People's page views: at home and on the road, in offices of 200, in classes and behind a carrier's address."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from random import Random

from tests.population.addresses import choose_address
from tests.population.page_views import Visit, choose_habits
from tests.population.sent import Sent
from tests.population.visitors import ORIGIN, population

# Places, each with the number of people per address, and its share of page views in percent.
PLACES = (
    ("people: at home", 1, 52),
    ("people: household", 4, 10),
    ("people: office", 200, 18),
    ("people: school", 30, 8),
    ("people: carrier NAT", 400, 12),
)
# A visit has so many pages.
_PAGES = (1, 2, 3, 3, 4, 5, 8, 12)
# People behind one address come within so long.
_WITHIN_MS = 120_000


def page_views(seed: int, views: int, *, origin: str = ORIGIN) -> Iterator[list[Sent]]:
    """Yield the requests of at least so many page views: all of one address, in the order in which they come."""
    chance, made = Random(f"{seed}:people"), 1
    everybody = population(seed, visitors=views * 2, pages=max(_PAGES), origin=origin)
    while made <= views:
        ((kind, size, _),) = chance.choices(PLACES, [share / size for _, size, share in PLACES])
        address = choose_address(chance)
        group: list[Sent] = []
        # In larger groups, only some of the people visit the site at the same time.
        present = size if size <= 4 else chance.randrange(size // 2, size + 1)
        for visitor in islice(everybody, present):
            pages = chance.choice(_PAGES)
            person = replace(visitor, paths=visitor.paths[:pages], address=address if size > 1 else visitor.address)
            start_ms = chance.randrange(_WITHIN_MS) if size > 1 else 0
            visit = Visit(person, choose_habits(chance), chance, kind=kind, first_view=made, at_ms=start_ms)
            seen = list(visit.views())
            made += len(seen)
            group += (request for view in seen for request in view)
        yield sorted(group, key=lambda request: request.at_ms)
