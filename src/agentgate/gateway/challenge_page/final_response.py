"""The final response to a visitor whose request was denied: the page for a navigation, JSON for all else."""

from collections.abc import Awaitable, Mapping

from msgspec.structs import replace

from agentgate.decision.engine import Ruling
from agentgate.events.decision_ids import write_id
from agentgate.gateway.answers import SHOWN
from agentgate.gateway.challenge_page.challenge import ChallengePages, StatedDecision, first, may_look_up
from agentgate.gateway.challenge_page.proxied_call import Denied, ProxiedCall, ProxiedCallReader
from agentgate.gateway.denials import (
    DeniedRequest,
    FinalDenial,
    SealedDenials,
    denial_of,
    json_response,
    visible_headers,
)
from agentgate.gateway.request.described_request import BODY, BY_LINE
from agentgate.http.call import Call
from agentgate.http.connection.fast_functions import HotReply, HotRequest
from agentgate.http.decode import RawBody
from agentgate.http.replies import SECURITY_HEADERS, Reply, Text, encode_headers
from agentgate.http.request import Request
from agentgate.lib.clock import Clock
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.enums import Outcome
from agentgate.lib.moment import Moment

# Responses without a seal: for the words of denials, and for a check that has failed.
_WITHOUT_SEAL = {
    "none": FinalDenial("", 503, Outcome.BLOCK, "service_unavailable", None, ((b"retry-after", b"5"),)),
    "block": FinalDenial("", 403, Outcome.BLOCK, "policy", None),
    "challenge": FinalDenial("", 401, Outcome.CHALLENGE, "policy", None),
    "drop": FinalDenial("", 403, Outcome.DROP, "policy", None),
}
_BAD_SEAL = FinalDenial(
    "", 403, Outcome.BLOCK, "invalid_request", None, ((b"x-service-message", b"d must be the seal of this request."),)
)
# A price is for programs.
_FOR_PROGRAMS = frozenset((402,))


class DeniedResponses:
    """Renders final responses with the challenge page."""

    def __init__(self, pages: ChallengePages, sealed: SealedDenials) -> None:
        self._pages = pages
        self._sealed = sealed

    async def answer(self, proxied: ProxiedCall, seal: str | None, body: bytes | None) -> HotReply:
        """Return the final response for the seal of a denied request, in the second step of its proxy."""
        now_ms, original = int(proxied.call.now), proxied.original
        denial = _WITHOUT_SEAL.get(seal or "none")
        if denial is None:
            denial = self._sealed.open(seal or "", proxied.site, original, now_ms)
        if denial is None:
            return json_response(_BAD_SEAL)
        # nginx sends GET in its second step, so the method is taken from the check.
        denied = replace(original, method=denial.method or original.method)
        return await self._render(denial, replace(proxied, original=denied), body or None)

    async def render(self, denial: FinalDenial, request: DeniedRequest) -> HotReply:
        call = _call(denial.method, request.headers, request.now_ms)
        proxied = ProxiedCall(call, request.site, request.original, request.visitor, request.headers)
        return await self._render(denial, proxied, request.body)

    async def _render(self, denial: FinalDenial, proxied: ProxiedCall, body: bytes | None) -> HotReply:
        if denial.status in _FOR_PROGRAMS or denial.outcome is Outcome.DROP or not proxied.is_navigation:
            return json_response(denial)
        shown = SHOWN[denial.outcome]
        decision_id = None if denial.decision_id is None else write_id(denial.decision_id)
        told = StatedDecision(Ruling(denial.outcome, denial.reason), shown, decision_id, is_final=True)
        form = None
        if proxied.original.method not in {"GET", "HEAD"}:
            # A page cannot repeat a compressed body.
            content = None if b"content-encoding" in proxied.headers else body
            media_type = proxied.headers.get(b"content-type", b"").decode("latin-1")
            form = RawBody(content=content, content_type=media_type)
        return _reply(denial, await self._pages.answer(proxied, form, told))


class SecondStep:
    """Serves `/v1/gateway/denied` without ASGI: a flood of denied page loads costs one of these each."""

    def __init__(self, calls: ProxiedCallReader, denied: DeniedResponses, clock: Clock) -> None:
        self._calls = calls
        self._denied = denied
        self._clock = clock

    def __call__(self, request: HotRequest) -> HotReply | Awaitable[HotReply]:
        """Respond to a request without a body, or with a small one."""
        # Nothing of the address of the second step is the visitor's.
        call = _call(request.method.decode(), request.headers, self._clock.now_ms())
        answer = self._answer(call, request)
        if self._calls.may_wait or may_look_up(call.request):
            return answer
        # It never suspends, so no task is needed.
        try:
            answer.send(None)
        except StopIteration as done:
            reply: HotReply = done.value
            return reply
        raise RuntimeError("the second step waits without a task")

    async def _answer(self, call: Call, request: HotRequest) -> HotReply:
        try:
            proxied = await self._calls.read(call, BY_LINE)
            return await self._denied.answer(proxied, first(request.query, "d"), request.body)
        except Denied as problem:
            ruling = problem.ruling
        except StoreUnavailable:
            ruling = Ruling(Outcome.BLOCK, "service_unavailable")
        return json_response(denial_of(ruling, "", None))


def _call(method: str, headers: Mapping[bytes, bytes], now_ms: int) -> Call:
    sent = [(name, value) for name, value in headers.items() if name != BODY]
    request = Request(method=method, path="", query_string=b"", headers=sent, address="", secure=False)
    return Call(request=request, request_id="", now=Moment(now_ms), params={}, route="")


def _reply(denial: FinalDenial, page: Reply[Text]) -> HotReply:
    said = visible_headers(denial)
    taken = {name.decode() for name, _ in said}
    headers = [
        (b"content-type", page.body.media_type.encode()),
        *encode_headers(each for each in page.headers if each[0] not in taken),
        *said,
    ]
    names = {name for name, _ in headers}
    headers += [each for each in SECURITY_HEADERS if each[0] not in names]
    return HotReply(denial.status, headers, page.body.content)
