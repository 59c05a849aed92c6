"""Stopped, out of descriptors, or unable to store events: what the gateway answered holds, and no event is lost
that is not counted.
"""

import contextlib
import http.client
import resource
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import apsw
import pytest

from agentgate.lib.decision_ids import read_id
from agentgate.lib.settings.schema import read_settings
from tests.api.public.test_gateway import Gate, said
from tests.support.service import RunningService, running_service
from tests.whole.gateway_process import (
    DECIDED,
    Asked,
    Door,
    GatewayProcess,
    gateway_process,
    wait_until,
)
from tests.whole.test_gateway_faults import environ

STOPS, CLIENTS = 2, 2
QUEUE, TOO_MANY = 50, 30
GONE = (OSError, http.client.HTTPException)


def stored_events(folder: Path) -> set[int]:
    """Return the IDs of all events of a service that has ended."""
    found: set[int] = set()
    for path in (folder / "data" / "events").glob("*.db"):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            found |= {row[0] for row in connection.execute("SELECT id FROM event")}
        finally:
            connection.close()
    return found


class Questions:
    """Clients that ask until nobody answers any more, and what they were told."""

    def __init__(self, gateway: GatewayProcess) -> None:
        self._gateway = gateway
        self.told: list[Asked] = []
        self.broken: list[str] = []
        self.unanswered = 0

    def run(self, number: int) -> None:
        """Ask about page after page."""
        enforcing = self._gateway.enforcing
        door = Door(enforcing.url, enforcing.site_key, enforcing.secret)
        with contextlib.suppress(ConnectionRefusedError):
            for question in range(100_000):
                address = f"10.{number}.{question // 250}.{question % 250}"
                try:
                    self.told.append(door.ask_whole(address=address))
                except ConnectionRefusedError:
                    raise
                except (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected):
                    # Not one byte of an answer: the connection was closed before the question was looked at.
                    self.unanswered += 1
                    door.close()
                except GONE as error:
                    self.broken.append(repr(error))
                    door.close()
        door.close()


def stop_under_questions(folder: Path) -> tuple[Questions, int]:
    """Stop a service while it is asked; return what became of the questions and its exit code."""
    with gateway_process(folder, AGENTGATE_DRAIN_SECONDS="10") as gateway, ThreadPoolExecutor(CLIENTS) as clients:
        questions = Questions(gateway)
        runs = [clients.submit(questions.run, number) for number in range(CLIENTS)]
        time.sleep(0.2)
        code = gateway.process.stop()
        for run in runs:
            run.result()
    return questions, code


def check_stop(folder: Path, questions: Questions, code: int) -> None:
    """Every answer must have been whole, and every decision that was told must be there."""
    assert code == 0
    assert questions.broken == []
    # At most the one question of each client that was on its way when the door closed.
    assert questions.unanswered <= CLIENTS
    assert {asked.said for asked in questions.told} <= {DECIDED, (503, "service_unavailable")}
    told = {read_id(asked.decision_id) for asked in questions.told if asked.decision_id is not None}
    assert len(told) > 20
    assert told <= stored_events(folder)


def stop_often(folder: Path, stops: int) -> None:
    """Stop so many services while they are asked. Most of a stop is waiting for the notice to be over."""
    folders = [folder / str(number) for number in range(stops)]
    with ThreadPoolExecutor(STOPS) as running:
        results = list(running.map(stop_under_questions, folders))
    for each, (questions, code) in zip(folders, results, strict=True):
        check_stop(each, questions, code)


def test_stopped_while_it_is_asked_it_breaks_no_answer_and_loses_no_event(tmp_path: Path) -> None:
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


def test_out_of_descriptors_it_goes_on_with_the_connections_it_has_and_recovers(tmp_path: Path) -> None:
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


def test_events_past_what_can_wait_are_counted_and_decisions_go_on(service: RunningService, tmp_path: Path) -> None:
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
