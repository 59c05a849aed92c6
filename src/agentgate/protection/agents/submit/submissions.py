"""Submissions: what an agent sends to `POST /agent/submit`, from the request to the stored answer.

The order is the contract's: body, signature, digest, replay, earlier answer, policy, quota, price, rules, confirmation
by a person. What is accepted is kept with its charge in one transaction, so a repeated submission is charged once.
"""

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from agentgate.http.call import Call
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.decision_ids import write_id
from agentgate.lib.enums import ChargeSource, Mode, Outcome, ReceiptKind
from agentgate.lib.errors import Refused
from agentgate.lib.limits import SUBMISSION_KEPT_DAYS
from agentgate.lib.price import Price
from agentgate.lib.records import to_json
from agentgate.lib.tasks.keyed_locks import KeyedLocks
from agentgate.protection.agents.admission import Admission
from agentgate.protection.agents.handoff.handoffs import Handoffs, Redeeming
from agentgate.protection.agents.handoff.repository import HandoffRequest
from agentgate.protection.agents.identity import SignedMessage
from agentgate.protection.agents.signing.fields import digest_of
from agentgate.protection.agents.submission_repository import Charge, Submission, SubmissionStore
from agentgate.protection.agents.submit.canonical import NotCanonical, content_bytes, submission_hash
from agentgate.protection.agents.submit.judge import (
    Case,
    Judge,
    Obstacle,
    SubmissionAnswer,
    SubmissionInput,
    SubmittingAgent,
    applies,
    as_stranger,
)
from agentgate.protection.sites.directory import SiteDirectory, SiteView
from agentgate.protection.tokens.receipts import Grant, ReceiptIssuer

KEPT_MS = SUBMISSION_KEPT_DAYS * DAY_MS


class GivenSubmission(Struct, frozen=True, kw_only=True):
    """What a submission is, beside who sent it."""

    body: SubmissionInput
    message: SignedMessage
    # What makes it the same submission, and what its receipt is bound to.
    content_hash: bytes
    content_digest: str


