"""Purging an account: everything of it goes, nothing of others does, and never a part."""

import asyncio
import itertools
from typing import Any

import pytest
from msgspec.structs import replace

from agentgate.gateway.notices.records import SiteState
from agentgate.gateway.suggestions.records import SeenGroup, SuggestionGroup
from agentgate.lib.clock import DAY_MS
from agentgate.lib.enums import AccountRole, AccountStatus, ActorKind, UnknownHosts
from agentgate.lib.moment import Moment
from agentgate.people.accounts.records import StoredInvitation
from agentgate.people.audit.records import AuditEntry
from agentgate.people.identity.records import SessionStage, UserSession
from agentgate.server.stores.unit_of_work import SqlStore, SqlStores
from agentgate.sites.credentials.records import FleetCredential
from tests.store.account_rows import (
    NOW_MS,
    account,
    add_accounts,
    add_member,
    credential,
    delivery,
    link,
    message,
    passkey,
    site,
    token,
    user,
    webhook,
)
from tests.store.conftest import Backend

pytestmark = pytest.mark.anyio

DELETED_MS = NOW_MS - 30 * DAY_MS
BEFORE_MS = DELETED_MS + 1

TABLES = {
    "sqlite": "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    "postgres": "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = current_schema() ORDER BY tablename",
}
# Tables that know no account, site or person of one.
IMPERSONAL = {"access_request", "docs_feedback", "job_lease", "job_run", "operator_session", "schema_migration"}
# Of a failed job, only the kind of failure is kept, never its message.
IMPERSONAL |= {"job_result"}
# The first owner's link is for an account that does not exist yet. Versions of models are for all sites.
IMPERSONAL |= {"setup_link", "model_version", "token_issuer"}
# The service's own site is named there by the settings, and its account is protected.
IMPERSONAL |= {"model", "service_key", "service_site", "site_number", "worker_number"}


@pytest.fixture
def backend(empty_backend: Backend) -> Backend:
    """A store that contains only the tables of the configuration, so that each of them is checked."""
    return empty_backend


class Interruption(Exception):  # noqa: N818 - says what happened
    """The process dies here."""


class DyingTransaction:
    """A transaction that is interrupted before its nth statement."""

    def __init__(self, transaction: Any, survives: int) -> None:
        self._transaction = transaction
        self._left = survives

    def __getattr__(self, name: str) -> Any:
        if self._left == 0:
            raise Interruption
        self._left -= 1
        return getattr(self._transaction, name)


async def snapshot(store: SqlStore) -> dict[str, list[str]]:
    """Return every row of every table as text."""
    database = store._database
    tables = [name for (name,) in await database.all(TABLES[database.dialect])]
    return {table: sorted(map(repr, await database.all(f"SELECT * FROM {table}"))) for table in tables}


def entry(account_id: str | None, site_id: str | None, **changes: str) -> AuditEntry:
    values: dict[str, Any] = {
        "time": Moment(NOW_MS),
        "actor": "olga",
        "actor_kind": ActorKind.OPERATOR,
        "action": "site.update",
        "account_id": account_id,
        "site_id": site_id,
        "target": None,
        "detail": {},
        "address": None,
    }
    return AuditEntry(**{**values, **changes})


def session(user_id: str, account_id: str) -> UserSession:
    return UserSession(
        secret_digest=f"session of {user_id}".encode(),
        id=f"ses-{user_id}",
        user_id=user_id,
        account_id=account_id,
        stage=SessionStage.FULL,
        code_attempts=0,
        browser="Firefox",
        address_id="address",
        created_ms=NOW_MS,
        last_used_ms=NOW_MS,
    )


async def add_fleet(stores: SqlStores, name: str) -> None:
    """Give an account a fleet credential."""
    fleet = FleetCredential(
        id=f"flt-of-{name}", account_id=name, name=name, unknown_hosts=UnknownHosts.ALLOW, created_at=Moment(NOW_MS)
    )
    await stores.fleets.add_fleet(fleet, f"fleet of {name}".encode())


HOOKS = SuggestionGroup("POST", "/hooks/pay", "", "stripe", "stripe", is_proven=True)


