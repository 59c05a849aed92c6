"""Siteverify on the hot path: the usual call, answered without the general pipeline. What is unusual goes the cold way.

Both ways answer the same bytes. A success leaves its counters and no line in the log: there are as many as visitors.
"""

import time
from collections.abc import Awaitable, Callable

from agentgate import errors
from agentgate.core.clock import Clock
from agentgate.core.database import StoreUnavailable
from agentgate.core.ids import new_request_id
from agentgate.errors import Refused
from agentgate.telemetry.metrics import Metrics
from agentgate.telemetry.requests import Finished, RequestObserver
from agentgate.tokens.records import SiteverifyInput
from agentgate.tokens.redeem import Redeemer
from agentgate.tokens.siteverify import verify
from agentgate.web.decode import BodyDecoder
from agentgate.web.hot_path import HotReply, HotRequest
from agentgate.web.replies import JSON_HEADER, SECURITY_HEADERS, Answer, refusal

SURFACE, ROUTE = "siteverify", "/v1/siteverify"
MALFORMED = "invalid_request"
FAILURE_FIELDS = {"success": False}
SUCCESS_HEADERS = [JSON_HEADER, *SECURITY_HEADERS]

ColdWay = Callable[[HotRequest], Awaitable[HotReply]]


class HotSiteverify:
    """A hot function for `POST /v1/siteverify`."""

    def __init__(
        self, redeemer: Redeemer, *, cold_way: ColdWay, clock: Clock, metrics: Metrics, observer: RequestObserver
    ) -> None:
        self._redeemer = redeemer
        self._cold_way = cold_way
        self._clock = clock
        self._metrics = metrics
        self._observer = observer
        self._decoder = BodyDecoder(SiteverifyInput, malformed=MALFORMED)

    async def __call__(self, request: HotRequest) -> HotReply:
        """Answer one call."""
        if request.query or not request.body or b"traceparent" in request.headers:
            return await self._cold_way(request)
        started = time.perf_counter()
        request_id = new_request_id()
        try:
            answer = await self._verify(request)
        except Refused as refused:
            return self._refused(refused, request_id, started)
        except StoreUnavailable as failure:
            unavailable = Refused("unavailable", headers={"retry-after": "5"})
            return self._refused(unavailable, request_id, started, failure)
        self._metrics.request_answered(SURFACE, ROUTE, status=200, duration_s=time.perf_counter() - started)
        return HotReply(200, [*SUCCESS_HEADERS, (b"x-request-id", request_id.encode("ascii"))], answer)

    async def _verify(self, request: HotRequest) -> bytes:
        body = self._decoder.decode(request.body)
        authorization = request.headers.get(b"authorization")
        return await verify(
            self._redeemer,
            body,
            authorization=None if authorization is None else authorization.decode("latin-1"),
            now_ms=self._clock.now_ms(),
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
