"""Backtests of a list entry: its effect on stored decisions.

Events hold no address and no User-Agent. But an address has a visitor ID, and a small network has as many as it has
addresses, so these can be found. A large network and a program cannot, and the report states it.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Protocol

from agentgate.events.queries.replays import ClientEvent, ClientReplay
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.enums import ListKind, ListOutcome, Outcome
from agentgate.lib.ids import read_visitor
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional
from agentgate.sites.lists.records import ListBacktestReport, ListFlip, StoredEntry
from agentgate.sites.lists.site_lists import verdict_of
from agentgate.sites.rules.backtest import DEFAULT_ACTION, MOST_EVENTS, BacktestQueue, Flips
from agentgate.sites.rules.patterns.networks import read_strict_network


class VisitorNames(Protocol):
    """Makes the visitor IDs under which decisions are stored."""

    def find(self, site_key: str, address: str) -> int:
        """Return the visitor's number of an address at a site."""

    def named_since_ms(self) -> int:
        """Return since when addresses have their present pseudonyms."""


# Limit of visitor IDs for one entry: the addresses of an IPv4 /20, or the /64 networks of an IPv6 /52.
MOST_VISITORS = 4_096
IPV6_SOURCE = 64
# Reasons of the token and clearance checks before the rules. An entry that waives these checks passes them.
WAIVED = frozenset(
    (
        *("receipt_required", "invalid_token", "expired_token", "token_used", "action_mismatch", "origin_mismatch"),
        *("visitor_mismatch", "invalid_clearance", "expired_clearance"),
    )
)

Concerns = Callable[[ClientEvent], bool]


@dataclass
class _ListTally:
    evaluated: int = 0
    concerned: int = 0
    visitors: set[int] = field(default_factory=set)
    flips: Flips = field(default_factory=Flips)
    by_rule: Counter[str] = field(default_factory=Counter)


class ListBacktests:
    """Runs backtests of entries, one after the other."""

    def __init__(self, replay: ClientReplay, visitors: VisitorNames, *, most_events: int = MOST_EVENTS) -> None:
        self._replay = replay
        self._visitors = visitors
        self._most_events = most_events
        self._queue = BacktestQueue()

    async def run(self, site_key: str, entry: StoredEntry, span: TimeRange, account_id: str) -> ListBacktestReport:
        """Return the effect of an entry on a site's stored decisions."""
        async with self._queue.wait(account_id):
            return await self._run(site_key, entry, span)

    async def _run(self, site_key: str, entry: StoredEntry, span: TimeRange) -> ListBacktestReport:
        why = self._untold(entry, span)
        if why is not None:
            return _report(_ListTally(), span, complete=True, why=why)
        concerns = await asyncio.to_thread(self._concerns, site_key, entry)
        tally = _ListTally()
        batches = self._replay.replay(entry.site_id, from_ms=span.from_ms, to_ms=span.to_ms, limit=self._most_events)
        async for batch in batches:
            await asyncio.to_thread(_count, batch, entry, concerns, tally)
        return _report(tally, span, complete=tally.evaluated < self._most_events)

    def _untold(self, entry: StoredEntry, span: TimeRange) -> str | None:
        """Return why stored events cannot be matched with an entry; None if they can."""
        if entry.kind is ListKind.PROGRAM:
            return "Stored events have no User-Agent, so AgentGate cannot determine which events this client sent."
        if entry.kind is ListKind.AGENT:
            return None
        if entry.kind is not ListKind.VISITOR and _sources(read_strict_network(entry.value)) > MOST_VISITORS:
            return (
                "Stored events have no address. Up to the size of an IPv4 /20 or an IPv6 /52 the visitors of a network"
                " can be identified. This network is larger."
            )
        if self._visitors.named_since_ms() > span.from_ms:
            return (
                "The key that makes visitor IDs was replaced within the range, so older events know the same visitor"
                f" under another ID. Choose a range from {Moment(self._visitors.named_since_ms()).text()} on."
            )
        return None

    def _concerns(self, site_key: str, entry: StoredEntry) -> Concerns:
        if entry.kind is ListKind.AGENT:
            needs_proof = entry.outcome is ListOutcome.ALLOW
            return lambda event: event.agent == entry.value and (event.is_verified or not needs_proof)
        if entry.kind is ListKind.VISITOR:
            visitors = {read_visitor(entry.value)}
        else:
            visitors = {self._visitors.find(site_key, each) for each in _addresses(read_strict_network(entry.value))}
        return lambda event: event.visitor is not None and event.visitor in visitors


def _sources(network: IPv4Network | IPv6Network) -> int:
    """Return how many visitors a network can have: of IPv6, a /64 is one."""
    width = network.max_prefixlen if isinstance(network, IPv4Network) else IPV6_SOURCE
    return int(1 << max(0, width - network.prefixlen))


def _addresses(network: IPv4Network | IPv6Network) -> Iterator[str]:
    step = 1 if isinstance(network, IPv4Network) else 1 << IPV6_SOURCE
    first = network.network_address
    return (str(type(first)(int(ip_address(first)) + number * step)) for number in range(_sources(network)))


def _count(batch: list[ClientEvent], entry: StoredEntry, concerns: Concerns, tally: _ListTally) -> None:
    verdict = verdict_of(entry)
    for event in batch:
        if not concerns(event):
            continue
        tally.concerned += 1
        if event.visitor is not None:
            tally.visitors.add(event.visitor)
        tally.by_rule[(event.rule or DEFAULT_ACTION) if event.ruled else next(iter(event.reasons), "other")] += 1
        would_apply = event.ruled or verdict.outcome is not Outcome.ALLOW
        would_apply = would_apply or (verdict.waives and not event.reasons.isdisjoint(WAIVED))
        if would_apply and event.recorded is not verdict.outcome:
            tally.flips.add(event.recorded, verdict.outcome, event.id)
    tally.evaluated += len(batch)


def _report(tally: _ListTally, span: TimeRange, *, complete: bool, why: str | None = None) -> ListBacktestReport:
    flips = [
        ListFlip(from_=before, to=after, count=flip.count, examples=flip.examples)
        for (before, after), flip in tally.flips.sorted()
    ]
    return ListBacktestReport(
        from_=Moment(span.from_ms),
        to=Moment(span.to_ms),
        told=why is None,
        evaluated=tally.evaluated,
        concerned=tally.concerned,
        visitors=len(tally.visitors),
        changed=sum(flip.count for flip in flips),
        flips=flips,
        by_rule=dict(tally.by_rule.most_common()),
        complete=complete,
        why=optional(why),
    )
