"""The gateway check: from a proxy's question to an answer, on the hot path.

The order is the contract's: credential, original request, route, agent, token or clearance, rules. It waits to find out
who signed, to spend a token, and to note what an agent owes. Whatever comes out, the visitor's request has been counted
and an event recorded, except where nobody is known to answer to.
"""

import asyncio
import time
from collections.abc import Awaitable

import msgspec
import structlog

from agentgate.agents.desk import AgentDesk, AgentRuling
from agentgate.core.clock import Clock
from agentgate.core.database import StoreUnavailable
from agentgate.core.enums import Mode, Outcome
from agentgate.core.secrets import digest
from agentgate.decide.decider import Decider
from agentgate.decide.outcome import apply_mode
from agentgate.events.records import CounterName
from agentgate.gateway.agent_visits import concerns_agents, message_of, rule_on_agent, wanted_of
from agentgate.gateway.answers import Answers, Ruling
from agentgate.gateway.heads import Glimpse, Heads
from agentgate.gateway.journal import Journal
from agentgate.gateway.original import Original, OriginalReader
from agentgate.gateway.protection import Protections
from agentgate.gateway.receipts import Receipts
from agentgate.gateway.visit import Visit
from agentgate.limits import GATEWAY_REQUESTS_PER_MINUTE
from agentgate.sites.directory import SiteCaller, SiteDirectory, SiteView
from agentgate.tokens.claims import Claims
from agentgate.web.hot_path import HotReply, HotRequest
from agentgate.web.lateness import Lateness

BEARER = b"bearer "
SECRET_HEADER = b"x-agentgate-secret"
# Without a look at the configuration for this long, what is known is too old to decide by.
STALE_S = 15 * 60.0
# Tokens that may wait for the store at once.
MOST_SPENDING = 512
# No visitor should wait longer for a store that hangs. The token may be spent by then: nobody knows.
SPEND_S = 1.0

