"""Changes of the configuration name what they changed, and the directory of sites reads only that."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from agentgate.lib.database import Row, StoreUnavailable
from agentgate.lib.enums import ListKind, ListOutcome, Mode
from agentgate.lib.secrets import digest
from agentgate.people.installation import configuration_version
from agentgate.people.installation.configuration_version import Changes
from agentgate.server.stores.unit_of_work import SqlStores
from agentgate.sites.directory import MOST_AT_ONCE, SiteDirectory
from agentgate.sites.jobs import warn_of_rules
from agentgate.sites.lists.records import StoredEntry
from agentgate.sites.repository import FEW_CHARACTERS, DirectoryStore
from agentgate.sites.rules.records import StoredRules
from tests.store.sql_objects import NOW_MS, Opened, migrated, new_account, new_credential, new_site

pytestmark = pytest.mark.anyio
SITES = 40


class Seen:
    """A directory that has read everything, and what it reads from then on."""

    def __init__(self, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened = opened
        self.directory = SiteDirectory()
        self.read: list[str] = []
        self.models = 0
        self._list_sites = DirectoryStore.list_sites
        # Called before sites are read.
        self.before: Callable[[Sequence[str]], Awaitable[None]] | None = None
        monkeypatch.setattr(DirectoryStore, "list_sites", self._noted())

    def _noted(self) -> Any:
        async def list_sites(store: DirectoryStore, site_ids: Sequence[str]) -> list[Row]:
            assert len(site_ids) <= MOST_AT_ONCE
            self.read += site_ids
            if self.before is not None:
                await self.before(site_ids)
            return await self._list_sites(store, site_ids)

        return list_sites

    async def refresh(self, now_ms: int = NOW_MS) -> None:
        await self.directory.refresh(self.opened.store, now_ms, self._load_models)

    async def _load_models(self) -> None:
        self.models += 1

    async def change(self, work: Callable[[SqlStores], Awaitable[Any]]) -> None:
        await self.opened.store.change(work)

    async def rename(self, site_id: str, name: str) -> None:
        async def work(stores: SqlStores) -> None:
            await stores.sites.save_site(replace(of_site(site_id), name=name))
            await stores.configuration.bump_site(site_id)

        await self.change(work)

    async def revoke(self, site_id: str, *, said: bool = True) -> None:
        await self.opened.database.run("UPDATE credential SET revoked_ms = $1 WHERE site_id = $2", NOW_MS, site_id)
        if said:
            await self.change(lambda stores: stores.configuration.bump_site(site_id))

    def is_open(self, site_id: str) -> bool:
        return self.directory.find_caller(secret_of(site_id), now_ms=NOW_MS) is not None


def of_site(site_id: str) -> Any:
    return new_site(site_id, "acc_1" if int(site_id[3:]) < SITES - 2 else "acc_2")


def secret_of(site_id: str) -> bytes:
    return f"ags_{site_id}".encode()


@pytest.fixture
async def opened(backend: Any) -> AsyncIterator[Opened]:
    async with migrated(backend) as opened:

        async def fill(stores: SqlStores) -> None:
            for account in ("acc_1", "acc_2"):
                await stores.accounts.add_account(new_account(account))
            for number in range(SITES):
                site_id = f"st_{number}"
                await stores.sites.add_site(of_site(site_id))
                await stores.credentials.add_credential(
                    new_credential(number, site_id), digest(secret_of(site_id).decode())
                )

        await opened.store.change(fill)
        yield opened


@pytest.fixture
async def seen(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> Seen:
    seen = Seen(opened, monkeypatch)
    await seen.refresh()
    assert sorted(seen.read) == sorted(f"st_{number}" for number in range(SITES))
    assert seen.models == 1
    seen.read.clear()
    return seen


async def test_versions_name_what_they_changed_or_say_that_they_do_not(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = opened.store.read.configuration

    async def work(stores: SqlStores) -> None:
        await stores.configuration.bump_site("st_1")
        await stores.configuration.bump_account("acc_1")
        await stores.configuration.bump_models()

    await opened.store.change(work)
    assert await read.version() == 3
    assert await read.changes(0, 3) == Changes(frozenset({"st_1"}), frozenset({"acc_1"}), models=True)
    assert await read.changes(1, 2) == Changes(frozenset(), frozenset({"acc_1"}), models=False)
    # At a start, after a restore, and when a version was raised by hand.
    assert await read.changes(-1, 3) is None
    assert await read.changes(4, 3) is None
    assert await read.changes(0, 4) is None

    monkeypatch.setattr(configuration_version, "KEPT_CHANGES", 3)
    monkeypatch.setattr(configuration_version, "DELETED_TOGETHER", 6)
    await opened.store.change(work)
    assert await opened.database.one("SELECT count(*) FROM configuration_change") == (3,)
    assert await read.changes(2, 6) is None
    assert await read.changes(3, 6) is not None


async def test_only_what_a_change_names_is_read(seen: Seen) -> None:
    before = {number: seen.directory.find_by_number(number) for number in range(1, SITES + 1)}

    await seen.rename("st_3", "New")
    await seen.refresh()

    assert seen.read == ["st_3"]
    changed = [number for number, view in before.items() if seen.directory.find_by_number(number) is not view]
    assert [seen.directory.key_of(number) for number in changed] == ["site_key_st_3"]
    assert seen.directory.find("site_key_st_3").name == "New"
    assert seen.is_open("st_3")
    assert seen.models == 1

    await seen.change(lambda stores: stores.configuration.bump_models())
    await seen.refresh()
    assert (seen.read, seen.models) == (["st_3"], 2)


async def test_models_that_could_not_be_read_are_read_the_next_time(seen: Seen) -> None:
    await seen.change(lambda stores: stores.configuration.bump_models())

    async def fail() -> None:
        raise StoreUnavailable("away")

    with pytest.raises(StoreUnavailable):
        await seen.directory.refresh(seen.opened.store, NOW_MS, fail)
    await seen.refresh()

    assert seen.models == 2


DAMAGED = {
    "not JSON": "{rules",
    "empty": "",
    "a list": "[]",
    "a number": "7",
    "no rules": '{"version": "1"}',
    "a number as rules": '{"version": "1", "rules": 5, "default_action": "allow"}',
    "null as a rule": '{"version": "1", "rules": [null], "default_action": "allow"}',
    "nested deeply": "[" * 200_000,
    "a damaged schedule": '{"version": "1", "rules": [{"name": "a", "action": "block", "match": {}, "schedule": 3}]}',
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
async def test_damaged_rules_affect_their_site_alone(seen: Seen, text: str) -> None:
    good = seen.directory.find_by_id("st_3")
    rules = StoredRules(
        overrides={}, effective_version="1-0", revision=1, rule_set=None, updated_ms=NOW_MS, updated_by="Olga"
    )

    async def damage(stores: SqlStores) -> None:
        for site_id in ("st_3", "st_4"):
            assert await stores.rules.save_rules(site_id, rules)
            await stores.configuration.bump_site(site_id)

    await seen.change(damage)
    await seen.opened.database.run("UPDATE site_rules SET rule_set = $1 WHERE site_id = 'st_3'", text)
    await seen.refresh()
    assert seen.directory.find_by_id("st_3") is good
    assert seen.is_open("st_3")

    started = SiteDirectory()
    await started.refresh(seen.opened.store, NOW_MS, seen._load_models)
    views = [started.find_by_id(f"st_{number}") for number in range(SITES)]
    assert [view.id for view in views if view.broken] == ["st_3"]
    # Its servers get an error of the service, not one of their secret.
    assert started.find_caller(secret_of("st_3"), now_ms=NOW_MS).site.broken
    await warn_of_rules(seen.opened.store)

    await seen.opened.database.run("UPDATE site_rules SET rule_set = NULL WHERE site_id = 'st_3'")
    await seen.change(lambda stores: stores.configuration.bump_site("st_3"))
    for directory in (started, seen.directory):
        await directory.refresh(seen.opened.store, NOW_MS, seen._load_models)
        assert not directory.find_by_id("st_3").broken


async def test_a_damaged_site_affects_no_other(seen: Seen) -> None:
    good = seen.directory.find_by_id("st_3")
    await seen.opened.database.run("UPDATE site SET routes = '{' WHERE id = 'st_3'")
    await seen.rename("st_4", "New")
    await seen.change(lambda stores: stores.configuration.bump_site("st_3"))
    await seen.refresh()

    assert seen.directory.find_by_id("st_3") is good
    assert seen.directory.find_by_id("st_4").name == "New"


async def test_a_deleted_site_is_evicted_with_its_secrets(seen: Seen) -> None:
    database = seen.opened.database
    for table in ("credential WHERE site_id", "site WHERE id"):
        await database.run(f"DELETE FROM {table} IN ('st_38', 'st_39')")
    await seen.change(lambda stores: stores.configuration.bump_account("acc_2"))
    await seen.refresh()

    assert sorted(seen.read) == ["st_38", "st_39"]
    assert seen.directory.find("site_key_st_38") is None
    assert not seen.is_open("st_38")
    assert seen.is_open("st_1")
    # Others share its origin.
    assert seen.directory.find_by_origin("https://shop.example") is not None
    assert seen.directory.find_by_origin("https://other.example") is None


async def test_an_entry_ends_at_its_site_alone_and_without_the_store(seen: Seen) -> None:
    for number in (1, 2):
        entry = StoredEntry(
            id=f"lst_{number:016x}",
            site_id=f"st_{number}",
            kind=ListKind.ADDRESS,
            value="203.0.113.7",
            outcome=ListOutcome.BLOCK,
            note="",
            created_ms=NOW_MS,
            created_by="Olga",
            expires_ms=NOW_MS + number * 1_000,
        )

        async def add(stores: SqlStores, entry: StoredEntry = entry) -> None:
            await stores.lists.add_entry(entry)
            await stores.configuration.bump_site(entry.site_id)

        await seen.change(add)
    await seen.refresh()
    first, second = (seen.directory.find_by_id(site_id) for site_id in ("st_1", "st_2"))
    assert first.matcher is not None
    seen.read.clear()

    class Away:
        @property
        def read(self) -> Any:
            raise StoreUnavailable("away")

    with pytest.raises(StoreUnavailable):
        await seen.directory.refresh(Away(), NOW_MS + 1_000, seen._load_models)

    assert seen.read == []
    assert seen.directory.find_by_id("st_1").matcher is None
    assert seen.directory.find_by_id("st_2") is second
    assert seen.is_open("st_1")
    await seen.refresh(NOW_MS + 2_000)
    assert seen.directory.find_by_id("st_2").matcher is None


async def test_a_deleted_account_closes_before_any_of_its_sites_is_read(seen: Seen) -> None:
    async def refuse(site_ids: Sequence[str]) -> None:
        raise StoreUnavailable("away")

    await seen.opened.database.run("UPDATE account SET status = 'deleted' WHERE id = 'acc_1'")
    await seen.change(lambda stores: stores.configuration.bump_account("acc_1"))
    seen.before = refuse
    with pytest.raises(StoreUnavailable):
        await seen.refresh()

    assert not any(seen.is_open(f"st_{number}") for number in range(SITES - 2))
    assert seen.directory.find("site_key_st_1").disabled
    assert seen.is_open("st_39")

    # A revocation in between remains in effect when the account opens again: the account's sites are read before.
    await seen.revoke("st_1", said=False)
    await seen.opened.database.run("UPDATE account SET status = 'active' WHERE id = 'acc_1'")
    await seen.change(lambda stores: stores.configuration.bump_account("acc_1"))

    async def closed(site_ids: Sequence[str]) -> None:
        assert not seen.is_open("st_1")
        assert not seen.is_open("st_2")

    seen.before = closed
    await seen.refresh()
    assert not seen.is_open("st_1")
    assert seen.is_open("st_2")


@pytest.mark.parametrize("far", [False, True])
async def test_revoked_secrets_fail_before_any_slice_is_read(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, *, far: bool
) -> None:
    """Both where changes name many sites and where they do not name all, as after a restore."""
    if far:
        await seen.opened.database.run("UPDATE configuration_version SET version = version + 1")
    for number in range(10):
        await seen.revoke(f"st_{number}")

    async def none_open(site_ids: Sequence[str]) -> None:
        assert not any(seen.is_open(f"st_{number}") for number in range(10))

    seen.before = none_open
    await seen.refresh()

    assert len(set(seen.read)) == (SITES if far else 10)
    assert seen.is_open("st_20")


async def test_a_lowered_version_reads_everything(seen: Seen) -> None:
    await seen.rename("st_1", "Later")
    await seen.rename("st_1", "Latest")
    await seen.refresh()
    seen.read.clear()
    await seen.opened.database.run("UPDATE site SET name = 'Restored' WHERE id = 'st_1'")
    await seen.opened.database.run("UPDATE configuration_version SET version = 1")
    await seen.refresh()

    assert len(set(seen.read)) == SITES
    assert seen.directory.find("site_key_st_1").name == "Restored"


async def test_no_view_has_half_of_a_change(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change between the read of a site and the read of its rules is read whole."""
    list_secrets = DirectoryStore.list_secrets
    rules = StoredRules(
        overrides={},
        effective_version="9-0",
        revision=1,
        rule_set={"version": "9", "rules": [], "default_action": "block"},
        updated_ms=NOW_MS,
        updated_by="Olga",
    )
    left = [True]

    async def change_both(stores: SqlStores) -> None:
        await stores.sites.save_site(replace(of_site("st_5"), mode=Mode.ENFORCE))
        assert await stores.rules.save_rules("st_5", rules)
        await stores.configuration.bump_site("st_5")

    async def meanwhile(store: DirectoryStore, site_ids: Sequence[str]) -> list[Row]:
        if left and site_ids == ["st_5"]:
            left.clear()
            await seen.change(change_both)
        return await list_secrets(store, site_ids)

    monkeypatch.setattr(DirectoryStore, "list_secrets", meanwhile)
    views = []
    put = seen.directory._put
    monkeypatch.setattr(seen.directory, "_put", lambda read, view: (views.append(view), put(read, view)))
    await seen.rename("st_5", "New")
    await seen.refresh()

    assert {(view.mode, view.rules.version.startswith("9-")) for view in views} == {(Mode.ENFORCE, True)}
    assert set(seen.read) == {"st_5"}


