"""Responses of the gateway to the proxy: status, headers, and a small body for denials."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET, Struct

from agentgate.decision.engine import Ruling
from agentgate.events.decision_ids import write_id
from agentgate.http.connection.fast_functions import HotReply, write_around, write_headers
from agentgate.lib import errors
from agentgate.lib.enums import Outcome
from agentgate.sites.rules.records import RuleResponse

NO_STORE = (b"cache-control", b"no-store")
JSON = (b"content-type", b"application/json")

# Instead of the word of a denial that is sealed for its request.
SEALED = b""
SEAL_TO_COME = (b"x-service-denial", SEALED)
_OF_BODY = frozenset((b"content-type", b"retry-after"))
# Outcomes as the specification writes them in headers: dropping is a way to block.
SHOWN: Mapping[Outcome, errors.GatewayDecision] = {
    Outcome.ALLOW: "allow",
    Outcome.CHALLENGE: "challenge",
    Outcome.BLOCK: "block",
    Outcome.DROP: "block",
}


class _Parts(Struct, frozen=True):
    """The common parts of all responses of a kind."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    # The headers as they are written.
    written: bytes


class Answers:
    """Writes rulings. Constant parts are made once."""

    def __init__(self) -> None:
        self._made: dict[tuple[Outcome, str, Outcome | None], _Parts] = {}

    def status_of(self, ruling: Ruling) -> int:
        return self._parts(ruling).status

    def write(self, ruling: Ruling, decision_id: int | None, *, ok: bytes = b"") -> HotReply:
        """Return the response; `ok=200` is for proxies that accept only status 200 as permission."""
        parts = self._parts(ruling)
        status = 200 if ok and parts.status == 204 and ok == b"ok=200" else parts.status
        if ruling.response is not None or ruling.hint is not None or ruling.headers:
            return HotReply(status, _more_headers(parts.headers, ruling, decision_id), parts.body)
        if decision_id is None:
            return HotReply(status, parts.headers, parts.body, parts.written)
        name = write_id(decision_id).encode()
        headers = [*parts.headers, (b"x-service-decision-id", name)]
        return HotReply(status, headers, parts.body, b"%bx-service-decision-id: %b\r\n" % (parts.written, name))

    def deny(self, ruling: Ruling, decision_id: int | None, denial: bytes) -> HotReply:
        """Return the denial for a proxy with a second step. It has one status, so that the proxy needs one line."""
        headers = [*self._parts(ruling).headers, (b"x-service-denial", denial)]
        if decision_id is not None:
            headers.append((b"x-service-decision-id", write_id(decision_id).encode()))
        if ruling.hint is not None:
            headers.append((b"x-service-message", ruling.hint.encode("latin-1", "replace")))
        return HotReply(401, [each for each in headers if each[0] not in _OF_BODY], b"")

    def prepare(
        self, ruling: Ruling, *, is_ok_200: bool, word: bytes | None = None, more: Sequence[tuple[bytes, bytes]] = ()
    ) -> tuple[bytes, bytes, bytes]:
        """Return the encoded response in three parts: before the date, between it and the decision ID, and the end.

        With SEALED as the word, the seal is missing: it goes before the end.
        """
        ok = b"ok=200" if is_ok_200 else b""
        reply = self.write(ruling, None, ok=ok) if word is None else self.deny(ruling, None, word)
        written = reply.written or write_headers([each for each in reply.headers if each != SEAL_TO_COME])
        written += write_headers(list(more))
        start, end = write_around(msgspec.structs.replace(reply, written=written))
        return start, written + b"x-service-decision-id: ", b"\r\n" + end

    def _parts(self, ruling: Ruling) -> _Parts:
        key = (ruling.outcome, ruling.reason, ruling.would)
        parts = self._made.get(key)
        if parts is None:
            parts = self._made[key] = _parts_of(ruling)
        return parts


def _parts_of(ruling: Ruling) -> _Parts:
    row = errors.GATEWAY.lookup(ruling.reason)
    shown = SHOWN[ruling.outcome]
    status = row.status_for(shown)
    headers = [NO_STORE, (b"x-service-decision", shown.encode()), (b"x-service-reason", ruling.reason.encode())]
    if ruling.would is not None:
        headers.append((b"x-service-would-decision", SHOWN[ruling.would].encode()))
    if ruling.outcome is Outcome.DROP:
        headers.append((b"x-service-drop", b"1"))
    if status == 503:
        headers.append((b"retry-after", b"5"))
    if status == 204:
        return _Parts(status, headers, b"", write_headers(headers))
    body = msgspec.json.encode({"decision": shown, "reason": ruling.reason})
    return _Parts(status, [JSON, *headers], body, write_headers([JSON, *headers]))


def _more_headers(
    headers: list[tuple[bytes, bytes]], ruling: Ruling, decision_id: int | None
) -> list[tuple[bytes, bytes]]:
    """Return the headers with those that differ between responses."""
    named = [] if decision_id is None else [(b"x-service-decision-id", write_id(decision_id).encode())]
    asked = [] if ruling.response is None else response_headers(ruling.response)
    hint = [] if ruling.hint is None else [(b"x-service-message", ruling.hint.encode("latin-1", "replace"))]
    return [*headers, *named, *asked, *hint, *ruling.headers]


def response_headers(response: RuleResponse) -> list[tuple[bytes, bytes]]:
    headers = []
    if response.status is not UNSET:
        headers.append((b"x-service-status", b"%d" % response.status))
    if response.retry_after is not UNSET:
        headers.append((b"retry-after", b"%d" % response.retry_after))
    if response.message is not UNSET:
        # A header holds one line of Latin-1; what does not fit is omitted.
        line = " ".join(response.message.split())
        headers.append((b"x-service-message", line.encode("latin-1", "replace")))
    return headers
