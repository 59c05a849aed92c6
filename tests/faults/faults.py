"""What goes wrong: each fault strikes an installation for a while and leaves it whole again."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from typing import NamedTuple

from tests.cli.commands import command
from tests.faults.links import Link, Mode
from tests.faults.place import CLICKHOUSE, EMBEDDED, SERVERS, Node, Place
from tests.faults.plan import Strike
from tests.support.processes import environment, members
from tests.whole.gateway_process import wait_until

SLOW_S = 0.15
JUMP_S = 240
COMMAND_S = 120


class Fault(NamedTuple):
    """How a fault strikes, and which installations it can strike."""

    strike: Callable[[Place, Strike], None]
    kinds: tuple[str, ...]


def kill_worker(place: Place, strike: Strike) -> None:
    """`kill -9` of one worker; the supervisor replaces it. A node of one process is started again."""
    node = _any_node(place, strike)
    workers = node.workers()
    if place.kind != EMBEDDED:
        node.end(signal.SIGKILL)
        place.note_kill()
        node.start()
        return
    replaced = len(node.running().events("worker started"))
    os.kill(workers[round(strike.lasts_s * 1000) % len(workers)], signal.SIGKILL)
    place.note_kill()
    node.running().wait_for_events("worker started", replaced + 1)
    time.sleep(strike.lasts_s)


def kill_supervisor(place: Place, strike: Strike) -> None:
    """`kill -9` of the supervisor alone: its workers notice, drain and end, and the service is started again."""
    node = _any_node(place, strike)
    process = node.running()
    process.signal(signal.SIGKILL)
    process.wait()
    place.note_kill()
    wait_until(lambda: not _served(node), 15.0, "workers outlive their supervisor")
    place.note_kill()
    process.end()
    node.start()


def _served(node: Node) -> list[int]:
    started = {line["pid"] for line in node.running().events("worker started")}
    return [each for each in members(node.running().process_id) if each in started]


def kill_database(place: Place, _: Strike) -> None:
    """`kill -9` of PostgreSQL with all its processes, which then recovers by its log."""
    assert place.postgres is not None
    place.postgres.crash()


def hang_worker(place: Place, strike: Strike) -> None:
    """A worker that is stopped: the supervisor notices its silence, kills and replaces it."""
    node = _any_node(place, strike)
    # The oldest: one that has just been started and serves nothing yet may be silent for a minute.
    worker = node.workers()[0]
    replaced = len(node.running().events("worker started"))
    os.kill(worker, signal.SIGSTOP)
    place.note_kill()
    if place.kind == EMBEDDED:
        node.running().wait_for_events("worker started", replaced + 1)
        place.note_kill()
        return
    time.sleep(strike.lasts_s)
    os.kill(worker, signal.SIGCONT)


def hang_database(place: Place, strike: Strike) -> None:
    """Freeze PostgreSQL: it does not respond, while its connections stay open."""
    assert place.postgres is not None
    with place.postgres.frozen():
        time.sleep(strike.lasts_s)


def kill_event_store(place: Place, strike: Strike) -> None:
    """Run `kill -9` for ClickHouse, and start it again later: until then, batches go to the spools of the nodes."""
    assert place.clickhouse is not None
    with place.clickhouse.away():
        time.sleep(strike.lasts_s)


def hang_event_store(place: Place, strike: Strike) -> None:
    """Freeze ClickHouse: it accepts connections and does not respond."""
    assert place.clickhouse is not None
    with place.clickhouse.frozen():
        time.sleep(strike.lasts_s)


def slow_stores(place: Place, strike: Strike) -> None:
    """Slow down the responses of PostgreSQL and Redis."""
    _for_a_while((place.database, place.cache), Mode.SLOW, strike, SLOW_S)


def lose_commits(place: Place, strike: Strike) -> None:
    """Let commits reach PostgreSQL, and drop their responses."""
    _for_a_while((place.database,), Mode.LOSE_ANSWERS, strike)


def lose_answers(place: Place, strike: Strike) -> None:
    """Drop responses of the service on their way to its callers."""
    links = [link for node in place.nodes for link in (node.public, node.admin_link)]
    _for_a_while(tuple(links), Mode.LOSE_ANSWERS, strike)


def cut_database(place: Place, strike: Strike) -> None:
    """PostgreSQL cannot be reached."""
    _for_a_while((place.database,), Mode.CUT, strike)


def lose_redis(place: Place, strike: Strike) -> None:
    """Redis is gone, and comes back with nothing in it."""
    assert place.redis is not None
    place.redis.stop()
    time.sleep(strike.lasts_s)
    place.redis.start()


def flush_redis(place: Place, strike: Strike) -> None:
    """Delete all data in Redis."""
    assert place.redis is not None
    place.redis.flush()
    time.sleep(strike.lasts_s)


def stale_redis(place: Place, strike: Strike) -> None:
    """Redis comes back with what it knew a while ago."""
    assert place.redis is not None
    place.redis.save()
    time.sleep(strike.lasts_s)
    place.redis.stop()
    place.redis.start()


def fill_disk(place: Place, strike: Strike) -> None:
    """Not one block of the disk is free."""
    filler = place.data / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    time.sleep(strike.lasts_s)
    filler.unlink()


def jump_clock(place: Place, strike: Strike) -> None:
    """The clock of all machines jumps forward, and back behind where it was."""
    place.jump(JUMP_S)
    time.sleep(strike.lasts_s)
    place.jump(-JUMP_S)
    time.sleep(strike.lasts_s)
    place.jump(0)


def restart(place: Place, strike: Strike) -> None:
    """A node is stopped in order and started again."""
    _any_node(place, strike).restart(stop=signal.SIGTERM)


def upgrade(place: Place, strike: Strike) -> None:
    """Node by node, the release before is stopped in order and this one started; the first applies the migrations."""
    for node in place.nodes:
        before = node.settings["PYTHONPATH"]
        node.end(signal.SIGTERM)
        # The folder of the release before comes first.
        node.settings["PYTHONPATH"] = before.partition(os.pathsep)[2]
        node.start()
        time.sleep(strike.lasts_s)


def backup_and_restore(place: Place, strike: Strike) -> None:
    """Create a backup under load; later, lose the machine and restore the backup."""
    node = place.nodes[0]
    backup = place.folder / f"backup-{strike.after_s}"
    _agentgate(node, "backup", str(backup))
    time.sleep(strike.lasts_s)
    node.end(signal.SIGKILL)
    place.note_kill()
    place.is_put_back = True
    _agentgate(node, "restore", str(backup), "--overwrite")
    node.start()


def copy_to_postgres(place: Place, _: Strike) -> None:
    """Move the installation to PostgreSQL: rejected while it runs, then stopped, copied and started there."""
    node = place.nodes[0]
    if "AGENTGATE_DATABASE_URL" in node.settings:
        return
    place.postgres = place.enter_postgres()
    url = place.postgres.url
    refused = _agentgate(node, "copy", "--to", url, code=2)
    assert "in use" in refused, refused
    node.end(signal.SIGTERM)
    _agentgate(node, "copy", "--to", url)
    node.settings["AGENTGATE_DATABASE_URL"] = url
    node.start()


def _any_node(place: Place, strike: Strike) -> Node:
    return place.nodes[round(strike.after_s * 1000) % len(place.nodes)]


def _for_a_while(links: tuple[Link, ...], mode: Mode, strike: Strike, delay_s: float = 0.0) -> None:
    for link in links:
        link.set(mode, delay_s)
    time.sleep(strike.lasts_s)
    for link in links:
        link.set(Mode.PASS)


def _agentgate(node: Node, *arguments: str, code: int = 0) -> str:
    environ = environment(node.folder, node.settings)
    done = subprocess.run(
        command(*arguments),
        cwd=node.folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


FAULTS = {
    "none": Fault(lambda _, strike: time.sleep(strike.lasts_s), (EMBEDDED, SERVERS)),
    "kill worker": Fault(kill_worker, (EMBEDDED, SERVERS, CLICKHOUSE)),
    "kill supervisor": Fault(kill_supervisor, (EMBEDDED,)),
    "kill database": Fault(kill_database, (SERVERS,)),
    "hung worker": Fault(hang_worker, (EMBEDDED, SERVERS)),
    "hung database": Fault(hang_database, (SERVERS,)),
    "kill event store": Fault(kill_event_store, (CLICKHOUSE,)),
    "hung event store": Fault(hang_event_store, (CLICKHOUSE,)),
    "slow stores": Fault(slow_stores, (SERVERS,)),
    "commit answers lost": Fault(lose_commits, (SERVERS,)),
    "answers lost": Fault(lose_answers, (EMBEDDED, SERVERS)),
    "database cut off": Fault(cut_database, (SERVERS,)),
    "redis gone": Fault(lose_redis, (SERVERS,)),
    "redis flushed": Fault(flush_redis, (SERVERS,)),
    "redis stale": Fault(stale_redis, (SERVERS,)),
    "disk full": Fault(fill_disk, (EMBEDDED,)),
    "clock jump": Fault(jump_clock, (EMBEDDED, SERVERS)),
    "restart": Fault(restart, (EMBEDDED, SERVERS)),
    "upgrade": Fault(upgrade, (SERVERS,)),
    "backup and restore": Fault(backup_and_restore, (EMBEDDED,)),
    "copy": Fault(copy_to_postgres, (EMBEDDED,)),
}
