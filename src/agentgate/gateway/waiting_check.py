"""Checks that need I/O: to verify a signature, to redeem a token, to charge an agent."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import perf_counter_ns
from typing import Any, TypeVar

import structlog
from msgspec.structs import replace

from agentgate.agents.identity import SignedMessage
from agentgate.agents.policy_checker import AgentPolicyChecker, AgentRequestContext, CheckedAgent
from agentgate.browser_check.tokens.receipts import Claims
from agentgate.decision.decider import Decider
from agentgate.decision.engine import Ruling, Views
from agentgate.decision.signals.facts import PartState
from agentgate.events.records import CounterName
from agentgate.gateway.agent_requests import claim_of, message_of
from agentgate.gateway.answers import Answers
from agentgate.gateway.decisions import Route, decide_check, earns, may_be_suggested, observe
from agentgate.gateway.denials import DenialWriter
from agentgate.gateway.event_log import GatewayEventLog
from agentgate.gateway.pending_check import DecidedCheck, PendingCheck
from agentgate.gateway.receipts import OTHERS_TOKEN, TOKEN_HEADER, Receipts, Shown, fit
from agentgate.gateway.route_protection import Protection
from agentgate.gateway.rule_limits import LimitCounter, with_exceeded
from agentgate.gateway.ruling import refuse, unavailable
from agentgate.gateway.suggestions.collector import RefusedRequest
from agentgate.gateway.suggestions.masking import sender_of_headers
from agentgate.http.connection.fast_functions import HotReply
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.enums import Mode, Outcome
from agentgate.sites.directory import SiteView

T = TypeVar("T")
# Tokens that may wait for the store at once.
MOST_SPENDING = 512
# The longest time for a store that hangs. After it, the token may or may not be redeemed.
SPEND_S = 1.0
# Printed adapters wait one second for a check, and treat a later response as unavailable.
DEADLINE_S = 0.7


Decide = Callable[[list[CheckedAgent]], DecidedCheck]


class WaitingChecks:
    """Handles checks of agents, and checks with a token."""

    def __init__(
        self,
        policy_checker: AgentPolicyChecker | None,
        receipts: Receipts,
        event_log: GatewayEventLog,
        *,
        answers: Answers,
        denials: DenialWriter,
        decider: Decider,
    ) -> None:
        self._policy_checker = policy_checker
        self._receipts = receipts
        self._event_log = event_log
        self._answers = answers
        self._denials = denials
        self._earn = decider.earn
        self._limits = LimitCounter(decider.is_over)
        # Tasks that continue after the response was due.
        self._late: set[asyncio.Future[Any]] = set()
        self._spending = 0
        # Checks shed because too many were waiting for the store.
        self.shed = 0

    def answer(self, pending: PendingCheck, views: Views) -> HotReply | Awaitable[HotReply]:
        """Finish the check at once if it needs no I/O."""
        token = pending.fields.get(TOKEN_HEADER)
        routes = [(each, self._shown(pending, each, token)) for each in pending.page.kind.protections]
        if self._policy_checker is not None and pending.fingerprint.is_agents:
            return self._ask(self._policy_checker, pending, routes, views)
        return self._finish(self._decide(pending, routes, views, []))

    def _decide(
        self, pending: PendingCheck, routes: list[Route], views: Views, agents: list[CheckedAgent]
    ) -> DecidedCheck:
        """Decide, and once more if the request exceeds rates of the site's rules."""
        found = decide_check(pending, routes, views, agents)
        over = self._limits.exceeded(found, pending.visitor, pending.counted, pending.now_ms)
        return decide_check(with_exceeded(pending, over), routes, views, agents) if over else found

    def _shown(self, pending: PendingCheck, protection: Protection, token: bytes | None) -> Shown:
        """Return the token or clearance shown for a route. A token takes precedence: it was issued for this request."""
        if token is None or protection.action is None:
            return fit(pending.shown, protection)
        shown = self._receipts.token(
            token,
            pending.fields,
            pending.page.kind.origin,
            _actions_for(protection, pending.page.kind.protections),
            site=pending.site,
            now_ms=pending.now_ms,
        )
        if shown.token is None:
            return shown
        address, now_ms = pending.visitor.address, pending.now_ms
        is_holders = self._receipts.is_holders(shown.token, pending.site, address, pending.fields, now_ms)
        return shown if is_holders else OTHERS_TOKEN

    def _ask(
        self, policy_checker: AgentPolicyChecker, pending: PendingCheck, routes: list[Route], views: Views
    ) -> HotReply | Awaitable[HotReply]:
        """Verify the signature, and apply the site's agent policy for each route that could match."""
        message = message_of(pending)
        contexts = [_context_of(pending, *each, views) for each in routes]
        found = policy_checker.check(message, pending.site, contexts[0], now_ms=pending.now_ms)
        decide = partial(self._decide, pending, routes, views)
        if isinstance(found, CheckedAgent) and len(contexts) == 1:
            return self._finish(decide([found]), found)
        asked = _ask_all(policy_checker, message, pending.site, contexts, found)
        unproven = [partial(policy_checker.rule_unidentified, message, pending.site, each) for each in contexts]
        return self._finish_later(decide, asked, unproven, pending)

    async def _finish_later(
        self,
        decide: Decide,
        found: Awaitable[list[CheckedAgent]],
        unproven: Sequence[Callable[[], CheckedAgent]],
        pending: PendingCheck,
    ) -> HotReply:
        """Wait for the agent's identity. Without it in time, the agent counts as unverified."""
        try:
            agents = await self._in_time(found, pending)
            if agents is None:
                agents = [rule_on_it() for rule_on_it in unproven]
            answer = self._finish(decide(agents), _dearest(agents))
            return answer if isinstance(answer, HotReply) else await answer
        except StoreUnavailable:
            return await self._conclude_later(decide([]), unavailable(pending.site))
        except Exception:  # noqa: BLE001 - as for every other request
            structlog.get_logger().exception("a check could not be decided", site=pending.site.site_key)
            answer = self._denials.write(unavailable(pending.site), None, pending)
            return answer if isinstance(answer, HotReply) else await answer

    async def _in_time(self, work: Awaitable[T], pending: PendingCheck) -> T | None:
        """Return the result; None if a described check is due before. The work continues."""
        if not pending.fingerprint.kind.form.respond:
            return await work
        future = asyncio.ensure_future(work)
        left_s = DEADLINE_S - (perf_counter_ns() - pending.started_ns) / 1_000_000_000
        done, _ = await asyncio.wait([future], timeout=max(0.0, left_s))
        if done:
            return future.result()
        self._late.add(future)
        future.add_done_callback(self._forget_late)
        return None

    def _forget_late(self, future: "asyncio.Future[Any]") -> None:
        self._late.discard(future)
        if not future.cancelled() and future.exception() is not None:
            structlog.get_logger().warning(
                "background work of a completed check failed", error=repr(future.exception())
            )

    def _finish(self, check: DecidedCheck, agent: CheckedAgent | None = None) -> HotReply | Awaitable[HotReply]:
        """Finish a decided check. Before a request is allowed, it is charged and its token redeemed."""
        token = check.shown.token
        if check.ruling.outcome is not Outcome.ALLOW:
            return self._conclude(check)
        if agent is not None and agent.price is not None and check.site.mode is Mode.ENFORCE:
            return self._charge(check, agent)
        if token is None:
            return self._conclude(check)
        if self._spending >= MOST_SPENDING:
            # The store is slow. A longer queue would only add latency.
            self.shed += 1
            return self._conclude(replace(check, ruling=unavailable(check.site)))
        return self._spend(check, token)

    async def _spend(self, check: DecidedCheck, token: Claims) -> HotReply:
        return await self._conclude_later(check, await self._redeem(check, token))

    async def _redeem(self, check: DecidedCheck, token: Claims) -> Ruling | None:
        """Redeem a token; if that fails, return the denial of the request."""
        site, now_ms = check.site, check.pending.now_ms
        self._spending += 1
        try:
            async with asyncio.timeout(SPEND_S):
                is_spent = await self._in_time(self._receipts.spend(site, token, now_ms=now_ms), check.pending)
        except (StoreUnavailable, TimeoutError):
            return unavailable(site)
        finally:
            self._spending -= 1
        if is_spent is None:
            # Whether it was redeemed is unknown, so it opens nothing.
            return refuse(site, Outcome.CHALLENGE, "receipt_required")
        if is_spent:
            self._event_log.count(site, CounterName.TOKENS_REDEEMED, now_ms)
            return None
        return refuse(site, Outcome.CHALLENGE, "token_used")

    async def _charge(self, check: DecidedCheck, agent: CheckedAgent) -> HotReply:
        """Redeem the token if there is one, then record the charge: a denied request is not charged."""
        assert self._policy_checker is not None
        site, now_ms = check.site, check.pending.now_ms
        against = None if check.shown.token is None else await self._redeem(check, check.shown.token)
        if against is not None:
            return await self._conclude_later(check, against)
        decision_id, action = self._event_log.new_id(), check.protection.action
        charge = self._policy_checker.charge(agent, site, action=action, decision_id=decision_id, now_ms=now_ms)
        try:
            charged = await self._in_time(charge, check.pending)
        except StoreUnavailable:
            charged = None
        if charged is None:
            return await self._conclude_later(check, unavailable(site))
        if earns(check):
            self._earn(check.pending.counted, check.pending.fingerprint.tag, check.pending.now_ms)
        self._event_log.record(check, self._answers.status_of(check.ruling), decision_id)
        return self._answers.write(replace(check.ruling, headers=tuple(charged)), decision_id, ok=ok_of(check.pending))

    def _conclude(self, check: DecidedCheck) -> HotReply | Awaitable[HotReply]:
        """Record the decision and write it. The parts of an allowed page may be loaded."""
        if earns(check):
            self._earn(check.pending.counted, check.pending.fingerprint.tag, check.pending.now_ms)
        self._suggest(check)
        decision_id = self._event_log.record(check, self._answers.status_of(check.ruling))
        return self._denials.write(check.ruling, decision_id, check.pending)

    def _suggest(self, check: DecidedCheck) -> None:
        """Note a denied webhook whose sender's name is also a crawler's. Other agents prove themselves."""
        pending, fingerprint = check.pending, check.pending.fingerprint
        if fingerprint.is_nameable and sender_of_headers(fingerprint.signatures) and may_be_suggested(check):
            who = (fingerprint.observed.user_agent, fingerprint.signatures, pending.visitor.address)
            refused = RefusedRequest(check.method, pending.page.target, *who, pending.visitor.labels)
            self._event_log.suggest(check.site, refused, pending.now_ms)

    async def _conclude_later(self, check: DecidedCheck, denial: Ruling | None) -> HotReply:
        """Record and write the decision, or the denial that its token or its charge led to."""
        answer = self._conclude(check if denial is None else replace(check, ruling=denial))
        return answer if isinstance(answer, HotReply) else await answer


