"""Redeeming a receipt exactly once: shared by siteverify and all endpoints with the same response.

The order is the contract's: authenticate the caller, check that the token is ours, check that it was not redeemed
before, check that it fits, then redeem it. Only the last step changes anything. The steps are synchronous up to the
store, which calls back: a task for each call would cost more than all of them.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from functools import partial

from msgspec import UNSET, Struct

from agentgate.browser_check.tokens.binding import Bindings, Match
from agentgate.browser_check.tokens.receipts import Claims, NotAReceipt, SigningKeys, is_of_the_future, read_receipt
from agentgate.browser_check.tokens.records import SiteverifySuccess
from agentgate.browser_check.tokens.repository import Redemption, RedemptionStore, SpendOutcome
from agentgate.events.recorder import Recorder
from agentgate.events.records import CounterName
from agentgate.lib.clock import HOUR_MS, SECOND_MS
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.enums import Mode, ReceiptKind
from agentgate.lib.errors import Refused
from agentgate.lib.limits import REDEMPTION_KEPT_HOURS
from agentgate.lib.moment import Moment
from agentgate.lib.records import to_json
from agentgate.lib.secrets import CREDENTIAL_SECRET_PREFIX
from agentgate.sites.credentials.uses import CredentialUses
from agentgate.sites.directory import SiteCaller, SiteDirectory, SiteView

# Secrets for tests are public, work on every installation and accept test tokens only. Everything that starts so is
# one, known or not: none of them ever opens a real site.
TEST_PREFIX = f"{CREDENTIAL_SECRET_PREFIX}test_"

ALWAYS_PASS = f"{TEST_PREFIX}always_pass"
ALWAYS_FAIL = f"{TEST_PREFIX}always_fail"
TOKEN_SPENT = f"{TEST_PREFIX}token_spent"

TEST_SECRETS = frozenset((ALWAYS_PASS, ALWAYS_FAIL, TOKEN_SPENT))

# Looking this up in the enumeration costs as much as a small function.
_BROWSER = ReceiptKind.BROWSER


def success(claims: Claims, request_id: str | None) -> SiteverifySuccess:
    is_browser = claims.kind is _BROWSER
    return SiteverifySuccess(
        success=True,
        site_key=claims.aud,
        action=claims.action,
        kind=claims.kind,
        issued_at=Moment(claims.iat * 1000),
        expires_at=Moment(claims.exp * SECOND_MS),
        decision_id=claims.decision_id,
        origin=claims.origin,
        visitor_id=claims.sub if is_browser else UNSET,
        agent=UNSET if is_browser else claims.sub,
        request_id=UNSET if request_id is None else request_id,
        c_data=claims.c_data,
        test=claims.test,
    )


# How many calls are queued before finished ones are dropped.
KEPT_MORE = 256


class DeadlineQueue:
    """Calls in the order in which they came. One that is not done in time is given up."""

    def __init__(self, most_s: float, give_up: Callable[["PendingRedemption"], None]) -> None:
        self._most_s = most_s
        self._give_up = give_up
        self._waiting: deque[tuple[float, PendingRedemption]] = deque()
        self._most_kept = KEPT_MORE
        self._timer: asyncio.TimerHandle | None = None

    def add(self, call: "PendingRedemption") -> None:
        """Watch a call from now on."""
        self._waiting.append((time.monotonic(), call))
        if len(self._waiting) >= self._most_kept:
            self._let_go()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._most_s, self._expire)

    def _let_go(self) -> None:
        # Once for many calls, because looking after each costs more.
        while self._waiting and self._waiting[0][1].is_done:
            self._waiting.popleft()
        self._most_kept = len(self._waiting) + KEPT_MORE

    def _expire(self) -> None:
        waiting, due_s = self._waiting, time.monotonic() - self._most_s
        self._timer = None
        while waiting and (waiting[0][1].is_done or waiting[0][0] <= due_s):
            _, call = waiting.popleft()
            if not call.is_done:
                self._give_up(call)
        self._most_kept = len(waiting) + KEPT_MORE
        if waiting:
            self._timer = asyncio.get_running_loop().call_later(waiting[0][0] - due_s, self._expire)


KEPT_MS = REDEMPTION_KEPT_HOURS * HOUR_MS
# The longest time that a caller waits for the store. A later outcome shows when the same call is repeated.
STORE_S = 1.0
_SPENT = (CounterName.SERVER_CHECK, CounterName.TOKENS_REDEEMED, CounterName.SITEVERIFY_SUCCESS)

# The response's bytes, why there is none, or that the outcome is unknown.
Outcome = bytes | Refused | StoreUnavailable
Done = Callable[[Outcome], None]


class Demand(Struct, frozen=True, kw_only=True, gc=False):
    """A token to redeem, with its expected action and origin."""

    token: str
    # None takes the action that the token names.
    action: str | None
    # In canonical form.
    origin: str | None = None
    request_id: str | None = None
    content_digest: str | None = None
    # The visitor's, in its one spelling.
    remote_address: str | None = None
    # Whether this service saw the address itself, instead of reading it in a call.
    is_seen: bool = False


class TestCaller(Struct, frozen=True):
    """A caller with one of the published test secrets."""

    # So that pytest does not take this for tests.
    __test__ = False

    secret: str


class WrongRing(Refused):
    """A test token where a real one is needed, or the other way round."""


class PendingRedemption:
    """A call with a valid token, until the store has responded."""

    __slots__ = ("answer", "claims", "done", "is_done", "now_ms", "request_id", "site")

    def __init__(self, site: SiteView, claims: Claims, request_id: str | None, *, now_ms: int, done: Done) -> None:
        self.site = site
        self.claims = claims
        self.request_id = request_id
        self.now_ms = now_ms
        self.done = done
        self.is_done = False
        # The response to the call if it redeems the token.
        self.answer = b""


class Redeemer:
    """Redeems tokens for callers with the secret of their site, and counts the outcome of each call."""

    def __init__(
        self,
        keys: SigningKeys,
        redemptions: RedemptionStore,
        *,
        sites: SiteDirectory,
        recorder: Recorder,
        uses: CredentialUses,
        bindings: Bindings,
    ) -> None:
        self._keys = keys
        self._redemptions = redemptions
        self._sites = sites
        self._recorder = recorder
        self._uses = uses
        self._bindings = bindings
        # Redeemed tokens by site number and hour, since the counters were last written.
        self._spent: dict[tuple[int, int], int] = {}
        self._deadlines = DeadlineQueue(STORE_S, self._give_up)
        # Kept, because the loop alone does not keep a task alive.
        self._lookups: set[asyncio.Task[None]] = set()

    @property
    def is_fresh(self) -> bool:
        """Return whether `recognize` may be called: the directory includes all changes by this worker."""
        return self._sites.is_fresh

    async def authenticate(self, secret: str, *, now_ms: int) -> SiteCaller | TestCaller:
        """Return the caller with this secret, once the directory is fresh; reject an unknown secret."""
        try:
            async with asyncio.timeout(STORE_S):
                await self._sites.await_refresh()
        except TimeoutError as late:
            raise StoreUnavailable("the configuration could not be reloaded in time") from late
        return self.recognize(secret, now_ms=now_ms)

    def recognize(self, secret: str, *, now_ms: int) -> SiteCaller | TestCaller:
        """Return the caller with this secret, from a fresh directory; reject an unknown secret."""
        if secret.startswith(TEST_PREFIX):
            if secret in TEST_SECRETS:
                return TestCaller(secret)
            raise Refused("invalid_credential")
        caller = self._sites.find_caller(secret.encode("utf-8", "surrogatepass"), now_ms=now_ms)
        if caller is None:
            raise Refused("invalid_credential")
        self._uses.note(caller.credential_id, now_ms)
        return caller

    async def redeem(self, caller: SiteCaller | TestCaller, demand: Demand, *, now_ms: int) -> bytes:
        """Redeem the token and return the response.

        For the same `requestId`, return the first response again, even past expiry. Raises StoreUnavailable after a
        second without an outcome: the token may be redeemed by then, or later.
        """
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.redeem_then(caller, demand, now_ms=now_ms, done=partial(_fill, future))
        return await future

    def redeem_then(self, caller: SiteCaller | TestCaller, demand: Demand, *, now_ms: int, done: Done) -> None:
        """Redeem likewise, and report the outcome with `done`: at once if the store is not needed, or later."""
        if isinstance(caller, TestCaller):
            done(self._try_out(caller, demand, now_ms=now_ms))
            return
        site = caller.site
        try:
            claims = self._read_site_token(demand.token, site, now_ms=now_ms)
        except Refused as refused:
            self._count_failure(site, refused.code, now_ms=now_ms)
            done(refused)
            return
        call = PendingRedemption(site, claims, demand.request_id, now_ms=now_ms, done=done)
        try:
            check_fits(claims, demand, site, now_ms=now_ms)
            self._check_visitor(claims, demand, site, now_ms=now_ms)
            self._spend(call)
        except Refused as misfit:
            # A repeated call gets the stored response again, even if the token no longer fits.
            self._start_lookup(call, misfit)
        except StoreUnavailable as failure:
            self._finish(call, failure)
            return
        self._deadlines.add(call)

    def _read_site_token(self, token: str, site: SiteView, *, now_ms: int) -> Claims:
        claims = read_token(token, self._keys, test=False, now_ms=now_ms)
        if claims.aud != site.site_key:
            raise Refused("invalid_credential", "The secret and the token belong to different sites.")
        return claims

    def _check_visitor(self, claims: Claims, demand: Demand, site: SiteView, *, now_ms: int) -> None:
        if site.mode is Mode.ENFORCE and not self._bindings.is_proven(claims):
            raise Refused(
                "invalid_token", "The token was issued in monitor mode for a check that enforce mode rejects."
            )
        address = demand.remote_address
        if address is None:
            return
        match = self._bindings.compare_network(claims, address)
        if not demand.is_seen and match is not Match.UNKNOWN:
            name = CounterName.ADDRESS_SAME if match is Match.SAME else CounterName.ADDRESS_OTHER
            self._recorder.count(site.number, name, now_ms=now_ms)
        if not self._bindings.may_redeem(claims, match, site, is_seen=demand.is_seen):
            raise Refused("invalid_token", "The token was issued to another network than remoteAddress.")

    def _spend(self, call: PendingRedemption) -> None:
        claims, request_id = call.claims, call.request_id
        call.answer = to_json(success(claims, request_id))
        # The response for a browser token is a row's largest part, and follows from the token, so it is not stored. A
        # handoff's receipt may also be redeemed by the agent's submission, under another ID: the stored response
        # distinguishes the two.
        redemption = Redemption(request_id, None if request_id is None or claims.kind is _BROWSER else call.answer)
        kept_until_ms = max(call.now_ms, claims.exp * SECOND_MS) + KEPT_MS
        self._redemptions.spend_then(
            call.site.id,
            claims.jti,
            redemption,
            issued_ms=claims.iat * SECOND_MS,
            kept_until_ms=kept_until_ms,
            done=partial(self._spent_or_not, call),
        )

    def _spent_or_not(self, call: PendingRedemption, outcome: SpendOutcome) -> None:
        if call.is_done:
            # The caller got an unknown outcome, and will retry.
            if outcome is True:
                self._recorder.count(call.site.number, CounterName.TOKENS_REDEEMED, now_ms=call.now_ms)
        elif outcome is True:
            self._count_spent(call)
            call.is_done = True
            call.done(call.answer)
        elif outcome is False:
            # Another call has redeemed the token. It may be a retry of this very call.
            self._start_lookup(call, StoreUnavailable("a redeemed token is missing"))
        else:
            self._finish(call, outcome)

    def _start_lookup(self, call: PendingRedemption, otherwise: Refused | StoreUnavailable) -> None:
        """Repeat the response to the call that redeemed the token; `otherwise` is for a token that was not redeemed."""
        task = asyncio.create_task(self._look_up(call, otherwise))
        self._lookups.add(task)
        task.add_done_callback(self._lookups.discard)

    async def _look_up(self, call: PendingRedemption, otherwise: Refused | StoreUnavailable) -> None:
        outcome: Outcome = otherwise
        try:
            earlier = await self._redemptions.find_redemption(call.site.id, call.claims.jti)
            if earlier is not None:
                outcome = _repeated(earlier, call)
        except Exception as failure:  # noqa: BLE001 - whatever it was, nobody knows whether the token is spent
            outcome = StoreUnavailable(f"looking up a redeemed token: {failure!r}")
            outcome.__cause__ = failure
        self._finish(call, outcome)

    def _give_up(self, call: PendingRedemption) -> None:
        self._finish(call, StoreUnavailable("the store did not respond in time"))

    def _finish(self, call: PendingRedemption, outcome: Outcome) -> None:
        """Report the outcome of a call that did not redeem its token, unless the caller already has one."""
        if call.is_done:
            return
        call.is_done = True
        if isinstance(outcome, bytes):
            self._recorder.count(call.site.number, CounterName.SERVER_CHECK, now_ms=call.now_ms)
            self._recorder.count(call.site.number, CounterName.SITEVERIFY_SUCCESS, now_ms=call.now_ms)
        else:
            code = outcome.code if isinstance(outcome, Refused) else "unavailable"
            self._count_failure(call.site, code, now_ms=call.now_ms)
        call.done(outcome)

    def _count_failure(self, site: SiteView, code: str, *, now_ms: int) -> None:
        self._recorder.count(site.number, CounterName.SERVER_CHECK, now_ms=now_ms)
        self._recorder.count(site.number, CounterName.SITEVERIFY_FAILURE, code, now_ms=now_ms)

    def _count_spent(self, call: PendingRedemption) -> None:
        # Redemptions that are reported together are counted together.
        if not self._spent:
            asyncio.get_running_loop().call_soon(self._count_together)
        key = call.site.number, call.now_ms // HOUR_MS
        self._spent[key] = self._spent.get(key, 0) + 1

    def _count_together(self) -> None:
        spent, self._spent = self._spent, {}
        for (site, hour), calls in spent.items():
            for name in _SPENT:
                self._recorder.count(site, name, amount=calls, now_ms=hour * HOUR_MS)

    def _try_out(self, caller: TestCaller, demand: Demand, *, now_ms: int) -> Outcome:
        """Return the outcome that the test secret selects. Nothing is redeemed, and nothing is counted."""
        if caller.secret == ALWAYS_FAIL:
            return Refused("invalid_token", "This test secret rejects every token.")
        try:
            claims = read_token(demand.token, self._keys, test=True, now_ms=now_ms)
            if caller.secret == TOKEN_SPENT:
                return Refused("token_used", "This test secret treats every test token as already redeemed.")
            check_fits(claims, demand, None, now_ms=now_ms)
        except Refused as refused:
            return refused
        return to_json(success(claims, demand.request_id))


def read_token(token: str, keys: SigningKeys, *, test: bool, now_ms: int) -> Claims:
    """Return the claims of a token that we issued, expired or not; reject every other one.

    Also reject a test token if a real one is required, a real token if a test token is required, and a token of the
    future.
    """
    try:
        signed = read_receipt(token, keys)
    except NotAReceipt as problem:
        raise Refused("invalid_token", f"The token cannot be accepted: {problem}.") from None
    if signed.test is not test:
        raise _wrong_ring(test=test)
    if is_of_the_future(signed.claims, now_ms=now_ms):
        raise Refused("invalid_token", "The token was issued in the future; a clock is wrong.")
    return signed.claims


def _wrong_ring(*, test: bool) -> Refused:
    if test:
        return WrongRing("invalid_token", "This is a real token. A test secret accepts only test tokens.")
    return WrongRing("invalid_token", "This is a test token. Only a test secret accepts it.")


def check_fits(claims: Claims, demand: Demand, site: SiteView | None, *, now_ms: int) -> None:
    """Reject a token that has expired, or that was issued for something else. This does not redeem it."""
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
        raise Refused("invalid_request", "contentDigest is required: this action binds a token to its content.")


def _repeated(earlier: Redemption, call: PendingRedemption) -> bytes | Refused:
    if call.request_id is None or earlier.request_id != call.request_id:
        return Refused("token_used")
    if earlier.answer is not None:
        return earlier.answer
    return to_json(success(call.claims, call.request_id)) if call.claims.kind is _BROWSER else Refused("token_used")


def _fill(future: "asyncio.Future[bytes]", outcome: Outcome) -> None:
    # The waiting task may have been canceled.
    if future.done():
        return
    if isinstance(outcome, bytes):
        future.set_result(outcome)
    else:
        future.set_exception(outcome)