# The signature, or the address of a search engine, says that the claim is true.
PROVEN = frozenset(("agent.verified", "agent.search_verified"))

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
        self._lateness = Lateness()
        self._spending = 0
        # Requests that were not looked at because there were too many.
        self.shed = 0
        self._originals = OriginalReader()
        self._protections = Protections()
        self._heads = Heads(decider.intel)
        self._answers = Answers()

    def __call__(self, request: HotRequest) -> HotReply | Awaitable[HotReply]:
        """Answer at once, or return what must be awaited."""
        if not self._sites.is_settled:
            return self._answer_settled(request)
        return self._answer(request)

    async def _answer_settled(self, request: HotRequest) -> HotReply:
        try:
            await self._sites.settle()
        except StoreUnavailable:
            # The last good view decides.
            structlog.get_logger().warning("a change could not be read back; deciding by the last good view")
        answer = self._answer(request)
        return answer if isinstance(answer, HotReply) else await answer

    def _answer(self, request: HotRequest) -> HotReply | Awaitable[HotReply]:
        now_ms = self._clock.now_ms()
        caller = self._caller(request, now_ms)
        if caller is None:
            # It may have been made since the configuration could last be read.
            return self._answers.write(_NOTHING_KNOWN if self._is_stale() else _NO_CREDENTIAL, None)
        self._journal.note_call(caller, now_ms)
        if self._lateness.is_late():
            self.shed += 1
            return self._answers.write(_unavailable(caller.site), None, ok=request.query)
        original = self._originals.read(request.headers)
        if isinstance(original, str):
            return self._answers.write(Ruling(Outcome.BLOCK, "invalid_request", hint=original), None)
        try:
            return self._judge(request, caller.site, original, now_ms=now_ms)
        except Exception:  # noqa: BLE001 - logged with what it was; an answer is due either way
            # Whatever went wrong, enforce mode fails closed and monitor mode lets through.
            structlog.get_logger().exception("a check could not be decided", site=caller.site.site_key)
            return self._answers.write(_unavailable(caller.site), None, ok=request.query)

    def _is_stale(self) -> bool:
        return time.monotonic() - self._sites.looked_s > STALE_S

    def _caller(self, request: HotRequest, now_ms: int) -> SiteCaller | None:
        headers = request.headers
        secret = headers.get(SECRET_HEADER)
        if secret is None:
            authorization = headers.get(b"authorization")
            if authorization is None or authorization[: len(BEARER)].lower() != BEARER:
                return None
            secret = authorization[len(BEARER) :]
        return self._sites.find_caller(digest(secret.decode("latin-1")), now_ms=now_ms)

    def _judge(
        self, request: HotRequest, site: SiteView, original: Original, *, now_ms: int
    ) -> HotReply | Awaitable[HotReply]:
        if site.broken or self._is_stale():
            return self._answers.write(_unavailable(site), None, ok=request.query)
        visit = self._visit(request, site, original, now_ms=now_ms)
        if self._desk is None or not concerns_agents(request.headers, visit):
            return self._finish(visit, request)
        message, wanted = message_of(request.headers, visit), wanted_of(visit)
        found = self._desk.look(message, site, wanted, now_ms=now_ms)
        if isinstance(found, AgentRuling):
            return self._finish(self._with_agent(visit, found), request, found)
        return self._finish_later(visit, request, found)

    async def _finish_later(self, visit: Visit, request: HotRequest, found: Awaitable[AgentRuling]) -> HotReply:
        """Wait until it is known who signed."""
        try:
            agent = await found
            answer = self._finish(self._with_agent(visit, agent), request, agent)
            return answer if isinstance(answer, HotReply) else await answer
        except StoreUnavailable:
            return self._conclude(visit, _unavailable(visit.site), request)
        except Exception:  # noqa: BLE001 - as for every other request
            structlog.get_logger().exception("a check could not be decided", site=visit.site.site_key)
            return self._answers.write(_unavailable(visit.site), None, ok=request.query)

    def _with_agent(self, visit: Visit, agent: AgentRuling) -> Visit:
        """Return the visit decided anew, knowing what the signature proved."""
        if agent.facts is None:
            return visit
        glimpse = msgspec.structs.replace(visit.glimpse, agent=agent.facts)
        decision = self._decider.decide(glimpse.facts(), visit.site)
        return msgspec.structs.replace(visit, glimpse=glimpse, decision=decision)

    def _finish(
        self, visit: Visit, request: HotRequest, agent: AgentRuling | None = None
    ) -> HotReply | Awaitable[HotReply]:
        ruling = _rule(visit, agent)
        token = visit.shown.token
        if ruling.outcome is not Outcome.ALLOW:
            return self._conclude(visit, ruling, request)
        if agent is not None and agent.price is not None and visit.site.mode is Mode.ENFORCE:
            return self._charge(visit, ruling, request, agent)
        if token is None:
            return self._conclude(visit, ruling, request)
        if self._spending >= MOST_SPENDING:
            # The store is slow. Waiting in a longer line would help nobody.
            self.shed += 1
            return self._conclude(visit, _unavailable(visit.site), request)
        return self._spend(visit, ruling, request, token)

    def _visit(self, request: HotRequest, site: SiteView, original: Original, *, now_ms: int) -> Visit:
        started_ns = time.perf_counter_ns()
        headers, decider, address = request.headers, self._decider, original.address
        protection = self._protections.find(site, original.method, original.path, headers)
        visitor = decider.visitors.find(site.site_key, address)
        shown = self._receipts.look(headers, original, protection, site=site, visitor=visitor, now_ms=now_ms)
        glimpse = Glimpse(
            now_ms,
            original.method,
            original.target,
            address,
            headers,
            protection.route,
            protection.action,
            decider.count(site, visitor, address, now_ms),
            shown.states,
        )
        observation = self._heads.observe(glimpse)
        decision = decider.decide_observed(
            observation, site, route=protection.route, action=protection.action, started_ns=started_ns
        )
        return Visit(site, original, protection, shown, glimpse, visitor, decision)

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
            return _unavailable(site)
        finally:
            self._spending -= 1
        if is_spent:
            self._journal.count(site, CounterName.TOKENS_REDEEMED, now_ms)
            return None
        return _refuse(site, Outcome.CHALLENGE, "token_used")

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
            return self._conclude(visit, _unavailable(site), request)
        self._journal.record(visit, ruling, self._answers.status_of(ruling), decision_id)
        ruling = msgspec.structs.replace(ruling, headers=tuple(charged))
        return self._answers.write(ruling, decision_id, ok=request.query)

    def _conclude(self, visit: Visit, ruling: Ruling, request: HotRequest) -> HotReply:
        """Record the decision and write it."""
        decision_id = self._journal.record(visit, ruling, self._answers.status_of(ruling))
        return self._answers.write(ruling, decision_id, ok=request.query)


def _rule(visit: Visit, agent: AgentRuling | None) -> Ruling:
    """Return what applies to the request: the first thing that stands against it, or nothing."""
    site, decision = visit.site, visit.decision
    if visit.glimpse.rates.visitor > GATEWAY_REQUESTS_PER_MINUTE:
        return _refuse(site, Outcome.BLOCK, "rate_limited")
    against = None if agent is None else rule_on_agent(visit, agent)
    if against is not None:
        return against
    waives = agent is not None and agent.waives_receipt
    if visit.protection.required and visit.shown.reason is not None and not waives:
        return _refuse(site, Outcome.CHALLENGE, visit.shown.reason)
    if site.mode is Mode.MONITOR:
        return Ruling(decision.outcome, "monitor", decision.would)
    if decision.outcome is Outcome.ALLOW:
        return _ALLOWED
    reason = "agent_unverified" if _claims_an_agent(decision.labels) else "policy"
    return Ruling(decision.outcome, reason, response=decision.verdict.response)


def _claims_an_agent(labels: tuple[str, ...]) -> bool:
    return "agent.claimed" in labels and PROVEN.isdisjoint(labels)


def _refuse(site: SiteView, outcome: Outcome, reason: str) -> Ruling:
    applied, would = apply_mode(outcome, site.mode)
    return Ruling(applied, reason, None) if would is None else Ruling(applied, "monitor", would, cause=reason)


def _unavailable(site: SiteView) -> Ruling:
    return Ruling(Outcome.ALLOW if site.mode is Mode.MONITOR else Outcome.BLOCK, "service_unavailable")


_ALLOWED = Ruling(Outcome.ALLOW, "allowed")
