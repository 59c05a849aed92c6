"""Cost of operations in installations of three sizes: `python -m bench.growth [--full]`.

Prints CPU time, the longest stall of the event loop, and the growth law. Fails if a cost that must be constant grows.
"""

import argparse
import asyncio
import contextlib
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from agentgate.agents.handoff.repository import GrantStore
from agentgate.agents.submission_repository import SubmissionStore
from agentgate.http.paging import ReadPage, list_pages
from agentgate.http.replies import answer_in_slices
from agentgate.lib.clock import DAY_MS, FixedClock
from agentgate.lib.cursors import Cursors
from agentgate.lib.enums import AccountStatus
from agentgate.lib.keyring import Keyring
from agentgate.lib.tasks.off_loop import consumed, off_loop
from agentgate.people.accounts.jobs import sweep
from agentgate.server.stores.open import SETS
from agentgate.server.worker_tuning import tune_worker
from agentgate.sites.customers.records import AccountList, CustomerFilter
from agentgate.sites.records import SiteList, SitesQuery
from agentgate.sites.repository import SiteFilter
from agentgate.storage.migrate import apply
from agentgate.storage.sqlite.database import SqliteDatabase
from bench.growth_scene import NOW_MS, Scene, nothing
from bench.run_queue import RunQueue

SHORT, FULL = (1_000, 5_000, 20_000), (1_000, 20_000, 1_000_000)
REPEATS = 5
# Shorter times are taken as this: they show no growth.
FLOOR_S = 0.001
# From the smallest to the largest size: the exponent up to which a cost is constant, and linear.
CONSTANT, LINEAR = 0.3, 1.35
TICK_S = 0.002


class Measured(Struct, frozen=True):
    """An operation at three sizes: seconds of CPU time, and the longest stall of the event loop."""

    name: str
    must_be_constant: bool
    sizes: tuple[int, ...]
    seconds: list[float]
    stalls_s: list[float]

    @property
    def exponent(self) -> float:
        """Return by which power of the size the time grows."""
        first, last = (max(each, FLOOR_S) for each in (self.seconds[0], self.seconds[-1]))
        return math.log(last / first) / math.log(self.sizes[-1] / self.sizes[0])

    @property
    def law(self) -> str:
        if self.exponent <= CONSTANT:
            return "constant"
        return "linear" if self.exponent <= LINEAR else "worse than linear"

    @property
    def is_right(self) -> bool:
        return self.law == "constant" or (self.law == "linear" and not self.must_be_constant)

    def line(self) -> str:
        times = " / ".join(f"{each * 1000:.1f}" for each in self.seconds)
        stalls = " / ".join(f"{each * 1000:.0f}" for each in self.stalls_s)
        sizes = " / ".join(f"{each:,}" for each in self.sizes)
        return f"| {self.name} | {sizes} | {times} | {stalls} | {self.law} |"


class Case(Struct, frozen=True):
    """An operation, and the rows that it may depend on. The time of a linear one may grow with them."""

    name: str
    fill: Callable[[Scene, int], Awaitable[Any]]
    act: Callable[[Scene], Awaitable[Any]]
    before: Callable[[Scene], Awaitable[Any]] = lambda _scene: nothing()
    must_be_constant: bool = True
    repeats: int = REPEATS
    # The largest size where rows are large.
    most: int = 1_000_000


def _page(**filters: Any) -> Callable[[Scene], Awaitable[Any]]:
    wanted = SiteFilter(**filters)
    return lambda scene: scene.store.read.sites.list_sites(wanted, now_ms=NOW_MS)


async def _sent(kind: Any, read: ReadPage) -> None:
    """Encode a complete list as its response is sent, and drop each part."""
    answer = await answer_in_slices(200, await list_pages(kind, read, SitesQuery(), Cursors(Keyring((), NOW_MS), "")))
    if answer.parts is not None:
        async for _ in answer.parts:
            pass


