"""A site put together for reading: summary, detail, one-word health, install status, and the agent prompt.

The agent prompt is Markdown that tells a coding agent, or a person, how to add the check to one site. No secrets.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from msgspec import UNSET
from msgspec.structs import replace

from agentgate.events.health_records import InstallStatus
from agentgate.http.call import Call
from agentgate.http.paging import ReadPage
from agentgate.lib.cursors import Position
from agentgate.lib.database import EventsUnavailable, within_events_wait
from agentgate.lib.enums import InstallState, Outcome, SiteHealthStatus
from agentgate.lib.errors import Refused
from agentgate.lib.limits import CHANGES_LIMIT
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional
from agentgate.lib.tasks.off_loop import consumed, off_loop
from agentgate.sites.decoys import STANDING, folder_of, html_of, link_of
from agentgate.sites.private_tokens import directories_of
from agentgate.sites.records import Site, SiteDecoy, SiteDetail, SiteHealthSummary, SiteSummary
from agentgate.sites.repository import ActivityStore, ListedSite, SiteActivity, SiteFilter, SiteHealthStore, SiteStores
from agentgate.sites.rules.effective import summary_of
from agentgate.sites.token_issuers.directories import read_statuses

QUIET = SiteActivity(today={}, last_event_at=None)


def summarize(listed: ListedSite, activity: SiteActivity | None) -> SiteSummary:
    """Put a site's summary together. `activity`: None while events are unavailable."""
    site = listed.site
    return SiteSummary(
        **{name: getattr(site, name) for name in site.__struct_fields__},
        customer_name=listed.customer_name,
        credentials=listed.credentials,
        today={**dict.fromkeys((*Outcome, "monitored"), 0), **(activity or QUIET).today},
        health=_health(listed, activity),
        degraded=UNSET if activity else True,
    )


def _health(listed: ListedSite, activity: SiteActivity | None) -> SiteHealthSummary:
    # In the order of setting up: without a credential nothing is checked, without routes nothing is protected.
    status = SiteHealthStatus.OK
    if listed.credentials.active == 0:
        status = SiteHealthStatus.NO_CREDENTIALS
    elif not listed.site.routes and not listed.site.whole_site:
        status = SiteHealthStatus.NO_ROUTES
    elif activity is not None and activity.last_event_at is None:
        status = SiteHealthStatus.NO_TRAFFIC
    return SiteHealthSummary(status=status, last_event_at=optional((activity or QUIET).last_event_at))


async def _list_activity(
    activity: ActivityStore, site_ids: Sequence[str], now: Moment
) -> Mapping[str, SiteActivity | None]:
    """Return the activity of each site: QUIET without traffic, None while events are unavailable."""
    try:
        seen = await within_events_wait(activity.list_activity(site_ids, now_ms=now))
    except EventsUnavailable:
        return dict.fromkeys(site_ids)
    return {site_id: seen.get(site_id, QUIET) for site_id in site_ids}


def summary_pages(stores: SiteStores, activity: ActivityStore, wanted: SiteFilter, *, now: Moment) -> ReadPage:
    """Return what reads the summaries of the sites that a filter finds, page by page."""

    async def read(behind: Position | None, limit: int) -> tuple[list[SiteSummary], Position | None]:
        # One more than requested, to see whether there is a next page.
        listed = await stores.sites.list_sites(replace(wanted, behind=behind, limit=limit + 1), now_ms=now)
        last = listed[limit - 1].site if len(listed) > limit else None
        del listed[limit:]
        seen = await _list_activity(activity, [each.site.id for each in listed], now)
        items = await off_loop(len(listed), lambda: [summarize(each, seen[each.site.id]) for each in consumed(listed)])
        return items, None if last is None else (int(last.created_at), last.site_key)

    return read


async def read_detail(
    stores: SiteStores, activity: ActivityStore, site_id: str, *, now: Moment, account_id: str | None = None
) -> SiteDetail:
    """Return everything about one site; an account sees of its trail only its own time with the site."""
    listed = await stores.sites.find_listed(site_id, now_ms=now)
    if listed is None:
        raise Refused("site_not_found")
    seen = await _list_activity(activity, [site_id], now)
    summary = summarize(listed, seen[site_id])
    return SiteDetail(
        **{name: getattr(summary, name) for name in summary.__struct_fields__},
        credential_list=await stores.credentials.list_credentials(site_id),
        changes=await stores.audit.list_site_changes(site_id, CHANGES_LIMIT.default, account_id=account_id),
        rules=summary_of(await stores.rules.find_rules(site_id)),
        token_issuers=await read_statuses(stores, directories_of(listed.site.private_token_issuers), now) or UNSET,
        decoy=SiteDecoy(html=html_of(link_of(site_id, STANDING)), robots_txt=f"Disallow: {folder_of(site_id)}")
        if summary.decoys
        else UNSET,
    )


async def read_install_status(health: SiteHealthStore, site_key: str, number: int) -> InstallStatus:
    """Return whether traffic was seen for a site."""
    try:
        sighting = await within_events_wait(health.find_sighting(number))
    except EventsUnavailable:
        return InstallStatus(site_key=site_key, status=InstallState.WAITING, degraded=True)
    if sighting is None:
        return InstallStatus(site_key=site_key, status=InstallState.WAITING)
    return InstallStatus(
        site_key=site_key,
        status=InstallState.LIVE,
        first_seen_at=Moment(sighting.first_ms),
        last_seen_at=Moment(sighting.last_ms),
    )


class AgentPrompt:
    """Writes the prompt of a site."""

    def __init__(self, public_base_url: str, *, token_seconds: int) -> None:
        self._public_base_url = public_base_url.rstrip("/")
        self._token_seconds = token_seconds

    def write(self, site: Site, origin: str) -> str:
        """Return the prompt; `origin` is where the service is reached unless an address is configured."""
        actions = sorted(site.actions)
        return _template().format(
            base_url=self._public_base_url or origin,
            site_key=site.site_key,
            mode=site.mode.value,
            widget_mode=site.widget_mode.value,
            action=actions[0] if actions else "submit",
            actions=_listed(actions) or "none yet: add one to the site",
            origins=_listed(site.allowed_origins) or "none yet: add the origin of every page to the site",
            token_seconds=self._token_seconds,
        )


def request_origin(call: Call) -> str:
    """Return the origin under which a request reached the service."""
    host = call.request.header("host") or "localhost"
    return f"{'https' if call.request.secure else 'http'}://{host.lower()}"


@cache
def _template() -> str:
    return resources.files("agentgate.sites").joinpath("prompt.md").read_text("utf-8")


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
