"""Accounts as operators list, read, change, suspend, delete and bring them back."""

from typing import Annotated, Literal

from msgspec import Meta

from agentgate.http.call import Call
from agentgate.lib.database import Store
from agentgate.lib.enums import AccountStatus
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import Keyring
from agentgate.lib.limits import CUSTOMERS_LIMIT, CUSTOMERS_QUERY_CHARACTERS
from agentgate.lib.records import Query, given
from agentgate.people.accounts import api_tokens, lifecycle
from agentgate.people.accounts.records import ConfirmInput, DeletedAccount
from agentgate.people.audit.endpoints import AuditQuery, read_audit_page
from agentgate.people.audit.records import AuditPage
from agentgate.protection.customers import detail, editing
from agentgate.protection.customers.guards import CustomerCall
from agentgate.protection.customers.records import (
    CustomerDetail,
    CustomerFilter,
    CustomerList,
    CustomerPatch,
    CustomerSiteInput,
    SuspendAccountInput,
)
from agentgate.protection.customers.repository import CustomerStores
from agentgate.protection.sites import detail as site_detail
from agentgate.protection.sites.editing import create_site
from agentgate.protection.sites.records import SiteDetail, SiteInput
from agentgate.protection.sites.repositories.sites import ActivityStore


class CustomersQuery(Query, frozen=True, kw_only=True):
    """Which accounts to show. `q` is a part of the account's ID, its name or a member's e-mail address."""

    status: Literal["active", "suspended", "deleted", "all"] = "all"
    q: Annotated[str, Meta(max_length=CUSTOMERS_QUERY_CHARACTERS)] = ""
    limit: Annotated[int, Meta(ge=CUSTOMERS_LIMIT.least, le=CUSTOMERS_LIMIT.most)] = CUSTOMERS_LIMIT.default


async def list_customers(call: Call, query: CustomersQuery, store: Store[CustomerStores]) -> CustomerList:  # noqa: ARG001 - every handler is given its call
    """List customers, newest first."""
    status = None if query.status == "all" else AccountStatus(query.status)
    wanted = CustomerFilter(status=status, text=query.q, limit=query.limit)
    return CustomerList(items=await store.read.customers.list_customers(wanted))


async def read_customer(call: CustomerCall, store: Store[CustomerStores], activity: ActivityStore) -> CustomerDetail:
    """Read a customer with members, sites, API tokens, usage and newest audit events."""
    return await detail.read_detail(store.read, activity, call.account.id, now=call.now)


async def change_customer(
    call: CustomerCall, body: CustomerPatch, store: Store[CustomerStores], activity: ActivityStore
) -> CustomerDetail:
    """Rename a customer or change its limits; absent fields keep their value."""
    await store.change(lambda stores: editing.change_customer(stores, call, call.account.id, body))
    return await detail.read_detail(store.read, activity, call.account.id, now=call.now)


async def delete_customer(call: CustomerCall, body: ConfirmInput, store: Store[CustomerStores]) -> DeletedAccount:
    """Delete a customer.

    `confirm` must be its name. No site may be in `enforce` mode. Credentials, sessions and API tokens end now, data
    is purged 30 days later; until then the customer can be reactivated. Its sites stay, but issue no more challenges.
    """
    # The sites are not touched: the browser check reads the account's status, so that they come back with it.
    return await store.change(lambda stores: lifecycle.delete_account(stores, call, call.account.id, body.confirm))


async def suspend_customer(
    call: CustomerCall, body: SuspendAccountInput, store: Store[CustomerStores], activity: ActivityStore
) -> CustomerDetail:
    """Suspend a customer.

    Console and API refuse its members. Its sites go on protecting.
    """
    reason = body.reason.strip()
    if not reason:
        raise Refused("invalid_request", "reason must say something.")
    await store.change(lambda stores: lifecycle.suspend_account(stores, call, call.account.id, reason))
    return await detail.read_detail(store.read, activity, call.account.id, now=call.now)


async def reactivate_customer(
    call: CustomerCall, store: Store[CustomerStores], activity: ActivityStore
) -> CustomerDetail:
    """Reactivate a suspended customer, or one that was deleted less than 30 days ago.

    Credentials and API tokens that were revoked stay revoked.
    """
    await store.change(lambda stores: lifecycle.reactivate_account(stores, call, call.account.id))
    return await detail.read_detail(store.read, activity, call.account.id, now=call.now)


async def create_customer_site(
    call: CustomerCall, body: CustomerSiteInput, store: Store[CustomerStores], activity: ActivityStore
) -> SiteDetail:
    """Create a site for a customer, whose limits do not bind operators."""
    wanted = SiteInput(**given(body))

    async def work(stores: CustomerStores) -> str:
        account = await lifecycle.get_account(stores, call.account.id)
        editing.check_not_deleted(account)
        return (await create_site(stores, call, wanted, account)).id

    site_id = await store.change(work)
    return await site_detail.read_detail(store.read, activity, site_id, now=call.now)


async def list_customer_audit(
    call: CustomerCall, query: AuditQuery, store: Store[CustomerStores], keyring: Keyring
) -> AuditPage:
    """List what happened in a customer's account, newest first."""
    return await read_audit_page(store.read, keyring, call, query, account_id=call.account.id)


async def revoke_customer_token(call: CustomerCall, store: Store[CustomerStores]) -> None:
    """Revoke an API token of a customer now."""
    token_id = call.params["tokenId"]
    await store.change(lambda stores: api_tokens.revoke_token(stores, call, call.account.id, token_id))