async def fill_lists(stores: SqlStores, site_id: str, name: str) -> None:
    """Give a site a list entry and a network list."""
    await stores._session.run(
        """INSERT INTO site_list_entry (id, site_id, kind, value, outcome, note, created_ms, created_by)
            VALUES ($1, $2, 'address', '203.0.113.7', 'allow', '', 0, 'olga')""",
        f"entry-of-{name}",
        site_id,
    )
    await stores._session.run(
        """INSERT INTO network_list (site_id, name, source, url, refresh_minutes, note, networks, count, skipped,
                revision, etag, problem, created_ms, created_by, changed_ms)
            VALUES ($1, 'drop', 'own', '', 60, '', $2, 0, 0, 1, '', '', 0, 'olga', 0)""",
        site_id,
        bytes(4),
    )


async def fill(stores: SqlStores, name: str, leaving: str) -> None:
    """Give an account one of everything that an account can have."""
    site_id = f"site-of-{name}"
    await stores.sites.add_site(site(site_id, name))
    await stores.credentials.add_credential(credential(f"cred-of-{name}", site_id), name.encode())
    await stores._session.run(
        """INSERT INTO site_rules (site_id, revision, overrides, effective_version, updated_ms, updated_by)
            VALUES ($1, 1, '[]', 'v', 0, 'olga')""",
        site_id,
    )
    await stores._session.run(
        """INSERT INTO rule_revision (site_id, revision, overrides, effective_version, updated_ms, updated_by)
            VALUES ($1, 1, '{}', 'v', 0, 'olga')""",
        site_id,
    )
    await stores._session.run(
        """INSERT INTO decision_label
            (site_id, decision, label, source, actor, created_ms, updated_ms, evidence)
            VALUES ($1, 1, 'bot', 'operator', 'olga', 0, 0, '{}')""",
        site_id,
    )
    await stores._session.run(
        """INSERT INTO feature_capture (site_id, enabled, retention_days, updated_ms, updated_by)
            VALUES ($1, 1, 30, 0, 'olga')""",
        site_id,
    )
    await fill_lists(stores, site_id, name)
    await stores.suggestions.add_seen([SeenGroup(site_id, HOOKS, 7, ["00" * 8], NOW_MS, NOW_MS)])
    await stores.notices.save_state(site_id, SiteState(health="ok"))
    await stores._session.run(
        """INSERT INTO appeal (id, site_id, link_digest, decision, visitor, outcome, method, route, message, state,
                created_ms, reply)
            VALUES ($1, $2, $1, 1, '0000000000000001', 'block', 'GET', '/', 'I am a person.', 'waiting', 0, '')""",
        f"appeal-of-{name}",
        site_id,
    )
    await stores.webhooks.add_webhook(webhook(f"hook-of-{name}", site_id, name))
    await stores.webhooks.save_delivery(delivery(f"delivery-to-{name}", site_id, f"hook-of-{name}"), keep=50)
    await stores.api_tokens.add_token(name, token(f"token-of-{name}", created_by=leaving), name.encode())
    await fill_user(stores, name, leaving)
    await stores.invitations.add_invitation(
        StoredInvitation(
            id=f"invitation-to-{name}",
            account_id=name,
            email=f"guest-of-{name}@example.com",
            role=AccountRole.MEMBER,
            secret_digest=f"invitation to {name}".encode(),
            created_ms=NOW_MS,
            expires_ms=NOW_MS + DAY_MS,
        )
    )
    invited = {"recipient": f"guest-of-{name}@example.com", "link_digest": f"invitation to {name}".encode()}
    await stores.outbox.add_message(message(f"msg-to-guest-of-{name}", **invited))
    await stores.outbox.add_message(message(f"msg-to-{leaving}", recipient=f"{leaving}@example.com"))
    for made in (
        entry(name, None),
        entry(name, site_id),
        entry(None, site_id, target=f"moved to {name}"),
        entry(None, None, actor=f"{leaving}@example.com", actor_kind=ActorKind.USER),
        entry(None, None, target=leaving),
    ):
        await stores.audit.add_entry(made)
    await note_changes(stores, name, site_id)


