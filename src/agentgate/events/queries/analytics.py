"""Analytics of a site: what became of challenges, how its servers validate tokens, and the most frequent values."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from statistics import median

from msgspec import UNSET, UnsetType

from agentgate.events.queries.ports import Causes, CounterRow, Counts, TrafficStore, ValueCounts
from agentgate.events.queries.queries import TrafficTerms
from agentgate.events.queries.records import (
    AnalyticsChallenges,
    AnalyticsPoint,
    Cause,
    NamedCount,
    Origins,
    RefusedOrigin,
    SiteAnalytics,
    SiteverifyCounts,
    SolveTypes,
    TopLists,
)
from agentgate.events.queries.series import (
    add_up,
    bucket_for,
    bucket_spans,
    by_bucket,
    outcome_counts,
    point_fields,
    rate,
)
from agentgate.events.records import CounterName
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.enums import SolveType
from agentgate.lib.limits import ANALYTICS_TOP_ENTRIES
from agentgate.lib.moment import Moment

# The newest so many solved challenges say how long solving takes.
SOLVE_SAMPLES = 1_000

COUNTRY = "net.country."
NETWORK = "net.asn."
REFUSED_PROGRAM = "ua.refused."
OTHER_CAUSE = "other"

_NOTHING = ValueCounts(actions={}, routes={}, reasons={}, labels={}, agents={}, solve_types={})


async def read_site_analytics(
    store: TrafficStore, site_key: str, number: int, span: TimeRange, *, terms: TrafficTerms, now_ms: int
) -> SiteAnalytics:
    """Return the analytics of a range: events from their retention on, counters by whole hours."""
    # At the same time: together they are the longest read there is. Counters know whole hours only, so the range is
    # rounded out to them.
    (values, hours, times_ms), counters, first_hour = await asyncio.gather(
        _read_events(store, number, terms.kept_part(span, now_ms)),
        store.values.list_counters(number, first_hour=span.from_ms // HOUR_MS, last_hour=(span.to_ms - 1) // HOUR_MS),
        store.values.find_first_counter_hour(number),
    )
    counted = _by_name(counters)
    bucket = bucket_for(span)
    spans = bucket_spans(span, bucket)
    totals = add_up(hours.values())
    return SiteAnalytics(
        site_key=site_key,
        from_=Moment(span.from_ms),
        to=Moment(span.to_ms),
        bucket=bucket,
        challenges=_challenges(totals, values, times_ms),
        gateway=outcome_counts(totals),
        siteverify=_siteverify(counted),
        origins=Origins(refused=_refused(counted)),
        top=_top(values, totals),
        series=_series(hours, spans, counters),
        events_from=UNSET if terms.keeps(span, now_ms) else Moment(terms.events_from_ms(now_ms)),
        counters_since=_since(span, first_hour),
    )


async def _read_events(
    store: TrafficStore, number: int, kept: TimeRange
) -> tuple[ValueCounts, Mapping[int, Counts], list[int]]:
    if kept.from_ms >= kept.to_ms:
        return _NOTHING, {}, []
    return await asyncio.gather(
        store.values.count_values(number, kept),
        store.counts.list_hours(number, kept),
        store.values.list_solve_times_ms(number, kept, SOLVE_SAMPLES),
    )


def _since(span: TimeRange, first_hour: int | None) -> Moment | UnsetType:
    if first_hour is None or first_hour * HOUR_MS <= span.from_ms:
        return UNSET
    return Moment(first_hour * HOUR_MS)


def _challenges(totals: Counts, values: ValueCounts, times_ms: list[int]) -> AnalyticsChallenges:
    issued, passed, failed = totals.challenges_issued, totals.challenges_passed, totals.challenges_failed
    return AnalyticsChallenges(
        issued=issued,
        passed=passed,
        failed=failed,
        abandoned=max(issued - passed - failed, 0),
        solve_rate=rate(passed, issued),
        solve_types=SolveTypes(**{kind.value: values.solve_types.get(kind, 0) for kind in SolveType}),
        median_solve_ms=float(median(times_ms)) if times_ms else None,
    )


def _by_name(counters: Iterable[CounterRow]) -> dict[str, Counter[str]]:
    """Add the hours up: name -> value -> how often."""
    # A newer release may count what this one does not know.
    found = defaultdict[str, Counter[str]](Counter)
    for row in counters:
        found[row.name][row.value] += row.counted
    return found


def _siteverify(counted: Mapping[str, Counter[str]]) -> SiteverifyCounts:
    failures = counted[CounterName.SITEVERIFY_FAILURE]
    success = counted[CounterName.SITEVERIFY_SUCCESS].total()
    return SiteverifyCounts(
        calls=success + failures.total(),
        success=success,
        failures=dict(sorted(failures.items())),
        tokens_issued=counted[CounterName.TOKENS_ISSUED].total(),
        tokens_redeemed=counted[CounterName.TOKENS_REDEEMED].total(),
    )


def _refused(counted: Mapping[str, Counter[str]]) -> list[RefusedOrigin]:
    found = top_entries(counted[CounterName.ORIGIN_REFUSED])
    return [RefusedOrigin(origin=entry.name, count=entry.count) for entry in found]


def top_entries(counts: Mapping[str, int]) -> list[NamedCount]:
    """Return the most frequent names; of equally frequent ones those that come first in the alphabet."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [NamedCount(name=name, count=count) for name, count in ordered[:ANALYTICS_TOP_ENTRIES]]


