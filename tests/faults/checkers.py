"""Conditions that hold after any fault, as functions of the clients' responses and the contents of the stores.

Each returns a line for every problem. They know no process and no network: tests/faults/test_checkers.py seeds defects.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

# An event is stored within this time after its decision. A kill may lose the events of the last moments.
EVENT_LOST_MS = 200
# Extra time on a busy machine: a process that does not get to run cannot store anything.
EVENT_SLACK_MS = 1_800


@dataclass(frozen=True, kw_only=True)
class Check:
    """A gateway check with a response. `must_refuse`: it must not be allowed, whatever is broken."""

    case: str
    must_refuse: bool
    status: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Spend:
    """An attempt to redeem a token. A repeated call has the same `caller`; `won` is None if the outcome is unknown."""

    token: str
    caller: str
    won: bool | None
    body: bytes = b""


@dataclass(frozen=True, kw_only=True)
class Told:
    """A decision that a client received: the times of its request and of its response."""

    event_id: int
    asked_ms: int
    told_ms: int


@dataclass(frozen=True, kw_only=True)
class EventCounts:
    """Event counts that the recorder of one process reports."""

    sent: int
    stored: int
    failures: int
    waiting: int


def failed_open(checks: Sequence[Check]) -> list[str]:
    """Return the checks that were allowed although they must be blocked."""
    return [
        f"let through: {check.case} ({check.status} {check.reason})"
        for check in checks
        if check.must_refuse and 200 <= check.status < 300
    ]


def double_spends(spends: Sequence[Spend]) -> list[str]:
    """Check that a token has one winner, whose repeated calls get the same response."""
    winners: defaultdict[str, dict[str, set[bytes]]] = defaultdict(lambda: defaultdict(set))
    for spend in spends:
        if spend.won:
            winners[spend.token][spend.caller].add(spend.body)
    problems = [f"spent by {sorted(callers)}: {token}" for token, callers in winners.items() if len(callers) > 1]
    return problems + [
        f"answered differently to {caller}: {token}"
        for token, callers in winners.items()
        for caller, bodies in callers.items()
        if len(bodies) > 1
    ]


def lost_spends(before: Sequence[Spend], after: Sequence[Spend]) -> list[str]:
    """Check that a redeemed token stays redeemed for its winner, and that every token could be redeemed."""
    won = {spend.token: spend.caller for spend in before if spend.won}
    again = {(spend.token, spend.caller): spend.won for spend in after}
    problems = [
        f"spent by {caller}, and now refused to it: {token}"
        for token, caller in won.items()
        if again.get((token, caller)) is False
    ]
    open_to_others = [
        spend.token for spend in after if spend.won and won.get(spend.token, spend.caller) != spend.caller
    ]
    problems += [f"spent, and now open to somebody else: {token}" for token in open_to_others]
    tried: defaultdict[str, list[bool | None]] = defaultdict(list)
    for spend in before:
        tried[spend.token].append(spend.won)
    return problems + [f"refused to everybody: {token}" for token, wins in tried.items() if set(wins) == {False}]


def ledger_problems(acknowledged: Collection[str], doubtful: Collection[str], charged: int) -> list[str]:
    """Check that every acknowledged charge is in the ledger once; charges with an unknown outcome may be in it."""
    least, most = len(set(acknowledged)), len(set(acknowledged) | set(doubtful))
    if least <= charged <= most:
        return []
    return [f"the ledger has {charged} charges; {least} were acknowledged and {most - least} are in doubt"]


def event_problems(
    told: Sequence[Told], stored: Collection[int], kills_ms: Sequence[int], *, shown: int | None
) -> list[str]:
    """Check that acknowledged decisions are stored, except just before a kill, and that pages show the stored count."""
    kept = set(stored)
    within_ms = EVENT_LOST_MS + EVENT_SLACK_MS
    lost = [
        each
        for each in told
        if each.event_id not in kept
        and not any(each.asked_ms <= killed <= each.told_ms + within_ms for killed in kills_ms)
    ]
    problems = [f"not stored: event {each.event_id}, told at {each.told_ms}" for each in lost]
    twice = [each for each, count in Counter(stored).items() if count > 1]
    problems += [f"stored twice: event {each}" for each in twice]
    if shown is not None and shown != len(kept):
        problems.append(f"{len(kept)} events are stored, and the pages show {shown}")
    return problems


def count_problems(counts: Mapping[str, EventCounts]) -> list[str]:
    """Of the events that a process made each is stored, waits or is counted as failed."""
    return [
        f"{name}: {each.sent} events sent, {each.stored} stored, {each.failures} failed, {each.waiting} waiting"
        for name, each in counts.items()
        if each.sent != each.stored + each.failures + each.waiting
    ]


def is_back(checks: Sequence[Check]) -> list[str]:
    """Check that allowed requests pass again after the fault, and that blocked ones have their usual reason."""
    away = [check for check in checks if check.reason == "service_unavailable"]
    closed = [check for check in checks if not check.must_refuse and check.status != 204]
    return [f"still refused after the fault: {each.case} ({each.status} {each.reason})" for each in (*away, *closed)]
