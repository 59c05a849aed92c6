"""An account put together for operators: everything that stands on its page."""

from agentgate.lib.errors import Refused
from agentgate.lib.limits import CUSTOMER_DETAIL_AUDIT_EVENTS
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional, optional_moment
from agentgate.people.accounts.lifecycle import PURGE_MS
from agentgate.people.accounts.members import member_record
from agentgate.protection.customers.records import CustomerDetail, CustomerSite
from agentgate.protection.customers.repository import CustomerStores
from agentgate.protection.sites.detail import list_summaries
from agentgate.protection.sites.records import SiteSummary
from agentgate.protection.sites.repositories.sites import ActivityStore


async def read_detail(
    stores: CustomerStores, activity: ActivityStore, account_id: str, *, now: Moment
) -> CustomerDetail:
    """Return everything about one account, a deleted one included until it is purged."""
    summary = await stores.customers.find_customer(account_id)
    account = await stores.accounts.find_account(account_id)
    if summary is None or account is None:
        raise Refused("not_found", "There is no customer with this ID.")
    deleted_ms = account.deleted_ms
    return CustomerDetail(
        **{name: getattr(summary, name) for name in summary.__struct_fields__},
        member_list=[member_record(each) for each in await stores.members.list_members(account_id)],
        site_list=[_site(each) for each in await list_summaries(stores, activity, account_id=account_id, now=now)],
        tokens=await stores.api_tokens.list_tokens(account_id),
        usage=await stores.accounts.read_usage(account_id, now),
        audit=await stores.audit.list_account_events(account_id, limit=CUSTOMER_DETAIL_AUDIT_EVENTS),
        require_mfa=account.require_mfa,
        suspended_reason=optional(account.suspended_reason),
        deleted_at=optional_moment(deleted_ms),
        purge_at=optional_moment(None if deleted_ms is None else deleted_ms + PURGE_MS),
    )


def _site(summary: SiteSummary) -> CustomerSite:
    return CustomerSite(
        site_key=summary.site_key,
        name=summary.name,
        mode=summary.mode,
        widget_mode=summary.widget_mode,
        health=summary.health,
    )
