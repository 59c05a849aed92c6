"""GatewayEventLog: records the event of each check, and counts calls of credentials and redeemed tokens."""

import msgspec

from agentgate.decision.event import Answered, make_event
from agentgate.events.correlation import correlation_of
from agentgate.events.count_buffer import Key, WaitingSum
from agentgate.events.decision_ids import DecisionIds
from agentgate.events.recorder import Recorder, counter_key
from agentgate.events.records import Correlation, CounterName, Event, Pattern, Repeated
from agentgate.gateway.block_feed.feed import BlockFeed
from agentgate.gateway.decoys.touched import Decoys
from agentgate.gateway.pending_check import DecidedCheck
from agentgate.gateway.suggestions.collector import SuggestionCollector
from agentgate.lib.clock import SECOND_MS
from agentgate.sites.credentials.uses import CredentialUses
from agentgate.sites.directory import SiteCaller, SiteView

# Reasons that the rules give. An event with one of these can be decided again from its labels.
BY_RULES = frozenset(("allowed", "monitor", "policy", "agent_unverified"))


# A credential's use is noted by the minute.
SAME_MS = SECOND_MS


class GatewayEventLog:
    """Records checks, without waiting for I/O."""

    __slots__ = (
        "_caller", "_calls", "_ids", "_key", "_recorder", "_until_ms", "_uses", "block_feed", "decoys", "suggest",
    )  # fmt: skip

    def __init__(
        self,
        recorder: Recorder,
        ids: DecisionIds,
        uses: CredentialUses,
        *,
        suggestions: SuggestionCollector,
        block_feed: BlockFeed,
        decoys: Decoys,
    ) -> None:
        self._recorder = recorder
        # Accepts a denied request of a program.
        self.suggest = suggestions.note
        self.block_feed = block_feed
        self.decoys = decoys
        self._ids = ids
        self._uses = uses
        # The last caller, and until when a further call of it only adds to a count.
        self._caller: SiteCaller | None = None
        self._until_ms = 0
        self._key: Key = (0, 0, CounterName.SERVER_CHECK, "")
        self._calls = WaitingSum()

    def note_call(self, caller: SiteCaller, now_ms: int) -> None:
        """Note that a site's server called, with which credential."""
        if caller is not self._caller or now_ms >= self._until_ms:
            self._uses.note(caller.credential_id, now_ms)
            self._caller = caller
            self._key, end_ms = counter_key(caller.site.number, CounterName.SERVER_CHECK, now_ms)
            self._until_ms = min(now_ms + SAME_MS, end_ms)
            self._calls = WaitingSum()
        waiting = self._calls
        if waiting.counted:
            waiting.counted += 1
        else:
            self._calls = self._recorder.count_key(self._key)

    def count(self, site: SiteView, name: CounterName, now_ms: int, value: str = "") -> None:
        self._recorder.count(site.number, name, value, now_ms=now_ms)

    def new_id(self) -> int:
        """Return the ID of a decision that is about to be recorded."""
        return self._ids.next()

    def record_again(
        self, pattern: Pattern, visitor: int, duration_us: int, now_ms: int, correlation: Correlation | None
    ) -> int:
        """Record a decision like an earlier one."""
        decision_id = self._ids.next_at(now_ms)
        self._recorder.put(Repeated(decision_id, visitor, duration_us, pattern, correlation))
        return decision_id

    def record(self, check: DecidedCheck, status: int, decision_id: int | None = None) -> int:
        """Record a decision, under an ID that was made before or a new one, and return the ID."""
        decision_id = self._ids.next() if decision_id is None else decision_id
        event = self.event_of(check, status, decision_id)
        correlation = correlation_of(check.pending.fields)
        if correlation is not None:
            event = msgspec.structs.replace(event, request_id=correlation[0], trace_id=correlation[1])
        self._recorder.put(event)
        return decision_id

    def event_of(self, check: DecidedCheck, status: int, decision_id: int) -> Event:
        """Return the event of a decision, without the IDs that its request has elsewhere."""
        ruling, answered = check.ruling, Answered(id=decision_id, visitor=check.pending.visitor.number, status=status)
        event = make_event(check, check.site, check.decision, answered)
        if check.decision.verdict.is_rate and ruling.reason == "rate_limited":
            return msgspec.structs.replace(event, reasons=("rate_limited",))
        if ruling.cause is not None or ruling.reason not in BY_RULES:
            # Something else than the rules decided, so replaying the rules would not show it.
            event = msgspec.structs.replace(
                event,
                outcome=ruling.outcome,
                would=ruling.would,
                reasons=(ruling.cause or ruling.reason,),
                ruled=False,
                rule=None,
                error=ruling.reason == "service_unavailable",
            )
        return event
