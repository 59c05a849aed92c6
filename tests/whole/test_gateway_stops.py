"""Stopped, out of descriptors, or unable to store events: the gateway's decisions hold, and lost events are counted."""

import contextlib
import resource
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import apsw
import pytest

from agentgate.lib.settings.schema import read_settings
from tests.support.gateway import Gate, said
from tests.support.service import RunningService, running_service
from tests.whole.gateway_process import (
    DECIDED,
    Door,
    environ,
    gateway_process,
    wait_until,
)
from tests.whole.gateway_stops import STOPS, stop_often

QUEUE, TOO_MANY = 50, 30


def test_stopped_while_it_is_challenged_it_breaks_no_response_and_loses_no_event(tmp_path: Path) -> None:
    stop_often(tmp_path, STOPS)


@contextlib.contextmanager
def few_descriptors(process_id: int) -> Iterator[None]:
    """Let a process open nothing more."""
    limits = resource.prlimit(process_id, resource.RLIMIT_NOFILE)
    used = max(int(path.name) for path in Path(f"/proc/{process_id}/fd").iterdir()) + 1
    resource.prlimit(process_id, resource.RLIMIT_NOFILE, (used, limits[1]))
    try:
        yield
    finally:
        resource.prlimit(process_id, resource.RLIMIT_NOFILE, limits)


def test_out_of_descriptors_it_continues_with_the_connections_it_has_and_recovers(tmp_path: Path) -> None:
    with gateway_process(tmp_path) as gateway:
        assert gateway.enforcing.ask() == DECIDED
        parts = urlsplit(gateway.process.public_url)
        with few_descriptors(gateway.process.process_id), contextlib.ExitStack() as newcomers:
            for _ in range(TOO_MANY):
                newcomers.enter_context(socket.create_connection((parts.hostname, parts.port), timeout=5))
            for _ in range(20):
                assert gateway.enforcing.ask() == DECIDED
                assert gateway.enforcing.ask("x.y.z") == (401, "invalid_token")
            assert gateway.enforcing.ask(gateway.token(gateway.enforcing)) == DECIDED

        door = Door(gateway.enforcing.url, gateway.enforcing.site_key, gateway.enforcing.secret)
        assert door.ask() == DECIDED
        door.close()
        assert gateway.process.log_text().count("\n") < 200


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningService]:
    with running_service(read_settings(environ(tmp_path))) as running:
        yield running


def test_events_past_what_can_wait_are_counted_and_decisions_continue(service: RunningService, tmp_path: Path) -> None:
    gate, recorder, asked = Gate(service), service.application.recorder, QUEUE + TOO_MANY
    assert said(gate.check()) == (204, "allow", "allowed")
    wait_until(lambda: recorder.waiting == 0, 5, "the first event is not stored")
    # As if so many less could wait: the real queue takes twenty thousand.
    recorder._queue_limit = recorder._room = QUEUE
    [path] = (tmp_path / "data" / "events").glob("*.db")
    other = apsw.Connection(str(path))
    other.execute("BEGIN EXCLUSIVE")
    try:
        answers = Counter(
            said(gate.check("GET", "/", X_Original_Address=f"198.51.100.{number}")) for number in range(asked)
        )
        assert answers == {(204, "allow", "allowed"): asked}
        assert recorder.failed == TOO_MANY
        reply = service.anonymous.get("/readyz")
        assert (reply.status_code, reply.json()["status"]) == (200, "degraded")
        assert reply.json()["checks"]["events"].startswith("failed")
    finally:
        other.execute("ROLLBACK")
        other.close()

    wait_until(lambda: recorder.waiting == 0, 10, "what waited is not stored")
    assert (recorder.sent, recorder.stored) == (1 + asked, 1 + QUEUE)
    assert service.anonymous.get("/readyz").json()["status"] == "ready"