def _top(values: ValueCounts, totals: Counts) -> TopLists:
    # Countries and networks are labels like others, but thousands of them would crowd the others out.
    labels = {name: n for name, n in values.labels.items() if not name.startswith((COUNTRY, NETWORK, REFUSED_PROGRAM))}
    return TopLists(
        actions=top_entries(values.actions),
        routes=top_entries(values.routes),
        reasons=top_entries(values.reasons),
        labels=top_entries(labels),
        agents=top_entries(values.agents),
        countries=top_entries(_below(values.labels, COUNTRY)),
        asns=top_entries(_below(values.labels, NETWORK)),
        refused_programs=top_entries(_below(values.labels, REFUSED_PROGRAM)),
        causes=_causes(values.refused, values.would, totals),
    )


def _causes(refused: Causes, would: Causes, totals: Counts) -> list[Cause]:
    """Return the most frequent causes, and one for all others."""
    found = [
        Cause(reason="policy", rule=rule, refused=refused.rules.get(rule, 0), would_refuse=would.rules.get(rule, 0))
        for rule in {**refused.rules, **would.rules}
    ]
    found += [
        Cause(reason=reason, refused=refused.reasons.get(reason, 0), would_refuse=would.reasons.get(reason, 0))
        for reason in {**refused.reasons, **would.reasons}
    ]
    found.sort(key=lambda cause: (-cause.refused - cause.would_refuse, cause.rule or "", cause.reason))
    del found[ANALYTICS_TOP_ENTRIES:]
    other = Cause(
        reason=OTHER_CAUSE,
        refused=max(totals.challenged + totals.blocked + totals.dropped - sum(each.refused for each in found), 0),
        would_refuse=max(
            totals.would_challenge + totals.would_block + totals.would_drop - sum(each.would_refuse for each in found),
            0,
        ),
    )
    return [*found, other] if other.refused or other.would_refuse else found


def _below(labels: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): n for name, n in labels.items() if name.startswith(prefix)}


def _series(
    hours: Mapping[int, Counts], spans: list[TimeRange], counters: Iterable[CounterRow]
) -> list[AnalyticsPoint]:
    success: Counter[int] = Counter()
    failures: Counter[int] = Counter()
    for row in counters:
        if row.name == CounterName.SITEVERIFY_SUCCESS:
            success[row.hour] += row.counted
        elif row.name == CounterName.SITEVERIFY_FAILURE:
            failures[row.hour] += row.counted
    points = []
    for span, counts in zip(spans, by_bucket(hours, spans), strict=True):
        within = range(span.from_ms // HOUR_MS, (span.to_ms - 1) // HOUR_MS + 1)
        failed = sum(failures.get(hour, 0) for hour in within)
        points.append(
            AnalyticsPoint(
                **point_fields(span, counts),
                siteverify_calls=failed + sum(success.get(hour, 0) for hour in within),
                siteverify_failures=failed,
            )
        )
    return points
