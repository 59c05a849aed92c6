"""`POST /v1/siteverify` on the fast path: from the bytes of a request to the bytes of its response, without ASGI.

The steps are the Redeemer's, which the ASGI path takes too (`endpoints.py`). A success leaves its counters and no line
in the log: there are as many as visitors. A site's server sends the same request headers with each call, except for
values that are not read here, so they are judged once (`head.py`).
"""

import time
from collections.abc import Awaitable, Callable
from functools import partial

from agentgate.browser_check.tokens.records import SiteverifyInput
from agentgate.browser_check.tokens.redeem import Outcome, Redeemer
from agentgate.browser_check.tokens.siteverify import read_demand, read_secret
from agentgate.http.connection.fast_functions import (
    HOT_BODY_BYTES,
    INCOMPLETE,
    DatelessReply,
    HotReply,
    HotRequest,
    Incomplete,
    Pending,
    Reply,
    write_headers,
)
from agentgate.http.connection.head import cut, read_length
from agentgate.http.decode import BodyDecoder
from agentgate.http.replies import JSON_HEADER, SECURITY_HEADERS, refusal
from agentgate.lib import errors
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.lib.clock import Clock
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.errors import Refused
from agentgate.lib.ids import draw_request_ids
from agentgate.lib.telemetry.metrics import MetricRegistry
from agentgate.lib.telemetry.requests import Finished, RequestObserver

SURFACE, ROUTE = "siteverify", "/v1/siteverify"
MALFORMED = "invalid_request"
_LINE = f"POST {ROUTE} HTTP/1.1\r\n".encode()
FAILURE_FIELDS = {"success": False}
_SUCCESS_START = b"HTTP/1.1 200 OK\r\n"
_SUCCESS_REST = (
    write_headers([JSON_HEADER, *SECURITY_HEADERS]).replace(b"%", b"%%")
    + b"x-request-id: %b\r\ncontent-length: %d\r\n\r\n%b"
)

# Heads of the young generation, and how long one may be. A server sends one for each length that its bodies have.
HEADS = 4_096
LONGEST_KEY = 512

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
        # The lengths of bodies by the key of the head, in which there is no secret; 0 where the parser must read it.
        self._lengths: BoundedCache[bytes, int] = BoundedCache(HEADS)

    def take(self, data: bytes) -> Pending | Incomplete | None:
        """Begin with a call as it arrived; None leaves it to the parser. Many clients send head and body apart."""
        end = data.find(b"\r\n\r\n") + 4
        head = data[:end]
        found = cut(head)
        if found is None:
            return None
        key, authorization, *_, trace, _, _ = found
        length = self._lengths.young.get(key) or self._find_length(key, head)
        if trace is not None or not length:
            return None
        missing = end + length - len(data)
        if missing > 0:
            return INCOMPLETE
        if missing or not self._redeemer.is_fresh:
            return None
        return self._begin(data[end:], authorization)

    def _find_length(self, key: bytes, head: bytes) -> int:
        length = self._lengths.get(key)
        if length is None:
            length = read_length(head) if head.startswith(_LINE) else 0
            if length > HOT_BODY_BYTES:
                length = 0
            if len(key) <= LONGEST_KEY:
                self._lengths.put(key, length)
        return length

    def __call__(self, request: HotRequest) -> Pending | Awaitable[Reply]:
        """Begin with a call that the parser read."""
        headers = request.headers
        if request.query or not request.body or b"traceparent" in headers or not self._redeemer.is_fresh:
            return self._asgi_path(request)
        return self._begin(request.body, headers.get(b"authorization"))

    def _begin(self, content: bytes, authorization: bytes | None) -> Pending:
        """Process a call: body, secret, token, redemption. The response follows when the store reports the outcome."""
        pending, started = Pending(), time.perf_counter()
        done = partial(self._answer, pending, started)
        try:
            body: SiteverifyInput = self._decode(content)
            demand = read_demand(body)
            secret = read_secret(None if authorization is None else authorization.decode("latin-1"), body.secret)
            now_ms = self._clock.now_ms()
            caller = self._redeemer.recognize(secret, now_ms=now_ms)
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
