"""Several workers, and several servers, act as one: limits, sessions and counts are shared, a dead one is replaced."""

import contextlib
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import ADMIN_KEY, AdminConnection, members, serving
from tests.whole.two_workers import ROOT_SECRET, Deployment, one_connection_each, two_workers

SITES = "/v1/admin/sites"
LOGIN, SESSION = "/v1/admin/login", "/v1/admin/session"
NO_KEY: dict[str, str] = {}


@contextlib.contextmanager
def two_servers(folder: Path, **settings: str) -> Iterator[Deployment]:
    # Started one after the other here; that they may start together is the migrations' own test.
    common = {"AGENTGATE_ROOT_SECRET": ROOT_SECRET, "AGENTGATE_DRAIN_SECONDS": "0", **settings}
    with serving(folder / "one", **common) as one, serving(folder / "two", **common) as two:
        yield one, two


@pytest.fixture
def server_settings(request: pytest.FixtureRequest) -> dict[str, str]:
    """The addresses of PostgreSQL and Redis."""
    return {
        "AGENTGATE_DATABASE_URL": request.getfixturevalue("postgres_url"),
        "AGENTGATE_REDIS_URL": request.getfixturevalue("redis_url"),
    }


@pytest.fixture(params=["two workers", "two servers", "two workers, embedded"])
def deployment(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Deployment]:
    """Two processes that serve the same data."""
    if request.param == "two workers, embedded":
        started = two_workers(tmp_path)
    else:
        start = two_workers if request.param == "two workers" else two_servers
        started = start(tmp_path, **request.getfixturevalue("server_settings"))
    with started as processes:
        yield processes


def in_parallel(deployment: Deployment, count: int, call: Callable[[AdminConnection, int], Any]) -> list[Any]:
    """Make `count` calls at once, each on a separate connection, spread over all processes."""

    def one(number: int) -> Any:
        with deployment[number % len(deployment)].admin() as connection:
            return call(connection, number)

    with ThreadPoolExecutor(32) as threads:
        return list(threads.map(one, range(count)))


def test_parallel_creations_over_all_processes_keep_the_limit_of_live_credentials(deployment: Deployment) -> None:
    with deployment[0].admin() as operator:
        assert operator.call("POST", SITES, {"name": "Shop", "siteKey": "site_shop"}).status == 201

    answers = in_parallel(
        deployment, 64, lambda connection, _: connection.call("POST", f"{SITES}/site_shop/credentials").status
    )

    assert Counter(answers) == {201: 3, 409: 61}
    for process in deployment:
        with process.admin() as operator:
            assert operator.call("GET", f"{SITES}/site_shop").body["credentials"] == {"active": 3, "total": 3}


def test_parallel_creations_of_one_site_key_create_one_site(deployment: Deployment) -> None:
    answers = in_parallel(
        deployment,
        64,
        lambda connection, number: connection.call("POST", SITES, {"name": f"Shop {number}", "siteKey": "site_shop"}),
    )

    assert Counter(answer.status for answer in answers) == {201: 1, 409: 63}
    assert {answer.body.get("error") for answer in answers} == {None, "site_key_taken"}
    for process in deployment:
        with process.admin() as operator:
            assert len(operator.call("GET", SITES).body["items"]) == 1


def test_a_session_made_on_one_worker_works_on_the_other(tmp_path: Path, server_settings: dict[str, str]) -> None:
    with two_workers(tmp_path, **server_settings) as (process,), one_connection_each(process, NO_KEY) as workers:
        check_shared_session(*workers)


def test_a_session_made_on_one_server_works_on_the_other(tmp_path: Path, server_settings: dict[str, str]) -> None:
    with two_servers(tmp_path, **server_settings) as servers, contextlib.ExitStack() as stack:
        check_shared_session(*(stack.enter_context(AdminConnection(server.admin_url, NO_KEY)) for server in servers))


