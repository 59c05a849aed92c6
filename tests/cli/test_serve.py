"""`agentgate serve`, with one process and with several: ready, serving, replaced, drained."""

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from queue import Empty, Queue

import httpx
import pytest
import structlog

from tests.cli.commands import agentgate, command, environment

PATIENCE_S = 30


class Serving:
    """A running `agentgate serve`, its log lines and its addresses."""

    def __init__(self, folder: Path, *arguments: str, **settings: str) -> None:
        self.process = subprocess.Popen(
            command("serve", *arguments),
            cwd=folder,
            env=environment(folder, **{"AGENTGATE_DRAIN_SECONDS": "0", **settings}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self._new: Queue[str] = Queue()
        # Read all the time, so that a full pipe never holds up the service.
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stderr:
            self.lines.append(line)
            self._new.put(line)

    def event(self, name: str) -> dict[str, object]:
        """Wait for a log line with this event."""
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            with contextlib.suppress(Empty):
                event = json.loads(self._new.get(timeout=0.1))
                if event["event"] == name:
                    return event
            assert self.process.poll() is None or not self._new.empty(), "".join(self.lines)
        pytest.fail("".join(self.lines))

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def end(self) -> None:
        # The supervisor ends its workers; one that is killed leaves that to them.
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(15)
        self.process.kill()
        self.process.wait()
        self._reader.join(15)
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture(autouse=True)
def restored_logging():
    """`serve` sets how its process logs; a command that fails early has done so in this one."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers = handlers
    root.setLevel(level)
    logging.getLogger("uvicorn.access").disabled = False
    structlog.reset_defaults()


@pytest.fixture
def serving(tmp_path):
    started = []

    def start(*arguments: str, **settings: str) -> Serving:
        started.append(Serving(tmp_path, *arguments, **settings))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_it_shows_where_it_serves_and_is_ready_there(serving, workers):
    event = serving(AGENTGATE_WORKERS=workers).event("serving")

    assert httpx.get(f"{event['public_url']}/healthz").status_code == 200
    assert httpx.get(f"{event['admin_url']}/readyz").status_code == 200


@pytest.mark.parametrize(("workers", "number"), [("1", signal.SIGTERM), ("2", signal.SIGINT)])
def test_told_to_stop_it_drains_and_exits_with_zero(serving, workers, number):
    running = serving(AGENTGATE_WORKERS=workers)
    event = running.event("serving")

    assert running.stop(number) == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{event['public_url']}/healthz")


def test_a_request_that_is_open_when_it_is_instructed_to_stop_is_finished(serving):
    running = serving(AGENTGATE_DRAIN_SECONDS="5")
    host, port = str(running.event("serving")["public_url"]).removeprefix("http://").split(":")

    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        # Long enough for the bytes to be read: a connection that has sent nothing yet may be closed.
        time.sleep(0.2)
        running.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        connection.sendall(b"Connection: close\r\n\r\n")

        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")


def test_a_killed_worker_is_replaced_while_the_other_serves(serving):
    running = serving(AGENTGATE_WORKERS="2")
    victim = running.event("worker started")["pid"]
    event = running.event("serving")

    os.kill(victim, signal.SIGKILL)
    running.event("worker died")

    assert httpx.get(f"{event['public_url']}/healthz", timeout=10).status_code == 200
    assert running.event("worker started")["pid"] != victim


def test_the_first_start_makes_an_admin_key_that_only_its_owner_can_read(serving, tmp_path):
    event = serving().event("serving")

    key = tmp_path / "data" / "admin.key"
    assert key.stat().st_mode & 0o777 == 0o600
    answer = httpx.get(f"{event['admin_url']}/v1/admin/sites", headers={"X-Admin-Key": key.read_text().strip()})
    assert answer.status_code == 200


def test_no_secret_is_in_the_log(serving, tmp_path):
    running = serving(AGENTGATE_ADMIN_KEY="CANARY-correct-horse-battery", AGENTGATE_LOG_LEVEL="debug")
    event = running.event("serving")
    httpx.get(f"{event['admin_url']}/v1/admin/sites", headers={"X-Admin-Key": "CANARY-correct-horse-battery"})
    httpx.get(f"{event['public_url']}/v1/account/invite/CANARY-link")

    running.stop()

    assert "CANARY" not in "".join(running.lines)
    assert (tmp_path / "data" / "root.secret").read_text().strip() not in "".join(running.lines)


def test_a_redis_that_is_unavailable_and_a_public_admin_listener_are_warned_of(serving):
    running = serving(AGENTGATE_REDIS_URL="redis://127.0.0.1:9/0", AGENTGATE_ADMIN_LISTEN="0.0.0.0:0")
    away = running.event(
        "Redis is unavailable: until it responds, each worker counts rates separately; check REDIS_URL"
    )
    running.event("serving")
    # The last word of the start.
    while not any("the admin listener is public" in line for line in running.lines):
        assert running.process.poll() is None
        time.sleep(0.05)

    assert "127.0.0.1:9" in str(away["reason"])


def test_a_private_admin_listener_is_not_warned_of(serving):
    running = serving()
    running.event("serving")
    running.event("PUBLIC_BASE_URL is not set: links in email point to this machine")
    assert running.stop() == 0

    assert not [line for line in running.lines if "admin listener" in line or "Redis" in line]


def test_the_demo_prints_a_call_that_works(serving):
    running = serving("--demo")
    running.event("serving")

    running.process.stdout.readline()
    call = running.process.stdout.readline()
    answer = subprocess.run(["sh", "-c", call], capture_output=True, text=True, timeout=PATIENCE_S, check=True)

    assert json.loads(answer.stdout)["siteKey"] == "site_demo_shop"


def test_a_port_in_use_is_shown_in_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = agentgate(tmp_path, "serve", AGENTGATE_PUBLIC_LISTEN=f"127.0.0.1:{taken.getsockname()[1]}")

    assert result.returncode == 2
    assert "Address already in use; set AGENTGATE_PUBLIC_LISTEN" in result.stderr
    assert "Traceback" not in result.stderr


NEW_ACCOUNT = "create your account with the link in this file"


def test_each_start_writes_the_first_owners_link_to_a_private_file_until_it_was_used(serving) -> None:
    first = serving(AGENTGATE_WORKERS="2")
    file = Path(str(first.event(NEW_ACCOUNT)["file"]))
    mode, old = file.stat().st_mode & 0o777, file.read_text().strip()
    first.stop()
    file.chmod(0o644)
    second = serving()
    public = str(second.event("serving")["public_url"])
    second.event(NEW_ACCOUNT)
    mode_again, new = file.stat().st_mode & 0o777, file.read_text().strip()
    given = {"token": new.partition("#")[2], "email": "owner@shop.example", "password": "correct horse battery"}
    made = httpx.post(f"{public}/v1/account/setup", json=given)
    second.stop()
    third = serving()
    public = str(third.event("serving")["public_url"])
    late = httpx.post(f"{public}/v1/account/setup", json=given | {"token": old.partition("#")[2]})
    third.stop()

    assert old != new
    assert (mode, mode_again) == (0o600, 0o600)
    assert made.status_code == 200, made.text
    assert late.status_code == 404
    assert "create your account" not in "".join(third.lines)
    assert not file.exists()


def test_the_log_never_has_the_first_owners_link(serving) -> None:
    running = serving(AGENTGATE_LOG_LEVEL="debug")
    secret = Path(str(running.event(NEW_ACCOUNT)["file"])).read_text().strip().partition("#")[2]
    running.stop()

    assert secret
    assert secret not in "".join(running.lines)


def test_without_a_place_for_the_link_the_log_names_the_command(serving, tmp_path) -> None:
    (tmp_path / "data" / "setup-link.replacing").mkdir(parents=True)
    running = serving()

    running.event("run `agentgate setup-link` to create your account")