async def fill_user(stores: SqlStores, name: str, leaving: str) -> None:
    """Give a user one of everything that a user can have."""
    await stores.users.replace_recovery_codes(leaving, [b"code"])
    await stores.users.add_passkey(passkey(leaving))
    await stores.oidc_identities.add_identity("https://login.example", leaving, leaving, NOW_MS)
    await stores.user_sessions.add_session(session(leaving, name))
    await stores.links.add_link(link(f"link of {leaving}".encode(), leaving, account_id=name))


async def note_changes(stores: SqlStores, account_id: str, site_id: str) -> None:
    await stores.configuration.bump_site(site_id)
    await stores.configuration.bump_account(account_id)


@pytest.fixture
async def acme(store: SqlStore) -> str:
    """A deleted account with Ann, who is nowhere else, and Sam, who is in Globex too; and Globex with the like."""
    await add_accounts(store, account("globex"))
    await add_member(store, "globex", user("gil"), role=AccountRole.OWNER)
    await add_member(store, "globex", user("sam"))
    await store.change(lambda stores: fill(stores, "globex", "gil"))
    await store.change(lambda stores: add_fleet(stores, "globex"))
    await add_accounts(store, account("acme", status=AccountStatus.DELETED, deleted_ms=DELETED_MS))
    await add_member(store, "acme", user("ann"), role=AccountRole.OWNER)
    await add_member(store, "acme", user("sam"))
    await store.change(lambda stores: fill(stores, "acme", "ann"))
    await store.change(lambda stores: add_fleet(stores, "acme"))
    return "acme"


async def purge(store: SqlStore, account_id: str, before_ms: int = BEFORE_MS) -> bool:
    return await store.change(lambda stores: stores.accounts.purge_account(account_id, before_ms))


async def test_nothing_of_the_account_or_its_people_is_left_in_any_table(store: SqlStore, acme: str) -> None:
    before = await snapshot(store)
    # A table that is added later must be filled above, and purged.
    assert {table for table, rows in before.items() if not rows} <= IMPERSONAL
    assert "acme" in repr(before)
    assert "ann" in repr(before)

    assert await purge(store, acme)

    left = {row for rows in (await snapshot(store)).values() for row in rows if "acme" in row or "'ann" in row}
    assert left == set()


async def test_nothing_of_other_accounts_goes(store: SqlStore, acme: str) -> None:
    before = await snapshot(store)

    await purge(store, acme)

    after = await snapshot(store)
    before["site_number"] = after["site_number"]
    # The number of versions is unchanged, and so are the versions of other accounts.
    changes = before["configuration_change"]
    assert len(after["configuration_change"]) == len(changes)
    before["configuration_change"] = after["configuration_change"]
    assert [row for row in changes if "globex" in row] == [
        row for row in after["configuration_change"] if "globex" in row
    ]
    kept = {table: [row for row in rows if "acme" not in row and "'ann" not in row] for table, rows in before.items()}
    assert after == kept
    assert await store.read.users.find_user("sam") is not None


async def test_a_member_who_stays_loses_only_what_led_to_the_account(store: SqlStore, acme: str) -> None:
    async def work(stores: SqlStores) -> None:
        await stores.user_sessions.add_session(session("sam", acme))
        await stores.links.add_link(link(b"into acme", "sam", account_id=acme))
        await stores.links.add_link(link(b"elsewhere", "sam", account_id="globex"))
        for digest in (b"into acme", b"elsewhere"):
            made = message(digest.decode(), recipient="sam@example.com", link_digest=digest)
            await stores.outbox.add_message(made)

    await store.change(work)
    await purge(store, acme)

    assert (await store.read.user_sessions.find_session(b"session of sam")).account_id is None
    assert await store.read.links.find_link(b"into acme") is None
    assert await store.read.links.find_link(b"elsewhere") is not None
    to_sam = [made.id for made in await store.read.outbox.list_messages(10) if made.recipient == "sam@example.com"]
    assert to_sam == ["elsewhere"]


async def test_an_entry_about_a_moved_site_stays_in_the_other_accounts_trail(store: SqlStore, acme: str) -> None:
    await store.change(lambda stores: stores.audit.add_entry(entry("globex", "site-of-acme", target="moved away")))

    await purge(store, acme)

    assert "moved away" in repr((await snapshot(store))["audit_entry"])


