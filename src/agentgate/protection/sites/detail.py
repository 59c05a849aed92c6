"""A site put together for reading: summary, detail, and the one-word health a list shows."""

from agentgate.lib.enums import Outcome, SiteHealthStatus
from agentgate.lib.errors import Refused
from agentgate.lib.limits import CHANGES_LIMIT
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional
from agentgate.protection.rules.effective import summary_of
from agentgate.protection.sites.records import SiteDetail, SiteHealthSummary, SiteSummary
from agentgate.protection.sites.repositories import SiteStores
from agentgate.protection.sites.repositories.sites import ActivityStore, ListedSite, SiteActivity

QUIET = SiteActivity(today={}, last_event_at=None)


def summarise(listed: ListedSite, activity: SiteActivity) -> SiteSummary:
    """Put a site's summary together."""
    site = listed.site
    return SiteSummary(
        **{name: getattr(site, name) for name in site.__struct_fields__},
        customer_name=listed.customer_name,
        credentials=listed.credentials,
        today={**dict.fromkeys((*Outcome, "monitored"), 0), **activity.today},
        health=_health(listed, activity),
    )


def _health(listed: ListedSite, activity: SiteActivity) -> SiteHealthSummary:
    # What must be done first stands first: without a credential nothing is checked, without routes nothing is guarded.
    status = SiteHealthStatus.OK
    if listed.credentials.active == 0:
        status = SiteHealthStatus.NO_CREDENTIALS
    elif not listed.site.routes and not listed.site.whole_site:
        status = SiteHealthStatus.NO_ROUTES
    elif activity.last_event_at is None:
        status = SiteHealthStatus.NO_TRAFFIC
    return SiteHealthSummary(status=status, last_event_at=optional(activity.last_event_at))


async def list_summaries(
    stores: SiteStores, activity: ActivityStore, *, account_id: str | None, now: Moment
) -> list[SiteSummary]:
    """Return the summaries of an account's sites, or of all."""
    listed = await stores.sites.list_sites(account_id=account_id, now_ms=now)
    seen = await activity.list_activity([each.site.id for each in listed], now_ms=now)
    return [summarise(each, seen.get(each.site.id, QUIET)) for each in listed]


async def read_detail(
    stores: SiteStores, activity: ActivityStore, site_id: str, *, now: Moment, account_id: str | None = None
) -> SiteDetail:
    """Return everything about one site; an account sees of its trail only its own time with the site."""
    listed = await stores.sites.find_listed(site_id, now_ms=now)
    if listed is None:
        raise Refused("site_not_found")
    seen = await activity.list_activity([site_id], now_ms=now)
    summary = summarise(listed, seen.get(site_id, QUIET))
    return SiteDetail(
        **{name: getattr(summary, name) for name in summary.__struct_fields__},
        credential_list=await stores.credentials.list_credentials(site_id),
        changes=await stores.audit.list_site_changes(site_id, CHANGES_LIMIT.default, account_id=account_id),
        rules=summary_of(await stores.rules.find_rules(site_id)),
    )
