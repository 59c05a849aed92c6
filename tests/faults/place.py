"""The installation that faults strike: embedded with two workers, or two nodes on PostgreSQL and Redis.

The third kind is two nodes that have their events in ClickHouse.
Every connection goes over a Link, so that clients keep their addresses when a node is started again.
"""

import contextlib
import http.client
import json
import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from agentgate.browser_check.tokens.receipts import SigningKeys
from tests.faults.checkers import EventCounts
from tests.faults.links import Link, any_request, commits
from tests.faults.plan import Plan
from tests.support.clickhouse_server import ClickhouseServer, clickhouse_server
from tests.support.ports import free_port
from tests.support.processes import AdminConnection, ServeProcess, members
from tests.support.servers import PostgresServer, RedisServer, postgres_server, redis_server, run_elsewhere
from tests.support.tokens import keys_of_process
from tests.whole.gateway_process import FIGURE, wait_until

GONE = (OSError, http.client.HTTPException)
ROOT = Path(__file__).parents[2]
ROOT_SECRET = "5a" * 32
EMBEDDED, SERVERS, CLICKHOUSE = "embedded", "servers", "clickhouse"
WELL_S = 30.0
START_AGAIN_S = 60.0
# Python's clock, with an offset from a file: a running process sees a jump at once.
CLOCK = """
import mmap, os, struct, time
_file = os.open(os.environ["TEST_CLOCK_FILE"], os.O_RDONLY)
_offset = mmap.mmap(_file, 8, prot=mmap.PROT_READ)
_time_ns = time.time_ns
time.time_ns = lambda: _time_ns() + struct.unpack("q", _offset[:8])[0]
time.time = lambda: time.time_ns() / 1_000_000_000
"""


class Node:
    """One machine: a service, its data directory, and its addresses."""

    def __init__(self, folder: Path, settings: dict[str, str], links: tuple[Link, Link]) -> None:
        self.folder, self.settings = folder, settings
        self.public, self.admin_link = links
        self.process: ServeProcess | None = None

    @property
    def public_url(self) -> str:
        return f"http://127.0.0.1:{self.public.port}"

    @property
    def admin_url(self) -> str:
        return f"http://127.0.0.1:{self.admin_link.port}"

    def start(self) -> None:
        """Start the service; again while a store is still away."""
        self.folder.mkdir(parents=True, exist_ok=True)
        deadline_s = time.monotonic() + START_AGAIN_S
        while True:
            process = ServeProcess(self.folder, **self.settings)
            try:
                process.wait_until_ready()
            except AssertionError:
                process.end()
                if time.monotonic() > deadline_s:
                    raise
                continue
            break
        self.process = process
        for link, url in ((self.public, process.public_url), (self.admin_link, process.admin_url)):
            link.target = ("127.0.0.1", int(url.rpartition(":")[2]))

    def running(self) -> ServeProcess:
        assert self.process is not None
        return self.process

    def workers(self) -> list[int]:
        """Return the process IDs of what the supervisor started, without the fork server and what it keeps."""
        started = self.running().events("worker started")
        living = set(members(self.running().process_id))
        return [line["pid"] for line in started if line["pid"] in living] or [self.running().process_id]

    def restart(self, *, stop: signal.Signals = signal.SIGKILL) -> None:
        """End the service and start it again."""
        self.end(stop)
        self.start()

    def end(self, stop: signal.Signals = signal.SIGTERM) -> None:
        """Stop the service, or kill it with everything it started."""
        process = self.running()
        if stop is signal.SIGKILL:
            process.kill()
        else:
            assert process.stop() == 0, process.log_text()[-3000:]
        process.end()

    def admin(self) -> AdminConnection:
        return AdminConnection(self.admin_url)


