"""Stores that are unavailable, hung, slow or locked: the gateway decides from memory where it can.

Nothing fails open.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import asyncpg
import pytest

from agentgate.gateway import check as gateway_check
from agentgate.lib.settings.schema import read_settings
from tests.support.gateway import Gate, said
from tests.support.servers import PostgresServer, RedisServer, postgres_server, redis_server
from tests.support.service import RunningService, running_service
from tests.support.tokens import mint
from tests.whole.gateway_process import environ

# Limits for responses: one without a store, and one that waits for a store that does not respond.
AT_ONCE_S, HUNG_S, BACK_S = 0.5, 2.5, 5.0


class Place:
    """A service, a site in each mode, and the servers under it."""

    def __init__(self, service: RunningService, postgres: PostgresServer, redis: RedisServer) -> None:
        self.service, self.postgres, self.redis = service, postgres, redis
        self.enforcing, self.monitoring = Gate(service), Gate(service, mode="monitor")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Separate servers, because these tests stop them."""
    folder = tmp_path_factory.mktemp("faults")
    with postgres_server() as postgres, redis_server() as redis:
        urls = {"AGENTGATE_DATABASE_URL": postgres.url, "AGENTGATE_REDIS_URL": redis.url}
        with running_service(read_settings(environ(folder, **urls))) as service:
            yield Place(service, postgres, redis)


def with_token(gate: Gate) -> tuple[tuple[int, str, str], float]:
    """Send a check with a good token; return the decision and how long it took."""
    token = mint(gate.service.application.signing_keys, gate.site_key, now_ms=gate.service.clock.now_ms())
    began_s = time.monotonic()
    return said(gate.check("POST", "/login", X_AgentGate_Token=token)), time.monotonic() - began_s


def check_memory_decides(place: Place) -> None:
    """Check that decisions without a store are unchanged and immediate."""
    began_s = time.monotonic()
    assert said(place.enforcing.check()) == (204, "allow", "allowed")
    assert said(place.enforcing.check("POST", "/login")) == (401, "challenge", "receipt_required")
    assert said(place.monitoring.check("POST", "/login")) == (204, "allow", "monitor")
    assert said(place.enforcing.check(Authorization="Bearer x")) == (403, "block", "invalid_credential")
    assert time.monotonic() - began_s < 4 * AT_ONCE_S


def check_tokens_fail_closed(place: Place, within_s: float) -> None:
    """Check that a token that cannot be redeemed opens nothing in enforce mode, and blocks no visitor in monitor
    mode."""
    refused, refused_s = with_token(place.enforcing)
    let_through, let_through_s = with_token(place.monitoring)
    assert (refused, let_through) == ((503, "block", "service_unavailable"), (204, "allow", "service_unavailable"))
    assert max(refused_s, let_through_s) < within_s


def wait_until_back(place: Place) -> None:
    deadline_s = time.monotonic() + BACK_S
    while with_token(place.enforcing)[0] != (204, "allow", "allowed"):
        assert time.monotonic() < deadline_s, "tokens cannot be spent although the store is back"
        time.sleep(0.05)


def test_with_the_database_stopped_memory_decides_and_tokens_fail_closed(place: Place) -> None:
    place.postgres.stop()
    try:
        check_memory_decides(place)
        check_tokens_fail_closed(place, HUNG_S)
    finally:
        place.postgres.start()
    wait_until_back(place)


def test_with_the_database_hung_tokens_fail_closed_in_time(place: Place) -> None:
    with place.postgres.frozen():
        check_memory_decides(place)
        check_tokens_fail_closed(place, HUNG_S)
    wait_until_back(place)


@contextlib.contextmanager
def sometimes_undone(place: Place, *, one_in: int) -> Iterator[None]:
    """Let the database undo all redemptions but one in so many, as it does where transactions cross."""
    attempts, function = "CREATE SEQUENCE attempts", "CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS"
    body = f"BEGIN IF nextval('attempts') % {one_in} <> 0 THEN RAISE SQLSTATE '40001'; END IF; RETURN NULL; END"
    trigger = "CREATE TRIGGER undo BEFORE INSERT ON redemption EXECUTE FUNCTION undo()"
    run_on(place, f"{attempts}; {function} $${body}$$; {trigger}")
    try:
        yield
    finally:
        run_on(place, "DROP TRIGGER undo ON redemption; DROP FUNCTION undo; DROP SEQUENCE attempts")


def run_on(place: Place, sql: str) -> None:
    async def work() -> None:
        await place.service.application.stores.databases["hot"].transaction(lambda unit: unit.script(sql))

    place.service.run(work())


