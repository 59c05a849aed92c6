"""A ClickHouse for tests: the newest engine in a separate process, which can be killed, frozen and restarted."""

import contextlib
import http.client
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.servers import absent

ROOT = Path(__file__).parents[1].parent
# `scripts/servers` installs chdb here.
PACKAGES = ROOT / ".servers" / "clickhouse"
ENGINE = Path(__file__).with_name("clickhouse_engine.py")
USER, PASSWORD = "gate", "p@ss/word"
START_S = 30.0


class ClickhouseServer:
    """One engine. A killed one loses nothing that it has acknowledged."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self.port = port
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None

    def cpu_s(self) -> float:
        """Return the CPU time that it has used."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def start(self) -> None:
        """Start it and wait until it responds."""
        environ = {**os.environ, "PYTHONPATH": str(PACKAGES)}
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, ENGINE, self._folder / "data", str(self.port)], stdout=log, stderr=log, env=environ
            )
        deadline_s = time.monotonic() + START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                pytest.fail(f"ClickHouse did not start:\n{(self._folder / 'log').read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Have it killed for as long as the block runs."""
        self.kill()
        try:
            yield
        finally:
            self.start()

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Let it hang for as long as the block runs: it accepts connections and does not respond."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def new_database(self) -> str:
        """Make a database, empty unless the folder had it, and return its address."""
        name = f"test_{next(self._numbers)}"
        self.ask(f"CREATE DATABASE IF NOT EXISTS {name}")
        return f"clickhouse://{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{self.port}/{name}"

    def ask(self, statement: str, database: str = "default") -> bytes:
        """Run a statement as the test itself."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"X-ClickHouse-User": USER, "X-ClickHouse-Key": PASSWORD}
        connection.request("POST", f"/?database={database}", statement.encode(), headers)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        assert response.status == 200, answer
        return answer

    def _answers(self) -> bool:
        try:
            return self.ask("SELECT 1") == b"1\n"
        except OSError:
            return False


@contextlib.contextmanager
def clickhouse_server(port: int, kept: Path | None = None) -> Iterator[ClickhouseServer]:
    """Run a ClickHouse, in a folder that is kept or in one that is not; skip the test where there is none."""
    if not (PACKAGES / "chdb").is_dir():
        absent("there is no chdb; scripts/servers gets it")
    with contextlib.ExitStack() as stack:
        folder = kept or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="clickhouse-")))
        server = ClickhouseServer(folder, port)
        server.start()
        try:
            yield server
        finally:
            server.kill()
