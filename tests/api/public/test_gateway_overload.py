"""Overload: the gateway sheds requests that waited too long. Enforce mode never allows them."""

import socket
import threading
import time
from collections import Counter
from urllib.parse import urlsplit

import pytest

from agentgate.gateway.waiting_check import MOST_SPENDING
from tests.support.gateway import ORIGIN, Gate, said
from tests.support.service import RunningService
from tests.support.tokens import mint

# This many at once take longer than the deadline.
AT_ONCE = 900


def question(gate: Gate, number: int) -> bytes:
    headers = {
        "Host": "gate.example",
        "Authorization": f"Bearer {gate.secret}",
        "X-Original-Method": "POST",
        "X-Original-URL": f"{ORIGIN}/login",
        "X-Original-Address": f"203.0.{number // 250}.{number % 250}",
        "User-Agent": f"Mozilla/5.0 (Windows NT 10.0; number {number})",
        "Accept": "*/*",
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"GET /v1/gateway/check HTTP/1.1\r\n{lines}\r\n".encode()


async def _stand_still(asked: threading.Event) -> None:
    while not asked.is_set():
        # What blocks the loop is the point: everything that arrives meanwhile is one batch.
        time.sleep(0.005)  # noqa: ASYNC251


def ask_all_at_once(gate: Gate) -> Counter[tuple[int, str]]:
    """Queue this many requests while the service is blocked; count the responses by status and reason."""
    parts = urlsplit(gate.service.public_url)
    doors = [socket.create_connection((parts.hostname, parts.port), timeout=20) for _ in range(AT_ONCE)]
    asked = threading.Event()
    try:
        for door in doors:
            # Until it is accepted, a connection has no place in the batch.
            door.sendall(b"GET /healthz HTTP/1.1\r\nHost: gate.example\r\n\r\n")
            assert b" 200 " in door.recv(65536)
        blocking = threading.Thread(target=lambda: gate.service.run(_stand_still(asked)))
        blocking.start()
        for number, door in enumerate(doors):
            door.sendall(question(gate, number))
        asked.set()
        blocking.join()
        return Counter(_said(door.recv(65536)) for door in doors)
    finally:
        asked.set()
        for door in doors:
            door.close()


def _said(answer: bytes) -> tuple[int, str]:
    _, _, rest = answer.partition(b"x-service-reason: ")
    return int(answer[9:12]), rest.partition(b"\r\n")[0].decode()


@pytest.mark.parametrize(
    ("mode", "decided", "shed"),
    [
        ("enforce", (401, "receipt_required"), (503, "service_unavailable")),
        ("monitor", (204, "monitor"), (204, "service_unavailable")),
    ],
)
def test_anyone_who_has_waited_too_long_is_shown_so_unseen(
    service: RunningService, mode: str, decided: tuple[int, str], shed: tuple[int, str]
) -> None:
    gate = Gate(service, mode=mode)
    # A deadline of zero, so that every queued request has already waited too long.
    service.application.gateway.check.budget._deadline_s = 0.0

    answers = ask_all_at_once(gate)

    assert set(answers) == {decided, shed}
    assert service.application.gateway.check.shed == answers[shed]
    # After the flood, the shedding ends too.
    assert said(gate.check("POST", "/login"))[0] == decided[0]


@pytest.mark.parametrize(("mode", "decided"), [("enforce", (401, "receipt_required")), ("monitor", (204, "monitor"))])
def test_a_moment_of_too_many_is_handled_whole(service: RunningService, mode: str, decided: tuple[int, str]) -> None:
    gate, budget = Gate(service, mode=mode), service.application.gateway.check.budget
    # However slow the machine of this test is.
    budget._deadline_s = 60.0

    assert ask_all_at_once(gate) == {decided: AT_ONCE}
    assert (service.application.gateway.check.shed, budget.waiting) == (0, 0)


def test_tokens_that_wait_for_a_slow_store_are_bounded(service: RunningService) -> None:
    waiting = service.application.gateway.check._waiting
    # As if so many others waited already.
    waiting._spending = MOST_SPENDING
    asked = Gate(service)
    token = _token(asked)
    reply = asked.check("POST", "/login", X_AgentGate_Token=token)
    waiting._spending = 0

    assert said(reply) == (503, "block", "service_unavailable")
    assert reply.headers["retry-after"] == "5"
    assert said(asked.check("POST", "/login", X_AgentGate_Token=token)) == (204, "allow", "allowed")


def _token(gate: Gate) -> str:
    service = gate.service
    return mint(service.application.signing_keys, gate.site_key, now_ms=service.clock.now_ms())