async def test_an_address_chosen_for_a_site_that_moved_away_goes(store: SqlStore, acme: str) -> None:
    async def work(stores: SqlStores) -> None:
        await stores.webhooks.add_webhook(webhook("left-behind", "site-of-globex", acme))
        await stores.webhooks.save_delivery(delivery("to-it", "site-of-globex", "left-behind"), keep=50)

    await store.change(work)
    await purge(store, acme)

    assert [each.id for each in await store.read.webhooks.list_webhooks("site-of-globex")] == ["hook-of-globex"]


async def test_purging_again_changes_nothing(store: SqlStore, acme: str) -> None:
    await purge(store, acme)
    before = await snapshot(store)

    assert not await purge(store, acme)

    assert await snapshot(store) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"status": AccountStatus.ACTIVE, "deleted_ms": None},
        {"status": AccountStatus.SUSPENDED, "deleted_ms": None},
        # Restored, and deleted once more: the time starts again.
        {"status": AccountStatus.DELETED, "deleted_ms": BEFORE_MS},
        # A state that should not be: the status decides.
        {"status": AccountStatus.ACTIVE, "deleted_ms": DELETED_MS},
    ],
)
async def test_an_account_that_is_not_long_deleted_loses_nothing(store: SqlStore, acme: str, changes) -> None:
    found = await store.read.accounts.find_account(acme)
    await store.change(lambda stores: stores.accounts.save_account(replace(found, **changes)))
    before = await snapshot(store)

    assert acme not in await store.read.accounts.list_purgeable(BEFORE_MS)
    assert await store.change(lambda stores: stores.accounts.purge_some(acme, BEFORE_MS, most=10)) == 0
    assert not await purge(store, acme)

    assert await snapshot(store) == before


async def test_a_purge_that_is_interrupted_anywhere_leaves_all_as_it_was(store: SqlStore, acme: str) -> None:
    before = await snapshot(store)

    for survives in itertools.count():
        try:
            await store._database.transaction(
                lambda transaction, survives=survives: SqlStores(
                    DyingTransaction(transaction, survives)
                ).accounts.purge_account(acme, BEFORE_MS)
            )
        except Interruption:
            assert await snapshot(store) == before
        else:
            break

    assert survives > 15
    assert await store.read.accounts.find_account(acme) is None


async def test_a_purge_that_meets_a_reactivation_takes_all_or_nothing(store: SqlStore, acme: str) -> None:
    before = await snapshot(store)

    async def reactivate(stores: SqlStores) -> bool:
        await stores.accounts.lock_account(acme)
        found = await stores.accounts.find_account(acme)
        if found is None:
            return False
        await stores.accounts.save_account(replace(found, status=AccountStatus.ACTIVE, deleted_ms=None))
        return True

    purged, is_back = await asyncio.gather(purge(store, acme), store.change(reactivate))

    assert purged is not is_back
    if is_back:
        assert {**await snapshot(store), "account": []} == {**before, "account": []}
    else:
        assert "acme" not in repr(await snapshot(store))


async def test_long_tables_go_in_parts(store: SqlStore, acme: str) -> None:
    async def part(stores: SqlStores) -> int:
        return await stores.accounts.purge_some(acme, BEFORE_MS, most=2)

    gone = [await store.change(part)]
    while gone[-1]:
        gone.append(await store.change(part))
    assert len(gone) > 3
    assert all(count == 2 for count in gone[:-2])
    trail = await store.read.audit.list_account_events(acme, limit=10)
    assert trail == []
    assert await store.read.accounts.find_account(acme) is not None


async def test_the_longest_deleted_account_comes_first(store: SqlStore) -> None:
    deleted = [
        account(f"acc-{number}", status=AccountStatus.DELETED, deleted_ms=DELETED_MS + number) for number in (2, 0, 1)
    ]
    await add_accounts(store, account("active"), *deleted)

    assert await store.read.accounts.list_purgeable(DELETED_MS + 2) == ["acc-0", "acc-1"]