async def test_a_version_is_published_before_the_response_to_its_change(seen: Seen) -> None:
    shown: list[tuple[int, bool]] = []
    seen.directory.on_version = lambda version: shown.append((version, seen.directory.is_fresh))
    await seen.rename("st_1", "New")
    seen.directory.expect_change()
    await seen.refresh()

    assert shown == [(1, False)]
    assert seen.directory.is_fresh


async def test_two_nodes_lose_none_of_many_changes(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both poll while sites are renamed, entries are added and secrets are revoked, several at a time."""
    nodes = [Seen(opened, monkeypatch) for _ in range(2)]
    for node in nodes:
        await node.refresh()
    names: dict[str, str] = {}
    ended = asyncio.Event()

    async def change(start: int) -> None:
        for number in range(start, 200, 4):
            site_id = f"st_{number * 7 % (SITES - 2)}"
            names[site_id] = name = f"Name {number}"
            await nodes[0].rename(site_id, name)
            if number % 20 == start:
                await nodes[0].revoke(site_id)
                revoked.add(site_id)

    async def poll(node: Seen) -> None:
        while not ended.is_set():
            await node.refresh()
            await asyncio.sleep(0.005)

    revoked: set[str] = set()
    polls = [asyncio.create_task(poll(node)) for node in nodes]
    await asyncio.gather(*map(change, range(4)))
    ended.set()
    await asyncio.gather(*polls)

    rows = dict(await opened.database.all("SELECT id, name FROM site"))
    for node in nodes:
        await node.refresh()
        assert {site_id: node.directory.find_by_id(site_id).name for site_id in rows} == rows
        assert {site_id for site_id in rows if not node.is_open(site_id)} == revoked
        assert node.directory.version == await opened.store.read.configuration.version()
    assert len(names) == SITES - 2


async def test_later_changes_do_not_prolong_a_refresh(seen: Seen) -> None:
    """A response waits for the changes before it. Other customers who always change something do not delay it."""
    waiting: list[asyncio.Task[None]] = []

    async def change_again(_site_ids: Sequence[str]) -> None:
        seen.directory.expect_change()
        if len(seen.read) > 2:
            seen.before = None

    seen.directory.expect_change()
    waiting.append(asyncio.create_task(seen.directory.await_refresh()))
    await asyncio.sleep(0)
    seen.before = change_again
    await seen.rename("st_3", "New")
    await seen.refresh()
    await asyncio.sleep(0)

    assert not seen.directory.is_fresh
    assert waiting[0].done()
    later = asyncio.create_task(seen.directory.await_refresh())
    await asyncio.sleep(0.01)
    assert not later.done()
    await seen.refresh()
    await later


@pytest.mark.parametrize("kind", ["a name", "a long text", "rules"])
async def test_only_a_site_of_little_text_is_made_in_the_event_loop(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    in_thread: list[str] = []
    to_thread = asyncio.to_thread

    async def noted(*arguments: Any) -> Any:
        in_thread.append(kind)
        return await to_thread(*arguments)

    rules = StoredRules(
        overrides={}, effective_version="1-0", revision=1, rule_set=None, updated_ms=NOW_MS, updated_by="Olga"
    )
    await seen.refresh()
    monkeypatch.setattr(asyncio, "to_thread", noted)
    if kind == "rules":
        await seen.change(lambda stores: stores.rules.save_rules("st_5", rules))
    await seen.rename("st_5", "New" * (FEW_CHARACTERS if kind == "a long text" else 1))
    await seen.refresh()

    view = seen.directory.find_by_id("st_5")
    assert view is not None
    assert view.name.startswith("New")
    assert bool(in_thread) == (kind != "a name")
