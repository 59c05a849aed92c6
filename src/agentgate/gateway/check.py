"""The gateway check: from a proxy's question to an answer, on the hot path. It waits only to spend a token.

The order is the contract's: credential, original request, route, token or clearance, rules. Whatever comes out, the
visitor's request has been counted and an event recorded, except where nobody is known to answer to.
"""

import time
from collections.abc import Awaitable

import structlog

from agentgate.core.clock import HOUR_MS, Clock
from agentgate.core.database import StoreUnavailable
from agentgate.core.enums import Mode, Outcome
from agentgate.core.secrets import digest
from agentgate.decide.decider import Decider
from agentgate.decide.outcome import apply_mode
from agentgate.detect.facts import RequestFacts
from agentgate.events.records import CounterName
from agentgate.gateway.answers import Answers, Ruling
from agentgate.gateway.journal import Journal
from agentgate.gateway.original import Original, OriginalReader
from agentgate.gateway.protection import protection_of
from agentgate.gateway.receipts import Receipts
from agentgate.gateway.visit import Visit
from agentgate.limits import GATEWAY_REQUESTS_PER_MINUTE, REDEMPTION_KEPT_HOURS
from agentgate.sites.directory import SiteCaller, SiteDirectory, SiteView
from agentgate.tokens.claims import Claims
from agentgate.tokens.uses import CredentialUses
from agentgate.web.hot_path import HotReply, HotRequest

BEARER = b"bearer "
SECRET_HEADER = b"x-agentgate-secret"
OVERRIDES = (b"x-http-method-override", b"x-http-method", b"x-method-override")
# Without a look at the configuration for this long, what is known is too old to decide by.
STALE_S = 15 * 60.0
KEPT_MS = REDEMPTION_KEPT_HOURS * HOUR_MS
# The adapter's own headers, which say nothing about the visitor.
_ADAPTERS = (b"x-original-", b"x-agentgate-", b"x-forwarded-", b"authorization", b"x-service-")

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
        uses: CredentialUses,
        clock: Clock,
    ) -> None:
        self._sites = sites
        self._decider = decider
        self._receipts = receipts
        self._journal = journal
        self._uses = uses
        self._clock = clock
        self._originals = OriginalReader()
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
            return self._answers.write(_NO_CREDENTIAL, None)
        self._uses.note(caller.credential_id, now_ms)
        self._journal.count(caller.site, CounterName.SERVER_CHECK, now_ms)
        original = self._originals.read(request.headers)
        if isinstance(original, str):
            return self._answers.write(Ruling(Outcome.BLOCK, "invalid_request", hint=original), None)
        try:
            return self._judge(request, caller.site, original, now_ms=now_ms)
        except Exception:  # noqa: BLE001 - logged with what it was; an answer is due either way
            # Whatever went wrong, enforce mode fails closed and monitor mode lets through.
            structlog.get_logger().exception("a check could not be decided", site=caller.site.site_key)
            return self._answers.write(_unavailable(caller.site), None, ok=request.query)

    def _caller(self, request: HotRequest, now_ms: int) -> SiteCaller | None:
        headers = request.headers
        authorization, secret = headers.get(b"authorization"), headers.get(SECRET_HEADER)
        if secret is None:
            if authorization is None or authorization[: len(BEARER)].lower() != BEARER:
                return None
            secret = authorization[len(BEARER) :]
        return self._sites.find_caller(digest(secret.decode("latin-1")), now_ms=now_ms)

    def _judge(
        self, request: HotRequest, site: SiteView, original: Original, *, now_ms: int
    ) -> HotReply | Awaitable[HotReply]:
        if time.monotonic() - self._sites.looked_s > STALE_S:
            return self._answers.write(_unavailable(site), None, ok=request.query)
        visit = self._visit(request, site, original, now_ms=now_ms)
        ruling = _rule(visit)
        token = visit.shown.token
        if token is None or (ruling.outcome is not Outcome.ALLOW):
            return self._conclude(visit, ruling, request)
        return self._spend(visit, ruling, request, token)

    def _visit(self, request: HotRequest, site: SiteView, original: Original, *, now_ms: int) -> Visit:
        headers = request.headers
        override = next((headers[name] for name in OVERRIDES if name in headers), None)
        protection = protection_of(
            site, original.method, original.path, override=None if override is None else override.decode("latin-1")
        )
        visitor = self._decider.visitors.find(site.site_key, original.address)
        shown = self._receipts.look(headers, original, protection, site=site, visitor=visitor, now_ms=now_ms)
        facts = RequestFacts(
            now_ms=now_ms,
            method=original.method,
            target=original.target,
            address=original.address,
            headers=tuple(
                (name.decode("latin-1"), value.decode("latin-1"))
                for name, value in headers.items()
                if not name.startswith(_ADAPTERS)
            ),
            route=protection.route,
            action=protection.action,
            rates=self._decider.count(site, visitor, original.address, now_ms),
            receipt=shown.states,
            ja4=headers[b"x-ja4"].decode("latin-1") if b"x-ja4" in headers else None,
        )
        return Visit(site, original, protection, shown, facts, visitor, self._decider.decide(facts, site))

    async def _spend(self, visit: Visit, ruling: Ruling, request: HotRequest, token: Claims) -> HotReply:
        site, now_ms = visit.site, visit.facts.now_ms
        try:
            is_spent = await self._receipts.spend(site, token, now_ms=now_ms)
        except StoreUnavailable:
            return self._conclude(visit, _unavailable(site), request)
        if is_spent:
            self._journal.count(site, CounterName.TOKENS_REDEEMED, now_ms)
            return self._conclude(visit, ruling, request)
        return self._conclude(visit, _refuse(site, Outcome.CHALLENGE, "token_used"), request)

    def _conclude(self, visit: Visit, ruling: Ruling, request: HotRequest) -> HotReply:
        """Record the decision and write it."""
        decision_id = self._journal.record(visit, ruling, self._answers.status_of(ruling))
        return self._answers.write(ruling, decision_id, ok=request.query)


def _rule(visit: Visit) -> Ruling:
    """Return what applies to the request: the first thing that stands against it, or nothing."""
    site, decision = visit.site, visit.decision
    if visit.facts.rates.visitor > GATEWAY_REQUESTS_PER_MINUTE:
        return _refuse(site, Outcome.BLOCK, "rate_limited")
    if visit.protection.required and visit.shown.reason is not None:
        return _refuse(site, Outcome.CHALLENGE, visit.shown.reason)
    if site.mode is Mode.MONITOR:
        return Ruling(decision.outcome, "monitor", decision.would)
    if decision.outcome is Outcome.ALLOW:
        return _ALLOWED
    reason = "agent_unverified" if _claims_an_agent(decision.labels) else "policy"
    return Ruling(decision.outcome, reason, response=decision.verdict.response)


def _claims_an_agent(labels: tuple[str, ...]) -> bool:
    return "agent.claimed" in labels and "agent.verified" not in labels


def _refuse(site: SiteView, outcome: Outcome, reason: str) -> Ruling:
    applied, would = apply_mode(outcome, site.mode)
    return Ruling(applied, reason, None) if would is None else Ruling(applied, "monitor", would, cause=reason)


def _unavailable(site: SiteView) -> Ruling:
    return Ruling(Outcome.ALLOW if site.mode is Mode.MONITOR else Outcome.BLOCK, "service_unavailable")


_ALLOWED = Ruling(Outcome.ALLOW, "allowed")
