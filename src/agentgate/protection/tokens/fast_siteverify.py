"""`POST /v1/siteverify` on the fast path: from the bytes of a request to those of its answer, without an ASGI scope.

The steps are the Redeemer's, which the ASGI path takes too (`endpoints.py`). A success leaves its counters and no line
in the log: there are as many as visitors. A site's server sends the same head with each call, but for the length, so a
head is read once and recognised by its digest.
"""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from hashlib import blake2s, sha256

from msgspec import UNSET, Struct

from agentgate.http.bearer_secret import bearer_secret
from agentgate.http.connection.fast_functions import (
    HOT_BODY_BYTES,
    DatelessReply,
    HotReply,
    HotRequest,
    Pending,
    Reply,
    write_headers,
)
from agentgate.http.connection.head import read_post
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
from agentgate.protection.sites.directory import SiteCaller
from agentgate.protection.tokens.records import SiteverifyInput
from agentgate.protection.tokens.redeem import Outcome, Redeemer, TestCaller
from agentgate.protection.tokens.siteverify import read_demand, read_secret

SURFACE, ROUTE = "siteverify", "/v1/siteverify"
MALFORMED = "invalid_request"
_LINE = f"POST {ROUTE} HTTP/1.1\r\n".encode()
FAILURE_FIELDS = {"success": False}
_SUCCESS_START = b"HTTP/1.1 200 OK\r\n"
_SUCCESS_REST = (
    write_headers([JSON_HEADER, *SECURITY_HEADERS]).replace(b"%", b"%%")
    + b"x-request-id: %b\r\ncontent-length: %d\r\n\r\n%b"
)

# Heads of the young generation. A server sends one for each length that its bodies have.
HEADS = 4_096

AsgiPath = Callable[[HotRequest], Awaitable[HotReply]]


class KnownHead(Struct, frozen=True, gc=False):
    """What a call needs of its head: the length of the body, and the SHA-256 of the secret if there is one."""

    length: int
    secret: bytes | None


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
        # By BLAKE2s: no head is kept, because there is a secret in it.
        self._heads: BoundedCache[bytes, KnownHead] = BoundedCache(HEADS)

    def take(self, data: bytes) -> Pending | None:
        """Begin with a call as it arrived; None leaves it to the parser, and with it all that is simply refused."""
        end = data.find(b"\r\n\r\n") + 4
        text = data[:end]
        digest = blake2s(text).digest()
        head = self._heads.young.get(digest) or self._heads.promote(digest) or self._read_head(text, digest)
        if head is None or len(data) - end != head.length or not self._redeemer.is_fresh:
            return None
        started, now_ms = time.perf_counter(), self._clock.now_ms()
        try:
            body: SiteverifyInput = self._decode(data[end:])
            demand = read_demand(body)
            caller = self._find_caller(head, body, now_ms)
        except Refused:
            return None
        if caller is None:
            return None
        pending = Pending()
        self._redeemer.redeem_then(caller, demand, now_ms=now_ms, done=partial(self._answer, pending, started))
        return pending

    def _find_caller(self, head: KnownHead, body: SiteverifyInput, now_ms: int) -> SiteCaller | TestCaller | None:
        if body.secret is UNSET:
            return None if head.secret is None else self._redeemer.recognise_by(head.secret, now_ms=now_ms)
        # With two secrets, both have to be read.
        return self._redeemer.recognise(body.secret, now_ms=now_ms) if head.secret is None else None

    def _read_head(self, text: bytes, digest: bytes) -> KnownHead | None:
        fields = read_post(text)
        if fields is None or not text.startswith(_LINE) or b"traceparent" in fields:
            return None
        length, authorization = int(fields[b"content-length"]), fields.get(b"authorization")
        secret = None if authorization is None else sha256(bearer_secret(authorization) or b"").digest()
        if not 0 < length <= HOT_BODY_BYTES:
            return None
        if secret is not None and self._redeemer.recognise_by(secret, now_ms=self._clock.now_ms()) is None:
            # Whoever guesses secrets must not push the heads of others out.
            return None
        return self._heads.put(digest, KnownHead(length, secret))

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
