"""A PostgreSQL server as an installation would run it, for measurements, and the CPU time that it uses.

The tests use another server, which does not write through to the disk and has little memory.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import asyncpg

from tests.support.servers import (
    PostgresServer,
    _folder,
    _postgres_programs,
    _unprivileged,
    _wait_until,
    absent,
    run_elsewhere,
)

# Everything else as PostgreSQL has it: each commit is durable, and pages are logged whole.
SETTINGS = {"shared_buffers": "2GB", "max_wal_size": "8GB", "checkpoint_timeout": "15min", "max_connections": "60"}
SCHEMA = "bench"


class DurableServer(PostgresServer):
    """A server that keeps what it commits."""

    def start(self) -> None:
        """Start the server and wait until it responds."""
        folder = str(self._folder)
        settings = {"listen_addresses": "", "unix_socket_directories": folder, **SETTINGS}
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


@contextlib.contextmanager
def durable_server(kept: Path | None = None) -> Iterator[tuple[DurableServer, str]]:
    """Start a server and yield it with the URL of a place for tables; with a folder, on what that folder holds."""
    programs = _postgres_programs()
    if programs is None:
        absent("PostgreSQL is not here")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_folder("agentgate-bench-")) if kept is None else _kept(kept)
        server = DurableServer(programs, folder)
        if not (folder / "data").exists():
            server.initialize()
        stack.callback(server.stop)
        server.start()
        run_elsewhere(_make_schema(server.url))
        yield server, f"{server.url}&search_path={SCHEMA}"


def processor_s(server: PostgresServer) -> float:
    """Return the CPU time of a server with all its processes, including ended ones."""
    process_id = server.process_id
    children = Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()
    return sum(map(_used_s, [process_id, *map(int, children)]))


def _used_s(process_id: int) -> float:
    try:
        fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _kept(folder: Path) -> Path:
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    owner = _unprivileged()
    if owner:
        os.chown(folder, owner["user"], owner["group"])
    return folder


async def _make_schema(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    finally:
        await connection.close()
