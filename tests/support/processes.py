"""A real `agentgate serve` as a separate program: started in a folder, waited for, ended by its process ID.

Its log is a file next to its data. This module also has a small client of the admin API, quick enough to be the load.
"""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

ADMIN_KEY = "agk_test_operator_credential_of_the_suite"
START_S = 30.0
STOP_S = 30.0
ANSWER_S = 20.0
POLL_S = 0.003


class Answer(NamedTuple):
    """The status of a response, its headers, and its body as decoded JSON."""

    status: int
    headers: http.client.HTTPMessage
    body: Any


class AdminConnection:
    """One keep-alive connection that sends JSON, with the operator's credential unless other headers are given."""

    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=ANSWER_S)
        self._headers = {"X-Admin-Key": ADMIN_KEY} if headers is None else headers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def connect(self) -> None:
        """Connect now, if a failure to connect must be distinguished from a failure of the first request."""
        self._connection.connect()

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request and read its response to the end."""
        payload = None if body is None else json.dumps(body).encode()
        typed = {} if payload is None else {"Content-Type": "application/json"}
        self._connection.request(method, path, payload, {**self._headers, **typed, **headers})
        reply = self._connection.getresponse()
        content = reply.read()
        is_json = reply.headers.get_content_type() == "application/json"
        return Answer(reply.status, reply.headers, json.loads(content) if is_json else content)


class ServeProcess:
    """`agentgate serve` with a separate data directory and any free ports; `settings` are environment variables."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "serve.log"
        self.public_url = ""
        self.admin_url = ""
        self.ready_s = 0.0
        # A restart on the same folder must not read the line in which its predecessor said where it serves.
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        self._started_s = time.monotonic()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "agentgate", "serve"],
                cwd=folder,
                env=environment(folder, settings),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # A separate process group: its child processes can be found even after it was killed.
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.end()
        if error is not None:
            error.add_note(f"the log of the process:\n{self.log_text()[-4000:]}")

    @property
    def process_id(self) -> int:
        """The process ID; with several workers, the supervisor's."""
        return self._process.pid

    def wait_until_ready(self, *, within_s: float = START_S, poll_s: float = POLL_S) -> Self:
        """Wait until `/readyz` returns 200, and store how long that took from the start of the process."""
        deadline_s = self._started_s + within_s
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                raise AssertionError(f"did not start, exit code {self._process.poll()}:\n{self.log_text()[-4000:]}")
            time.sleep(poll_s)
        self.ready_s = time.monotonic() - self._started_s
        return self

    def admin(self) -> AdminConnection:
        """Return a new connection to the admin listener."""
        return AdminConnection(self.admin_url)

    def readiness(self) -> int:
        """Return the status of the admin listener's `/readyz`."""
        with AdminConnection(self.admin_url) as connection:
            return connection.call("GET", "/readyz").status

    def log_text(self) -> str:
        """Return what this process has logged so far."""
        return self.log.read_bytes()[self._log_start :].decode(errors="replace")

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return the log lines of this event."""
        lines = (line for line in self.log_text().splitlines(keepends=True) if line.endswith("}\n"))
        return [event for event in map(json.loads, lines) if event.get("event") == name]

    def wait_for_events(self, name: str, count: int) -> list[dict[str, Any]]:
        """Wait until this event was logged `count` times."""
        deadline_s = time.monotonic() + START_S
        while len(events := self.events(name)) < count:
            assert time.monotonic() < deadline_s, f"{name!r} was logged {len(events)} times, not {count}"
            time.sleep(POLL_S)
        return events

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        self._process.send_signal(number)

    def wait(self, timeout_s: float = STOP_S) -> int:
        """Wait for the end of the process and return its exit code."""
        return self._process.wait(timeout_s)

    def stop(self) -> int:
        """Ask it to stop, and return its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """End it as a crash would, with everything it started."""
        for process_id in (self.process_id, *members(self.process_id)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        self.wait()

    def end(self) -> None:
        """Leave nothing behind, whatever state it is in."""
        if self._process.poll() is None:
            self.kill()
        for process_id in members(self.process_id):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)

    def _is_ready(self) -> bool:
        if not self.admin_url:
            serving = self.events("serving")
            if not serving:
                return False
            self.public_url, self.admin_url = serving[0]["public_url"], serving[0]["admin_url"]
        try:
            return self.readiness() == 200
        except (OSError, http.client.HTTPException):
            return False


def environment(folder: Path, settings: dict[str, str]) -> dict[str, str]:
    """Return the environment of a process: nothing of the caller's own settings, then these."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("AGENTGATE_")}
    # An installed program has its bytecode; compiling all of it again would be most of the start time.
    for name in ("PUBLIC_BASE_URL", "PYTHONDONTWRITEBYTECODE"):
        kept.pop(name, None)
    return {
        **kept,
        "NO_COLOR": "1",
        "AGENTGATE_DATA_DIR": str(folder / "data"),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        # Do not query external servers about the addresses that tests invent.
        "AGENTGATE_CONFIRM_CRAWLERS": "off",
        **settings,
    }


@contextlib.contextmanager
def serving(folder: Path, **settings: str) -> Iterator[ServeProcess]:
    """Run the program for as long as the block does; it is ready when the block begins."""
    folder.mkdir(parents=True, exist_ok=True)
    with ServeProcess(folder, **settings) as process:
        yield process.wait_until_ready()


def members(group_id: int) -> list[int]:
    """Return the processes of a group that live and are not the one it is named after."""
    return [
        process_id
        for process_id, (state, group) in _processes()
        if group == group_id and process_id != group_id and state != "Z"
    ]


def _processes() -> Iterator[tuple[int, tuple[str, int]]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            # It may have ended since the listing.
            with contextlib.suppress(OSError):
                # The program's name is in parentheses and may contain anything: parse after the last one.
                state, _, group, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
                yield int(folder.name), (state, int(group))
