"""All of it: people, programs and what is not wanted, in one stream: `traffic(seed, page_views=20_000)`."""

from collections.abc import Iterable, Iterator

from tests.population.crawlers import crawler_requests
from tests.population.people import page_views as people_views
from tests.population.programs import program_requests
from tests.population.sent import Sent
from tests.population.unwanted import unwanted_requests


def traffic(seed: int, page_views: int = 20_000, *, unwanted: int = 400) -> Iterator[Sent]:
    """Yield every request, with `at_ms` from the start of it all. Each address, or kind, comes after the other."""
    start_ms = 0
    for group in _groups(seed, page_views, unwanted):
        end_ms = start_ms
        for each in sorted(group, key=lambda request: request.at_ms):
            end_ms = start_ms + each.at_ms
            yield each._replace(at_ms=end_ms)
        start_ms = end_ms + 1_000


def _groups(seed: int, page_views: int, unwanted: int) -> Iterator[Iterable[Sent]]:
    yield from people_views(seed, page_views)
    yield program_requests(seed)
    yield crawler_requests(seed)
    yield from unwanted_requests(seed, unwanted)
