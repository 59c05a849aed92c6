"""The gateway check: from a proxy's question to an answer, on the hot path.

The order is the contract's: credential, original request, route, agent, token or clearance, rules. It waits to find out
who signed, to spend a token, and to note what an agent owes. Whatever comes out, the visitor's request has been counted
and an event recorded, except where nobody is known to answer to.
"""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from functools import partial

import msgspec
import structlog

from agentgate.events.records import CounterName
from agentgate.http.connection.fast_functions import DatelessReply, HotReply, HotRequest
from agentgate.http.connection.head_reader import KnownHead
from agentgate.http.connection.loop_budget import Turn
from agentgate.lib.clock import Clock
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.enums import Mode, Outcome
from agentgate.protection.agents.policy_checker import AgentDesk, AgentRuling
from agentgate.protection.credentials.bearer_secret import shown_secret
from agentgate.protection.decision.decider import Decider
from agentgate.protection.gateway.agent_requests import Wish, message_of
from agentgate.protection.gateway.answers import Answers, Ruling
from agentgate.protection.gateway.cached_agents import FamiliarAgents
from agentgate.protection.gateway.event_log import Journal
from agentgate.protection.gateway.fast_check import FamiliarCheck, Tools
from agentgate.protection.gateway.header_fingerprints import Glimpse, Heads
from agentgate.protection.gateway.original_request import Original, OriginalReader
from agentgate.protection.gateway.pending_check import Approach, Visit
from agentgate.protection.gateway.receipts import Receipts
from agentgate.protection.gateway.route_protection import Protections, override_of
from agentgate.protection.gateway.ruling import refuse, rule, unavailable
from agentgate.protection.signals.facts import AgentFacts, Observation
from agentgate.protection.sites.directory import SiteCaller, SiteDirectory
from agentgate.protection.tokens.claims import Claims

# Tokens that may wait for the store at once.
MOST_SPENDING = 512
# No visitor should wait longer for a store that hangs. The token may be spent by then: nobody knows.
SPEND_S = 1.0

_NOTHING_KNOWN = Ruling(Outcome.BLOCK, "service_unavailable")
_NO_CREDENTIAL = Ruling(Outcome.BLOCK, "invalid_credential")


