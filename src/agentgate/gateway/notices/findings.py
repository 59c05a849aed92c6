"""Compares a site's present counts and health with the last notice. Pure functions."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from agentgate.events.health_records import SiteHealth
from agentgate.events.queries.ports import Counts
from agentgate.gateway.notices.records import Notice, NoticeKind, SiteState
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.enums import HealthCheck
from agentgate.sites.credentials.records import Credential
from agentgate.sites.records import SiteLoad

WEEK_MS = 7 * DAY_MS
# Unsolved challenges: least number in a day, least factor to the days before, and least number of these days.
PEOPLE_LEAST, PEOPLE_FACTOR, PEOPLE_DAYS = 20, 2, 3
UNUSED_MS = 30 * DAY_MS
# A new secret may take a while to be installed.
NEW_MS = 7 * DAY_MS
# The least time between two notices of a kind about a site.
AGAIN_MS: Mapping[NoticeKind, int] = {
    NoticeKind.HEALTH: HOUR_MS,
    # Anyone can start and end a flood.
    NoticeKind.FLOOD: 3 * HOUR_MS,
    NoticeKind.APPEALS: DAY_MS,
    NoticeKind.PEOPLE: DAY_MS,
    NoticeKind.SECRET: WEEK_MS,
}
_FAILING = (HealthCheck.CREDENTIAL_UNKNOWN, HealthCheck.SITEVERIFY_ERRORS)


class SiteFacts(Struct, frozen=True, kw_only=True):
    """The inputs of the checks. `hours`: counts of the last eight days, by hours since 1970."""

    now_ms: int
    health: SiteHealth
    hours: Mapping[int, Counts]
    appeals_waiting: int
    credentials: Sequence[Credential]
    load: SiteLoad | None = None

    @property
    def hour(self) -> int:
        return self.now_ms // HOUR_MS

    def count(self, first: int, end: int, of: Callable[[Counts], int]) -> int:
        """Add up a count of some hours, from `first` to before `end`."""
        return sum(of(counts) for hour, counts in self.hours.items() if first <= hour < end)


def find_notices(state: SiteState, facts: SiteFacts) -> tuple[list[Notice], SiteState]:
    """Return the notices about a site, and the state once they are sent."""
    notices = []
    for notice, after in _found(state, facts):
        told_ms = state.told_ms.get(notice.kind)
        # A moment in the future comes from before the clock was put back.
        if told_ms is None or not 0 <= facts.now_ms - told_ms < AGAIN_MS[notice.kind]:
            notices.append(notice)
            state = replace(after(state), told_ms={**state.told_ms, notice.kind: facts.now_ms})
    return notices, _with_first_health(state, facts)


Told = Callable[[SiteState], SiteState]


def _found(state: SiteState, facts: SiteFacts) -> Iterator[tuple[Notice, Told]]:
    for find in (_health, _flood, _appeals, _people, _secret):
        yield from find(state, facts)


def _with_first_health(state: SiteState, facts: SiteFacts) -> SiteState:
    # A first status has nothing to compare with.
    if state.health is None and not is_degraded(facts.health):
        return replace(state, health=facts.health.status.value)
    return state


def is_degraded(health: SiteHealth) -> bool:
    """Return whether nothing is known of the checks that need events."""
    return health.degraded is not UNSET and health.degraded


def _health(state: SiteState, facts: SiteFacts) -> Iterator[tuple[Notice, Told]]:
    status = facts.health.status.value
    if is_degraded(facts.health) or state.health in (None, status):
        return
    # Names of checks only: their messages contain host names that strangers sent.
    failed = ", ".join(check.check.value for check in facts.health.checks)
    text = f"Health changed from {state.health} to {status}." + (f" Failed checks: {failed}." if failed else "")
    yield (
        Notice(kind=NoticeKind.HEALTH, title=f"health is {status}", text=text),
        lambda before: replace(before, health=status),
    )


def _flood(state: SiteState, facts: SiteFacts) -> Iterator[tuple[Notice, Told]]:
    load = facts.load
    if load is None:
        return
    rates = (
        f"up to {load.pages_per_minute:,} page loads a minute without a clearance; usually {load.usual_per_minute:,}"
    )
    if isinstance(load.until, UnsetType):
        if state.flood_since_ms != load.since:
            text = f"The site has far more page loads than usual since {load.since.text()}: {rates}."
            yield (
                Notice(kind=NoticeKind.FLOOD, title="far more page loads than usual", text=text),
                lambda before: replace(before, flood_since_ms=int(load.since)),
            )
    elif state.flood_until_ms != load.until and facts.now_ms - load.until < DAY_MS:
        until = load.until
        text = f"Page loads are normal again since {until.text()}. Since {load.since.text()} there were {rates}."
        yield (
            Notice(kind=NoticeKind.FLOOD, title="page loads are normal again", text=text),
            lambda before: replace(before, flood_since_ms=int(load.since), flood_until_ms=int(until)),
        )


def _appeals(_state: SiteState, facts: SiteFacts) -> Iterator[tuple[Notice, Told]]:
    waiting = facts.appeals_waiting
    if waiting:
        text = f"{waiting} {'appeal has' if waiting == 1 else 'appeals have'} been waiting for more than a day."
        yield Notice(kind=NoticeKind.APPEALS, title=f"{waiting} waiting", text=text), _unchanged


def _people(_state: SiteState, facts: SiteFacts) -> Iterator[tuple[Notice, Told]]:
    days = [facts.count(facts.hour - 24 * day - 23, facts.hour - 24 * day + 1, unsolved) for day in range(8)]
    began = min(facts.hours, default=facts.hour)
    known = [count for day, count in enumerate(days) if day and facts.hour - 24 * day - 23 >= began]
    if len(known) < PEOPLE_DAYS:
        return
    usual = sum(known) / len(known)
    if days[0] >= PEOPLE_LEAST and days[0] >= PEOPLE_FACTOR * usual:
        text = (
            f"{days[0]:,} challenges were not solved in the last 24 hours; the mean of the days before is {usual:,.0f}."
            " These can be bots, or people who were challenged by mistake. Check Overview and Suggestions."
        )
        yield Notice(kind=NoticeKind.PEOPLE, title="more unsolved challenges", text=text), _unchanged


def _secret(_state: SiteState, facts: SiteFacts) -> Iterator[tuple[Notice, Told]]:
    failing = [check.check.value for check in facts.health.checks if check.check in _FAILING]
    if failing:
        text = f"A secret does not work ({', '.join(failing)}). Check the secret in your proxy and backend."
        yield Notice(kind=NoticeKind.SECRET, title="a secret does not work", text=text), _unchanged
        return
    unused = [each.name for each in facts.credentials if each.is_current() and _is_unused(each, facts.now_ms)]
    if unused:
        text = (
            f"Unused secrets: {len(unused)}. They were not used for {UNUSED_MS // DAY_MS} days or never. Revoke them."
        )
        yield Notice(kind=NoticeKind.SECRET, title="unused secrets", text=text), _unchanged


def _is_unused(credential: Credential, now_ms: int) -> bool:
    used_ms = credential.last_used_at
    return now_ms - used_ms > UNUSED_MS if isinstance(used_ms, int) else now_ms - credential.created_at > NEW_MS


def _unchanged(state: SiteState) -> SiteState:
    return state


def _requests(counts: Counts) -> int:
    return counts.requests


def unsolved(counts: Counts) -> int:
    """Return how many challenges were not solved."""
    return max(counts.challenges_issued - counts.challenges_passed, 0)


def digest_line(facts: SiteFacts) -> str:
    """Return the last seven days of a site in a sentence."""
    first, end = facts.hour - 167, facts.hour + 1
    requests = facts.count(first, end, _requests)
    stopped = facts.count(first, end, lambda counts: counts.challenged + counts.blocked + counts.dropped)
    would = facts.count(first, end, lambda counts: counts.would_challenge + counts.would_block + counts.would_drop)
    issued = facts.count(first, end, lambda counts: counts.challenges_issued)
    solved = facts.count(first, end, lambda counts: counts.challenges_passed)
    return (
        f"In the last 7 days: {requests:,} requests, {stopped:,} of them challenged or blocked. Enforce mode would have"
        f" challenged or blocked {would:,} more. {solved:,} of {issued:,} challenges were solved. Health:"
        f" {facts.health.status.value}. Appeals that wait for more than a day: {facts.appeals_waiting}."
    )
