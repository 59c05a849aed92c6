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
from agentgate.events.webhooks.deliver import Push
from agentgate.events.webhooks.progress import last_id_before
from agentgate.http.paging import ReadPage, list_pages
from agentgate.http.replies import answer_in_slices
from agentgate.lib.clock import DAY_MS, FixedClock
from agentgate.lib.cursors import Cursors
from agentgate.lib.enums import AccountStatus, Mode, WidgetMode
from agentgate.lib.keyring import Keyring
from agentgate.lib.moment import Moment
from agentgate.lib.tasks.off_loop import consumed, off_loop
from agentgate.people.accounts.records import Limits, StoredAccount
from agentgate.people.identity.jobs import sweep
from agentgate.server.stores.open import SETS
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.server.worker_tuning import tune_worker
from agentgate.sites.customers.records import AccountList, CustomerFilter
from agentgate.sites.detail import summarize
from agentgate.sites.directory import SiteDirectory
from agentgate.sites.records import Site, SiteList, SitesQuery
from agentgate.sites.repository import SiteFilter
from agentgate.storage.migrate import apply
from agentgate.storage.sqlite.database import SqliteDatabase
from bench.run_queue import RunQueue

NOW_MS = 1_794_744_000_000
SHORT, FULL = (1_000, 5_000, 20_000), (1_000, 20_000, 1_000_000)
REPEATS = 5
# Shorter times are taken as this: they show no growth.
FLOOR_S = 0.001
# From the smallest to the largest size: the exponent up to which a cost is constant, and linear.
CONSTANT, LINEAR = 0.3, 1.35
TICK_S = 0.002
# Sites that share the list entries.
ENTRY_SITES = 100


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


