"""Submissions over the wire, what stands against one (policy, quota, price, rules on its content), and its event."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.events.recorder import Recorder
from agentgate.events.records import CounterName, Event
from agentgate.http.call import Call
from agentgate.lib import errors
from agentgate.lib.decision_ids import DecisionIds
from agentgate.lib.enums import AgentPolicyAction, AgentVerdict, Mode, Outcome
from agentgate.lib.moment import Moment
from agentgate.lib.price import Price
from agentgate.lib.records import Input, Record
from agentgate.protection.agents.identity import Identity, SignedMessage
from agentgate.protection.agents.policy.decision import PriceOffer, Quotas, policy_decision, read_offer
from agentgate.protection.agents.policy_checker import facts_of
from agentgate.protection.agents.submit.canonical import texts
from agentgate.protection.decision.correlation import read_trace_id
from agentgate.protection.decision.decider import Decider
from agentgate.protection.decision.engine import EngineDecision
from agentgate.protection.decision.event import Answered, make_event
from agentgate.protection.decision.outcome import apply_mode
from agentgate.protection.signals.facts import RequestFacts
from agentgate.protection.sites.directory import SiteView


class SubmissionInput(Input, frozen=True, kw_only=True):
    """What an agent submits. `id` is the agent's own: the same one again is the same submission."""

    site_key: Annotated[str, Meta(max_length=100)]
    action: Annotated[str, Meta(max_length=100)]
    id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:-]{1,128}\Z")]
    # Text, or the fields of a form. It is scored and digested, and never kept.
    content: Any
    # The tool of the site's manifest that the agent had in mind.
    tool: Annotated[str, Meta(min_length=1, max_length=128)] | UnsetType = UNSET
    # Where the content would go.
    url: Annotated[str, Meta(min_length=1, max_length=2048)] | UnsetType = UNSET
    handoff_id: Annotated[str, Meta(min_length=1, max_length=64)] | UnsetType = UNSET


class SubmittingAgent(Record, frozen=True, kw_only=True):
    """Who submitted: the agent by its verified key, and what the site calls it."""

    id: str
    key_id: str
    name: str | UnsetType = UNSET


class SubmissionAnswer(Record, frozen=True, kw_only=True):
    """An accepted submission. The receipt goes to the site, whose server redeems it with siteverify."""

    status: Literal["accepted"]
    id: str
    decision: Outcome
    decision_id: str
    agent: SubmittingAgent
    receipt: str
    receipt_expires_at: Moment
    # What the agent owes for it, such as `USD 0.05`.
    charged: str | None


ROUTE = "/agent/submit"
# What says something about the way here and not about the agent.
_NOT_LOOKED_AT = ("x-forwarded-", "authorization", "cookie")


class Obstacle(Struct, frozen=True):
    """Why a submission is not accepted as it is: a code of the agents' table, and what enforce mode makes of it."""

    code: str
    outcome: Outcome
    message: str | None = None
    headers: tuple[tuple[str, str], ...] = ()


class Case(Struct, frozen=True, kw_only=True):
    """A submission of a verified agent, and what was found out about it."""

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
        """The agent that submits."""
        assert self.identity.agent is not None, "a verified identity has an agent"
        return self.identity.agent


class Judge:
    """Decides about submissions and records what was decided."""

    def __init__(self, decider: Decider, quotas: Quotas, *, recorder: Recorder, ids: DecisionIds) -> None:
        self._decider = decider
        self._quotas = quotas
        self._recorder = recorder
        self._ids = ids

    def open_case(self, call: Call, body: SubmissionInput, site: SiteView, *, identity: Identity) -> Case:
        """Look at a submission and score its content, which is forgotten after that."""
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
            agent=facts_of(identity),
            visitor=visitor,
            content="\n".join(texts(body.content)),
        )
        decision = self._decider.decide(facts, site)
        return Case(
            call=call,
            body=body,
            site=site,
            identity=identity,
            facts=facts,
            visitor=visitor,
            decision=decision,
            decision_id=self._ids.next(),
        )

    async def find_obstacle(self, case: Case, message: SignedMessage) -> tuple[Obstacle | None, Price | None]:
        """Return what stands against a submission, None when nothing does, and what it costs."""
        policy = case.site.agent_policy
        decided = policy_decision(policy, case.agent, case.body.action)
        if decided.decision is AgentPolicyAction.DENY:
            return Obstacle("agent_denied", Outcome.BLOCK), None
        if not await self._quotas.is_within(case.site, case.agent, case.body.action):
            return Obstacle("rate_limited", Outcome.BLOCK), None
        offer = read_offer(policy.price_for(case.agent, case.body.action), message.headers, case.identity)
        if offer.reason is not None:
            headers = tuple((name.decode(), value.decode()) for name, value in offer.headers)
            return Obstacle(offer.reason, Outcome.BLOCK, _about(offer), headers), None
        ruled = case.decision.verdict.outcome
        if ruled in {Outcome.BLOCK, Outcome.DROP}:
            return Obstacle("policy", ruled), None
        if decided.decision is AgentPolicyAction.CHALLENGE or ruled is Outcome.CHALLENGE:
            return Obstacle("challenge_required", Outcome.CHALLENGE), offer.price
        return None, offer.price

    def record(self, case: Case, obstacle: Obstacle | None) -> None:
        """Record a decision, with what enforce mode would have done where monitor mode let it through."""
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

    def record_stranger(self, case: Case, code: str) -> None:
        """Record that somebody did not prove who he is. Monitor mode does not change that."""
        event = _event(case, code)
        self._recorder.put(
            msgspec.structs.replace(event, outcome=Outcome.BLOCK, would=None, reasons=(code,), ruled=False, rule=None)
        )


def _event(case: Case, refused: str | None) -> Event:
    answered = Answered(
        id=case.decision_id,
        visitor=case.visitor,
        status=200 if refused is None else errors.AGENTS.lookup(refused).status,
        request_id=case.call.request_id,
        trace_id=read_trace_id(case.call.request.header("traceparent")),
    )
    return make_event(case.facts, case.site, case.decision, answered)


def applies(obstacle: Obstacle | None, site: SiteView) -> bool:
    """Say whether an obstacle keeps a submission from being accepted."""
    return obstacle is not None and site.mode is not Mode.MONITOR


def as_stranger(identity: Identity, code: str) -> Identity:
    """Return the identity that the rules are told of somebody who was refused for what he did not prove."""
    if code == "agent_signature_invalid":
        return Identity(verdict=AgentVerdict.INVALID, why=identity.why)
    return identity


def _about(offer: PriceOffer) -> str:
    assert offer.price is not None and offer.error is not None, "an offer is refused for a reason"  # noqa: PT018 - one thought
    return f"{offer.error.value}. The price is {offer.price.text()}: offer it in a header that the signature covers."


def _headers(call: Call) -> tuple[tuple[str, str], ...]:
    named = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in call.request.headers)
    return tuple((name, value) for name, value in named if not name.startswith(_NOT_LOOKED_AT))


# Events speak the gateway's language.
_REASONS = {"challenge_required": "policy"}