class GatewayCheck:
    """Answers `GET /v1/gateway/check`."""

    def __init__(
        self,
        sites: SiteDirectory,
        *,
        decider: Decider,
        receipts: Receipts,
        journal: Journal,
        clock: Clock,
        desk: AgentDesk | None = None,
    ) -> None:
        self._sites = sites
        self._decider = decider
        self._receipts = receipts
        self._journal = journal
        self._clock = clock
        self._desk = desk
        self._spending = 0
        self._originals = OriginalReader()
        self._protections = Protections()
        self._heads = Heads(decider.intel)
        self._answers = Answers()
        tools = Tools(sites, decider, receipts, journal, clock, self._originals, self._heads, self._answers)
        self._familiar = FamiliarCheck(tools)
        self._agents = None if desk is None else FamiliarAgents(tools, desk, self._familiar)

    @property
    def turn(self) -> Turn:
        """The turns of the loop. What waited too long for one is refused."""
        return self._familiar.turn

    @property
    def shed(self) -> int:
        """Requests that were not looked at because there were too many."""
        return self._familiar.shed

    def recognise(self, head: KnownHead, values: Sequence[bytes]) -> DatelessReply | HotReply | None:
        """Answer for a familiar visitor; None, with nothing done, where the request must be looked at whole."""
        try:
            if self._agents is not None and head in self._agents.lanes:
                return self._agents.answer(head, values)
            return self._familiar.answer(head, values)
        except Exception:  # noqa: BLE001 - logged with what it was; the usual way knows what to answer when it fails too
            structlog.get_logger().exception("a familiar visitor could not be answered")
            return None

    def __call__(self, request: HotRequest) -> HotReply | Awaitable[HotReply]:
        """Answer at once, or return what must be awaited."""
        if not self._sites.is_settled:
            return self._answer_settled(request)
        return self._answer(request)

    async def _answer_settled(self, request: HotRequest) -> HotReply:
        await self._sites.settle_if_possible()
        answer = self._answer(request)
        return answer if isinstance(answer, HotReply) else await answer

    def _answer(self, request: HotRequest) -> HotReply | Awaitable[HotReply]:
        now_ms = self._clock.now_ms()
        secret = shown_secret(request.headers)
        caller = None if secret is None else self._sites.find_caller_showing(secret, now_ms=now_ms)
        if caller is None:
            # It may have been made since the configuration could last be read.
            return self._answers.write(_NOTHING_KNOWN if self._familiar.is_stale() else _NO_CREDENTIAL, None)
        self._journal.note_call(caller, now_ms)
        if self._familiar.is_late():
            return self._answers.write(unavailable(caller.site), None, ok=request.query)
        original = self._originals.read(request.headers)
        if isinstance(original, str):
            return self._answers.write(Ruling(Outcome.BLOCK, "invalid_request", hint=original), None)
        try:
            return self._judge(request, caller, original, now_ms=now_ms)
        except Exception:  # noqa: BLE001 - logged with what it was; an answer is due either way
            # Whatever went wrong, enforce mode fails closed and monitor mode lets through.
            structlog.get_logger().exception("a check could not be decided", site=caller.site.site_key)
            return self._answers.write(unavailable(caller.site), None, ok=request.query)

    def _judge(
        self, request: HotRequest, caller: SiteCaller, original: Original, *, now_ms: int
    ) -> HotReply | Awaitable[HotReply]:
        """Find out all there is to know before deciding, count the request, and decide."""
        site = caller.site
        if site.broken or self._familiar.is_stale():
            return self._answers.write(unavailable(site), None, ok=request.query)
        started_ns = time.perf_counter_ns()
        headers, decider, method, address = request.headers, self._decider, original.method, original.address
        shape = self._heads.shape_of(headers)
        override = override_of(headers) if shape.has_override else None
        protection = self._protections.find(site, method, original.path, override=override)
        visitor = decider.visitors.find(site.site_key, address)
        shown = self._receipts.look(headers, original, protection, site=site, visitor=visitor, now_ms=now_ms)
        route, action = protection.route, protection.action
        rates = decider.count(site, visitor, address, now_ms)
        glimpse = Glimpse(now_ms, method, original.target, address, headers, route, action, rates, shown.states, shape)
        desk = self._desk
        if desk is not None and shape.is_signed:
            # Few requests. Signals and rules wait until it is known who signed.
            approach = Approach(site, original, protection, shown, glimpse, visitor, started_ns)
            return self._ask(desk, approach, request, caller)
        observation = self._heads.observe(glimpse)
        if desk is not None and observation.claimed_agent is not None:
            approach = Approach(site, original, protection, shown, glimpse, visitor, started_ns, observation)
            return self._ask(desk, approach, request, caller)
        decision = decider.decide_observed(observation, site, route=route, action=action, started_ns=started_ns)
        visit = Visit(site, original, protection, shown, glimpse, visitor, decision)
        if request.known is not None:
            self._familiar.meet(visit, caller, request)
        return self._finish(visit, request)

    def _ask(
        self, desk: AgentDesk, approach: Approach, request: HotRequest, caller: SiteCaller
    ) -> HotReply | Awaitable[HotReply]:
        message = message_of(request.headers, approach.original)
        wanted = Wish(approach.protection.action, partial(self._observed, approach))
        found = desk.look(message, approach.site, wanted, now_ms=approach.glimpse.now_ms)
        if isinstance(found, AgentRuling):
            visit = self._decided(approach, found.facts)
            if self._agents is not None:
                self._agents.meet(visit, caller, request, found)
            return self._finish(visit, request, found)
        return self._finish_later(approach, request, found)

    async def _finish_later(self, approach: Approach, request: HotRequest, found: Awaitable[AgentRuling]) -> HotReply:
        """Wait until it is known who signed."""
        site = approach.site
        try:
            agent = await found
            answer = self._finish(self._decided(approach, agent.facts), request, agent)
            return answer if isinstance(answer, HotReply) else await answer
        except StoreUnavailable:
            return self._conclude(self._decided(approach), unavailable(site), request)
        except Exception:  # noqa: BLE001 - as for every other request
            structlog.get_logger().exception("a check could not be decided", site=site.site_key)
            return self._answers.write(unavailable(site), None, ok=request.query)

    def _finish(
        self, visit: Visit, request: HotRequest, agent: AgentRuling | None = None
    ) -> HotReply | Awaitable[HotReply]:
        ruling = rule(visit, agent)
        token = visit.shown.token
        if ruling.outcome is not Outcome.ALLOW:
            return self._conclude(visit, ruling, request)
        if agent is not None and agent.price is not None and visit.site.mode is Mode.ENFORCE:
            return self._charge(visit, ruling, request, agent)
        if token is None:
            return self._conclude(visit, ruling, request)
        if self._spending >= MOST_SPENDING:
            # The store is slow. Waiting in a longer line would help nobody.
            self._familiar.shed += 1
            return self._conclude(visit, unavailable(visit.site), request)
        return self._spend(visit, ruling, request, token)

    def _decided(self, approach: Approach, agent: AgentFacts | None = None) -> Visit:
        """Ask models and rules, knowing what a signature proved."""
        glimpse, started_ns = approach.glimpse, approach.started_ns
        if agent is None:
            observation = self._observed(approach)
        else:
            started_ns = time.perf_counter_ns()
            glimpse = glimpse.with_agent(agent)
            observation = self._heads.observe(glimpse)
        decision = self._decider.decide_observed(
            observation, approach.site, route=glimpse.route, action=glimpse.action, started_ns=started_ns
        )
        return Visit(
            approach.site, approach.original, approach.protection, approach.shown, glimpse, approach.visitor, decision
        )

    def _observed(self, approach: Approach) -> Observation:
        """Return what the signals make of a request without a word about who signed it."""
        if approach.observation is None:
            approach.observation = self._heads.observe(approach.glimpse)
        return approach.observation

    async def _spend(self, visit: Visit, ruling: Ruling, request: HotRequest, token: Claims) -> HotReply:
        return self._conclude(visit, await self._redeem(visit, token) or ruling, request)

    async def _redeem(self, visit: Visit, token: Claims) -> Ruling | None:
        """Spend a token; return what stands against the request when that cannot be done."""
        site, now_ms = visit.site, visit.glimpse.now_ms
        self._spending += 1
        try:
            async with asyncio.timeout(SPEND_S):
                is_spent = await self._receipts.spend(site, token, now_ms=now_ms)
        except (StoreUnavailable, TimeoutError):
            return unavailable(site)
        finally:
            self._spending -= 1
        if is_spent:
            self._journal.count(site, CounterName.TOKENS_REDEEMED, now_ms)
            return None
        return refuse(site, Outcome.CHALLENGE, "token_used")

    async def _charge(self, visit: Visit, ruling: Ruling, request: HotRequest, agent: AgentRuling) -> HotReply:
        """Spend the token if there is one, then note what the agent owes: nobody pays for what is refused."""
        assert self._desk is not None
        site, now_ms = visit.site, visit.glimpse.now_ms
        against = None if visit.shown.token is None else await self._redeem(visit, visit.shown.token)
        if against is not None:
            return self._conclude(visit, against, request)
        decision_id, action = self._journal.new_id(), visit.protection.action
        try:
            charged = await self._desk.settle(agent, site, action=action, decision_id=decision_id, now_ms=now_ms)
        except StoreUnavailable:
            return self._conclude(visit, unavailable(site), request)
        self._journal.record(visit, ruling, self._answers.status_of(ruling), decision_id)
        ruling = msgspec.structs.replace(ruling, headers=tuple(charged))
        return self._answers.write(ruling, decision_id, ok=request.query)

    def _conclude(self, visit: Visit, ruling: Ruling, request: HotRequest) -> HotReply:
        """Record the decision and write it."""
        decision_id = self._journal.record(visit, ruling, self._answers.status_of(ruling))
        return self._answers.write(ruling, decision_id, ok=request.query)
