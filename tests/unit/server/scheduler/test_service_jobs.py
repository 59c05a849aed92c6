"""The jobs of the service: accounts purged in time and never early, messages and links deleted."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentgate.events.storage.queries.read_models import SqlSiteSums
from agentgate.events.storage.rollups import forget_site
from agentgate.lib.clock import DAY_MS, HOUR_MS, FixedClock
from agentgate.lib.enums import AccountStatus, ActorKind
from agentgate.lib.moment import Moment
from agentgate.lib.settings.schema import Settings
from agentgate.lib.tasks.job import Job
from agentgate.people.accounts.jobs import identity_jobs, record_jobs
from agentgate.people.audit.records import AuditEntry
from agentgate.people.identity.records import OperatorSession, SessionStage, UserSession
from agentgate.people.outbox.jobs import outbox_jobs
from agentgate.server.scheduler.jobs import JobRunner
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.sites import jobs
from agentgate.sites.jobs import REVISIONS_KEPT, customer_jobs, site_jobs
from agentgate.sites.repository import ActivityStore
from tests.store.account_rows import account, add_accounts, link, message, site, user
from tests.support.service import NOON_MS
from tests.unit.server.scheduler.timed import empty_store, pass_time

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON_MS)


@pytest.fixture
async def store(tmp_path: Path, clock: FixedClock) -> AsyncIterator[SqlStore]:
    async with empty_store(tmp_path, clock) as opened:
        yield opened


def activity_of(store: SqlStore) -> ActivityStore:
    return ActivityStore(
        store._database, SqlSiteSums(store._database), forget_site=partial(forget_site, store._database, None)
    )


def timed_jobs(store: SqlStore, clock: FixedClock) -> tuple[Job, ...]:
    """The jobs that delete what people left, as wired without a mail server."""
    return (
        *customer_jobs(store, activity_of(store), clock),
        *outbox_jobs(store, None, clock),
        *identity_jobs(store, clock),
        *record_jobs(store, Settings(), clock),
        *site_jobs(store, Settings(), clock),
    )


async def add_account(store: SqlStore, account_id: str, **changes: Any) -> None:
    await add_accounts(store, account(account_id, **changes))


async def add_entries(store: SqlStore, account_id: str, count: int) -> None:
    entry = AuditEntry(
        time=Moment(NOON_MS),
        actor="olga",
        actor_kind=ActorKind.OPERATOR,
        action="account.rename",
        account_id=account_id,
        site_id=None,
        target=None,
        detail={},
        address=None,
    )

    async def work(stores):
        for _ in range(count):
            await stores.audit.add_entry(entry)

    await store.change(work)


async def count_entries(store: SqlStore) -> int:
    return (await store._database.one("SELECT count(*) FROM audit_entry"))[0]


@pytest.fixture
async def service_jobs(store: SqlStore, clock: FixedClock) -> JobRunner:
    """The jobs of the service, each with its first run behind it."""
    its_jobs = timed_jobs(store, clock)
    running = JobRunner(its_jobs, store=store, clock=clock)
    await running.run_due()
    return running


async def test_a_deleted_account_is_purged_after_thirty_days(
    store: SqlStore, clock: FixedClock, service_jobs: JobRunner
) -> None:
    await add_account(store, "gone", status=AccountStatus.DELETED, deleted_ms=clock.now_ms())
    await add_account(store, "stays")

    await pass_time(service_jobs, clock, days=30)
    assert await store.read.accounts.find_account("gone") is not None
    await pass_time(service_jobs, clock, hours=1)
    assert await store.read.accounts.find_account("gone") is None
    assert await store.read.accounts.find_account("stays") is not None


async def test_a_reactivated_account_is_never_purged(
    store: SqlStore, clock: FixedClock, service_jobs: JobRunner
) -> None:
    await add_account(store, "back", status=AccountStatus.DELETED, deleted_ms=clock.now_ms())
    await pass_time(service_jobs, clock, days=29)
    found = await store.read.accounts.find_account("back")
    await store.change(
        lambda stores: stores.accounts.save_account(replace(found, status=AccountStatus.ACTIVE, deleted_ms=None))
    )

    await pass_time(service_jobs, clock, days=5)

    assert await store.read.accounts.find_account("back") is not None


async def test_an_account_reactivated_between_the_list_and_the_purge_keeps_everything(
    store: SqlStore, clock: FixedClock
) -> None:
    await add_account(store, "back", status=AccountStatus.DELETED, deleted_ms=clock.now_ms() - 31 * DAY_MS)
    await add_entries(store, "back", 3)
    before_ms = clock.now_ms() - 30 * DAY_MS
    assert await store.read.accounts.list_purgeable(before_ms) == ["back"]
    found = await store.read.accounts.find_account("back")
    await store.change(
        lambda stores: stores.accounts.save_account(replace(found, status=AccountStatus.ACTIVE, deleted_ms=None))
    )

    await jobs._purge_account(store, "back", before_ms)

    assert await store.read.accounts.find_account("back") is not None
    assert await count_entries(store) == 3


async def test_a_purge_that_was_killed_between_steps_is_finished_by_the_next(
    store: SqlStore, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "ROWS_PER_UNIT", 10)
    deleted_ms = clock.now_ms() - 31 * DAY_MS
    await add_account(store, "gone", status=AccountStatus.DELETED, deleted_ms=deleted_ms)
    await add_entries(store, "gone", 35)
    await store.change(lambda stores: stores.accounts.purge_some("gone", clock.now_ms(), most=10))
    assert await count_entries(store) == 25

    await jobs.purge_accounts(store, activity_of(store), clock)
    assert await store.read.accounts.find_account("gone") is None
    assert await count_entries(store) == 0
    await jobs.purge_accounts(store, activity_of(store), clock)


async def test_one_run_purges_a_bounded_number_of_accounts(store: SqlStore, clock: FixedClock) -> None:
    for number in range(jobs.ACCOUNTS_PER_RUN + 1):
        deleted_ms = clock.now_ms() - 31 * DAY_MS + number
        await add_account(store, f"acc-{number}", status=AccountStatus.DELETED, deleted_ms=deleted_ms)

    await jobs.purge_accounts(store, activity_of(store), clock)

    assert await store.read.accounts.list_purgeable(clock.now_ms()) == [f"acc-{jobs.ACCOUNTS_PER_RUN}"]


async def test_the_traffic_of_a_purged_account_goes_and_no_later_site_gets_its_number(
    store: SqlStore, clock: FixedClock
) -> None:
    await add_account(store, "stays")
    await add_account(store, "gone", status=AccountStatus.DELETED, deleted_ms=clock.now_ms() - 31 * DAY_MS)
    for made in (site("s1", "stays"), site("s2", "gone")):
        await store.change(lambda stores, made=made: stores.sites.add_site(made))
    await store._database.run("INSERT INTO site_hour (site, hour) VALUES (1, 0), (2, 0), (2, 1)")

    await jobs.purge_accounts(store, activity_of(store), clock)
    await store.change(lambda stores: stores.sites.add_site(site("s3", "stays")))

    assert await store._database.all("SELECT site, hour FROM site_hour") == [(1, 0)]
    assert await store._database.all("SELECT id, number FROM site ORDER BY number") == [("s1", 1), ("s3", 3)]


async def test_an_account_that_cannot_be_purged_keeps_no_other_from_it(store: SqlStore, clock: FixedClock) -> None:
    await store._database.run("CREATE TABLE clings (account_id TEXT REFERENCES account (id))")
    for number, name in enumerate(("stuck", "gone")):
        deleted_ms = clock.now_ms() - 31 * DAY_MS + number
        await add_account(store, name, status=AccountStatus.DELETED, deleted_ms=deleted_ms)
    await store._database.run("INSERT INTO clings (account_id) VALUES ('stuck')")

    await jobs.purge_accounts(store, activity_of(store), clock)

    assert await store.read.accounts.list_purgeable(clock.now_ms()) == ["stuck"]


async def test_a_body_is_discarded_when_its_link_expires_and_every_body_after_eight_days(
    store: SqlStore, clock: FixedClock, service_jobs: JobRunner
) -> None:
    now_ms = clock.now_ms()

    async def fill(stores):
        await stores.users.add_user(user("ann"))
        await stores.links.add_link(link(b"reset", "ann", expires_ms=now_ms + HOUR_MS))
        await stores.outbox.add_message(message("reset", link_digest=b"reset", created_ms=now_ms))
        await stores.outbox.add_message(message("notice", created_ms=now_ms))

    await store.change(fill)

    async def readable() -> set[str]:
        return {made.id for made in await store.read.outbox.list_messages(10) if made.body is not None}

    assert await readable() == {"reset", "notice"}
    await pass_time(service_jobs, clock, hours=1)
    assert await readable() == {"notice"}
    await pass_time(service_jobs, clock, days=7, hours=23)
    assert await readable() == {"notice"}
    await pass_time(service_jobs, clock, hours=1)
    assert await readable() == set()


async def test_links_are_discarded_long_after_they_expired(
    store: SqlStore, clock: FixedClock, service_jobs: JobRunner
) -> None:
    async def fill(stores):
        await stores.users.add_user(user("ann"))
        await stores.links.add_link(link(b"old", "ann", expires_ms=clock.now_ms()))
        await stores.links.add_link(link(b"young", "ann", expires_ms=clock.now_ms() + 7 * DAY_MS))

    await store.change(fill)
    await pass_time(service_jobs, clock, days=32)

    assert await store.read.links.find_link(b"old") is None
    assert await store.read.links.find_link(b"young") is not None


async def test_sessions_are_discarded_eight_days_after_they_began(
    store: SqlStore, clock: FixedClock, service_jobs: JobRunner
) -> None:
    of_operator = OperatorSession(
        secret_digest=b"o" * 32,
        id="ses_1",
        operator="olga",
        created_ms=NOON_MS,
        last_used_ms=NOON_MS,
        key_tag=b"k" * 32,
        browser="Firefox",
        address_id="0" * 16,
    )
    of_user = UserSession(
        secret_digest=b"u" * 32,
        id="ses_2",
        user_id="usr_1",
        account_id=None,
        stage=SessionStage.FULL,
        code_attempts=0,
        browser="Firefox",
        address_id="0" * 16,
        created_ms=NOON_MS,
        last_used_ms=NOON_MS,
    )

    async def add(stores):
        await stores.users.add_user(user("usr_1"))
        await stores.operator_sessions.add_session(of_operator)
        await stores.user_sessions.add_session(of_user)

    async def kept() -> list[bool]:
        found = await store.read.operator_sessions.find_session(of_operator.secret_digest)
        other = await store.read.user_sessions.find_session(of_user.secret_digest)
        return [found is not None, other is not None]

    await store.change(add)
    await pass_time(service_jobs, clock, days=8)
    assert await kept() == [True, True]

    await pass_time(service_jobs, clock, days=1)

    assert await kept() == [False, False]


async def test_mail_is_delivered_only_where_there_is_a_server(store: SqlStore, clock: FixedClock) -> None:
    assert "deliver-mail" not in {made.name for made in timed_jobs(store, clock)}


async def count(store: SqlStore, table: str, condition: str = "1 = 1") -> int:
    row = await store._database.one(f"SELECT count(*) FROM {table} WHERE {condition}")
    assert row is not None
    return int(row[0])


async def test_records_are_deleted_after_their_retention_and_not_before(
    store: SqlStore, clock: FixedClock, service_jobs: JobRunner
) -> None:
    now_ms = clock.now_ms()
    await add_account(store, "acme")
    await add_entries(store, "acme", 3)
    for number, status in enumerate(("sent", "failed", "pending")):
        await store._database.run(
            """INSERT INTO outbox_message (id, recipient, kind, subject, status, next_attempt_ms, created_ms)
                VALUES ($1, 'a@b.example', 'added', 's', $2, $3, $4)""",
            f"msg_{number}",
            status,
            2**60,
            now_ms,
        )
    for number, (revoked_ms, expires_ms) in enumerate(((now_ms, None), (None, now_ms), (None, None))):
        await store._database.run(
            """INSERT INTO api_token (id, account_id, name, scopes, secret_digest, created_ms, created_by, expires_ms,
                revoked_ms) VALUES ($1, 'acme', 'n', '[]', $2, $3, 'a', $4, $5)""",
            f"tok_{number}",
            bytes([number]) * 32,
            now_ms,
            expires_ms,
            revoked_ms,
        )
    for number, decided_ms in enumerate((now_ms, None)):
        await store._database.run(
            """INSERT INTO access_request (id, email, name, status, created_ms, decided_ms)
                VALUES ($1, $2, 'n', $3, $4, $5)""",
            f"req_{number}",
            f"{number}@b.example",
            "declined" if decided_ms else "pending",
            now_ms,
            decided_ms,
        )

    await pass_time(service_jobs, clock, days=89)
    assert await count(store, "outbox_message") == 3
    await pass_time(service_jobs, clock, days=2)
    assert await count(store, "outbox_message", "status = 'pending'") == await count(store, "outbox_message") == 1
    await pass_time(service_jobs, clock, days=308)
    assert (await count(store, "api_token"), await count(store, "access_request")) == (3, 2)
    await pass_time(service_jobs, clock, days=2)
    assert await count(store, "api_token", "id = 'tok_2'") == await count(store, "api_token") == 1
    assert await count(store, "access_request", "status = 'pending'") == await count(store, "access_request") == 1
    await pass_time(service_jobs, clock, days=328)
    assert await count_entries(store) == 3
    await pass_time(service_jobs, clock, days=3)
    assert await count_entries(store) == 0


async def test_ended_credentials_and_old_revisions_are_deleted_and_the_newest_revisions_remain(
    store: SqlStore, clock: FixedClock, service_jobs: JobRunner
) -> None:
    await add_account(store, "acme")
    await store.change(lambda stores: stores.sites.add_site(site("st_1", "acme")))
    for number, revoked_ms in enumerate((clock.now_ms(), None)):
        await store._database.run(
            """INSERT INTO credential (id, site_id, name, secret_digest, created_ms, revoked_ms)
                VALUES ($1, 'st_1', 'n', $2, $3, $4)""",
            f"cred_{number}",
            bytes([number]) * 32,
            clock.now_ms(),
            revoked_ms,
        )
    for revision in range(1, REVISIONS_KEPT + 21):
        await store._database.run(
            """INSERT INTO rule_revision (site_id, revision, overrides, effective_version, updated_ms, updated_by)
                VALUES ('st_1', $1, '{}', 'v', $2, 'a')""",
            revision,
            clock.now_ms() + (DAY_MS if revision > REVISIONS_KEPT + 10 else 0),
        )

    await pass_time(service_jobs, clock, days=399)
    assert (await count(store, "credential"), await count(store, "rule_revision")) == (2, REVISIONS_KEPT + 20)
    await pass_time(service_jobs, clock, days=1, hours=2)
    assert await count(store, "credential", "id = 'cred_1'") == await count(store, "credential") == 1
    assert await count(store, "rule_revision") == REVISIONS_KEPT + 10
    await pass_time(service_jobs, clock, days=900)
    assert await count(store, "rule_revision", f"revision > {20}") == await count(store, "rule_revision") == 50