class Submissions:
    """Accepts submissions, each once."""

    def __init__(
        self,
        sites: SiteDirectory,
        store: SubmissionStore,
        *,
        admission: Admission,
        judge: Judge,
        handoffs: Handoffs,
        receipts: ReceiptIssuer,
    ) -> None:
        self._sites = sites
        self._store = store
        self._admission = admission
        self._judge = judge
        self._handoffs = handoffs
        self._receipts = receipts
        # Equal submissions one after the other: those behind the first then find its answer, where each of them would
        # else use up a unit of the agent's quota.
        self._locks = KeyedLocks()

    async def submit(self, call: Call, body: SubmissionInput, content: bytes) -> bytes:
        """Return the answer to a submission; the first one's, byte for byte, when it was accepted before."""
        await self._sites.await_refresh()
        site = self._site(body)
        given = _given(body, self._admission.message_of(call))
        identity = await self._admission.identify(given.message, site, now_ms=call.now)
        problem = await self._admission.find_problem(identity, given.message, content)
        if problem is not None:
            known = as_stranger(identity, problem.code)
            self._judge.record_stranger(self._judge.open_case(call, body, site, identity=known), problem.code)
            raise problem
        assert identity.agent is not None, "a verified identity has an agent"
        async with self._locks.of((site.id, identity.agent, body.id)):
            earlier = await self._earlier(site, identity.agent, given)
            if earlier is not None:
                return earlier
            case = self._judge.open_case(call, body, site, identity=identity)
            return await self._decide(case, given)

    async def _decide(self, case: Case, given: GivenSubmission) -> bytes:
        obstacle, price = await self._judge.find_obstacle(case, given.message)
        if obstacle is not None and obstacle.outcome is Outcome.CHALLENGE and applies(obstacle, case.site):
            obstacle = await self._confirm(case, obstacle, _request(case, given))
        if obstacle is not None and applies(obstacle, case.site):
            self._judge.record(case, obstacle)
            raise await self._refusal(case, obstacle, given)
        # In monitor mode nobody is refused for not paying, so nobody pays.
        charged = None if case.site.mode is Mode.MONITOR else price
        return await self._accept(case, given, obstacle, charged)

    async def _confirm(self, case: Case, obstacle: Obstacle, request: HandoffRequest) -> Obstacle | None:
        """Return what still stands against a challenged submission; None when a person has confirmed it."""
        handoff_id = case.body.handoff_id
        if isinstance(handoff_id, UnsetType):
            used = await self._handoffs.use_grant(
                case.site, case.identity, action=case.body.action, now_ms=case.call.now
            )
            return obstacle if used is None else None
        result = await self._handoffs.redeem(
            handoff_id,
            case.identity,
            site=case.site,
            request=request,
            action=case.body.action,
            now_ms=case.call.now,
        )
        if result is Redeeming.REDEEMED:
            return None
        if result is Redeeming.UNKNOWN:
            raise Refused("invalid_request", "handoffId names no handoff of this agent for this submission.")
        if result is Redeeming.DECLINED:
            return Obstacle("agent_denied", Outcome.BLOCK, "A person was asked and declined.")
        # It waits, was too late, or was used for something else: a person has to be asked, perhaps once more.
        return obstacle

    async def _accept(
        self, case: Case, given: GivenSubmission, obstacle: Obstacle | None, charged: Price | None
    ) -> bytes:
        answer = self._answer(case, given, charged)
        submission = Submission(
            site_id=case.site.id,
            agent=case.agent,
            id=case.body.id,
            content_hash=given.content_hash,
            answer=answer,
            kept_until_ms=case.call.now + KEPT_MS,
        )
        if await self._store.accept(submission, None if charged is None else _charge(case, charged)):
            self._judge.record(case, obstacle)
            return answer
        # Another worker was quicker with the same submission.
        earlier = await self._earlier(case.site, case.agent, given)
        if earlier is None:
            raise StoreUnavailable("a submission was kept and is not there")
        return earlier

    def _answer(self, case: Case, given: GivenSubmission, charged: Price | None) -> bytes:
        decision_id, keyid = write_id(case.decision_id), case.identity.keyid or ""
        price = UNSET if charged is None else charged.text()
        grant = Grant(
            site_key=case.site.site_key,
            kind=ReceiptKind.AGENT,
            action=case.body.action,
            subject=case.agent,
            decision_id=decision_id,
            keyid=keyid,
            submission_id=case.body.id,
            content_digest=given.content_digest,
            price=price,
        )
        receipt = self._receipts.issue(grant, now_ms=case.call.now)
        entry = case.site.agent_policy.entry_for(case.agent)
        return to_json(
            SubmissionAnswer(
                status="accepted",
                id=case.body.id,
                decision=Outcome.ALLOW,
                decision_id=decision_id,
                agent=SubmittingAgent(id=case.agent, key_id=keyid, name=UNSET if entry is None else entry.name),
                receipt=receipt.receipt,
                receipt_expires_at=receipt.expires_at,
                charged=None if charged is None else charged.text(),
            )
        )

    async def _refusal(self, case: Case, obstacle: Obstacle, given: GivenSubmission) -> Refused:
        shown = "block" if obstacle.outcome is Outcome.DROP else obstacle.outcome.value
        extra: dict[str, Any] = {"decision": shown, "decisionId": write_id(case.decision_id)}
        if obstacle.outcome is Outcome.CHALLENGE and case.site.agent_policy.allows_handoff(case.body.action):
            extra["handoff"] = await self._handoffs.open(
                site=case.site,
                action=case.body.action,
                identity=case.identity,
                request=_request(case, given),
                now_ms=case.call.now,
            )
        return Refused(obstacle.code, obstacle.message, headers=dict(obstacle.headers), **extra)

    async def _earlier(self, site: SiteView, agent: str, given: GivenSubmission) -> bytes | None:
        earlier = await self._store.find_submission(site.id, agent, given.body.id)
        if earlier is None:
            return None
        if earlier.content_hash != given.content_hash:
            raise Refused("submission_conflict")
        return earlier.answer

    def _site(self, body: SubmissionInput) -> SiteView:
        site = self._sites.find(body.site_key)
        if site is None or site.disabled:
            raise Refused("site_invalid")
        if body.action not in site.actions:
            raise Refused("action_invalid")
        return site


def charged_in(answer: bytes) -> str | None:
    """Return what an answer says was charged."""
    return msgspec.json.decode(answer, type=_Charged).charged


class _Charged(Struct):
    charged: str | None = None


def _given(body: SubmissionInput, message: SignedMessage) -> GivenSubmission:
    tool = None if isinstance(body.tool, UnsetType) else body.tool
    try:
        return GivenSubmission(
            body=body,
            message=message,
            content_hash=submission_hash(body.site_key, body.action, tool, body.content),
            content_digest=digest_of(content_bytes(body.content)),
        )
    except NotCanonical as problem:
        raise Refused("invalid_request", str(problem)) from None


def _request(case: Case, given: GivenSubmission) -> HandoffRequest:
    return HandoffRequest(
        submission_id=case.body.id,
        content_digest=given.content_digest,
        decision_id=write_id(case.decision_id),
        content=case.body.content,
    )


def _charge(case: Case, price: Price) -> Charge:
    return Charge(
        site_id=case.site.id,
        decision_id=write_id(case.decision_id),
        agent=case.agent,
        keyid=case.identity.keyid or "",
        source=ChargeSource.SUBMIT,
        action=case.body.action,
        price=price,
        charged_ms=case.call.now,
    )
