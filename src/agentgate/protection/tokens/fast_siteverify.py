"""`POST /v1/siteverify` on the fast path: from the bytes of a request to those of its answer, without an ASGI scope.

The steps are the Redeemer's, which the ASGI path takes too (`endpoints.py`). A success leaves its counters and no line
in the log: there are as many as visitors.
"""

import time
from collections.abc import Awaitable, Callable
from functools import partial

from agentgate.http.connection.fast_functions import (
    DatelessReply,
    HotReply,
    HotRequest,
    Pending,
    Reply,
    write_headers,
)
from agentgate.http.decode import BodyDecoder
from agentgate.http.replies import JSON_HEADER, SECURITY_HEADERS, refusal
from agentgate.lib import errors
from agentgate.lib.clock import Clock
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.errors import Refused
from agentgate.lib.ids import draw_request_ids
from agentgate.lib.telemetry.metrics import MetricRegistry
from agentgate.lib.telemetry.requests import Finished, RequestObserver
from agentgate.protection.tokens.records import SiteverifyInput
from agentgate.protection.tokens.redeem import Outcome, Redeemer
from agentgate.protection.tokens.siteverify import read_demand, read_secret

SURFACE, ROUTE = "siteverify", "/v1/siteverify"
MALFORMED = "invalid_request"
FAILURE_FIELDS = {"success": False}
_SUCCESS_START = b"HTTP/1.1 200 OK\r\n"
_SUCCESS_REST = (
    write_headers([JSON_HEADER, *SECURITY_HEADERS]).replace(b"%", b"%%")
    + b"x-request-id: %b\r\ncontent-length: %d\r\n\r\n%b"
)

AsgiPath = Callable[[HotRequest], Awaitable[HotReply]]


class FastSiteverify:
    """A fast function. What has to be traced, or to wait before it can begin, takes the ASGI path."""

    def __init__(
        self,
        redeemer: Redeemer,
        *,
        asgi_path: AsgiPath,
        clock: Clock,
        metrics: MetricRegistry,
        observer: RequestObserver,
    ) -> None:
        self._redeemer = redeemer
        self._asgi_path = asgi_path
        self._clock = clock
        self._count_success = metrics.counting(SURFACE, ROUTE, status=200)
        self._observer = observer
        self._request_ids = draw_request_ids()
        self._decode = BodyDecoder(SiteverifyInput, malformed=MALFORMED, texts_only=True).decode

    def __call__(self, request: HotRequest) -> Pending | Awaitable[Reply]:
        """Begin with one call: body, secret, token, spend. The answer comes when the store has said how it went."""
        headers = request.headers
        if request.query or not request.body or b"traceparent" in headers or not self._redeemer.is_fresh:
            return self._asgi_path(request)
        pending, started = Pending(), time.perf_counter()
        done = partial(self._answer, pending, started)
        try:
            body: SiteverifyInput = self._decode(request.body)
            demand = read_demand(body)
            authorization = headers.get(b"authorization")
            secret = read_secret(None if authorization is None else authorization.decode("latin-1"), body.secret)
            now_ms = self._clock.now_ms()
            caller = self._redeemer.recognise(secret, now_ms=now_ms)
            self._redeemer.redeem_then(caller, demand, now_ms=now_ms, done=done)
        except Refused as refused:
            done(refused)
        return pending

    def _answer(self, pending: Pending, started: float, outcome: Outcome) -> None:
        if isinstance(outcome, bytes):
            pending.resolve(self._success(outcome, started))
        elif isinstance(outcome, StoreUnavailable):
            unavailable = Refused("unavailable", headers={"retry-after": "5"})
            pending.resolve(self._refused(unavailable, started, failure=outcome))
        else:
            pending.resolve(self._refused(outcome, started))

    def _success(self, answer: bytes, started: float) -> DatelessReply:
        self._count_success(time.perf_counter() - started)
        request_id = next(self._request_ids).encode("ascii")
        return _SUCCESS_START, _SUCCESS_REST % (request_id, len(answer), answer)

    def _refused(self, refused: Refused, started: float, *, failure: Exception | None = None) -> HotReply:
        answer = refusal(refused, errors.SITEVERIFY, FAILURE_FIELDS)
        request_id = next(self._request_ids)
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