def check_shared_session(first: AdminConnection, second: AdminConnection) -> None:
    login = first.call("POST", LOGIN, {"key": ADMIN_KEY, "operator": "Olga"})
    assert login.status == 200
    cookie = login.headers["set-cookie"].partition(";")[0]

    session = second.call("GET", SESSION, Cookie=cookie)
    assert (session.status, session.body["operator"]) == (200, "Olga")
    assert session.body["csrfToken"] == login.body["csrfToken"]
    change = {"Cookie": cookie, "X-CSRF-Token": login.body["csrfToken"]}
    assert second.call("POST", SITES, {"name": "Shop"}, **change).status == 201
    assert second.call("POST", "/v1/admin/logout", **change).status == 204
    ended = first.call("GET", SESSION, Cookie=cookie)
    assert (ended.status, ended.body["error"]) == (401, "session_expired")


def test_wrong_credentials_are_counted_over_all_workers(tmp_path: Path, server_settings: dict[str, str]) -> None:
    with two_workers(tmp_path, **server_settings) as (process,), one_connection_each(process, NO_KEY) as workers:
        first, second = workers
        wrong = [
            worker.call("POST", LOGIN, {"key": "wrong"}).status for worker in (first, second, first, second, first)
        ]

        more = [worker.call("POST", LOGIN, {"key": "wrong"}) for worker in workers]
        right = [worker.call("POST", LOGIN, {"key": ADMIN_KEY}).status for worker in workers]

    assert wrong == [401] * 5
    assert [(answer.status, answer.body["error"]) for answer in more] == [(429, "rate_limited")] * 2
    assert right == [200] * 2


def test_a_killed_worker_is_replaced_and_the_service_continues_responding(
    tmp_path: Path, server_settings: dict[str, str]
) -> None:
    with two_workers(tmp_path, **server_settings) as (process,):
        victim = process.wait_for_events("worker started", 2)[0]["pid"]
        with process.admin() as operator:
            assert operator.call("POST", SITES, {"name": "Shop", "siteKey": "site_shop"}).status == 201

        os.kill(victim, signal.SIGKILL)
        process.wait_for_events("worker died", 1)
        statuses = []
        for _ in range(50):
            with process.admin() as operator:
                statuses.append(operator.call("GET", f"{SITES}/site_shop").status)
        started = process.wait_for_events("worker started", 3)

        assert statuses == [200] * 50
        assert started[2]["worker"] == 1
        assert started[2]["pid"] not in {event["pid"] for event in started[:2]}
        with one_connection_each(process) as workers:
            assert [worker.call("GET", f"{SITES}/site_shop").status for worker in workers] == [200, 200]


def test_stopping_leaves_no_process_behind(tmp_path: Path) -> None:
    with two_workers(tmp_path) as (process,):
        assert len(members(process.process_id)) >= 2

        assert process.stop() == 0

        # The server that forks workers notices the end of its parent by a closed pipe, a moment later.
        deadline_s = time.monotonic() + 5
        while members(process.process_id) and time.monotonic() < deadline_s:
            time.sleep(0.01)
        assert members(process.process_id) == []


SITES_ANSWERED = re.compile(
    r'^agentgate_http_requests_total{route="/v1/admin/sites",status="200",[^}]*} (\S+)$', re.MULTILINE
)


def sites_answered(connection: AdminConnection) -> float:
    """Return how many requests for the list of sites were served, by all workers together."""
    match = SITES_ANSWERED.search(connection.call("GET", "/metrics").body.decode())
    return 0.0 if match is None else float(match[1])


def test_a_scrape_of_either_worker_has_the_statistics_of_both_and_none_falls_when_one_is_killed(tmp_path: Path) -> None:
    with two_workers(tmp_path) as (process,):
        pids = [line["pid"] for line in process.wait_for_events("worker started", 2)]
        with one_connection_each(process) as workers:
            for worker in workers:
                worker.call("GET", SITES)
            assert [sites_answered(worker) for worker in workers] == [2.0, 2.0]
        os.kill(pids[1], signal.SIGKILL)
        process.wait_for_events("worker died", 1)
        with process.admin() as operator:
            assert sites_answered(operator) == 2.0
