"""A migrated store on either database, and accounts, sites and credentials to put into it."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentgate.events.storage.queries.read_models import SqlSiteSums
from agentgate.events.storage.rollups import forget_site
from agentgate.lib.clock import FixedClock
from agentgate.lib.enums import AccountStatus, Mode, WidgetMode
from agentgate.lib.moment import Moment
from agentgate.people.accounts.records import Limits, StoredAccount
from agentgate.server.stores.open import SETS
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.sites.credentials.records import Credential
from agentgate.sites.records import Site, SiteAction, SiteRoute
from agentgate.sites.repository import ActivityStore
from agentgate.storage.migrate import MigratedDatabase, apply

NOW_MS = 1_794_744_000_000  # 2026-11-15T12:00:00Z


@dataclass(frozen=True)
class Opened:
    """An empty store with all its tables."""

    database: MigratedDatabase
    store: SqlStore
    activity: ActivityStore


@contextlib.asynccontextmanager
async def migrated(backend: Any) -> AsyncIterator[Opened]:
    """Apply the real migrations to a backend and close it afterwards."""
    database = backend.make()
    try:
        for name in SETS:
            await apply(database, name, clock=FixedClock(NOW_MS))
        yield Opened(
            database,
            SqlStore(database),
            ActivityStore(database, SqlSiteSums(database), forget_site=partial(forget_site, database, None)),
        )
    finally:
        await database.close()


def new_account(account_id: str = "acc_1", **changes: Any) -> StoredAccount:
    """Return an account that is not stored yet."""
    usual = {
        "id": account_id,
        "name": "Acme",
        "status": AccountStatus.ACTIVE,
        "protected": False,
        "limits": Limits(),
        "created_at": Moment(NOW_MS),
    }
    return StoredAccount(**usual | changes)


def new_site(site_id: str = "st_1", account_id: str = "acc_1", **changes: Any) -> Site:
    """Return a site that is not stored yet; its key follows from its ID."""
    usual = {
        "id": site_id,
        "customer_id": account_id,
        "site_key": f"site_key_{site_id}",
        "name": "Shop 店",
        "allowed_origins": ["https://shop.example"],
        "mode": Mode.MONITOR,
        "widget_mode": WidgetMode.INVISIBLE,
        "actions": {"login": SiteAction(browser_required=True, clearance=False)},
        "routes": [SiteRoute(method="POST", action="login", path="/login")],
        "form_method_override": True,
        "clearance_without_script": False,
        "created_at": Moment(NOW_MS),
        "updated_at": Moment(NOW_MS),
    }
    return Site(**usual | changes)


def new_credential(number: int, site_id: str = "st_1", **changes: Any) -> Credential:
    """Return a credential that is not stored yet; its digest would be `digest_of` its number."""
    usual = {"id": f"cred_{number:016x}", "site_id": site_id, "name": "Web", "created_at": Moment(NOW_MS + number)}
    return Credential(**usual | changes)


def digest_of(number: int) -> bytes:
    """Return 32 bytes that no other number has."""
    return number.to_bytes(32, "big")


async def add_two_tenants(store: SqlStore) -> None:
    """Store two accounts with one site each: acc_1 with st_1, acc_2 with st_2."""
    for number in (1, 2):
        await store.change(lambda stores, number=number: stores.accounts.add_account(new_account(f"acc_{number}")))
        site = new_site(f"st_{number}", f"acc_{number}")
        assert await store.change(lambda stores, site=site: stores.sites.add_site(site))
