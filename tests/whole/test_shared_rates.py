"""Several workers without Redis count together: rates, limits, and what happens when the owner of the counts dies."""

import contextlib
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.one_visitor import CONNECTIONS, LIMITED, OneVisitor, passed
from tests.support.processes import AdminConnection, ServeProcess, serving
from tests.whole.two_workers import MOST_CONNECTIONS, one_connection_each

LOGIN, SESSION = "/v1/account/login", "/v1/account/session"
ANSWERED = re.compile(r'agentgate_http_requests_total{[^}]*route="/v1/account/session"[^}]*} ([\d.]+)')
OWNER_STARTED = "owner of the shared cache started"
# Plus or minus 5%.
LIMIT = 1_200
LEAST, MOST = 1_140, 1_260


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeProcess]:
    with serving(tmp_path_factory.mktemp("shared"), AGENTGATE_WORKERS="2", AGENTGATE_DRAIN_SECONDS="0") as service:
        yield service


@pytest.mark.parametrize(
    "shares", [[100] * 16, [1_600], [700, 700, 100, 50, 25, 25]], ids=["spread", "one connection", "uneven"]
)
def test_one_visitor_is_allowed_its_limit_anyone_who_serves(process: ServeProcess, shares: list[int]) -> None:
    visitor = OneVisitor(process, f"shop_{len(shares)}")

    began_s = time.monotonic()
    reasons = visitor.burst(shares)
    took_s = time.monotonic() - began_s

    # Checks that leave the sliding minute during the burst make room for more.
    assert LEAST <= passed(reasons) <= MOST + LIMIT * took_s / 60, (reasons, took_s)
    assert passed(reasons) + reasons[LIMITED] == sum(shares)


@contextlib.contextmanager
def one_public_connection_each(process: ServeProcess) -> Iterator[list[AdminConnection]]:
    """Connect to the public listener until both workers have a connection: the one that counts its request has it."""

    def answered(operator: AdminConnection) -> float:
        return sum(map(float, ANSWERED.findall(operator.call("GET", "/metrics?of=worker").body.decode())))

    with contextlib.ExitStack() as stack, one_connection_each(process) as operators:
        found: dict[int, AdminConnection] = {}
        for _ in range(MOST_CONNECTIONS):
            connection = stack.enter_context(AdminConnection(process.public_url, {}))
            before = [answered(operator) for operator in operators]
            connection.call("GET", SESSION)
            for each in found.values():
                # An idle connection is closed after five seconds.
                each.call("GET", "/healthz")
            after = [answered(operator) for operator in operators]
            found.setdefault(0 if after[0] > before[0] else 1, connection)
            if len(found) == 2:
                break
        yield [found[0], found[1]]


def guess_at(workers: list[AdminConnection], order: tuple[int, ...], email: str, source: str) -> list[int]:
    """Guess a password once at each worker of the order; return the statuses."""
    statuses = []
    for worker in order:
        statuses.append(guess(workers[worker], email, source))
        for each in workers:
            # An idle connection is closed after five seconds, and on a busy machine a few guesses take as long.
            each.call("GET", "/healthz")
    return statuses


def guess(connection: AdminConnection, email: str, source: str) -> int:
    wrong = {"email": email, "password": "not the password"}
    return connection.call("POST", LOGIN, wrong, **{"X-Forwarded-For": source}).status


@pytest.mark.parametrize("order", [(0, 1, 0, 1, 0, 1, 0), (0, 0, 0, 0, 1, 1, 0), (1, 1, 1, 1, 1, 0, 1)])
def test_an_email_is_rejected_after_five_failures_anyone_who_serves(
    process: ServeProcess, order: tuple[int, ...]
) -> None:
    email = f"victim{''.join(map(str, order))}@shop.example"
    with one_public_connection_each(process) as workers:
        source = f"203.0.113.{int(''.join(map(str, order)), 2)}"
        statuses = guess_at(workers, order, email, source)

    assert statuses == [401] * 5 + [429] * 2


def test_nothing_opens_when_the_owner_is_killed_and_it_comes_back(tmp_path: Path) -> None:
    with serving(tmp_path, AGENTGATE_WORKERS="2", AGENTGATE_DRAIN_SECONDS="0") as process:
        [started] = process.wait_for_events(OWNER_STARTED, 1)
        visitor, other = OneVisitor(process, "shop_used"), OneVisitor(process, "shop_load")
        with one_public_connection_each(process) as workers:
            assert guess_at(workers, (0, 1, 0, 1, 0), "victim@shop.example", "203.0.113.9") == [401] * 5
        # So much that the sliding minute stays over the limit until the end, 40 seconds later at least. Last, because
        # guesses take many seconds on a busy machine.
        assert visitor.burst([60] * CONNECTIONS)[LIMITED] > 0
        # A worker learns of the others' requests when it receives requests itself.
        wait_until(lambda: visitor.burst([1] * CONNECTIONS) == {LIMITED: CONNECTIONS})
        answers = []
        load = threading.Thread(target=lambda: answers.append(other.burst([60] * CONNECTIONS)))
        load.start()

        os.kill(started["pid"], signal.SIGKILL)
        away = visitor.burst([4] * CONNECTIONS)
        process.wait_for_events(OWNER_STARTED, 2)
        load.join()
        wait_until_ready(process)
        back = visitor.burst([4] * CONNECTIONS)
        with one_public_connection_each(process) as workers:
            guesses = guess_at(workers, (0, 1), "victim@shop.example", "203.0.113.9")

        # The visitor over its limit is blocked all the time. The other visitor's checks during that time were all
        # decided.
        assert away == back == {LIMITED: 4 * CONNECTIONS}
        assert passed(answers[0]) + answers[0][LIMITED] == 60 * CONNECTIONS
        assert guesses == [429, 429]
        assert process.stop() == 0


def wait_until_ready(process: ServeProcess) -> None:
    """Wait until both workers have a response of the owner again, and have sent it their counts."""
    with one_connection_each(process) as operators:
        wait_until(lambda: all(each.call("GET", "/readyz").body["status"] == "ready" for each in operators))


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
