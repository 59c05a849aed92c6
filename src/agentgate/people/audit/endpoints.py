"""Reading the trail of a site and of an account."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from agentgate.http.call import Call, SiteCall
from agentgate.lib.cursors import Cursors
from agentgate.lib.database import Store
from agentgate.lib.keyring import Keyring
from agentgate.lib.limits import CHANGES_LIMIT, PAGE_SIZE
from agentgate.lib.records import Query
from agentgate.people.audit.records import AuditEvent, AuditPage, ConfigChangeList
from agentgate.people.audit.repository import AuditStores

# Dotted words, like every action. A trailing dot does not change the meaning.
ACTION_FILTER_PATTERN = r"^[a-z0-9_]+(\.[a-z0-9_]+)*\.?\Z"
ACTION_FILTER_CHARACTERS = 100


class ChangesQuery(Query, frozen=True, kw_only=True):
    """How much of the trail to show."""

    limit: Annotated[int, Meta(ge=CHANGES_LIMIT.least, le=CHANGES_LIMIT.most)] = CHANGES_LIMIT.default


class AuditQuery(Query, frozen=True, kw_only=True):
    """Which part of the trail to show: an action and its dotted children, and the page."""

    action: Annotated[str, Meta(max_length=ACTION_FILTER_CHARACTERS, pattern=ACTION_FILTER_PATTERN)] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=PAGE_SIZE.least, le=PAGE_SIZE.most)] = PAGE_SIZE.default
    cursor: str | UnsetType = UNSET


async def list_site_changes(call: SiteCall, query: ChangesQuery, store: Store[AuditStores]) -> ConfigChangeList:
    """List the changes made to a site, newest first."""
    items = await store.read.audit.list_site_changes(call.site_id, query.limit, account_id=call.actor.account_id)
    return ConfigChangeList(items=items)


async def list_own_audit(call: Call, query: AuditQuery, store: Store[AuditStores], keyring: Keyring) -> AuditPage:
    """List the account's audit trail, newest first."""
    account_id = call.actor.account_id
    assert account_id is not None, "the guard allows only members of an account"
    return await read_audit_page(store.read, keyring, call, query, account_id=account_id)


async def list_operator_audit(call: Call, query: AuditQuery, store: Store[AuditStores], keyring: Keyring) -> AuditPage:
    """List operators' audit trail, newest first: customers' accounts, models, keys and sessions."""
    return await _read_page(keyring, call, query, scope="operator", read=store.read.audit.list_operator_events)


async def read_audit_page(
    stores: AuditStores, keyring: Keyring, call: Call, query: AuditQuery, *, account_id: str
) -> AuditPage:
    """Return one page of an account's trail. Its cursor is good for this route, account and filter only."""
    read = partial(stores.audit.list_account_events, account_id)
    return await _read_page(keyring, call, query, scope=account_id, read=read)


async def _read_page(
    keyring: Keyring, call: Call, query: AuditQuery, *, scope: str, read: Callable[..., Awaitable[list[AuditEvent]]]
) -> AuditPage:
    action = None if isinstance(query.action, UnsetType) else query.action.removesuffix(".")
    cursors = Cursors(keyring, call.route, scope, action or "")
    before = None if isinstance(query.cursor, UnsetType) else int(cursors.read(query.cursor)[0])
    # Fetch one extra row to detect a next page.
    events = await read(action=action, before=before, limit=query.limit + 1)
    items = events[: query.limit]
    if len(events) <= query.limit:
        return AuditPage(items=items)
    return AuditPage(items=items, next_cursor=cursors.issue((items[-1].id,)))
