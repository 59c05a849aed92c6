"""The traffic read models over HTTP, for operators and, with other guards, for customers.

A customer is shown neither the link to a trace nor how many events the service could not keep.
"""

from msgspec.structs import replace

from agentgate.events.queries.analytics import read_site_analytics
from agentgate.events.queries.metrics import read_site_metrics
from agentgate.events.queries.ports import DecisionFilters, MeasuredSite, SiteNumber, TrafficStore, TrafficStores
from agentgate.events.queries.queries import (
    DecisionQuery,
    RangeQuery,
    SiteRangeQuery,
    TrafficTerms,
    VisitorQuery,
    analytics_range,
    cursor_scope,
    filters_of,
    metrics_range,
    read_page,
    visitor_range,
)
from agentgate.events.queries.records import DecisionPage, Metrics, SiteAnalytics, VisitorDetail, VisitorPage
from agentgate.events.time_ranges import TimeRange
from agentgate.http.call import Actor, SiteCall
from agentgate.lib.cursors import Cursors
from agentgate.lib.database import Store
from agentgate.lib.enums import ActorKind
from agentgate.lib.errors import Refused
from agentgate.lib.ids import read_visitor
from agentgate.lib.keyring import Keyring
from agentgate.lib.limits import VISITOR_DETAIL_DECISIONS
from agentgate.lib.moment import Moment


async def read_metrics(
    call: SiteCall, query: SiteRangeQuery, store: Store[TrafficStores], traffic: TrafficStore, terms: TrafficTerms
) -> Metrics:
    """Read a site's traffic statistics for a time range. Default: the last 7 days.

    A range within the retention of events is counted exactly, an earlier range by whole UTC days.
    """
    span = metrics_range(query, call.now)
    site = await _find_site(call, store)
    number = await store.read.sites.find_number(call.site_id)
    metrics = await read_site_metrics(traffic.counts, site, number, span, terms=terms, now_ms=call.now)
    if _is_operator(call.actor):
        return metrics
    return replace(metrics, errors=replace(metrics.errors, event_write_failures=0))


async def list_visitors(
    call: SiteCall, query: VisitorQuery, store: Store[TrafficStores], traffic: TrafficStore, keyring: Keyring
) -> VisitorPage:
    """List visitors, most recently seen first. Default: the last 24 hours."""
    page = read_page(query, call, Cursors(keyring, call.route, call.site_id, *cursor_scope(query)))
    number = await store.read.sites.find_number(call.site_id)
    found = await traffic.visitors.list_visitors(number, page.span, before=page.before, limit=query.limit)
    return VisitorPage(items=found.items, next_cursor=page.next_cursor(found.more_before), **_ends(page.span))


async def read_visitor_detail(
    call: SiteCall, query: SiteRangeQuery, store: Store[TrafficStores], traffic: TrafficStore
) -> VisitorDetail:
    """Read one visitor with the newest decisions. Default: the last 31 days."""
    span = visitor_range(query, call.now)
    visitor = read_visitor(call.params["visitorId"])
    number = await store.read.sites.find_number(call.site_id)
    summary = None if visitor is None else await traffic.visitors.find_visitor(number, span, visitor)
    if summary is None:
        raise Refused("not_found", "The site has no visitor with this ID in the time range. Try a longer range.")
    filters = DecisionFilters(visitor=visitor)
    site = SiteNumber(call.site_id, number)
    recent = await traffic.decisions.list_decisions(site, span, filters, before=None, limit=VISITOR_DETAIL_DECISIONS)
    fields = {name: getattr(summary, name) for name in summary.__struct_fields__}
    return VisitorDetail(**fields, recent=recent.items)


async def list_decisions(
    call: SiteCall, query: DecisionQuery, store: Store[TrafficStores], traffic: TrafficStore, keyring: Keyring
) -> DecisionPage:
    """List decisions, newest first. Default: the last 24 hours.

    A decision must match all filters. A page may be short or empty and still have a `nextCursor`: follow it until it is
    absent.
    """
    page = read_page(query, call, Cursors(keyring, call.route, call.site_id, *cursor_scope(query)))
    site = SiteNumber(call.site_id, await store.read.sites.find_number(call.site_id))
    found = await traffic.decisions.list_decisions(
        site, page.span, filters_of(query), before=page.before, limit=query.limit
    )
    return DecisionPage(items=found.items, next_cursor=page.next_cursor(found.more_before), **_ends(page.span))


async def read_analytics(
    call: SiteCall, query: RangeQuery, store: Store[TrafficStores], traffic: TrafficStore, terms: TrafficTerms
) -> SiteAnalytics:
    """Read a site's challenge statistics for a time range. Default: the last 24 hours.

    If the range starts before the retention of events, their numbers start at `eventsFrom`. Counters of siteverify and
    origins are hourly: for them, the range is extended to whole hours.
    """
    span = analytics_range(query, call.now)
    number = await store.read.sites.find_number(call.site_id)
    return await read_site_analytics(traffic, call.site_key, number, span, terms=terms, now_ms=call.now)


def _is_operator(actor: Actor) -> bool:
    return actor.kind is ActorKind.OPERATOR


def _ends(span: TimeRange) -> dict[str, Moment]:
    return {"from_": Moment(span.from_ms), "to": Moment(span.to_ms)}


async def _find_site(call: SiteCall, store: Store[TrafficStores]) -> MeasuredSite:
    site = await store.read.sites.find_site(call.site_key, account_id=call.actor.account_id)
    if site is None:
        # Moved or purged between the scope and here.
        raise Refused("site_not_found")
    return site
