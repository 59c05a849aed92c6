"""The final response to a visitor whose request was denied: the page for a navigation, JSON for all else."""

from msgspec.structs import replace

from agentgate.http.call import Call
from agentgate.http.connection.fast_functions import HotReply
from agentgate.http.decode import RawBody
from agentgate.http.replies import SECURITY_HEADERS, Reply, Text, encode_headers
from agentgate.http.request import Request
from agentgate.lib.decision_ids import write_id
from agentgate.lib.enums import Outcome
from agentgate.lib.moment import Moment
from agentgate.protection.challenge_page.challenge import ChallengePages, StatedDecision
from agentgate.protection.challenge_page.proxied_call import ProxiedCall
from agentgate.protection.gateway.answers import SHOWN, Ruling
from agentgate.protection.gateway.denials import (
    Denial,
    DeniedRequest,
    SealedDenials,
    json_response,
    visible_headers,
)

# Answers to what is no seal: the words of denials, which proxies answer themselves, and a check that has failed.
_WITHOUT_SEAL = {
    "none": Denial("", 503, Outcome.BLOCK, "service_unavailable", None, ((b"retry-after", b"5"),)),
    "block": Denial("", 403, Outcome.BLOCK, "policy", None),
    "challenge": Denial("", 401, Outcome.CHALLENGE, "policy", None),
    "drop": Denial("", 403, Outcome.DROP, "policy", None),
}
_BAD_SEAL = Denial(
    "", 403, Outcome.BLOCK, "invalid_request", None, ((b"x-service-message", b"d must be the seal of this request."),)
)
# A price is for programs.
_FOR_PROGRAMS = frozenset((402,))
# Headers of the page that those of the denial replace.
_OF_DENIAL = frozenset(("x-service-decision", "x-service-reason", "x-service-decision-id", "x-service-drop"))


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
        # nginx writes GET in its second step, so the method is that of the check.
        denied = replace(original, method=denial.method or original.method)
        request = DeniedRequest(proxied.site, denied, proxied.visitor, proxied.headers, body or None, now_ms)
        return await self.render(replace(denial, method=denied.method), request)

    async def render(self, denial: Denial, request: DeniedRequest) -> HotReply:
        """Return the final response."""
        proxied = _call_of(denial, request)
        if denial.status in _FOR_PROGRAMS or denial.outcome is Outcome.DROP or not proxied.is_navigation:
            return json_response(denial)
        shown = SHOWN[denial.outcome]
        decision_id = None if denial.decision_id is None else write_id(denial.decision_id)
        told = StatedDecision(Ruling(denial.outcome, denial.reason), shown, decision_id)
        posted = denial.method not in {"GET", "HEAD"}
        body = RawBody(content=request.body, content_type=_text(request, b"content-type")) if posted else None
        return _reply(denial, await self._pages.answer(proxied, body, told))


def _call_of(denial: Denial, request: DeniedRequest) -> ProxiedCall:
    call = Call(
        # Nothing of the address of the second step is the visitor's.
        request=Request(
            method=denial.method,
            path=request.original.path,
            query_string=b"",
            headers=list(request.headers.items()),
            address=request.original.address,
            secure=request.original.origin.startswith("https:"),
        ),
        request_id="",
        now=Moment(request.now_ms),
        params={},
        route="",
    )
    return ProxiedCall(call, request.site, request.original, request.visitor, request.headers)


def _reply(denial: Denial, page: Reply[Text]) -> HotReply:
    said = visible_headers(denial)
    taken = {name.decode() for name, _ in said} | _OF_DENIAL
    headers = [
        (b"content-type", page.body.media_type.encode()),
        *encode_headers(each for each in page.headers if each[0] not in taken),
        *said,
    ]
    names = {name for name, _ in headers}
    headers += [each for each in SECURITY_HEADERS if each[0] not in names]
    return HotReply(denial.status, headers, page.body.content)


def _text(request: DeniedRequest, name: bytes) -> str:
    return request.headers.get(name, b"").decode("latin-1")
