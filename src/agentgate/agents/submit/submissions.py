"""Submissions: agents' requests to `POST /agent/submit`, from the request to the stored response.

The order is the contract's: body, signature, digest, replay, earlier response, policy, quota, price, rules,
confirmation by a person. An accepted submission is stored with its charge in one transaction, so a repeated submission
is charged once.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.agents.admission import Admission
from agentgate.agents.handoff.handoffs import HandoffRedemption, Handoffs
from agentgate.agents.handoff.repository import HandoffRequest
from agentgate.agents.identity import Identity, SignedMessage
from agentgate.agents.policy_checker import agent_facts
from agentgate.agents.policy_decision import PriceOffer, Quotas, policy_action, read_offer
from agentgate.agents.signing.fields import digest_of
from agentgate.agents.submission_repository import Charge, Submission, SubmissionStore
from agentgate.agents.submit.canonical import NotCanonical, content_bytes, submission_hash, texts
from agentgate.browser_check.tokens.receipts import Grant, ReceiptIssuer
from agentgate.decision.decider import Decider
from agentgate.decision.engine import EngineDecision, apply_mode
from agentgate.decision.event import Answered, make_event
from agentgate.decision.signals.facts import RequestFacts
from agentgate.events.correlation import read_trace_id
from agentgate.events.decision_ids import DecisionIds, write_id
from agentgate.events.recorder import Recorder
from agentgate.events.records import CounterName, Event
from agentgate.http.call import Call
from agentgate.lib import errors
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.enums import AgentPolicyAction, AgentVerdict, ChargeSource, Mode, Outcome, ReceiptKind
from agentgate.lib.errors import Refused
from agentgate.lib.limits import SUBMISSION_KEPT_DAYS
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record, to_json
from agentgate.lib.tasks.turns import KeyedLocks
from agentgate.sites.directory import SiteDirectory, SiteView
from agentgate.sites.price import Price


class SubmissionInput(Input, frozen=True, kw_only=True):
    """A submission of an agent. The agent chooses `id`; the same `id` is the same submission."""

    site_key: Annotated[str, Meta(max_length=100)]
    action: Annotated[str, Meta(max_length=100)]
    id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:-]{1,128}\Z")]
    # Text, or the fields of a form. It is scored and digested, and never kept.
    content: Any
    # The tool of the site's manifest that the agent used.
    tool: Annotated[str, Meta(min_length=1, max_length=128)] | UnsetType = UNSET
    # The page that the content is for.
    url: Annotated[str, Meta(min_length=1, max_length=2048)] | UnsetType = UNSET
    handoff_id: Annotated[str, Meta(min_length=1, max_length=64)] | UnsetType = UNSET


class SubmittingAgent(Record, frozen=True, kw_only=True):
    """The submitting agent: its verified key and its name in the site's policy."""

    id: str
    key_id: str
    name: str | UnsetType = UNSET


class SubmissionAnswer(Record, frozen=True, kw_only=True):
    """An accepted submission. Send the receipt to the site, whose server redeems it with siteverify."""

    status: Literal["accepted"]
    id: str
    decision: Outcome
    decision_id: str
    agent: SubmittingAgent
    receipt: str
    receipt_expires_at: Moment
    # The price that the agent owes for it, such as `USD 0.05`.
    charged: str | None


ROUTE = "/agent/submit"
# Headers that describe the connection and not the agent.
_LEFT_OUT_HEADERS = ("x-forwarded-", "authorization", "cookie")


class Obstacle(Struct, frozen=True):
    """Why a submission is not accepted: a code of the agents' table, and the outcome in enforce mode."""

    code: str
    outcome: Outcome
    message: str | None = None
    offer: PriceOffer | None = None


class SubmissionCase(Struct, frozen=True, kw_only=True):
    """A submission of a verified agent, with its facts and observation."""

    call: Call
    body: SubmissionInput
    site: SiteView
    identity: Identity
    facts: RequestFacts
    visitor: int
    decision: EngineDecision
    decision_id: int

    @property
    def agent(self) -> str:
        assert self.identity.agent is not None, "a verified identity has an agent"
        return self.identity.agent