def test_redemptions_that_the_database_undid_because_of_others_are_tried_again(place: Place) -> None:
    with sometimes_undone(place, one_in=4):
        assert [with_token(place.enforcing)[0] for _ in range(3)] == [(204, "allow", "allowed")] * 3
        assert [with_token(place.monitoring)[0] for _ in range(3)] == [(204, "allow", "monitor")] * 3
    # The gateway tries at most four times. Then nothing opens.
    with sometimes_undone(place, one_in=1_000):
        check_tokens_fail_closed(place, HUNG_S)
    wait_until_back(place)


def test_a_slow_database_makes_tokens_fail_closed_in_time_and_no_one_else_are_delayed(place: Place) -> None:
    with locked_redemptions(place.postgres):
        check_tokens_fail_closed(place, HUNG_S)
        check_memory_decides(place)
    wait_until_back(place)


@contextlib.contextmanager
def locked_redemptions(server: PostgresServer) -> Iterator[None]:
    """Hold the locks that every redemption needs, as another client's long transaction does."""
    with ThreadPoolExecutor(1) as thread:
        held, release = threading.Event(), threading.Event()
        holding = thread.submit(asyncio.run, _hold_redemptions(server, held, release))
        try:
            assert held.wait(10)
            yield
        finally:
            release.set()
            holding.result()


async def _hold_redemptions(server: PostgresServer, held: threading.Event, release: threading.Event) -> None:
    connection = await asyncpg.connect(server.url)
    try:
        async with connection.transaction():
            await connection.execute("LOCK TABLE redemption IN ACCESS EXCLUSIVE MODE")
            held.set()
            await asyncio.to_thread(release.wait, 30)
    finally:
        await connection.close()


def test_without_redis_nothing_changes_at_the_gateway(place: Place) -> None:
    place.redis.freeze()
    try:
        check_memory_decides(place)
        assert with_token(place.enforcing)[0] == (204, "allow", "allowed")
    finally:
        place.redis.thaw()


def test_a_configuration_that_was_not_seen_for_too_long_decides_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_check, "STALE_S", -1.0)

    assert said(place.enforcing.check()) == (503, "block", "service_unavailable")
    assert said(place.monitoring.check()) == (204, "allow", "service_unavailable")
    # It may be one that was made since.
    assert said(place.enforcing.check(Authorization="Bearer x")) == (503, "block", "service_unavailable")


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[RunningService]:
    with running_service(read_settings(environ(tmp_path))) as service:
        yield service


def test_with_the_embedded_store_locked_by_another_program_tokens_fail_closed(
    embedded: RunningService, tmp_path: Path
) -> None:
    enforcing, monitoring = Gate(embedded), Gate(embedded, mode="monitor")
    other = apsw.Connection(str(tmp_path / "data" / "hot.db"))
    other.execute("BEGIN EXCLUSIVE")
    try:
        assert said(enforcing.check()) == (204, "allow", "allowed")
        assert with_token(enforcing)[0] == (503, "block", "service_unavailable")
        assert with_token(monitoring)[0] == (204, "allow", "service_unavailable")
        ready = embedded.anonymous.get("/readyz")
        assert (ready.status_code, ready.json()["status"], ready.headers["retry-after"]) == (503, "unavailable", "5")
        assert ready.json()["checks"]["hot"].startswith("failed")
        assert ready.json()["checks"]["config"].startswith("SQLite")
    finally:
        other.execute("ROLLBACK")
        other.close()

    assert with_token(enforcing)[0] == (204, "allow", "allowed")
    assert embedded.anonymous.get("/readyz").status_code == 200


def test_rules_that_cannot_be_read_keep_the_last_good_ones_and_at_a_start_decide_nothing(tmp_path: Path) -> None:
    settings = read_settings(environ(tmp_path))
    with running_service(settings) as service:
        gates = [Gate(service, mode=mode) for mode in ("enforce", "monitor")]
        for gate in gates:
            path = f"/v1/admin/sites/{gate.site_key}/rules"
            rules = {"version": "1", "rules": [], "default_action": "allow"}
            assert service.operator.put(path, json={"ruleSet": rules, "revision": 0}).status_code == 200
        spoil(service)
        assert [said(gate.check()) for gate in gates] == [(204, "allow", "allowed"), (204, "allow", "monitor")]

    with running_service(settings) as service:
        for gate in gates:
            gate.service = service
        assert [said(gate.check()) for gate in gates] == [
            (503, "block", "service_unavailable"),
            (204, "allow", "service_unavailable"),
        ]


def spoil(service: RunningService) -> None:
    """Damage every stored set of rules, and let the service read them."""

    async def work() -> None:
        config = service.application.stores.databases["config"]
        assert await config.run("UPDATE site_rules SET rule_set = '{\"rules\": 7}'") == 2
        await config.run("UPDATE configuration_version SET version = version + 1")
        await service.application.refresher.refresh()

    service.run(work())
