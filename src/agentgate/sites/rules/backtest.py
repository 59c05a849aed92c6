"""Backtests: a draft is evaluated on stored events, in a thread. Nothing is changed by it."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from agentgate.events.decision_ids import write_id
from agentgate.events.queries.replays import DecisionReplay, ReplayedEvent
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.enums import Outcome
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.tasks.turns import Turns
from agentgate.sites.rules.compile import can_match, compile_rules, matches_of
from agentgate.sites.rules.evaluate import NO_TRAITS, PAGE, STRICTNESS, CompiledRules, RuleVerdict, Traits
from agentgate.sites.rules.patterns.predicates import HOST, PATH, USER_AGENT
from agentgate.sites.rules.rate import RATE
from agentgate.sites.rules.records import RuleSet
from agentgate.sites.rules.replay_records import BacktestFlip, BacktestReport
from agentgate.sites.rules.request_conditions import MORE_THAN, NOT, PREDICATE_KEYS

MOST_EVENTS = 1_000_000
# Events that saving rules is compared with: a share needs no more, and the caller waits for the result.
GUARD_EVENTS = 100_000
EXAMPLES = 5
DEFAULT_ACTION = "(default)"
# Globs that fit everything, and the parts that every request has.
ANYTHING = frozenset(("*", "/*"))
OF_ANY = frozenset((PATH, HOST, USER_AGENT))
# Two run at a time in a worker, one of each account: each takes seconds of CPU time.
AT_ONCE, MOST_OF_ACCOUNT = 2, 2
BUSY_RETRY_S = 10
# Replaces the rule where several could have decided with the same outcome.
UNTOLD_RULE = "(unknown)"
_ONE_OF_SEVERAL = {outcome: RuleVerdict(outcome, UNTOLD_RULE) for outcome in Outcome}
# Conditions on parts that no event has: address, headers, path, query, host.
UNTOLD_KEYS = frozenset([MORE_THAN, *(no + key for key in PREDICATE_KEYS if key != "methods" for no in ("", NOT))])
# The methods that events name.
KNOWN_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"))


@dataclass
class Flip:
    """Decisions that would turn from one outcome to another."""

    count: int = 0
    human: int = 0
    bot: int = 0
    examples: list[str] = field(default_factory=list)


class Flips(dict[tuple[Outcome, Outcome], Flip]):
    """Decisions that would turn out otherwise, by the outcome before and after."""

    def add(self, before: Outcome, after: Outcome, decision: int, *, human: bool | None = None) -> None:
        """Count a decision. `human` is its label, if it has one."""
        flip = self.setdefault((before, after), Flip())
        flip.count += 1
        flip.human += human is True
        flip.bot += human is False
        if len(flip.examples) < EXAMPLES:
            flip.examples.append(write_id(decision))

    def sorted(self) -> list[tuple[tuple[Outcome, Outcome], Flip]]:
        """Return them, the most frequent first."""
        return sorted(self.items(), key=lambda item: (-item[1].count, *item[0]))


@dataclass
class _RuleTally:
    evaluated: int = 0
    flips: Flips = field(default_factory=Flips)
    by_rule: Counter[str] = field(default_factory=Counter)
    counted: Counter[str] = field(default_factory=Counter)
    untold: int = 0


@dataclass
class NewlyRefused:
    """Replayed requests, requests that the present rules allow, and requests among these that a draft would not."""

    evaluated: int = 0
    allowed: int = 0
    refused: int = 0


class BacktestQueue:
    """Lets accounts take turns. Each may have one running and one queued backtest."""

    def __init__(self) -> None:
        self._turns = Turns(AT_ONCE, of_account=1)

    @contextlib.asynccontextmanager
    async def wait(self, account_id: str) -> AsyncIterator[None]:
        """Wait for earlier backtests; raise `Refused` if the account already has a queued one."""
        if self._turns.count(account_id) >= MOST_OF_ACCOUNT:
            raise Refused(
                "rate_limited",
                f"Other backtests of this account are running. Try again in {BUSY_RETRY_S} seconds.",
                headers={"retry-after": str(BUSY_RETRY_S)},
            )
        async with self._turns.wait(account_id):
            yield


class Backtests:
    """Runs backtests over stored events, one after the other."""

    def __init__(self, replay: DecisionReplay, *, most_events: int = MOST_EVENTS) -> None:
        self._replay = replay
        self._most_events = most_events
        self._queue = BacktestQueue()
        # Saving rules does not wait for backtests of a month.
        self._saving = BacktestQueue()

    async def run(self, site_id: str, effective: RuleSet, span: TimeRange, account_id: str) -> BacktestReport:
        """Decide a site's events of a range again."""
        async with self._queue.wait(account_id):
            tally = await self._tally(site_id, effective, span)
            return _report(tally, span, untold_conditions(effective), most_events=self._most_events)

    async def newly_refused(
        self, site_id: str, rules: tuple[RuleSet, RuleSet], span: TimeRange, account_id: str
    ) -> NewlyRefused:
        """Count the newest requests of a range that the present rules allow, and those that a draft would not."""
        async with self._saving.wait(account_id):
            found, compiled = NewlyRefused(), await asyncio.to_thread(_compile_both, *rules)
            limit = min(GUARD_EVENTS, self._most_events)
            batches = self._replay.replay(site_id, from_ms=span.from_ms, to_ms=span.to_ms, limit=limit)
            async for batch in batches:
                await asyncio.to_thread(_compare, batch, compiled, found)
            return found

    async def _tally(self, site_id: str, effective: RuleSet, span: TimeRange) -> _RuleTally:
        tally, rules = _RuleTally(), await asyncio.to_thread(compile_rules, effective)
        batches = self._replay.replay(site_id, from_ms=span.from_ms, to_ms=span.to_ms, limit=self._most_events)
        async for batch in batches:
            await asyncio.to_thread(_evaluate, batch, rules, tally)
        return tally