class SubmissionJudge:
    """Decides about submissions and records the decisions."""

    def __init__(self, decider: Decider, quotas: Quotas, *, recorder: Recorder, ids: DecisionIds) -> None:
        self._decider = decider
        self._quotas = quotas
        self._recorder = recorder
        self._ids = ids

    def open_case(self, call: Call, body: SubmissionInput, site: SiteView, *, identity: Identity) -> SubmissionCase:
        """Observe a submission and score its content, which is not kept."""
        address = call.request.address
        visitor = self._decider.visitors.find(site.site_key, address)
        facts = RequestFacts(
            now_ms=call.now,
            method=call.request.method,
            target=ROUTE,
            address=address,
            headers=_headers(call),
            route=ROUTE,
            action=body.action,
            rates=self._decider.count(site, visitor, address, call.now),
            agent=agent_facts(identity),
            visitor=visitor,
            content="\n".join(texts(body.content)),
        )
        decision = self._decider.decide(facts, site)
        return SubmissionCase(
            call=call,
            body=body,
            site=site,
            identity=identity,
            facts=facts,
            visitor=visitor,
            decision=decision,
            decision_id=self._ids.next(),
        )

    async def find_obstacle(self, case: SubmissionCase, message: SignedMessage) -> tuple[Obstacle | None, Price | None]:
        policy = case.site.agent_policy
        decided = policy_action(policy, case.agent, case.body.action)
        if decided is AgentPolicyAction.DENY:
            return Obstacle("agent_denied", Outcome.BLOCK), None
        if not await self._quotas.is_within(case.site, case.agent, case.body.action):
            return Obstacle("rate_limited", Outcome.BLOCK), None
        offer = read_offer(policy.price_for(case.agent, case.body.action), message.headers, case.identity)
        if offer.reason is not None:
            return Obstacle(offer.reason, Outcome.BLOCK, _about(offer), offer), None
        ruled = case.decision.verdict.outcome
        if ruled in {Outcome.BLOCK, Outcome.DROP}:
            return Obstacle("policy", ruled), None
        if decided is AgentPolicyAction.CHALLENGE or ruled is Outcome.CHALLENGE:
            return Obstacle("challenge_required", Outcome.CHALLENGE), offer.price
        return None, offer.price

    def record(self, case: SubmissionCase, obstacle: Obstacle | None) -> None:
        """Record a decision, with the would-decision in monitor mode."""
        outcome, would = apply_mode(Outcome.ALLOW if obstacle is None else obstacle.outcome, case.site.mode)
        is_accepted = outcome is Outcome.ALLOW
        event = _event(case, None if obstacle is None or is_accepted else obstacle.code)
        if (outcome, would) != (event.outcome, event.would) or (obstacle is not None and obstacle.code != "policy"):
            reason = "allowed" if obstacle is None else _REASONS.get(obstacle.code, obstacle.code)
            event = msgspec.structs.replace(
                event, outcome=outcome, would=would, reasons=(reason,), ruled=False, rule=None
            )
        self._recorder.put(event)
        if is_accepted:
            self._recorder.count(case.site.number, CounterName.TOKENS_ISSUED, now_ms=case.call.now)

    def record_stranger(self, case: SubmissionCase, code: str) -> None:
        """Record an unverified submission, which is rejected in monitor mode too."""
        event = _event(case, code)
        self._recorder.put(
            msgspec.structs.replace(event, outcome=Outcome.BLOCK, would=None, reasons=(code,), ruled=False, rule=None)
        )


def _event(case: SubmissionCase, refused: str | None) -> Event:
    answered = Answered(
        id=case.decision_id,
        visitor=case.visitor,
        status=200 if refused is None else errors.AGENTS.lookup(refused).status,
        request_id=case.call.request_id,
        trace_id=read_trace_id(case.call.request.header("traceparent")),
    )
    return make_event(case.facts, case.site, case.decision, answered)


def applies(obstacle: Obstacle | None, site: SiteView) -> bool:
    return obstacle is not None and site.mode is not Mode.MONITOR


def as_stranger(identity: Identity, code: str) -> Identity:
    """Return the identity of an unverified sender, for the event."""
    if code == "agent_signature_invalid":
        return Identity(verdict=AgentVerdict.INVALID, why=identity.why)
    return identity