def _context_of(pending: PendingCheck, protection: Protection, shown: Shown, views: Views) -> AgentRequestContext:
    """Return what the policy checker reads. Signals run only when the claim matters: no signature proves it."""
    is_part = pending.rates.parts == PartState.PAID
    return AgentRequestContext(
        protection.action,
        is_part,
        pending.page.kind.is_file,
        lambda: claim_of(observe(pending, pending.facts(protection, shown, None), views)),
    )


async def _ask_all(
    policy_checker: AgentPolicyChecker,
    message: SignedMessage,
    site: SiteView,
    contexts: list[AgentRequestContext],
    first: CheckedAgent | Awaitable[CheckedAgent],
) -> list[CheckedAgent]:
    """Return the rulings for all routes; the sender is identified once."""
    rulings = [first if isinstance(first, CheckedAgent) else await first]
    for context in contexts[1:]:
        found = policy_checker.recheck(rulings[0], message, site, context)
        rulings.append(found if isinstance(found, CheckedAgent) else await found)
    return rulings


def _dearest(agents: list[CheckedAgent]) -> CheckedAgent:
    """Return the ruling with the highest price, which is charged once."""
    return max(agents, key=lambda each: -1 if each.price is None else each.price.minor_units)


def ok_of(pending: PendingCheck) -> bytes:
    """Return the query that sets the status of a yes."""
    return b"ok=200" if pending.fingerprint.kind.form.is_ok_200 else b""


def _actions_for(protection: Protection, possible: tuple[Protection, ...]) -> set[str | None]:
    """Return the actions of the tokens that a route takes, given all routes that the request could be.

    A clearance names no action. A token for one of the request's routes satisfies the route that a clearance opens,
    because it proves as much and is spent.
    """
    return {each.action for each in possible} if protection.clearance else {protection.action}
