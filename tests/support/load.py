"""More checks than two workers can handle, the outcome of each of them, and the events they left.

`python -m tests.support.load PORT RATE SECONDS CONNECTIONS SECRET SECRET` sends checks at a constant rate,
independently of responses, for a site in enforce mode and one in monitor mode, and prints JSON. Rate 0: as fast as
responses arrive.
"""

import json
import re
import select
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import apsw
import msgspec

from tests.support.processes import AdminConnection, ServeProcess, members

ROOT = Path(__file__).parents[2]
PATIENCE_S = 2.0
AT_ONCE = 8
VISITORS = 20_000
WORKER = re.compile(r'worker="([^"]+)"')
FIGURE = re.compile(r"^agentgate_event(?:s|_write)_(\w+?)(?:_total)?(?:{[^}]*})? ([\d.e+]+)$", re.MULTILINE)
ALLOW_ALL = {"version": "1", "rules": [], "default_action": "allow"}
# Half of the checks are for public pages. The others need a token, which no check sends.
PAGES = (b"/", b"/login")
QUESTION = (
    b"GET /v1/gateway/check HTTP/1.1\r\nHost: gate.example\r\nAuthorization: Bearer %b\r\n"
    b"X-Original-Method: GET\r\nX-Original-URL: https://shop.example%b\r\nX-Original-Address: 10.%d.%d.%d\r\n"
    b"User-Agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/142.0.0.0\r\nAccept: */*\r\n\r\n"
)


class Outcome(msgspec.Struct):
    """The outcomes of the checks: by mode, page and status; and the durations of the decided ones."""

    answers: dict[str, int]
    decided: int
    decided_ms: list[float]
    # How many questions were on their way at a time.
    in_flight: float
    seconds: float

    @property
    def good_per_s(self) -> float:
        """Questions a second that were decided."""
        return self.decided / self.seconds

    @property
    def asked_per_s(self) -> float:
        """Questions a second."""
        return sum(self.answers.values()) / self.seconds

    def p_ms(self, share: float) -> float:
        """Return what this share of the decided had to wait at most, from when their question was sent."""
        return sorted(self.decided_ms)[min(len(self.decided_ms) - 1, int(len(self.decided_ms) * share))]


def ask(process: ServeProcess, secrets: list[str], *, rate: int, seconds: float, connections: int) -> Outcome:
    """Send checks for the given seconds, from a separate process."""
    port = str(urlsplit(process.public_url).port)
    command = [sys.executable, "-m", "tests.support.load", port, str(rate), str(seconds), str(connections), *secrets]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=seconds + 60)
    return msgspec.json.decode(done.stdout, type=Outcome)


def open_sites(process: ServeProcess) -> list[str]:
    """Create a site in enforce mode and one in monitor mode, with rules that allow everything; return their secrets."""
    secrets = []
    with process.admin() as admin:
        for mode in ("enforce", "monitor"):
            site: dict[str, Any] = {
                "name": mode,
                "siteKey": f"site_{mode}",
                "mode": mode,
                "actions": {"login": {"browserRequired": True}},
                "routes": [{"method": "GET", "path": "/login", "action": "login"}],
            }
            assert admin.call("POST", "/v1/admin/sites", site).status == 201
            path = f"/v1/admin/sites/site_{mode}"
            assert admin.call("PUT", f"{path}/rules", {"ruleSet": ALLOW_ALL, "revision": 0}).status == 200
            secrets.append(admin.call("POST", f"{path}/credentials", {"name": "gate"}).body["secret"])
    # Every worker has read them by then.
    time.sleep(1.2)
    return secrets


def ledgers(process: ServeProcess, workers: int) -> Counter[str]:
    """Return the ledgers of all workers in one."""
    found: dict[str, dict[str, int]] = {}
    for _ in range(200):
        with AdminConnection(process.admin_url) as connection:
            shown = connection.call("GET", "/metrics?of=worker").body.decode()
        match = WORKER.search(shown)
        assert match is not None
        found[match[1]] = {name: int(float(figure)) for name, figure in FIGURE.findall(shown)}
        if len(found) == workers:
            break
    assert len(found) == workers
    return sum((Counter(each) for each in found.values()), Counter())


