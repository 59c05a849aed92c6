"""The installation that bench.growth fills: accounts, sites and what belongs to them."""

from typing import Any

from agentgate.events.webhooks.deliver import Push
from agentgate.events.webhooks.progress import last_id_before
from agentgate.lib.clock import FixedClock
from agentgate.lib.enums import AccountStatus, Mode, WidgetMode
from agentgate.lib.moment import Moment
from agentgate.lib.tasks.off_loop import consumed, off_loop
from agentgate.people.accounts.records import Limits, StoredAccount
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.sites.detail import summarize
from agentgate.sites.directory import SiteDirectory
from agentgate.sites.records import Site
from agentgate.sites.repository import SiteFilter
from agentgate.storage.sqlite.database import SqliteDatabase

NOW_MS = 1_794_744_000_000
# Sites that share the list entries.
ENTRY_SITES = 100


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
        await self.directory.refresh(self.store, NOW_MS, nothing)

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


async def nothing() -> None:
    """Do nothing."""