class Place:
    """All machines of an installation, and what a fault needs to reach them."""

    def __init__(self, kind: str, folder: Path, plan: Plan) -> None:
        self.kind, self.folder, self.plan = kind, folder, plan
        self.nodes: list[Node] = []
        self.postgres: PostgresServer | None = None
        self.redis: RedisServer | None = None
        self.clickhouse: ClickhouseServer | None = None
        self.database = Link(commits, plan.draw("database link"))
        self.cache = Link(any_request, plan.draw("cache link"))
        self.kills_ms: list[int] = []
        # Set by a fault that puts an older state back: what was acknowledged since is gone by intent.
        self.is_put_back = False
        self.ends = contextlib.ExitStack()
        self._clock_file = folder / "clock.offset"
        self._clock_file.write_bytes(bytes(8))

    @property
    def settings(self) -> dict[str, str]:
        return self.nodes[0].settings

    def jump(self, seconds: float) -> None:
        """Set the clock of all machines so far ahead of the real one."""
        with self._clock_file.open("r+b") as file, mmap.mmap(file.fileno(), 8) as offset:
            offset[:8] = round(seconds * 1e9).to_bytes(8, "little", signed=True)

    def clock_settings(self) -> dict[str, str]:
        """Return the settings of a process whose clock jumps."""
        customize = self.folder / "customize"
        customize.mkdir(exist_ok=True)
        (customize / "sitecustomize.py").write_text(CLOCK)
        path = os.pathsep.join([str(customize), os.environ.get("PYTHONPATH", "")])
        return {"PYTHONPATH": path, "TEST_CLOCK_FILE": str(self._clock_file)}

    def enter_postgres(self) -> PostgresServer:
        """Start a PostgreSQL server that ends with the installation."""
        return self.ends.enter_context(postgres_server())

    def note_kill(self) -> None:
        self.kills_ms.append(time.time_ns() // 1_000_000)

    def keys(self) -> SigningKeys:
        return keys_of_process(self.nodes[0].folder, **self.settings)

    def wait_until_well(self) -> None:
        """Wait until every node can decide and no event is queued."""
        for node in self.nodes:
            wait_until(lambda node=node: _is_well(node), WELL_S, "a node is not ready after the fault")
        wait_until(lambda: not any(each.waiting for each in self.counts().values()), WELL_S, "events wait")
        wait_until(lambda: not any(self._spooled(node) for node in self.nodes), WELL_S, "events lie in a spool")

    def counts(self) -> dict[str, EventCounts]:
        """Return what the recorders of each node say."""
        found = {}
        for number, node in enumerate(self.nodes):
            figures = _figures(node)
            found[f"node {number}"] = EventCounts(**{name: figures[name] for name in EventCounts.__annotations__})
        return found

    def _spooled(self, node: Node) -> int:
        return _figures(node).get("spooled", 0)

    def rows(self, sql: str, *, of: str = "config") -> list[tuple[Any, ...]]:
        """Read from the running store; with SQLite, from the file of this name or from every day of events."""
        if of == "events" and self.clickhouse is not None:
            database = self.settings["AGENTGATE_EVENTS_URL"].rpartition("/")[2]
            answer = self.clickhouse.ask(f"{sql} FORMAT JSONCompactEachRow", database)
            return [tuple(map(int, json.loads(line))) for line in answer.splitlines()]
        if "AGENTGATE_DATABASE_URL" in self.settings:
            return run_elsewhere(self._rows_of_postgres(sql))
        paths = sorted((self.data / "events").glob("*.db")) if of == "events" else [self.data / f"{of}.db"]
        return [row for path in paths for row in _rows_of_file(path, sql)]

    @property
    def data(self) -> Path:
        return Path(self.settings.get("AGENTGATE_DATA_DIR", self.nodes[0].folder / "data"))

    async def _rows_of_postgres(self, sql: str) -> list[tuple[Any, ...]]:
        assert self.postgres is not None
        connection = await asyncpg.connect(self.postgres.url)
        try:
            return [tuple(row) for row in await connection.fetch(sql)]
        finally:
            await connection.close()

    def damage(self) -> list[str]:
        """Return what is wrong with the embedded files."""
        found = []
        for path in sorted(self.data.rglob("*.db")):
            found += [f"{path.name}: {row[0]}" for row in _rows_of_file(path, "PRAGMA integrity_check")]
        return [line for line in found if not line.endswith(": ok")]


def _figures(node: Node) -> dict[str, int]:
    with node.admin() as admin:
        text = admin.call("GET", "/metrics").body.decode()
    return {name: int(float(value)) for name, value in FIGURE.findall(text)}


def _is_well(node: Node) -> bool:
    try:
        with node.admin() as admin:
            return admin.call("GET", "/readyz").status == 200
    except GONE:
        return False


def _rows_of_file(path: Path, sql: str) -> list[tuple[Any, ...]]:
    # Read-only: the inspected file must remain as the fault left it.
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(5_000)
        return [tuple(row) for row in connection.execute(sql)]
    finally:
        connection.close()


@contextlib.contextmanager
def installation(kind: str, folder: Path, plan: Plan) -> Iterator[Place]:
    """Run an installation for as long as the block does."""
    place = Place(kind, folder, plan)
    with place.ends as ends:
        settings = {
            "AGENTGATE_DRAIN_SECONDS": "0",
            "AGENTGATE_ROOT_SECRET": ROOT_SECRET,
            # No token expires because of a slow machine.
            "AGENTGATE_TOKEN_SECONDS": "3600",
            **place.clock_settings(),
        }
        if kind == EMBEDDED:
            disk = ends.enter_context(small_disk(folder / "disk")) if "disk full" in plan.faults else None
            settings |= {"AGENTGATE_WORKERS": "2"} | ({} if disk is None else {"AGENTGATE_DATA_DIR": str(disk)})
        else:
            place.postgres = place.enter_postgres()
            place.redis = ends.enter_context(redis_server())
            ends.enter_context(place.database)
            ends.enter_context(place.cache)
            place.database.target = str(place.postgres.socket)
            place.cache.target = ("127.0.0.1", int(place.redis.url.rpartition(":")[2].partition("/")[0]))
            settings |= {
                "AGENTGATE_DATABASE_URL": f"postgresql://postgres@127.0.0.1:{place.database.port}/postgres",
                "AGENTGATE_REDIS_URL": f"redis://127.0.0.1:{place.cache.port}/0",
            }
        if kind == CLICKHOUSE:
            place.clickhouse = ends.enter_context(clickhouse_server(free_port()))
            settings["AGENTGATE_EVENTS_URL"] = place.clickhouse.new_database()
        if "upgrade" in plan.faults:
            settings |= release_before(folder / "before", settings["PYTHONPATH"]) | {"AGENTGATE_DRAIN_SECONDS": "10"}
        for number in range(1 if kind == EMBEDDED else 2):
            links = tuple(Link(any_request, plan.draw("link", number, each)) for each in ("public", "admin"))
            for link in links:
                ends.enter_context(link)
            place.nodes.append(Node(folder / f"node-{number}", dict(settings), (links[0], links[1])))
            place.nodes[-1].start()
            ends.callback(lambda node=place.nodes[-1]: node.running().end())
        yield place


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int = 32) -> Iterator[Path]:
    """Mount a separate file system, which can be filled; skip the test where none can be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small file system needs the superuser")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def release_before(folder: Path, python_path: str) -> dict[str, str]:
    """Return the settings with which the release before runs: the last tag, or what came before the last migration.

    Skip the test where there is no history.
    """
    tag = _git("describe", "--tags", "--abbrev=0").strip()
    added = _git("log", "-1", "--format=%H", "--diff-filter=A", "--", "src/agentgate/storage/migrations").strip()
    commit = tag or (f"{added}^" if added else "")
    if not commit or not _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        pytest.skip("the release before is not in this checkout's history")
    folder.mkdir()
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit, "src"], check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    # An installed release has its bytecode.
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder / "src")], check=True)
    return {"PYTHONPATH": os.pathsep.join([str(folder / "src"), python_path])}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=False, capture_output=True, text=True).stdout
