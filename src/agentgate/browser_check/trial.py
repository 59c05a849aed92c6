"""Trial: one attempt at a challenge, with its facts, its event and its token."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from agentgate.browser_check.admission import AdmittedPage
from agentgate.browser_check.clusters import JA4_HEADER, JA4_NAME
from agentgate.browser_check.judge import recorded
from agentgate.browser_check.records import ClearanceCookie, VerifyResult
from agentgate.browser_check.repository import StoredChallenge
from agentgate.browser_check.tokens.binding import Bindings, TokenHolder
from agentgate.browser_check.tokens.clearance import ClearanceHolder, Clearances, IssuedClearance
from agentgate.browser_check.tokens.receipts import Grant, ReceiptIssuer
from agentgate.decision.engine import POLICY, EngineDecision
from agentgate.decision.event import Answered, make_event
from agentgate.decision.signals.facts import Rates, RequestFacts
from agentgate.events.correlation import read_trace_id
from agentgate.events.decision_ids import DecisionIds, write_id
from agentgate.events.recorder import Recorder
from agentgate.events.records import CounterName
from agentgate.http.call import Call
from agentgate.lib.enums import (
    ChallengeStage,
    ClearanceLevel,
    DecisionKind,
    Mode,
    Outcome,
    ReceiptKind,
    SolveType,
    VerifyStatus,
    WidgetMode,
)
from agentgate.lib.ids import new_receipt_id
from agentgate.lib.limits import VERIFY_ATTEMPTS_PER_CHALLENGE
from agentgate.lib.records import optional


def request_facts(
    call: Call, page: AdmittedPage, rates: Rates, evidence: Mapping[str, Any] | None = None
) -> RequestFacts:
    """Return the facts of a verification. It has no route of the site: the SDK calls the service itself."""
    request = call.request
    return RequestFacts(
        now_ms=call.now,
        method=request.method,
        target=request.path,
        address=request.address,
        headers=tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers if name != JA4_NAME
        ),
        ja4=request.header(JA4_HEADER),
        action=page.action,
        assistants=page.site.assistants,
        rates=rates,
        evidence=evidence,
        visitor=page.visitor,
        # Browsers send no Sec-Fetch headers from a plain origin, also if the site's proxies use TLS. If TLS ends in
        # front of this service, the headers show that the origin is secure.
        is_plain=request.header("sec-fetch-site") is None and (not request.secure or page.origin.startswith("http:")),
    )


class Trial(Struct, frozen=True, kw_only=True):
    """One verification: the call, the challenge, the decision and the verdict."""

    call: Call
    page: AdmittedPage
    # After the attempt was counted.
    challenge: StoredChallenge
    facts: RequestFacts
    decision: EngineDecision
    # The verdict of enforce mode.
    verdict: Outcome
    # Whether the response to the interactive challenge is right; None if there is none.
    answered: bool | None

    @property
    def applied(self) -> Outcome:
        """The verdict that applies: monitor mode lets every visitor pass."""
        return Outcome.ALLOW if self.page.site.mode is Mode.MONITOR else self.verdict

    @property
    def attempts_left(self) -> int:
        """Remaining attempts of the challenge."""
        return VERIFY_ATTEMPTS_PER_CHALLENGE - self.challenge.attempts

    @property
    def solve_type(self) -> SolveType:
        """How the check was solved, if it was."""
        widget = self.challenge.widget
        if self.challenge.stepped_ms is not None and widget is not WidgetMode.INTERACTIVE:
            return SolveType.STEP_UP
        return SolveType(widget.value)


class BrowserCheckEventLog:
    """Records challenges. A step-up is an intermediate step and has no event."""

    def __init__(self, recorder: Recorder, ids: DecisionIds) -> None:
        self._recorder = recorder
        self._ids = ids

    def issued(self, call: Call, page: AdmittedPage, facts: RequestFacts, decision: EngineDecision) -> None:
        """Record that a challenge was issued."""
        if page.test:
            return
        answered = Answered(
            id=self._ids.next(),
            visitor=page.visitor,
            status=200,
            request_id=call.request_id,
            trace_id=read_trace_id(call.request.header("traceparent")),
            kind=DecisionKind.CHALLENGE,
            stage=ChallengeStage.ISSUED,
        )
        self._recorder.put(make_event(facts, page.site, decision, answered))

    def concluded(self, trial: Trial) -> str:
        """Record how a trial ended and return the ID of its decision; the token, if there is one, will name it."""
        decision_id = self._ids.next()
        if trial.page.test:
            return write_id(decision_id)
        passed = trial.applied is Outcome.ALLOW
        answered = Answered(
            id=decision_id,
            visitor=trial.page.visitor,
            status=200 if passed else 403,
            request_id=trial.call.request_id,
            trace_id=read_trace_id(trial.call.request.header("traceparent")),
            kind=DecisionKind.CHALLENGE,
            stage=ChallengeStage.PASSED if passed else ChallengeStage.FAILED,
            solve_type=trial.solve_type if passed else None,
            solve_ms=trial.call.now - trial.challenge.issued_ms if passed else None,
        )
        site, ruled = trial.page.site, trial.decision.verdict.outcome
        event = make_event(trial.facts, site, trial.decision, answered)
        outcome, would = recorded(trial.verdict, ruled, site.mode)
        if (outcome, would) != (event.outcome, event.would):
            # The rules allowed the check; the proofs or the visitor's response were wrong.
            event = msgspec.structs.replace(event, outcome=outcome, would=would, reasons=POLICY, ruled=False)
        self._recorder.put(event)
        if passed:
            self._recorder.count(site.number, CounterName.TOKENS_ISSUED, now_ms=trial.call.now)
        return write_id(decision_id)


class CheckTokens:
    """Issues tokens and clearances."""

    def __init__(self, receipts: ReceiptIssuer, clearances: Clearances, bindings: Bindings) -> None:
        self._receipts = receipts
        self._clearances = clearances
        self._bindings = bindings

    def give(self, trial: Trial, decision_id: str) -> VerifyResult:
        binding, clearance = trial.challenge.binding, self._clearance(trial)
        receipt_id = new_receipt_id()
        grant = Grant(
            site_key=trial.page.site.site_key,
            kind=ReceiptKind.BROWSER,
            action=binding.action,
            subject=binding.visitor,
            decision_id=decision_id,
            origin=binding.origin,
            c_data=optional(trial.challenge.c_data),
            test=trial.page.test,
            binding=self._bind(trial, receipt_id, clearance),
        )
        issued = self._receipts.issue(grant, now_ms=trial.call.now, receipt_id=receipt_id)
        return VerifyResult(
            status=VerifyStatus.PASSED,
            token=issued.receipt,
            expires_at=issued.expires_at,
            decision_id=decision_id,
            clearance=UNSET
            if clearance is None
            else ClearanceCookie(name=clearance.name, value=clearance.value, expires_at=clearance.expires_at),
        )

    def _bind(self, trial: Trial, receipt_id: str, clearance: IssuedClearance | None) -> str | UnsetType:
        if trial.page.test:
            # Test tokens are valid for any origin.
            return UNSET
        request = trial.call.request
        clearances = () if clearance is None else (clearance.id,)
        holder = TokenHolder(request.address, request.header("user-agent") or "", clearances)
        return self._bindings.bind(
            trial.page.site.site_key, receipt_id, holder, is_proven=trial.verdict is Outcome.ALLOW
        )

    def _clearance(self, trial: Trial) -> IssuedClearance | None:
        action = trial.page.site.actions.get(trial.page.action)
        if action is None or action.clearance is not True:
            return None
        binding, request = trial.challenge.binding, trial.call.request
        user_agent = (request.header("user-agent") or "").encode("latin-1")
        return self._clearances.issue(
            site_key=trial.page.site.site_key,
            origin=binding.origin,
            holder=ClearanceHolder(
                request.address, user_agent, request.header(JA4_HEADER), trial.verdict is Outcome.ALLOW
            ),
            level=ClearanceLevel.STEP_UP if trial.answered else ClearanceLevel.CHECKED,
            now_ms=trial.call.now,
        )