def settled_ledger(process: ServeProcess, workers: int, *, within_s: float) -> Counter[str]:
    """Wait until no event is pending, and return the ledgers in one."""
    deadline_s = time.monotonic() + within_s
    while (ledger := ledgers(process, workers))["waiting"]:
        assert time.monotonic() < deadline_s, ledger
        time.sleep(0.1)
    return ledger


def stored_events(folder: Path) -> int:
    """Count the events in the files of all days."""
    count = 0
    for path in (folder / "data" / "events").glob("*.db"):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            [(rows,)] = connection.execute("SELECT count(*) FROM event")
            count += int(rows)
        finally:
            connection.close()
    return count


def resident_mb(process: ServeProcess) -> float:
    """Return how much memory the largest process of the service has in use, at most so far."""
    sizes = []
    for process_id in (process.process_id, *members(process.process_id)):
        status = Path(f"/proc/{process_id}/status").read_text()
        sizes.append(int(status.partition("VmHWM:")[2].split()[0]) / 1024)
    return max(sizes)


def check_answers(outcome: Outcome) -> None:
    """Check that enforce mode allowed no protected page without a token, and that monitor mode blocked no visitor."""
    allowed = {
        *("enforce / 204", "enforce / 503", "enforce /login 401", "enforce /login 503"),
        *("monitor / 204", "monitor /login 204"),
    }
    assert set(outcome.answers) <= allowed, outcome.answers


class _Client:
    """Sends each check on a free connection as soon as it is due.

    It needs many connections, as proxies do: if none is free, checks wait here instead of in the service.
    """

    def __init__(self, port: int, secrets: list[bytes], connections: int) -> None:
        self._secrets = list(zip(("enforce", "monitor"), secrets, strict=True))
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        for _ in range(connections):
            each = socket.create_connection(("127.0.0.1", port))
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets[each.fileno()] = each
            self._poll.register(each, select.EPOLLIN)
        self._free = deque(self._sockets)
        self._open: dict[int, tuple[float, str]] = {}
        self._answers: Counter[str] = Counter()
        self._decided_ms: list[float] = []
        self._sent = self._decided = 0
        self._open_s = 0.0

    def run(self, rate: int, seconds: float) -> Outcome:
        """Ask for so long."""
        began_s = time.perf_counter()
        interval_s, last_s = (1 / rate if rate else 0.0), began_s + seconds
        while (now_s := time.perf_counter()) < last_s or (self._open and now_s < last_s + PATIENCE_S):
            due_s = now_s if not rate else began_s + self._sent * interval_s
            for _ in range(AT_ONCE):
                if not self._free or due_s > now_s or now_s >= last_s:
                    break
                self._send(now_s)
                due_s += interval_s
            wait_s = 0.05 if not self._free else max(0.0, min(0.05, due_s - time.perf_counter()))
            arrived = self._poll.poll(wait_s)
            # All of these are here by now, however long it takes to read them.
            now_s = time.perf_counter()
            for number, _ in arrived:
                self._receive(number, now_s)
        assert not self._open, f"{len(self._open)} questions were not answered"
        return Outcome(dict(self._answers), self._decided, self._decided_ms, self._open_s / seconds, seconds)

    def _send(self, now_s: float) -> None:
        number, count = self._free.popleft(), self._sent
        self._sent += 1
        mode, secret = self._secrets[count % 8 > 5]
        page, visitor = PAGES[count % 2], count % VISITORS
        question = QUESTION % (secret, page, visitor >> 16, visitor >> 8 & 255, visitor & 255)
        self._open[number] = now_s, f"{mode} {page.decode()}"
        self._sockets[number].sendall(question)

    def _receive(self, number: int, now_s: float) -> None:
        answer = self._sockets[number].recv(65536)
        sent_s, what = self._open.pop(number)
        self._open_s += now_s - sent_s
        self._answers[f"{what} {answer[9:12].decode()}"] += 1
        if b"x-service-decision-id" in answer:
            self._decided += 1
            self._decided_ms.append(round((now_s - sent_s) * 1000, 3))
        self._free.append(number)


def main(port: str, rate: str, seconds: str, connections: str, *secrets: str) -> None:
    """Send the checks, and print the outcome."""
    client = _Client(int(port), [secret.encode() for secret in secrets], int(connections))
    sys.stdout.write(json.dumps(msgspec.to_builtins(client.run(int(rate), float(seconds)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
