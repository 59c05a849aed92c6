"""The service while its stores are unavailable: it reports this at once, keeps working where it can, and recovers."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from agentgate.routes.admin import ADMIN
from tests.support.api_client import ApiClient
from tests.support.servers import PostgresServer, RedisServer
from tests.support.service import ADMIN_KEY, RunningService

LOGIN = "/v1/admin/login"
ROUTES = [f"{row.method} {row.path}" for row in ADMIN.rows]

# Only the second kind of settings has stores that can be unavailable.
pytestmark = pytest.mark.parametrize("settings", ["postgres"], indirect=True)


@pytest.fixture
def operator(service: RunningService) -> tuple[ApiClient, dict[str, str]]:
    """A client that is signed in, and the header that its changes need."""
    client = service.new_client()
    return client, {"X-CSRF-Token": client.post(LOGIN, json={"key": ADMIN_KEY}).json()["csrfToken"]}


@pytest.fixture
def without_postgres(service: RunningService, operator: object, postgres: PostgresServer) -> Iterator[PostgresServer]:
    """Stop PostgreSQL after the service has started and an operator has signed in."""
    postgres.stop()
    yield postgres
    postgres.stop()
    postgres.start()


@pytest.fixture
def without_redis(service: RunningService, redis: RedisServer) -> Iterator[RedisServer]:
    """Redis is gone once the service runs."""
    redis.stop()
    yield redis
    redis.stop()
    redis.start()


@pytest.mark.usefixtures("without_postgres")
def test_without_the_database_every_admin_route_shows_it_within_two_seconds(
    operator: tuple[ApiClient, dict[str, str]],
) -> None:
    client, headers = operator
    found = {}
    for route in ROUTES:
        method, path = route.split(" ")
        body = {} if method == "GET" else {"json": {"key": ADMIN_KEY} if path == LOGIN else {}}
        started = time.monotonic()
        reply = client.request(method, path.replace("{", "").replace("}", ""), headers=headers, **body)
        assert time.monotonic() - started < 2, route
        found[route] = (reply.status_code, reply.json()["error"], reply.headers.get("retry-after"))

    assert found == dict.fromkeys(ROUTES, (503, "store_unavailable", "5"))


@pytest.mark.usefixtures("without_postgres")
def test_without_the_database_the_key_reads_nothing_either(service: RunningService) -> None:
    reply = service.operator.get("/v1/admin/sites")

    assert (reply.status_code, reply.json()["error"], reply.headers["retry-after"]) == (503, "store_unavailable", "5")


@pytest.mark.usefixtures("without_postgres")
def test_without_the_database_the_process_lives_but_is_not_ready(service: RunningService) -> None:
    for client in (service.public, service.anonymous):
        assert client.get("/healthz").status_code == 200
        reply = client.get("/readyz")
        assert (reply.status_code, reply.json()["status"]) == (503, "unavailable")
        assert reply.headers["retry-after"] == "5"
    checks = service.anonymous.get("/readyz").json()["checks"]
    assert checks["config"].startswith("failed")
    assert checks["fast"] == "Redis"


def test_the_service_recovers_by_itself_when_the_database_is_back(
    service: RunningService, operator: tuple[ApiClient, dict[str, str]], without_postgres: PostgresServer
) -> None:
    client, headers = operator
    assert client.get("/v1/admin/sites").status_code == 503

    without_postgres.start()

    deadline_s = time.monotonic() + 5
    while client.get("/v1/admin/sites").status_code != 200 or service.public.get("/readyz").status_code != 200:
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    # The session, too, has outlived the outage.
    assert client.post("/v1/admin/sites", json={"name": "Shop"}, headers=headers).status_code == 201


def test_a_change_that_was_rejected_for_want_of_the_database_was_not_made(
    operator: tuple[ApiClient, dict[str, str]], without_postgres: PostgresServer
) -> None:
    client, headers = operator
    assert client.post("/v1/admin/sites", json={"name": "Ghost"}, headers=headers).status_code == 503

    without_postgres.start()

    assert client.get("/v1/admin/sites").json() == {"items": []}


@pytest.mark.usefixtures("without_redis")
def test_without_redis_the_service_is_degraded_and_continues(service: RunningService) -> None:
    assert service.operator.get("/v1/admin/sites").status_code == 200
    for client in (service.public, service.anonymous):
        reply = client.get("/readyz")
        assert (reply.status_code, reply.json()["status"]) == (200, "degraded")


@pytest.mark.usefixtures("without_redis")
def test_without_redis_wrong_keys_are_still_counted_by_source(service: RunningService) -> None:
    wrong = [service.anonymous.post(LOGIN, json={"key": "wrong"}).status_code for _ in range(6)]

    assert wrong == [401] * 5 + [429]
    elsewhere = service.anonymous.post(LOGIN, json={"key": "wrong"}, headers={"X-Forwarded-For": "192.0.2.7"})
    assert elsewhere.status_code == 401
    assert service.anonymous.post(LOGIN, json={"key": ADMIN_KEY}).status_code == 200


def test_with_redis_back_the_service_is_ready_again(service: RunningService, without_redis: RedisServer) -> None:
    assert service.public.get("/readyz").json()["status"] == "degraded"

    without_redis.start()

    assert service.public.get("/readyz").json()["status"] == "ready"


@pytest.mark.usefixtures("without_postgres")
def test_an_outage_leaves_one_line_a_second_with_a_count_and_no_traceback(service: RunningService) -> None:
    started_s, written = time.monotonic(), len(service.log.getvalue())
    for _ in range(60):
        assert service.operator.get("/v1/admin/sites").status_code == 503
    lines: list[dict[str, Any]] = []
    while sum(line["requests"] for line in lines) < 60:
        assert time.monotonic() < started_s + 20, lines
        logged = [json.loads(line) for line in service.log.getvalue()[written:].splitlines()]
        lines = [line for line in logged if line["event"] == "requests failed: a store is unavailable"]
        time.sleep(0.05)
    seconds = time.monotonic() - started_s

    assert sum(line["requests"] for line in lines) == 60
    assert len(lines) <= seconds + 2
    assert [line for line in logged if line.get("code") == "store_unavailable"] == []
    assert "Traceback" not in service.log.getvalue()[written:]
    assert (lines[0]["status"], lines[0]["last_route"], lines[0]["level"]) == (503, "/v1/admin/sites", "error")
