"""No request holds the event loop for long: the routes that were slowest, with the bodies of `bench/worst_bodies.py`.

`python -m bench.worst_bodies` measures every route with 100 sites and 10,000 events.
"""

import pytest

from bench.worst_bodies import measure
from tests.support.service import RunningService
from tests.support.two_accounts import Scene

# Twice the bar of 20 ms: other tests take their share of the processor's caches.
MOST_MS = 40.0


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "route",
    ["console/sites/{siteKey}/rules/validate", "POST /siteverify", "POST /v1/pages/sign-in"],
)
def test_no_body_query_or_header_holds_the_event_loop(service: RunningService, scene: Scene, route: str) -> None:
    found = list(measure(service, scene, route, times=5))

    assert found
    assert [row for row in found if row[0] > MOST_MS] == []