class Scene:
    """An empty installation with one account and one site."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = database
        self.store = SqlStore(database)
        self.clock = FixedClock(NOW_MS)
        self.directory = SiteDirectory()

    async def prepare(self) -> None:
        account = StoredAccount(
            id="acc_0",
            name="Acme",
            status=AccountStatus.ACTIVE,
            protected=False,
            limits=Limits(),
            created_at=Moment(NOW_MS),
        )
        await self.store.change(lambda stores: stores.accounts.add_account(account))
        await self.store.change(lambda stores: stores.sites.add_site(SITE))

    async def copy(self, table: str, count: int, **columns: str) -> None:
        """Copy the first row of a table; a column is an SQL expression of `n`."""
        names = [row[1] for row in await self.database.all(f"PRAGMA table_info({table})")]
        values = ", ".join(columns.get(name, f"t.{name}") for name in names)
        await self.database.run(
            f"""INSERT INTO {table} ({", ".join(names)})
                WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)
                SELECT {values} FROM numbers, (SELECT * FROM {table} LIMIT 1) t""",
            count,
        )

    async def insert(self, table: str, count: int, **columns: str) -> None:
        """Insert rows; a column is an SQL expression of `n`."""
        await self.database.run(
            f"""INSERT INTO {table} ({", ".join(columns)})
                WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)
                SELECT {", ".join(columns.values())} FROM numbers""",
            count,
        )

    async def refresh(self) -> None:
        await self.directory.refresh(self.store, NOW_MS, _nothing)

    async def sites(self, count: int) -> None:
        same = {"id": "'st_' || n", "site_key": "'site_' || n", "number": "n + 1", "created_ms": f"{NOW_MS} + n"}
        await self.copy("site", count, **same)

    async def page(self, behind: Any, limit: int) -> tuple[list[Any], Any]:
        listed = await self.store.read.sites.list_sites(SiteFilter(behind=behind, limit=limit + 1), now_ms=NOW_MS)
        last = listed[limit - 1].site if len(listed) > limit else None
        found = await off_loop(len(listed), lambda: [summarize(each, None) for each in consumed(listed)])
        return found[:limit], last and (int(last.created_at), last.site_key)

    async def accounts(self, count: int) -> None:
        await self.copy("account", count, id="'acc_' || n", status="CASE WHEN n = 1 THEN 'suspended' ELSE 'active' END")
        await self.insert(
            "users", count, id="'usr_' || n", email="'u' || n || '@b.example'", status="'active'", created_ms="n"
        )
        await self.insert(
            "membership", count, account_id="'acc_' || n", user_id="'usr_' || n", role="'owner'", joined_ms="n"
        )

    async def sessions(self, count: int) -> None:
        await self.insert("users", 1, id="'usr_1'", email="'a'", status="'active'", created_ms="n")
        await self.insert(
            "user_session",
            count,
            secret_digest="CAST('s' || n AS BLOB)",
            id="'s' || n",
            user_id="'usr_1'",
            stage="'full'",
            browser="''",
            address_id="''",
            created_ms="n",
            last_used_ms="n",
        )

    async def audit(self, count: int) -> None:
        await self.insert(
            "audit_entry",
            count,
            time_ms="n",
            actor="'a'",
            actor_kind="CASE WHEN n % 1000 = 0 THEN 'operator' ELSE 'user' END",
            action="'member.role'",
            account_id="'acc_0'",
            detail="'{}'",
        )

    async def charges(self, count: int) -> None:
        await self.insert(
            "charge",
            count,
            site_id="'st_0'",
            decision_id="'d' || n",
            agent="'a' || (n % 20)",
            keyid="'k'",
            source="'gateway'",
            currency="'EUR'",
            minor_units="1",
            charged_ms=f"{NOW_MS} + n",
        )

    async def grants(self, count: int) -> None:
        await self.insert(
            "agent_grant",
            count,
            id="'g' || n",
            site="1",
            agent="'a'",
            keyid="'k'",
            action="'b'",
            handoff_id="'h'",
            uses="1",
            uses_left="1",
            created_ms="n",
            expires_ms=f"{2 * NOW_MS}",
        )

    async def appeals(self, count: int) -> None:
        await self.insert(
            "appeal",
            count,
            id="'a' || n",
            site_id="'st_0'",
            link_digest="'l' || n",
            decision="n",
            visitor="'v' || n",
            outcome="'block'",
            method="'GET'",
            route="'/'",
            rule="'r'",
            message="'m' || n",
            state="'refused'",
            created_ms=f"{NOW_MS} - n",
            reply="''",
        )

    async def messages(self, count: int) -> None:
        await self.insert(
            "outbox_message",
            count,
            id="'m' || n",
            recipient="'a@b.example'",
            kind="'added'",
            subject="'s'",
            status="'pending'",
            next_attempt_ms="n",
            created_ms="n",
        )

    async def webhooks(self, count: int, *, next_attempt_ms: int = 0) -> None:
        account, site = "'acc_' || n", "'st_' || n"
        await self.copy("account", count, id=account)
        await self.copy("site", count, id=site, site_key="'site_' || n", number="n + 1", account_id=account)
        await self.insert(
            "webhook",
            count,
            id="'wh_' || n",
            site_id=site,
            account_id=account,
            url="'https://hooks.invalid/'",
            events="'[\"decisions\"]'",
            format="'json'",
            filter="'{}'",
            enabled="1",
            secret="CAST('s' AS BLOB)",
            created_ms="n",
            position=str(last_id_before(NOW_MS)),
            next_attempt_ms=str(next_attempt_ms),
        )

    async def later_webhooks(self, count: int) -> None:
        await self.webhooks(count, next_attempt_ms=2 * NOW_MS)

    async def push(self) -> None:
        """Look for decisions to deliver; there are none."""
        feed: Any = _NoDecisions()
        nothing: Any = None
        push = Push(self.store, feed, outbound=nothing, sealer=nothing, clock=self.clock, metrics=nothing)
        await push.push_due()
        await push.finish()

    async def rules(self, count: int) -> None:
        """Give other sites rules."""
        await self.sites(count)
        await self.insert(
            "site_rules",
            count,
            site_id="'st_' || n",
            revision="1",
            rule_set="""'{"version": "1", "rules": [], "default_action": "allow"}'""",
            overrides="'{}'",
            effective_version="'1'",
            updated_ms="n",
            updated_by="'a'",
        )

    async def entries(self, count: int) -> None:
        """Give other sites list entries."""
        await self.sites(ENTRY_SITES)
        await self.insert(
            "site_list_entry",
            count,
            id="'le_' || n",
            site_id=f"'st_' || (n % {ENTRY_SITES} + 1)",
            kind="'address'",
            value="'10.' || (n / 65536) || '.' || (n / 256 % 256) || '.' || (n % 256)",
            outcome="'block'",
            note="''",
            created_ms="n",
            created_by="'a'",
        )

    async def credentials(self, count: int) -> None:
        """Give other sites credentials."""
        await self.sites(count)
        await self.insert(
            "credential",
            count,
            id="'cr_' || n",
            site_id="'st_' || n",
            name="'a'",
            secret_digest="CAST('d' || n AS BLOB)",
            created_ms="n",
        )

    async def change_site(self) -> None:
        await self.store.change(lambda stores: stores.configuration.bump_site("st_0"))
        await self.refresh()

    async def claim(self) -> None:
        await self.store.change(lambda stores: stores.outbox.claim_due(NOW_MS, until_ms=NOW_MS, limit=10))


SITE = Site(
    id="st_0",
    customer_id="acc_0",
    site_key="site_0",
    name="Shop",
    allowed_origins=["https://shop.example"],
    mode=Mode.ENFORCE,
    widget_mode=WidgetMode.MANAGED,
    actions={},
    routes=[],
    form_method_override=True,
    clearance_without_script=False,
    created_at=Moment(NOW_MS),
    updated_at=Moment(NOW_MS),
)


class _NoDecisions:
    """A site without decisions."""

    async def list_after(self, *_: Any, **__: Any) -> list[Any]:
        return []


async def _nothing() -> None:
    return


class Case(Struct, frozen=True):
    """An operation, and the rows that it may depend on. The time of a linear one may grow with them."""

    name: str
    fill: Callable[[Scene, int], Awaitable[Any]]
    act: Callable[[Scene], Awaitable[Any]]
    before: Callable[[Scene], Awaitable[Any]] = lambda _scene: _nothing()
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
    """Return the CPU time of an act, and the longest stall of the event loop meanwhile.

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
