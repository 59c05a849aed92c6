"""A route table of few routes is compiled for its first request, and an unreadable one fails when it is made."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from agentgate.sites.records import SiteRoute
from agentgate.sites.request_methods import methods_of
from agentgate.sites.route_table import FEW_BYTES, FEW_ROUTES, RouteTable

THREADS, ROUNDS = 8, 50


@pytest.mark.parametrize("count", [1, FEW_ROUTES, FEW_ROUTES + 1])
def test_tables_compiled_early_and_late_find_the_same_routes(count: int) -> None:
    table = RouteTable([SiteRoute(method="GET", path=f"/item{n}", action=f"act-{n}") for n in range(count)])

    assert [table.find("GET", f"/item{n}").action for n in range(count)] == [f"act-{n}" for n in range(count)]
    assert table.find("GET", "/other").action is None
    assert [found.action for found in table.matches(methods_of("GET", b"/%69tem0"), b"/%69tem0")] == ["act-0"]


@pytest.mark.parametrize(("length", "is_early"), [(FEW_BYTES, False), (FEW_BYTES + 1, True)])
def test_long_paths_are_compiled_with_their_site(length: int, is_early: bool) -> None:
    half = length // 2
    paths = ["/" + "a" * (half - 1), "/" + "b" * (length - half - 1)]
    table = RouteTable([SiteRoute(method="GET", path=path, action="read") for path in paths])

    assert table._is_compiled is is_early


def test_an_unreadable_path_fails_before_any_request() -> None:
    # Otherwise the first request would fail, and not the loading, which keeps the site's last good view.
    with pytest.raises(UnicodeEncodeError):
        RouteTable([SiteRoute(method="GET", path="/\u20ac", action="pay")])
    with pytest.raises(AssertionError):
        RouteTable([SiteRoute(method="GET", action="pay")])


def test_first_requests_on_several_threads_find_the_route() -> None:
    with ThreadPoolExecutor(THREADS) as threads:
        for _ in range(ROUNDS):
            table = RouteTable([SiteRoute(method="POST", path_prefix="/api/", action="submit")])
            found = list(threads.map(lambda _: table.find("POST", "/api/orders").action, range(THREADS)))  # noqa: B023

            assert found == ["submit"] * THREADS