CASES = (
    Case("change of a site, read back", Scene.sites, Scene.change_site, before=Scene.refresh, most=20_000),
    Case("change of a site, others have rules", Scene.rules, Scene.change_site, before=Scene.refresh, most=20_000),
    Case(
        "change of a site, others have list entries",
        Scene.entries,
        Scene.change_site,
        before=Scene.refresh,
        most=100_000,
    ),
    Case(
        "change of a site, others have credentials",
        Scene.credentials,
        Scene.change_site,
        before=Scene.refresh,
        most=20_000,
    ),
    Case("start: read all sites", Scene.sites, Scene.refresh, must_be_constant=False, repeats=1, most=20_000),
    Case("page of sites", Scene.sites, _page(limit=50), most=20_000),
    Case("all sites", Scene.sites, lambda scene: _sent(SiteList, scene.page), must_be_constant=False, most=20_000),
    Case(
        "page of users",
        Scene.accounts,
        lambda scene: scene.store.read.customers.list_accounts(behind=None, limit=50),
        most=100_000,
    ),
    Case(
        "all users",
        Scene.accounts,
        lambda scene: _sent(
            AccountList, lambda at, most: scene.store.read.customers.list_accounts(behind=at, limit=most)
        ),
        must_be_constant=False,
        most=100_000,
    ),
    Case(
        "suspended customers",
        Scene.accounts,
        lambda scene: scene.store.read.customers.list_customers(
            CustomerFilter(status=AccountStatus.SUSPENDED, text="", limit=200)
        ),
        most=100_000,
    ),
    Case(
        "search of customers without a match",
        Scene.accounts,
        lambda scene: scene.store.read.customers.list_customers(CustomerFilter(status=None, text="none", limit=200)),
        must_be_constant=False,
        most=100_000,
    ),
    Case(
        "audit entries of an absent action",
        Scene.audit,
        lambda scene: scene.store.read.audit.list_account_events("acc_0", action="webhook", limit=50),
    ),
    Case(
        "audit entries of operators", Scene.audit, lambda scene: scene.store.read.audit.list_operator_events(limit=50)
    ),
    Case(
        "statement of charges",
        Scene.charges,
        lambda scene: SubmissionStore(scene.database).sum_charges("st_0", from_ms=NOW_MS, to_ms=NOW_MS + DAY_MS),
        must_be_constant=False,
    ),
    Case("agent grants", Scene.grants, lambda scene: GrantStore(scene.database).list_grants(1)),
    Case(
        "appeal: same text",
        Scene.appeals,
        lambda scene: scene.store.read.appeals.has_same_message("st_0", "other", since_ms=0, least=3),
    ),
    Case("mail: next messages", Scene.messages, Scene.claim),
    Case("webhooks: none is due", Scene.later_webhooks, Scene.push, most=20_000),
    Case("webhooks: all are due", Scene.webhooks, Scene.push, must_be_constant=False, most=20_000),
    Case(
        "sweep of ended sessions",
        Scene.sessions,
        lambda scene: sweep(scene.store, scene.clock),
        must_be_constant=False,
        repeats=1,
    ),
)


@contextlib.asynccontextmanager
async def _scene(folder: Path) -> AsyncIterator[Scene]:
    database = SqliteDatabase(folder / "growth.db", synchronous="NORMAL")
    try:
        for name in SETS:
            await apply(database, name, clock=FixedClock(NOW_MS))
        scene = Scene(database)
        await scene.prepare()
        yield scene
    finally:
        await database.close()


async def _longest_stall(ended: asyncio.Event) -> float:
    worst = 0.0
    with RunQueue(os.getpid(), threading.get_native_id()) as queue:
        while not ended.is_set():
            began_s, queued_s = time.perf_counter(), queue.waited_s()
            await asyncio.sleep(TICK_S)
            took_s = time.perf_counter() - began_s - (queue.waited_s() - queued_s)
            worst = max(worst, took_s - TICK_S)
    return worst


async def _watched(act: Callable[[], Awaitable[Any]]) -> tuple[float, float]:
    """Return the CPU time of an act, and the longest stall of the event loop during it.

    A long result is freed as a response does it: in a thread.
    """
    ended = asyncio.Event()
    watch = asyncio.create_task(_longest_stall(ended))
    await asyncio.sleep(0)
    # CPU time of all threads: other programs of the machine do not count.
    began_s = time.process_time()
    result = await act()
    took_s = time.process_time() - began_s
    for part in result if isinstance(result, tuple) else (result,):
        if isinstance(part, list):
            await off_loop(len(part), partial(_free, part))
    ended.set()
    return took_s, await watch


def _free(items: list[Any]) -> None:
    for _ in consumed(items):
        pass


async def measure(case: Case, sizes: Sequence[int]) -> Measured:
    """Measure an operation in installations of these sizes."""
    sizes = tuple(sorted({min(size, case.most) for size in sizes}))
    seconds, stalls = [], []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            async with _scene(Path(folder)) as scene:
                await case.fill(scene, size)
                await case.before(scene)
                runs = [await _watched(partial(case.act, scene)) for _ in range(case.repeats)]
        # The least of several: other programs of the machine only add.
        seconds.append(min(took_s for took_s, _ in runs))
        stalls.append(min(stall_s for _, stall_s in runs))
    return Measured(case.name, case.must_be_constant, sizes, seconds, stalls)


async def run(sizes: Sequence[int], match: str = "") -> list[Measured]:
    """Measure the operations whose name contains a text; print a line of the table for each."""
    tune_worker()
    found = []
    print("| Operation | Rows | CPU time (ms) | Longest stall (ms) | Growth |\n| --- | ---: | ---: | ---: | --- |")
    for case in (each for each in CASES if match in each.name):
        found.append(await measure(case, sizes))
        print(found[-1].line(), flush=True)
    return found


def main() -> None:
    """Print the table; exit with 1 if something grows that must not."""
    parser = argparse.ArgumentParser(description="Measure what operations cost in installations of three sizes.")
    parser.add_argument("--full", action="store_true", help="Up to a million rows. Default: up to 20,000.")
    parser.add_argument("--match", default="", help="Operations whose name contains a text. Default: all.")
    given = parser.parse_args()
    found = asyncio.run(run(FULL if given.full else SHORT, given.match))
    grown = [each.name for each in found if not each.is_right]
    if grown:
        sys.exit(f"grows with the installation: {', '.join(grown)}")


if __name__ == "__main__":
    main()
