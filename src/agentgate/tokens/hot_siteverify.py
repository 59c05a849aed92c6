"""Siteverify on the hot path: the usual call, answered without the general pipeline. What is unusual goes the cold way.

Both ways answer the same bytes. A success leaves its counters and no line in the log: there are as many as visitors.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from agentgate import errors
from agentgate.core.clock import Clock
from agentgate.core.database import StoreUnavailable
from agentgate.core.ids import draw_request_ids
from agentgate.errors import Refused
from agentgate.telemetry.metrics import Metrics
from agentgate.telemetry.requests import Finished, RequestObserver
from agentgate.tokens.ports import SpendOutcome
from agentgate.tokens.records import SiteverifyInput
from agentgate.tokens.redeem import STORE_S, Redeemer, Spend
from agentgate.tokens.siteverify import read_demand, shown_secret, verify
from agentgate.web.decode import BodyDecoder
from agentgate.web.hot_path import FAILED, HotReply, HotRequest, Pending, write_headers
from agentgate.web.replies import JSON_HEADER, SECURITY_HEADERS, Answer, refusal

SURFACE, ROUTE = "siteverify", "/v1/siteverify"
MALFORMED = "invalid_request"
FAILURE_FIELDS = {"success": False}
SUCCESS_HEADERS = [JSON_HEADER, *SECURITY_HEADERS]
_SUCCESS_WRITTEN = write_headers(SUCCESS_HEADERS)

ColdWay = Callable[[HotRequest], Awaitable[HotReply]]


class WaitingCall(Pending):
    """A call whose token is being spent."""

    __slots__ = ("is_answered", "looks_again", "now_ms", "spend", "started")

    def __init__(self, spend: Spend, started: float, now_ms: int) -> None:
        super().__init__()
        self.spend = spend
        self.started = started
        self.now_ms = now_ms
        self.is_answered = False
        self.looks_again = False

    def answer(self, reply: HotReply) -> None:
        """Give the answer, unless there is one."""
        self.is_answered = True
        self.resolve(reply)


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
        self._second_looks: set[asyncio.Task[None]] = set()
        # In the order in which they came, with one timer for all: a timer for each would cost more than all of this.
        self._waiting: deque[WaitingCall] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._metrics = metrics
        self._observer = observer
        self._request_ids = draw_request_ids()
        self._decoder = BodyDecoder(SiteverifyInput, malformed=MALFORMED, texts_only=True)

    def __call__(self, request: HotRequest) -> Pending | Awaitable[HotReply]:
        """Answer one call. A token that is in order is spent without a task; every other call takes its time."""
        if request.query or not request.body or b"traceparent" in request.headers:
            return self._cold_way(request)
        started = time.perf_counter()
        now_ms = self._clock.now_ms()
        try:
            body = self._decoder.decode(request.body)
            secret = shown_secret(request.headers.get(b"authorization"), body.secret)
            caller = self._redeemer.recognise(secret, now_ms=now_ms)
            spend = None if caller is None else self._redeemer.prepare(caller, read_demand(body), now_ms=now_ms)
            if spend is None:
                return self._answer(request, started)
            call = WaitingCall(spend, started, now_ms)
            self._redeemer.spend_then(spend, partial(self._spent, call))
        except (Refused, StoreUnavailable, UnicodeEncodeError):
            # Said there, with everything that belongs to it.
            return self._answer(request, started)
        self._watch(call)
        return call

    def _watch(self, call: WaitingCall) -> None:
        """See to it that a call is answered in time, whatever the store does."""
        waiting = self._waiting
        while waiting and waiting[0].is_answered:
            waiting.popleft()
        waiting.append(call)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(STORE_S, self._answer_late_ones)

    def _answer_late_ones(self) -> None:
        waiting, due = self._waiting, time.perf_counter() - STORE_S
        self._timer = None
        while waiting and (waiting[0].is_answered or waiting[0].started <= due):
            call = waiting.popleft()
            if call.is_answered:
                continue
            if not call.looks_again:
                self._redeemer.count_unavailable(call.spend.site, now_ms=call.now_ms)
            call.answer(self._unavailable(call.started, StoreUnavailable("the store did not say in time")))
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
            call.answer(self._success(call.spend.answer, call.started))
        elif outcome is False:
            # Somebody was quicker; what that was answered is in the store.
            call.looks_again = True
            second_look = asyncio.create_task(self._answer_later(call))
            self._second_looks.add(second_look)
            second_look.add_done_callback(self._second_looks.discard)
        else:
            self._redeemer.count_unavailable(site, now_ms=call.now_ms)
            call.answer(self._unavailable(call.started, outcome))

    async def _answer_later(self, call: WaitingCall) -> None:
        reply = FAILED
        try:
            reply = await self._reply(self._redeemer.answer_spent(call.spend, now_ms=call.now_ms), call.started)
        finally:
            call.answer(reply)

    async def _answer(self, request: HotRequest, started: float) -> HotReply:
        return await self._reply(self._verify(request), started)

    async def _reply(self, answering: Awaitable[bytes], started: float) -> HotReply:
        try:
            answer = await answering
        except Refused as refused:
            return self._refused(refused, next(self._request_ids), started)
        except StoreUnavailable as failure:
            return self._unavailable(started, failure)
        return self._success(answer, started)

    def _success(self, answer: bytes, started: float) -> HotReply:
        self._metrics.request_answered(SURFACE, ROUTE, status=200, duration_s=time.perf_counter() - started)
        name = next(self._request_ids).encode("ascii")
        written = b"%bx-request-id: %b\r\n" % (_SUCCESS_WRITTEN, name)
        return HotReply(200, [*SUCCESS_HEADERS, (b"x-request-id", name)], answer, written)

    def _unavailable(self, started: float, failure: StoreUnavailable) -> HotReply:
        refused = Refused("unavailable", headers={"retry-after": "5"})
        return self._refused(refused, next(self._request_ids), started, failure)

    async def _verify(self, request: HotRequest) -> bytes:
        body = self._decoder.decode(request.body)
        return await verify(self._redeemer, body, authorization=_authorization(request), now_ms=self._clock.now_ms())

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


def _authorization(request: HotRequest) -> str | None:
    given = request.headers.get(b"authorization")
    return None if given is None else given.decode("latin-1")