def human_flips(report: BacktestReport) -> int:
    """Return how many decisions about people would become stricter."""
    return sum(flip.human_labelled for flip in report.flips if STRICTNESS[flip.to] > STRICTNESS[flip.from_])


def _compile_both(present: RuleSet, draft: RuleSet) -> tuple[CompiledRules, CompiledRules]:
    return compile_rules(present), compile_rules(draft)


def _compare(batch: list[ReplayedEvent], rules: tuple[CompiledRules, CompiledRules], found: NewlyRefused) -> None:
    (present, of_present), (draft, of_draft) = ((each, _certain_bits(each)) for each in rules)
    for event in batch:
        if _probable_outcome(event, present, of_present) is Outcome.ALLOW:
            found.allowed += 1
            found.refused += _probable_outcome(event, draft, of_draft) is not Outcome.ALLOW
    found.evaluated += len(batch)


def _certain_bits(rules: CompiledRules) -> int:
    """Return the bits of the predicates that nearly every request meets, such as the path `/*`."""
    bits = {} if rules.predicates is None else rules.predicates.bits
    return sum(bit for each, bit in bits.items() if each.subject in OF_ANY and not ANYTHING.isdisjoint(each.entries))


def _probable_outcome(event: ReplayedEvent, rules: CompiledRules, certain: int) -> Outcome:
    """Return the outcome of a request if it meets no other condition that its event does not tell: few requests do."""
    traits = NO_TRAITS
    if rules.predicates is not None:
        known = _traits(event, rules)
        traits = Traits(known.sure | certain)
    seen = (event.labels, event.scores, event.route, event.action)
    return rules.possible(seen, traits)[0].outcome


def _evaluate(batch: list[ReplayedEvent], rules: CompiledRules, tally: _RuleTally) -> None:
    # Requests with the same bits share one verdict object, so verdicts are counted by identity.
    alike: dict[int, list[Any]] = {}
    for event in batch:
        seen = (event.labels, event.scores, event.route, event.action)
        possible = rules.possible(seen, _traits(event, rules))
        verdict = possible[0]
        if len(possible) > 1:
            if any(each.outcome is not verdict.outcome for each in possible):
                tally.untold += 1
                continue
            verdict = _ONE_OF_SEVERAL[verdict.outcome]
        found = alike.get(id(verdict))
        if found is None:
            alike[id(verdict)] = [verdict, 1]
        else:
            found[1] += 1
        if verdict.outcome is not event.recorded:
            tally.flips.add(event.recorded, verdict.outcome, event.id, human=event.human)
    for verdict, count in alike.values():
        tally.by_rule[verdict.rule or DEFAULT_ACTION] += count
        for name in verdict.counted:
            tally.counted[name] += count
    tally.evaluated += len(batch)


def untold_conditions(effective: RuleSet) -> dict[str, list[str]]:
    """Return the rules that stored events cannot be matched with, each with the conditions that are the reason."""
    found = {}
    for item in filter(can_match, effective.rules):
        keys = [key for match in matches_of(item) for key in match if key in UNTOLD_KEYS]
        keys += [RATE] if RATE in item else []
        if keys:
            found[item["name"]] = list(dict.fromkeys(keys))
    return found


def _traits(event: ReplayedEvent, rules: CompiledRules) -> Traits:
    """Return the traits of an event: it has the method, but no address, headers, path and host, and no rates."""
    predicates = rules.predicates
    if predicates is None:
        return Traits(0, rules.limit_bits) if rules.limit_bits else NO_TRAITS
    sure, maybe = PAGE, predicates.unknown_bits | rules.limit_bits
    if event.method in KNOWN_METHODS:
        for methods, bit in predicates.methods:
            maybe &= ~bit
            sure |= bit if event.method in methods else 0
    return Traits(sure, maybe)


def _report(tally: _RuleTally, span: TimeRange, untold: dict[str, list[str]], *, most_events: int) -> BacktestReport:
    flips = [
        BacktestFlip(
            from_=before,
            to=after,
            count=flip.count,
            human_labelled=flip.human,
            bot_labelled=flip.bot,
            examples=flip.examples,
        )
        for (before, after), flip in tally.flips.sorted()
    ]
    return BacktestReport(
        from_=Moment(span.from_ms),
        to=Moment(span.to_ms),
        evaluated=tally.evaluated,
        changed=sum(flip.count for flip in flips),
        flips=flips,
        by_rule=dict(tally.by_rule.most_common()),
        counted=dict(tally.counted.most_common()),
        untold=tally.untold,
        untold_rules=untold,
        complete=tally.evaluated < most_events,
    )