def _about(offer: PriceOffer) -> str:
    assert offer.price is not None and offer.error is not None, "a rejected offer has an error"  # noqa: PT018 - one thought
    return f"{offer.error.value}. The price is {offer.price.text()}: Offer it in a header that the signature covers."


def _headers(call: Call) -> tuple[tuple[str, str], ...]:
    named = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in call.request.headers)
    return tuple((name, value) for name, value in named if not name.startswith(_LEFT_OUT_HEADERS))


# Events use the gateway's reasons.
_REASONS = {"challenge_required": "policy"}


KEPT_MS = SUBMISSION_KEPT_DAYS * DAY_MS


class GivenSubmission(Struct, frozen=True, kw_only=True):
    """The content of a submission and its digests."""

    body: SubmissionInput
    message: SignedMessage
    # Identifies the submission; the receipt is bound to it.
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
        judge: SubmissionJudge,
        handoffs: Handoffs,
        receipts: ReceiptIssuer,
    ) -> None:
        self._sites = sites
        self._store = store
        self._admission = admission
        self._judge = judge
        self._handoffs = handoffs
        self._receipts = receipts
        # Equal submissions run one after the other: the later ones find the first one's response. Otherwise each would
        # use up a unit of the agent's quota.
        self._locks = KeyedLocks()

    async def submit(self, call: Call, body: SubmissionInput, content: bytes) -> bytes:
        """Return the response to a submission. If it was accepted before, return the first response, byte for byte."""
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

    async def _decide(self, case: SubmissionCase, given: GivenSubmission) -> bytes:
        obstacle, price = await self._judge.find_obstacle(case, given.message)
        if obstacle is not None and obstacle.outcome is Outcome.CHALLENGE and applies(obstacle, case.site):
            obstacle = await self._confirm(case, obstacle, _request(case, given))
        if obstacle is not None and applies(obstacle, case.site):
            self._judge.record(case, obstacle)
            raise await self._refusal(case, obstacle, given)
        # Monitor mode blocks no submission for a missing payment, so it charges nothing.
        charged = None if case.site.mode is Mode.MONITOR else price
        return await self._accept(case, given, obstacle, charged)

    async def _confirm(self, case: SubmissionCase, obstacle: Obstacle, request: HandoffRequest) -> Obstacle | None:
        """Return the remaining obstacle to a challenged submission; None when a person has confirmed it."""
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
        if result is HandoffRedemption.REDEEMED:
            return None
        if result is HandoffRedemption.UNKNOWN:
            raise Refused("invalid_request", "handoffId does not match a handoff of this agent for this submission.")
        if result is HandoffRedemption.DECLINED:
            return Obstacle("agent_denied", Outcome.BLOCK, "A person declined this action.")
        # Pending, expired, or used for another request: a person has to confirm, perhaps once more.
        return obstacle

    async def _accept(
        self, case: SubmissionCase, given: GivenSubmission, obstacle: Obstacle | None, charged: Price | None
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
        # Another worker accepted the same submission first.
        earlier = await self._earlier(case.site, case.agent, given)
        if earlier is None:
            raise StoreUnavailable("a stored submission is missing")
        return earlier

    def _answer(self, case: SubmissionCase, given: GivenSubmission, charged: Price | None) -> bytes:
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

    async def _refusal(self, case: SubmissionCase, obstacle: Obstacle, given: GivenSubmission) -> Refused:
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
        headers = {}
        if obstacle.offer is not None:
            headers = {name.decode(): value.decode() for name, value in obstacle.offer.headers}
            extra |= {"crawlerPrice": headers["crawler-price"], "crawlerError": headers["crawler-error"]}
        return Refused(obstacle.code, obstacle.message, headers=headers, **extra)

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


def _request(case: SubmissionCase, given: GivenSubmission) -> HandoffRequest:
    return HandoffRequest(
        submission_id=case.body.id,
        content_digest=given.content_digest,
        decision_id=write_id(case.decision_id),
        content=case.body.content,
    )


def _charge(case: SubmissionCase, price: Price) -> Charge:
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
