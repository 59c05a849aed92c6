"""AI traffic of a site: claims, verifications by signature and network, and decisions of the AI use."""

from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from agentgate.events.queries.analytics import top_entries
from agentgate.events.queries.ports import TrafficStore, TrafficStores
from agentgate.events.queries.queries import RangeQuery, TrafficTerms
from agentgate.events.queries.records import NamedCount
from agentgate.events.time_ranges import read_range
from agentgate.http.call import SiteCall
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import Store
from agentgate.lib.enums import AiPurpose
from agentgate.lib.limits import ANALYTICS_RANGE_MOST_DAYS, METRICS_RANGE_DEFAULT_DAYS
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record

OPERATOR, DISALLOWED = "agent.operator.", "robots.disallowed."


class AiVerification(Record, frozen=True, kw_only=True):
    """Requests by the proof of their sender. `claimed` includes those that the address proved or refuted."""

    claimed: int
    verified_by_signature: int
    verified_by_network: int
    forged: int
    unchecked: int


class AiDecisions(Record, frozen=True, kw_only=True):
    """Requests of verified operators and agents by the decision of the site's AI use or agent policy."""

    allowed: int
    challenged: int
    blocked: int


class AiTraffic(Record, frozen=True, kw_only=True):
    """AI traffic of a site in a range.

    `uses` counts verified requests by purpose: the requests that a change of `aiUse` affects. `operators` were verified
    by network, `agents` by signature or not at all. `againstRobots` counts requests that robots.txt disallows, by
    the crawler that the User-Agent names.
    """

    site_key: str
    from_: Moment
    to: Moment
    verification: AiVerification
    decisions: AiDecisions
    uses: dict[str, int]
    operators: list[NamedCount]
    agents: list[NamedCount]
    against_robots: list[NamedCount]
    events_from: Moment | UnsetType = UNSET


async def read_ai_traffic(
    call: SiteCall, query: RangeQuery, store: Store[TrafficStores], traffic: TrafficStore, terms: TrafficTerms
) -> AiTraffic:
    """Read a site's AI traffic for a time range. Default: the last 7 days."""
    span = read_range(
        query.from_,
        query.to,
        now_ms=call.now,
        default_ms=METRICS_RANGE_DEFAULT_DAYS * DAY_MS,
        longest_ms=ANALYTICS_RANGE_MOST_DAYS * DAY_MS,
    )
    number = await store.read.sites.find_number(call.site_id)
    kept = terms.kept_part(span, call.now)
    values = await traffic.values.count_values(number, kept) if kept.from_ms < kept.to_ms else None
    labels: Mapping[str, int] = {} if values is None else values.labels
    operators, disallowed = (
        {name.removeprefix(prefix): count for name, count in labels.items() if name.startswith(prefix)}
        for prefix in (OPERATOR, DISALLOWED)
    )
    return AiTraffic(
        site_key=call.site_key,
        from_=Moment(span.from_ms),
        to=Moment(span.to_ms),
        verification=AiVerification(
            claimed=labels.get("agent.claimed", 0),
            verified_by_signature=labels.get("agent.verified", 0),
            verified_by_network=labels.get("agent.operator_verified", 0),
            forged=labels.get("agent.operator_forged", 0),
            unchecked=labels.get("agent.operator_unchecked", 0),
        ),
        decisions=AiDecisions(
            allowed=labels.get("ai.allow", 0),
            challenged=labels.get("ai.challenge", 0),
            blocked=labels.get("ai.block", 0),
        ),
        uses={use.value: labels.get(f"agent.use.{use}", 0) for use in AiPurpose},
        operators=top_entries(operators),
        agents=top_entries({} if values is None else values.agents),
        against_robots=top_entries(disallowed),
        events_from=UNSET if terms.keeps(span, call.now) else Moment(terms.events_from_ms(call.now)),
    )
