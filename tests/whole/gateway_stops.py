"""Stopping a service repeatedly while its gateway receives checks."""

import contextlib
import http.client
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw

from agentgate.events.decision_ids import read_id
from tests.whole.gateway_process import (
    DECIDED,
    Asked,
    Door,
    GatewayProcess,
    gateway_process,
)

STOPS, CLIENTS = 2, 2

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
    """Clients that send checks until the service no longer responds, and the responses they received."""

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
                    # Not one byte of a response: the connection was closed before the check was read.
                    self.unanswered += 1
                    door.close()
                except GONE as error:
                    self.broken.append(repr(error))
                    door.close()
        door.close()


def stop_under_questions(folder: Path) -> tuple[Questions, int]:
    """Stop a service while it receives checks; return the outcomes of the checks and its exit code."""
    with gateway_process(folder, AGENTGATE_DRAIN_SECONDS="10") as gateway, ThreadPoolExecutor(CLIENTS) as clients:
        questions = Questions(gateway)
        runs = [clients.submit(questions.run, number) for number in range(CLIENTS)]
        time.sleep(0.2)
        code = gateway.process.stop()
        for run in runs:
            run.result()
    return questions, code


def check_stop(folder: Path, questions: Questions, code: int) -> None:
    """Check that every response was whole, and that every reported decision was stored."""
    assert code == 0
    assert questions.broken == []
    # At most the one question of each client that was on its way when the door closed.
    assert questions.unanswered <= CLIENTS
    assert {asked.said for asked in questions.told} <= {DECIDED, (503, "service_unavailable")}
    told = {read_id(asked.decision_id) for asked in questions.told if asked.decision_id is not None}
    assert len(told) > 20
    assert told <= stored_events(folder)


def stop_often(folder: Path, stops: int) -> None:
    """Stop `stops` services while they receive checks. Most of a stop is waiting for the notice to end."""
    folders = [folder / str(number) for number in range(stops)]
    with ThreadPoolExecutor(STOPS) as running:
        results = list(running.map(stop_under_questions, folders))
    for each, (questions, code) in zip(folders, results, strict=True):
        check_stop(each, questions, code)
