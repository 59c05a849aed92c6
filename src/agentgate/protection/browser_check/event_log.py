"""BrowserCheckEventLog: the events and counts that the browser check leaves. Of test keys it keeps none."""

import msgspec

from agentgate.events.recorder import Recorder
from agentgate.events.records import CounterName
from agentgate.http.call import Call
from agentgate.lib.decision_ids import DecisionIds, write_id
from agentgate.lib.enums import ChallengeStage, DecisionKind
from agentgate.protection.browser_check.admission import Visit
from agentgate.protection.browser_check.judge import CheckVerdict, recorded
from agentgate.protection.browser_check.trial import Trial
from agentgate.protection.decision.correlation import read_trace_id
from agentgate.protection.decision.engine import POLICY, EngineDecision
from agentgate.protection.decision.event import Answered, make_event
from agentgate.protection.signals.facts import RequestFacts


class BrowserCheckEventLog:
    """Records challenges. A step-up is the middle of one and leaves nothing."""

    def __init__(self, recorder: Recorder, ids: DecisionIds) -> None:
        self._recorder = recorder
        self._ids = ids

    def issued(self, call: Call, visit: Visit, facts: RequestFacts, decision: EngineDecision) -> None:
        """Record that a challenge was issued."""
        if visit.test:
            return
        answered = Answered(
            id=self._ids.next(),
            visitor=visit.visitor,
            status=200,
            request_id=call.request_id,
            trace_id=read_trace_id(call.request.header("traceparent")),
            kind=DecisionKind.CHALLENGE,
            stage=ChallengeStage.ISSUED,
        )
        self._recorder.put(make_event(facts, visit.site, decision, answered))

    def concluded(self, trial: Trial) -> str:
        """Record how a trial ended and return the ID of its decision; the token, if there is one, will name it."""
        decision_id = self._ids.next()
        if trial.visit.test:
            return write_id(decision_id)
        passed = trial.applied is CheckVerdict.PASSED
        answered = Answered(
            id=decision_id,
            visitor=trial.visit.visitor,
            status=200 if passed else 403,
            request_id=trial.call.request_id,
            trace_id=read_trace_id(trial.call.request.header("traceparent")),
            kind=DecisionKind.CHALLENGE,
            stage=ChallengeStage.PASSED if passed else ChallengeStage.FAILED,
            solve_type=trial.solve_type if passed else None,
            solve_ms=trial.call.now - trial.challenge.issued_ms if passed else None,
        )
        site, ruled = trial.visit.site, trial.decision.verdict.outcome
        event = make_event(trial.facts, site, trial.decision, answered)
        outcome, would = recorded(trial.verdict, ruled, site.mode)
        if (outcome, would) != (event.outcome, event.would):
            # The rules had nothing against it; the proofs or the person's answer were wrong.
            event = msgspec.structs.replace(event, outcome=outcome, would=would, reasons=POLICY, ruled=False)
        self._recorder.put(event)
        if passed:
            self._recorder.count(site.number, CounterName.TOKENS_ISSUED, now_ms=trial.call.now)
        return write_id(decision_id)
