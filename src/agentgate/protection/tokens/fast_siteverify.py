"""Siteverify on the hot path: the usual call, answered without the general pipeline. What is unusual goes the cold way.

Both ways answer the same bytes. A success leaves its counters and no line in the log: there are as many as visitors.
"""

import asyncio
import functools
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from msgspec import UNSET

from agentgate.http.connection.fast_functions import (
    FAILED,
    DatelessReply,
    HotReply,
    HotRequest,
    Pending,
    Reply,
    write_headers,
)
from agentgate.http.connection.head_reader import KnownHead
from agentgate.http.decode import BodyDecoder
from agentgate.http.replies import JSON_HEADER, SECURITY_HEADERS, Answer, refusal
from agentgate.lib import errors
from agentgate.lib.clock import Clock
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.errors import Refused
from agentgate.lib.ids import draw_request_ids
from agentgate.lib.telemetry.metrics import Metrics
from agentgate.lib.telemetry.requests import Finished, RequestObserver
from agentgate.protection.sites.directory import SiteCaller
from agentgate.protection.tokens.known_bodies import KnownBodies
from agentgate.protection.tokens.ports import SpendOutcome
from agentgate.protection.tokens.records import SiteverifyInput
from agentgate.protection.tokens.redeem import STORE_S, Redeemer, Spend
from agentgate.protection.tokens.siteverify import read_demand, shown_secret, verify

SURFACE, ROUTE = "siteverify", "/v1/siteverify"
MALFORMED = "invalid_request"
FAILURE_FIELDS = {"success": False}
_SUCCESS_START = b"HTTP/1.1 200 OK\r\n"
_SUCCESS_REST = (
    write_headers([JSON_HEADER, *SECURITY_HEADERS]).replace(b"%", b"%%")
    + b"x-request-id: %b\r\ncontent-length: %d\r\n\r\n%b"
)
BEARER = b"Bearer "
BEARER_BYTES = len(BEARER)
# Where the secret stands among the values that change in a call, by their names.
_SECRET_PLACES: dict[tuple[bytes, ...], int] = {
    (b"authorization", b"content-length"): 0,
    (b"content-length", b"authorization"): 1,
}
# How many calls come before those that are answered are let go of.
WATCHED_MORE = 256

ColdWay = Callable[[HotRequest], Awaitable[HotReply]]


class WaitingCall(Pending):
    """A call whose token is being spent."""

    __slots__ = ("is_answered", "looks_again", "now_ms", "spend", "started")

    def __init__(self, spend: Spend, started: float, now_ms: int) -> None:
        # Not by the parent's, which would take as long as all of this.
        self._reply = self._write = None
        self.spend = spend
        self.started = started
        self.now_ms = now_ms
        self.is_answered = False
        self.looks_again = False

    def resolve(self, reply: Reply) -> None:
        """Give the answer, unless there is one."""
        if not self.is_answered:
            self.is_answered = True
            self._reply = reply
            if self._write is not None:
                self._write(reply)


