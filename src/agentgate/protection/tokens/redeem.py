"""Judging a receipt, and redeeming it exactly once: siteverify's way, and that of whoever answers like it.

The order is the contract's: who calls, then whether the token is ours, then whether it was spent before, then whether
it fits, then the spend. Nothing but the last step changes anything.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import UNSET, Struct

from agentgate.events.recorder import Recorder
from agentgate.events.records import CounterName
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.errors import Refused
from agentgate.lib.limits import REDEMPTION_KEPT_HOURS
from agentgate.lib.records import to_json
from agentgate.lib.secrets import digest
from agentgate.protection.sites.directory import SiteCaller, SiteDirectory, SiteView
from agentgate.protection.tokens import testing_secrets
from agentgate.protection.tokens.answer import success, write_success
from agentgate.protection.tokens.claims import Claims, SignedClaims
from agentgate.protection.tokens.format import NotAReceipt, read_receipt
from agentgate.protection.tokens.keys import SigningKeys
from agentgate.protection.tokens.ports import Redemption, RedemptionStore, SpendOutcome
from agentgate.protection.tokens.records import SiteverifySuccess
from agentgate.protection.tokens.uses import CredentialUses

T = TypeVar("T")

# How far another worker's clock may be ahead of ours.
SKEW_S = 5
KEPT_MS = REDEMPTION_KEPT_HOURS * HOUR_MS
# A caller waits no longer for the store. What it does after that shows when the same call is repeated.
STORE_S = 1.0
_SPENT = (CounterName.SERVER_CHECK, CounterName.TOKENS_REDEEMED, CounterName.SITEVERIFY_SUCCESS)


class Demand(Struct, frozen=True, kw_only=True, gc=False):
    """A token to redeem, and what it must have been issued for."""

    token: str
    # None takes the action that the token names.
    action: str | None
    # In canonical form.
    origin: str | None = None
    request_id: str | None = None
    content_digest: str | None = None


class Spend(Struct, frozen=True, gc=False):
    """A token that is in order, and all that is needed to spend it."""

    site: SiteView
    claims: Claims
    redemption: Redemption
    answer: bytes
    kept_until_ms: int


class TestCaller(Struct, frozen=True):
    """Somebody who tries things out, with a secret that everybody knows."""

    # So that pytest does not take this for tests.
    __test__ = False

    secret: str


class Redeemer:
    """Redeems tokens for whoever has the secret of their site, and counts what became of each call."""

    def __init__(
        self,
        keys: SigningKeys,
        redemptions: RedemptionStore,
        *,
        sites: SiteDirectory,
        recorder: Recorder,
        uses: CredentialUses,
    ) -> None:
        self._keys = keys
        self._redemptions = redemptions
        self._sites = sites
        self._recorder = recorder
        self._uses = uses
        # By number of the site and hour: what was redeemed since the loop last had time for the counters.
        self._spent: dict[tuple[int, int], int] = {}

    async def authenticate(self, secret: str, *, now_ms: int) -> SiteCaller | TestCaller:
        """Return who has this secret; refuse one that nobody has."""
        if secret.startswith(testing_secrets.PREFIX):
            if secret in testing_secrets.KNOWN:
                return TestCaller(secret)
            raise Refused("invalid_credential")
        await _in_time(self._sites.settle())
        caller = self._sites.find_caller(digest(secret), now_ms=now_ms)
        if caller is None:
            raise Refused("invalid_credential")
        self._uses.note(caller.credential_id, now_ms)
        return caller

    def recognise(self, shown: bytes, *, now_ms: int) -> SiteCaller | None:
        """Return whose secret this is, as it stands in a header; None when `authenticate` must look."""
        return self._sites.find_caller_showing(shown, now_ms=now_ms) if self._sites.is_settled else None

    def prepare(self, caller: SiteCaller, demand: Demand, *, now_ms: int) -> Spend | None:
        """Return what is to be spent when nothing speaks against it; None when `redeem` must look.

        Nothing is counted yet.
        """
        try:
            claims = read_token(demand.token, self._keys, test=False, now_ms=now_ms)
            return self._prepare(caller, claims, demand, request_id=demand.request_id, now_ms=now_ms)
        except Refused:
            return None

    def prepare_recalled(
        self, caller: SiteCaller, token: bytes, demand: Demand, *, request_id: str, now_ms: int
    ) -> Spend | None:
        """Return the same for a token that is remembered, with another request ID than that of the demand."""
        signed = self._keys.recall(token)
        if signed is None:
            return None
        try:
            claims = judge_signed(signed, test=False, now_ms=now_ms)
            return self._prepare(caller, claims, demand, request_id=request_id, now_ms=now_ms)
        except Refused:
            return None

    def _prepare(
        self, caller: SiteCaller, claims: Claims, demand: Demand, *, request_id: str | None, now_ms: int
    ) -> Spend | None:
        site = caller.site
        if claims.aud != site.site_key:
            return None
        check_fits(claims, demand, site, now_ms=now_ms)
        self._uses.note(caller.credential_id, now_ms)
        return _spend_of(site, claims, request_id, now_ms=now_ms)

    def spend_then(self, spend: Spend, done: Callable[[SpendOutcome], None]) -> None:
        """Spend it, and tell how it went; StoreUnavailable when too many wait."""
        self._redemptions.spend_then(
            spend.site.id, spend.claims.jti, spend.redemption, kept_until_ms=spend.kept_until_ms, done=done
        )

    def count_spent(self, site: SiteView, *, now_ms: int) -> None:
        """Count a call that redeemed its token. Those that are told together are counted together."""
        if not self._spent:
            asyncio.get_running_loop().call_soon(self._count_together)
        key = site.number, now_ms // HOUR_MS
        self._spent[key] = self._spent.get(key, 0) + 1

    def _count_together(self) -> None:
        spent, self._spent = self._spent, {}
        for (site, hour), calls in spent.items():
            for name in _SPENT:
                self._recorder.count(site, name, amount=calls, now_ms=hour * HOUR_MS)

    def count_spent_late(self, site: SiteView, *, now_ms: int) -> None:
        """Count a token that was redeemed after its call had been told that nobody knows."""
        self._recorder.count(site.number, CounterName.TOKENS_REDEEMED, now_ms=now_ms)

    def count_unavailable(self, site: SiteView, *, now_ms: int) -> None:
        """Count a call whose token could not be spent because the store was away."""
        self._recorder.count(site.number, CounterName.SERVER_CHECK, now_ms=now_ms)
        self._recorder.count(site.number, CounterName.SITEVERIFY_FAILURE, "unavailable", now_ms=now_ms)

    async def answer_spent(self, spend: Spend, *, now_ms: int) -> bytes:
        """Answer a call whose token was spent before: what that was answered, or that it is used. It is counted."""
        return await self._counted(
            spend.site, self._find_answer(spend.site, spend.claims, spend.redemption.request_id), now_ms
        )

    async def redeem(self, caller: SiteCaller | TestCaller, demand: Demand, *, now_ms: int) -> bytes:
        """Spend the token and return the answer; for the same `requestId` the first answer again, even past expiry.

        StoreUnavailable after a second without an outcome: the token may be spent then, or will be.
        """
        if isinstance(caller, TestCaller):
            return to_json(self._try_out(caller, demand, now_ms=now_ms))
        return await self._counted(caller.site, self._redeem(caller.site, demand, now_ms=now_ms), now_ms)

    async def _counted(self, view: SiteView, answering: Awaitable[bytes], now_ms: int) -> bytes:
        site = view.number
        self._recorder.count(site, CounterName.SERVER_CHECK, now_ms=now_ms)
        try:
            answer = await _in_time(answering)
        except Refused as refused:
            self._recorder.count(site, CounterName.SITEVERIFY_FAILURE, refused.code, now_ms=now_ms)
            raise
        except StoreUnavailable:
            self._recorder.count(site, CounterName.SITEVERIFY_FAILURE, "unavailable", now_ms=now_ms)
            raise
        self._recorder.count(site, CounterName.SITEVERIFY_SUCCESS, now_ms=now_ms)
        return answer

    async def _redeem(self, site: SiteView, demand: Demand, *, now_ms: int) -> bytes:
        claims = read_token(demand.token, self._keys, test=False, now_ms=now_ms)
        if claims.aud != site.site_key:
            raise Refused("invalid_token", "The token was issued for another site than the secret's.")
        try:
            check_fits(claims, demand, site, now_ms=now_ms)
        except Refused:
            # What was answered before is answered again, whatever does not fit by now.
            earlier = await self._redemptions.find_redemption(site.id, claims.jti)
            if earlier is not None:
                return _repeated(earlier, demand.request_id)
            raise
        return await self._spend(site, claims, demand, now_ms=now_ms)

    async def _spend(self, site: SiteView, claims: Claims, demand: Demand, *, now_ms: int) -> bytes:
        mine = _spend_of(site, claims, demand.request_id, now_ms=now_ms)
        if await self._redemptions.spend(site.id, claims.jti, mine.redemption, kept_until_ms=mine.kept_until_ms):
            self._recorder.count(site.number, CounterName.TOKENS_REDEEMED, now_ms=now_ms)
            return mine.answer
        # Somebody was quicker. It may have been this very call's twin.
        return await self._find_answer(site, claims, demand.request_id)

    async def _find_answer(self, site: SiteView, claims: Claims, request_id: str | None) -> bytes:
        earlier = await self._redemptions.find_redemption(site.id, claims.jti)
        if earlier is None:
            raise StoreUnavailable("a receipt was spent and is not there")
        return _repeated(earlier, request_id)

    def _try_out(self, caller: TestCaller, demand: Demand, *, now_ms: int) -> SiteverifySuccess:
        """Answer as the test secret says. Nothing is spent, and nothing is counted."""
        if caller.secret == testing_secrets.ALWAYS_FAIL:
            raise Refused("invalid_token", "This test secret refuses every token.")
        claims = read_token(demand.token, self._keys, test=True, now_ms=now_ms)
        if caller.secret == testing_secrets.TOKEN_SPENT:
            raise Refused("token_used", "This test secret takes every test token for spent.")
        check_fits(claims, demand, None, now_ms=now_ms)
        return success(claims, demand.request_id)


async def _in_time(asking: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout(STORE_S):
            return await asking
    except TimeoutError as late:
        raise StoreUnavailable("the store did not answer in time") from late


def _spend_of(site: SiteView, claims: Claims, request_id: str | None, *, now_ms: int) -> Spend:
    answer = write_success(claims, request_id)
    redemption = Redemption() if request_id is None else Redemption(request_id, answer)
    return Spend(site, claims, redemption, answer, max(now_ms, claims.exp * 1000) + KEPT_MS)


def read_token(token: str, keys: SigningKeys, *, test: bool, now_ms: int) -> Claims:
    """Return the claims of a token that we issued, expired or not; refuse every other one."""
    try:
        signed = read_receipt(token, keys)
    except NotAReceipt as problem:
        raise Refused("invalid_token", f"The token cannot be accepted: {problem}.") from None
    return judge_signed(signed, test=test, now_ms=now_ms)


def judge_signed(signed: SignedClaims, *, test: bool, now_ms: int) -> Claims:
    """Return the claims, unless it is a test token where none is wanted or the other way round, or too new."""
    if signed.test is not test:
        raise _wrong_ring(test=test)
    if signed.claims.iat > now_ms // 1000 + SKEW_S:
        raise Refused("invalid_token", "The token was issued in the future; a clock is wrong.")
    return signed.claims


def _wrong_ring(*, test: bool) -> Refused:
    if test:
        return Refused("invalid_token", "This is a real token; a test secret accepts test tokens only.")
    return Refused("invalid_token", "This is a test token; only a test secret accepts it.")


def check_fits(claims: Claims, demand: Demand, site: SiteView | None, *, now_ms: int) -> None:
    """Refuse a token that is over, or that was issued for something else. It is not spent by that."""
    if now_ms >= claims.exp * 1000:
        raise Refused("expired_token")
    if demand.action is not None and claims.action != demand.action:
        raise Refused("action_mismatch")
    if demand.origin is not None and demand.origin != claims.origin:
        raise Refused("origin_mismatch")
    if demand.content_digest is not None or claims.content_digest is not UNSET:
        _check_digest(claims, demand, site)


def _check_digest(claims: Claims, demand: Demand, site: SiteView | None) -> None:
    if demand.content_digest is not None:
        if demand.content_digest != claims.content_digest:
            raise Refused("invalid_token", "The token was issued for other content than contentDigest.")
        return
    action = None if site is None else site.actions.get(claims.action)
    if action is not None and action.require_content_digest is True:
        raise Refused("invalid_request", "contentDigest is needed: this action binds a token to its content.")


def _repeated(earlier: Redemption, request_id: str | None) -> bytes:
    if earlier.answer is None or earlier.request_id != request_id:
        raise Refused("token_used")
    return earlier.answer
