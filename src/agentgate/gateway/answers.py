"""How a decision of the gateway looks to the proxy that asked: status, headers, and a small body for denials."""

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, Struct

from agentgate import errors
from agentgate.core.decision_ids import write_id
from agentgate.core.enums import Outcome
from agentgate.rules.records import RuleResponse
from agentgate.web.hot_path import HotReply

NO_STORE = (b"cache-control", b"no-store")
JSON = (b"content-type", b"application/json")

# Outcomes as the specification writes them in headers: dropping is a way to block.
_SHOWN: Mapping[Outcome, errors.GatewayDecision] = {
    Outcome.ALLOW: "allow",
    Outcome.CHALLENGE: "challenge",
    Outcome.BLOCK: "block",
    Outcome.DROP: "block",
}


class Ruling(Struct, frozen=True, gc=False):
    """What is answered: the outcome that applies, why, and what enforce mode would have done."""

    outcome: Outcome
    reason: str
    would: Outcome | None = None
    # The reason that is recorded where monitor mode shows another one.
    cause: str | None = None
    response: RuleResponse | None = None
    # A sentence for whoever sets the adapter up.
    hint: str | None = None


class Answers:
    """Writes rulings. What does not change from request to request is made once."""

    def __init__(self) -> None:
        self._made: dict[tuple[Outcome, str, Outcome | None], tuple[int, list[tuple[bytes, bytes]], bytes]] = {}

    def status_of(self, ruling: Ruling) -> int:
        """Return the status that a ruling is answered with."""
        return self._parts(ruling)[0]

    def write(self, ruling: Ruling, decision_id: int | None, *, ok: bytes = b"") -> HotReply:
        """Return the answer; `ok=200` is for proxies that take nothing else for a yes."""
        status, headers, body = self._parts(ruling)
        headers = (
            headers if decision_id is None else [*headers, (b"x-service-decision-id", write_id(decision_id).encode())]
        )
        if ruling.response is not None:
            headers = [*headers, *_response_headers(ruling.response)]
        if ruling.hint is not None:
            headers = [*headers, (b"x-service-message", ruling.hint.encode("latin-1", "replace"))]
        return HotReply(200 if status == 204 and ok == b"ok=200" else status, headers, body)

    def _parts(self, ruling: Ruling) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        key = (ruling.outcome, ruling.reason, ruling.would)
        parts = self._made.get(key)
        if parts is None:
            parts = self._made[key] = _parts_of(ruling)
        return parts


def _parts_of(ruling: Ruling) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    row = errors.GATEWAY.lookup(ruling.reason)
    shown = _SHOWN[ruling.outcome]
    status = row.status_for(shown)
    headers = [NO_STORE, (b"x-service-decision", shown.encode()), (b"x-service-reason", ruling.reason.encode())]
    if ruling.would is not None:
        headers.append((b"x-service-would-decision", _SHOWN[ruling.would].encode()))
    if ruling.outcome is Outcome.DROP:
        headers.append((b"x-service-drop", b"1"))
    if status == 503:
        headers.append((b"retry-after", b"5"))
    if status == 204:
        return status, headers, b""
    return status, [JSON, *headers], msgspec.json.encode({"decision": shown, "reason": ruling.reason})


def _response_headers(response: RuleResponse) -> list[tuple[bytes, bytes]]:
    headers = []
    if response.status is not UNSET:
        headers.append((b"x-service-status", b"%d" % response.status))
    if response.retry_after is not UNSET:
        headers.append((b"retry-after", b"%d" % response.retry_after))
    if response.message is not UNSET:
        # A header holds one line of Latin-1; what does not fit is left out rather than the whole.
        line = " ".join(response.message.split())
        headers.append((b"x-service-message", line.encode("latin-1", "replace")))
    return headers