class HotSiteverify:
    """A hot function for `POST /v1/siteverify`."""

    def __init__(
        self,
        redeemer: Redeemer,
        *,
        cold_way: ColdWay,
        clock: Clock,
        metrics: Metrics,
        observer: RequestObserver,
    ) -> None:
        self._redeemer = redeemer
        self._cold_way = cold_way
        self._clock = clock
        # Kept, because the loop alone does not keep a task alive.
        self._tasks: set[asyncio.Task[None]] = set()
        # In the order in which they came, with one timer for all: a timer for each would cost more than all of this.
        self._waiting: deque[WaitingCall] = deque()
        self._most_watched = WATCHED_MORE
        self._timer: asyncio.TimerHandle | None = None
        self._count_success = metrics.counting(SURFACE, ROUTE, status=200)
        self._observer = observer
        self._request_ids = draw_request_ids()
        self._decoder = BodyDecoder(SiteverifyInput, malformed=MALFORMED, texts_only=True)
        self._bodies = KnownBodies(self._decoder.decode)

    def begin(self, head: KnownHead, values: Sequence[bytes], body: bytes) -> Pending | None:
        """Begin with a call that shows a good secret in the usual place. None leaves every other one to `__call__`."""
        place = _secret_place(head)
        if place is None:
            return None
        shown = values[place]
        if not shown.startswith(BEARER):
            return None
        started = time.perf_counter()
        now_ms = self._clock.now_ms()
        caller = self._redeemer.recognise(shown[BEARER_BYTES:], now_ms=now_ms)
        if caller is None:
            return None
        try:
            spend = self._recall(caller, body, now_ms=now_ms)
            if spend is None:
                given = self._decoder.decode(body)
                if given.secret is not UNSET:
                    return None
                spend = self._redeemer.prepare(caller, read_demand(given), now_ms=now_ms)
                if spend is not None:
                    self._bodies.learn(caller.credential_id, body, given)
            call = None if spend is None else self._spend(spend, started=started, now_ms=now_ms)
        except (Refused, StoreUnavailable, UnicodeEncodeError):
            call = None
        if call is not None:
            return call
        # Said there, with everything that belongs to it.
        pending = Pending()
        self._resolve_later(pending, self._verify(body, shown), started)
        return pending

    def __call__(self, request: HotRequest) -> Pending | Awaitable[Reply]:
        """Answer one call. A token that is in order is spent without a task; every other call takes its time."""
        if request.query or not request.body or b"traceparent" in request.headers:
            return self._cold_way(request)
        started = time.perf_counter()
        now_ms = self._clock.now_ms()
        shown = request.headers.get(b"authorization")
        try:
            body = self._decoder.decode(request.body)
            caller = self._redeemer.recognise(shown_secret(shown, body.secret), now_ms=now_ms)
            spend = None if caller is None else self._redeemer.prepare(caller, read_demand(body), now_ms=now_ms)
            call = None if spend is None else self._spend(spend, started=started, now_ms=now_ms)
        except (Refused, StoreUnavailable, UnicodeEncodeError):
            call = None
        return call or self._reply(self._verify(request.body, shown), started)

    def _recall(self, caller: SiteCaller, body: bytes, *, now_ms: int) -> Spend | None:
        """Return what is to be spent if the body looks like one before; None says nothing."""
        known = self._bodies.find(caller.credential_id)
        found = None if known is None else known.cut(body)
        if known is None or found is None:
            return None
        token, request_id = found
        return self._redeemer.prepare_recalled(caller, token, known.demand, request_id=request_id, now_ms=now_ms)

    def _spend(self, spend: Spend, *, started: float, now_ms: int) -> WaitingCall:
        """Spend a token that is in order."""
        call = WaitingCall(spend, started, now_ms)
        self._redeemer.spend_then(spend, functools.partial(self._spent, call))
        # Watched, so that it is answered in time, whatever the store does.
        waiting = self._waiting
        waiting.append(call)
        if len(waiting) >= self._most_watched:
            self._watch_fewer()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(STORE_S, self._answer_late_ones)
        return call

    def _watch_fewer(self) -> None:
        """Let go of calls that are answered; once for many calls, because looking after each costs more."""
        waiting = self._waiting
        while waiting and waiting[0].is_answered:
            waiting.popleft()
        self._most_watched = len(waiting) + WATCHED_MORE

    def _answer_late_ones(self) -> None:
        waiting, due = self._waiting, time.perf_counter() - STORE_S
        self._timer = None
        while waiting and (waiting[0].is_answered or waiting[0].started <= due):
            call = waiting.popleft()
            if call.is_answered:
                continue
            if not call.looks_again:
                self._redeemer.count_unavailable(call.spend.site, now_ms=call.now_ms)
            call.resolve(self._unavailable(call.started, StoreUnavailable("the store did not say in time")))
        self._most_watched = len(waiting) + WATCHED_MORE
        if waiting:
            self._timer = asyncio.get_running_loop().call_later(waiting[0].started - due, self._answer_late_ones)

    def _spent(self, call: WaitingCall, outcome: SpendOutcome) -> None:
        site = call.spend.site
        if call.is_answered:
            # The caller was told that nobody knows, and will ask again.
            if outcome is True:
                self._redeemer.count_spent_late(site, now_ms=call.now_ms)
        elif outcome is True:
            self._redeemer.count_spent(site, now_ms=call.now_ms)
            call.resolve(self._success(call.spend.answer, call.started))
        elif outcome is False:
            # Somebody was quicker; what that was answered is in the store.
            call.looks_again = True
            answering = self._redeemer.answer_spent(call.spend, now_ms=call.now_ms)
            self._resolve_later(call, answering, call.started)
        else:
            self._redeemer.count_unavailable(site, now_ms=call.now_ms)
            call.resolve(self._unavailable(call.started, outcome))

    def _resolve_later(self, pending: Pending, answering: Awaitable[bytes], started: float) -> None:
        task = asyncio.create_task(self._resolve(pending, answering, started))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _resolve(self, pending: Pending, answering: Awaitable[bytes], started: float) -> None:
        reply: Reply = FAILED
        try:
            reply = await self._reply(answering, started)
        finally:
            pending.resolve(reply)

    async def _reply(self, answering: Awaitable[bytes], started: float) -> Reply:
        try:
            answer = await answering
        except Refused as refused:
            return self._refused(refused, next(self._request_ids), started)
        except StoreUnavailable as failure:
            return self._unavailable(started, failure)
        return self._success(answer, started)

    def _success(self, answer: bytes, started: float) -> DatelessReply:
        self._count_success(time.perf_counter() - started)
        name = next(self._request_ids).encode("ascii")
        return _SUCCESS_START, _SUCCESS_REST % (name, len(answer), answer)

    def _unavailable(self, started: float, failure: StoreUnavailable) -> HotReply:
        refused = Refused("unavailable", headers={"retry-after": "5"})
        return self._refused(refused, next(self._request_ids), started, failure)

    async def _verify(self, body: bytes, shown: bytes | None) -> bytes:
        authorization = None if shown is None else shown.decode("latin-1")
        return await verify(
            self._redeemer, self._decoder.decode(body), authorization=authorization, now_ms=self._clock.now_ms()
        )

    def _refused(self, refused: Refused, request_id: str, started: float, failure: Exception | None = None) -> HotReply:
        answer: Answer = refusal(refused, errors.SITEVERIFY, FAILURE_FIELDS)
        self._observer.begin(None)(
            Finished(
                request_id=request_id,
                surface=SURFACE,
                method="POST",
                route=ROUTE,
                status=answer.status,
                code=refused.code,
                duration_s=time.perf_counter() - started,
                log={},
                failure=failure,
            )
        )
        headers = [*answer.headers, *SECURITY_HEADERS, (b"x-request-id", request_id.encode("ascii"))]
        return HotReply(answer.status, headers, answer.body)


@functools.lru_cache(maxsize=64)
def _secret_place(head: KnownHead) -> int | None:
    """Return where among the values that change the secret stands; None when this is for the usual way.

    There is one value beside it, the length, which was looked at. A secret that is found is written as it should be.
    """
    return None if head.target[2] or b"traceparent" in head.fields else _SECRET_PLACES.get(head.names)
