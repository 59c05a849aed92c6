"""Accounts in SQL: what is kept, what is counted, what is revoked."""

import asyncio

import pytest
from msgspec.structs import replace

from agentgate.lib.clock import DAY_MS
from agentgate.lib.enums import AccountStatus, Mode
from agentgate.lib.moment import Moment
from agentgate.people.accounts.records import Limits, Usage
from agentgate.server.stores.unit_of_work import SqlStore
from tests.store.account_rows import NOW_MS, account, add_accounts, add_member, credential, site, token, user

pytestmark = pytest.mark.anyio


async def test_every_field_of_an_account_is_kept(store: SqlStore) -> None:
    kept = account(
        "acme",
        name="Ácme\u2028 & Söhne",
        status=AccountStatus.DELETED,
        protected=True,
        limits=Limits(sites=1, credentials_per_site=2, members=3, tokens=4, origins_per_site=5),
        require_mfa=True,
        suspended_reason="unpaid",
        deleted_ms=NOW_MS + 1,
    )

    await add_accounts(store, kept)

    assert await store.read.accounts.find_account("acme") == kept
    assert await store.read.accounts.find_account("globex") is None


async def test_saving_changes_one_account_and_leaves_others_alone(store: SqlStore) -> None:
    other = account("globex")
    await add_accounts(store, account("acme"), other)
    changed = account(
        "acme",
        name="New",
        status=AccountStatus.SUSPENDED,
        limits=Limits(sites=9, credentials_per_site=8, members=7, tokens=6, origins_per_site=5),
        require_mfa=True,
        suspended_reason="abuse",
        deleted_ms=NOW_MS,
    )

    await store.change(lambda stores: stores.accounts.save_account(changed))

    assert await store.read.accounts.find_account("acme") == changed
    assert await store.read.accounts.find_account("globex") == other


async def test_usage_counts_sites_members_and_tokens_that_still_work(store: SqlStore) -> None:
    await add_accounts(store, account("acme"), account("globex"))
    for member in ("ann", "bob"):
        await add_member(store, "acme", user(member))
    tokens = (
        token("live"),
        token("ends-later", expires_at=Moment(NOW_MS + 1)),
        token("ended", expires_at=Moment(NOW_MS)),
        token("revoked"),
    )

    async def fill(stores):
        await stores.sites.add_site(site("s1", "acme"))
        for made in tokens:
            await stores.api_tokens.add_token("acme", made, made.id.encode())
        await stores.api_tokens.revoke_token("acme", "revoked", NOW_MS)

    await store.change(fill)

    assert await store.read.accounts.read_usage("acme", NOW_MS) == Usage(sites=1, members=2, tokens=2)
    assert await store.read.accounts.read_usage("globex", NOW_MS) == Usage(sites=0, members=0, tokens=0)


async def test_an_enforcing_site_is_observed_in_its_own_account_only(store: SqlStore) -> None:
    await add_accounts(store, account("acme"), account("globex"))

    async def fill(stores):
        await stores.sites.add_site(site("s1", "acme", mode=Mode.ENFORCE))
        await stores.sites.add_site(site("s2", "globex"))

    await store.change(fill)

    assert await store.read.accounts.has_enforcing_site("acme")
    assert not await store.read.accounts.has_enforcing_site("globex")


async def test_revoking_everything_ends_live_secrets_of_this_account_only(store: SqlStore) -> None:
    await add_accounts(store, account("acme"), account("globex"))
    earlier_ms = NOW_MS - DAY_MS

    async def fill(stores):
        for owner in ("acme", "globex"):
            await stores.sites.add_site(site(f"site-{owner}", owner))
            made = credential(f"cred-{owner}", f"site-{owner}")
            await stores.credentials.add_credential(made, owner.encode())
            await stores.api_tokens.add_token(owner, token(f"tok-{owner}"), owner.encode())
        old = credential("cred-old", "site-acme")
        await stores.credentials.add_credential(old, b"old")
        await stores.credentials.save_end(replace(old, revoked_at=Moment(earlier_ms)))
        await stores.api_tokens.add_token("acme", token("tok-ended", expires_at=Moment(earlier_ms)), b"ended")

    await store.change(fill)
    await store.change(lambda stores: stores.accounts.revoke_everything("acme", NOW_MS))

    ends = {made.id: made.revoked_at or None for made in await store.read.credentials.list_credentials("site-acme")}
    assert ends == {"cred-acme": NOW_MS, "cred-old": earlier_ms}
    tokens = {made.id: made.revoked_at or None for made in await store.read.api_tokens.list_tokens("acme")}
    assert tokens == {"tok-acme": NOW_MS, "tok-ended": None}
    assert not (await store.read.credentials.list_credentials("site-globex"))[0].revoked_at
    assert not (await store.read.api_tokens.list_tokens("globex"))[0].revoked_at


async def test_a_locked_account_lets_one_unit_of_work_in_at_a_time(store: SqlStore) -> None:
    await add_accounts(store, account("acme", limits=Limits(sites=0)))

    async def add_one(stores):
        await stores.accounts.lock_account("acme")
        found = await stores.accounts.find_account("acme")
        grown = replace(found, limits=replace(found.limits, sites=found.limits.sites + 1))
        await stores.accounts.save_account(grown)

    await asyncio.gather(*(store.change(add_one) for _ in range(20)))

    assert (await store.read.accounts.find_account("acme")).limits.sites == 20
