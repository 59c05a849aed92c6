"""Calls the gateway for a visitor's request, for applications without a proxy that does it.

The entry points are `gateway_asgi` and `gateway_wsgi`. Their common parts are here: which headers are trusted, the call
of the gateway, and the response to the visitor.
"""

import json
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypedDict
from urllib.parse import quote, urlencode

from agentgate_client.connections import Answer, Connections, Unreachable
from agentgate_client.down_page import DOWN_PAGE, is_person
from agentgate_client.verify import log

TIMEOUT_S = 2.0
RETRY_AFTER_S = 5
# Of a form that is kept over the challenge page, and of what the page itself sends.
FORM_BYTES, OWN_BYTES = 64 * 1024, 256 * 1024
OWN_PREFIX = "/.agentgate/"

# Headers that only the service sets. A visitor's are removed, also under names that CGI would read as the same. Some
# frameworks use the path of X-Rewrite-URL instead of the one that was checked.
CLEARED_PREFIXES = ("x-original-", "x-service-", "x-agentgate-secret", "x-agentgate-request", "x-rewrite-url")
# What belongs to the connection or to a proxy in front, and is not asked about.
_NOT_ASKED_PREFIXES = ("x-forwarded-", "proxy-")
_NOT_ASKED = frozenset(
    (
        *("authorization", "connection", "content-length", "expect", "forwarded", "host", "keep-alive", "te"),
        *("trailer", "transfer-encoding", "upgrade", "x-real-ip", "x-admin-key"),
    )
)
# Headers of the gateway that the visitor gets in addition to status and body.
_TOLD = ("retry-after", "x-service-reason", "x-service-decision-id", "x-service-message")
AGENT_HEADERS = ("crawler-price", "crawler-error", "crawler-charged", "accept-signature")
_STATUS_OF_REASON = {"rate_limited": 429, "payment_required": 402, "payment_invalid": 402}
_OF_THE_CONNECTION = frozenset(("connection", "keep-alive", "transfer-encoding", "content-length", "server", "date"))
_OWN_PATHS = re.compile(
    r"/(v1/gateway/(appeal|challenge|pass|replay)|v1/browser/[a-z-]+|sdk/[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*"
    r"\.[a-z]{2,5})\Z"
)
_SAFE = "/:@!$&'()*+,;=-._~"

Header = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Visit:
    """A visitor's request. The path is as the application will read it, decoded, as bytes."""

    method: str
    origin: str
    path: bytes
    query: str
    address: str
    headers: Sequence[Header]

    @property
    def target(self) -> str:
        """Path and query as in a request line."""
        query = quote(self.query.encode("latin-1"), safe=_SAFE + "%?/")
        return quote(self.path, safe=_SAFE) + (f"?{query}" if query else "")


@dataclass(frozen=True, slots=True)
class Shown:
    """The response to the visitor instead of the application's."""

    status: int
    headers: tuple[Header, ...]
    body: bytes


@dataclass(frozen=True, slots=True)
class Passage:
    """The application may run: headers to add to its request, and headers to add to its response."""

    told: tuple[Header, ...] = ()
    carried: tuple[Header, ...] = ()
    checked: bool = field(default=True)


class GatewayOptions(TypedDict, total=False):
    """How long a response may take, and whether a request passes if there is none."""

    timeout_s: float
    fail_open: bool


class Gateway:
    """Asks the service about each request. Thread-safe; it keeps its connections open."""

    def __init__(self, service: str, secret: str, *, timeout_s: float = TIMEOUT_S, fail_open: bool = False) -> None:
        if not secret.isascii() or not secret.isprintable() or not secret.strip():
            raise ValueError("the secret is empty or contains invalid characters; read it from the environment")
        self._connections = Connections(service)
        self._secret = secret
        self._timeout_s = timeout_s
        self._fail_open = fail_open

    def new_deadline_s(self) -> float:
        """Return until when a request that comes now may take, on the monotonic clock."""
        return time.monotonic() + self._timeout_s

    def check(self, visit: Visit, *, deadline_s: float) -> "Passage | Denial":
        """Ask whether a request may continue. Without a response it may not, except with `fail_open`."""
        try:
            answer = self._connections.forward(
                "GET", "/v1/gateway/check", headers=self._headers(visit), body=b"", deadline_s=deadline_s
            )
        except Unreachable as problem:
            return self.give_up(str(problem))
        if answer.status in {200, 204} and answer.headers.get("x-service-decision") == "allow":
            return _passage(answer)
        return _denial(answer)

    def give_up(self, reason: str) -> "Passage | Denial":
        """Return the outcome for a request if the service did not respond."""
        if self._fail_open:
            log.warning("a request passes unchecked: AgentGate is unavailable", extra={"reason": reason})
            return Passage(checked=False)
        log.warning("a request is blocked: AgentGate is unavailable", extra={"reason": reason})
        return Denial(503, "service_unavailable")

    def show(self, denial: "Denial", visit: Visit, body: bytes | None, *, deadline_s: float) -> Shown:
        """Return the response to a blocked visitor: the service's page (only for people) or a plain response."""
        if not denial.has_page:
            return denial.plain(visit)
        query = {"return": visit.target}
        query |= {"reason": denial.reason, "decision": denial.decision} if denial.reason else {}
        query |= {"decisionId": denial.decision_id} if denial.decision_id else {}
        is_form = visit.method == "POST" and bool(body)
        try:
            answer = self._connections.forward(
                "POST" if is_form else "GET",
                f"/v1/gateway/challenge?{urlencode(query)}",
                headers=self._headers(visit),
                body=(body or b"") if is_form else b"",
                deadline_s=deadline_s,
            )
        except Unreachable:
            return denial.plain()
        if answer.status not in {401, 403} or not answer.headers.get("content-type", "").startswith("text/html"):
            return denial.plain()
        return Shown(denial.status, (*_page_headers(answer), *denial.told()), answer.body)

    def pass_on(self, visit: Visit, body: bytes, *, deadline_s: float) -> Shown:
        """Forward a request under `/.agentgate/` to the service, only for paths that its page and its script need."""
        path = "/" + visit.path.decode("latin-1").removeprefix(OWN_PREFIX)
        if not _OWN_PATHS.match(path) or visit.method not in {"GET", "HEAD", "POST", "OPTIONS"}:
            return Denial(404, "not_found").plain()
        forwarded = [("X-Forwarded-For", visit.address), ("X-Forwarded-Proto", visit.origin.partition(":")[0])]
        target = path + (f"?{visit.target.partition('?')[2]}" if visit.query else "")
        try:
            answer = self._connections.forward(
                visit.method, target, headers=[*self._headers(visit), *forwarded], body=body, deadline_s=deadline_s
            )
        except Unreachable:
            return Denial(503, "service_unavailable").plain()
        return Shown(answer.status, _page_headers(answer), answer.body)

    def close(self) -> None:
        """Close the kept connections."""
        self._connections.close()

    def _headers(self, visit: Visit) -> list[Header]:
        own = {
            "X-AgentGate-Secret": self._secret,
            "X-Original-Method": visit.method,
            "X-Original-URL": visit.origin + visit.target,
            "X-Original-Address": visit.address,
        }
        return [*own.items(), *_asked_about(visit.headers)]


@dataclass(frozen=True, slots=True)
class Denial:
    """A no, and why."""

    status: int
    reason: str = ""
    decision: str = "block"
    decision_id: str = ""
    further: tuple[Header, ...] = ()
    has_page: bool = False
    # Whether the rule wants the connection closed and nothing said.
    drop: bool = False

    def plain(self, visit: Visit | None = None) -> Shown:
        """Return the response for programs, and for people if the service is unavailable."""
        if self.drop:
            return Shown(self.status, (("Connection", "close"),), b"")
        if visit is not None and self.reason == "service_unavailable" and is_person(visit.headers):
            return Shown(self.status, (("Content-Type", "text/html; charset=utf-8"), *self.told()), DOWN_PAGE.encode())
        body = json.dumps({"decision": self.decision, "reason": self.reason}).encode()
        return Shown(self.status, (("Content-Type", "application/json"), *self.told()), body)

    def told(self) -> tuple[Header, ...]:
        """Return the headers for the visitor."""
        retry = (("Retry-After", str(RETRY_AFTER_S)),) if self.status == 503 and not self.further else ()
        return (("Cache-Control", "no-store"), *retry, *self.further)


def believed(headers: Iterable[Header]) -> list[Header]:
    """Return the headers without those that only the service may send. Names are in lower case."""
    return [header for header in headers if not _plain(header[0]).startswith(CLEARED_PREFIXES)]


def last_hop(text: str) -> str:
    """Return the address that the nearest proxy wrote; those before it are hearsay."""
    return text.rpartition(",")[2].strip()


def _plain(name: str) -> str:
    return name.replace("_", "-")


def _asked_about(headers: Sequence[Header]) -> Iterable[Header]:
    """Yield the visitor's headers that the service gets, each once, in the form that it expects."""
    # Headers that `Connection` names belong to the connection; but a visitor must not be able to remove a header by
    # naming it there.
    joined: dict[str, str] = {}
    for name, value in believed(headers):
        plain = _plain(name)
        if plain in _NOT_ASKED or plain.startswith(_NOT_ASKED_PREFIXES) or not _is_sendable(value):
            continue
        between = "; " if name == "cookie" else ", "
        joined[name] = f"{joined[name]}{between}{value}" if name in joined else value
    return joined.items()


def _is_sendable(value: str) -> bool:
    return not any(character in value for character in "\r\n\0")


def _passage(answer: Answer) -> Passage:
    told = [("x-service-decision", "allow"), ("x-service-decision-id", answer.headers.get("x-service-decision-id", ""))]
    carried = [(name, answer.headers[name]) for name in AGENT_HEADERS if name in answer.headers]
    return Passage(tuple(header for header in told if header[1]), tuple(carried))


def _denial(answer: Answer) -> Denial:
    reason, headers = answer.headers.get("x-service-reason", ""), answer.headers
    if reason in {"invalid_credential", "invalid_request"}:
        # A visitor may have sent a malformed Host; anything else is this server's, and no visitor can help it.
        log.error("AgentGate rejects this server's checks", extra={"reason": headers.get("x-service-message", reason)})
        return Denial(400, reason) if reason == "invalid_request" else Denial(503, "service_unavailable")
    if "x-service-decision" not in headers:
        # Not a response of the check: the visitor's headers are too many or malformed, or another server responded.
        return Denial(answer.status if answer.status in {400, 431} else 503, "service_unavailable")
    wanted = headers.get("x-service-status", "")
    status = int(wanted) if wanted.isdecimal() and 400 <= int(wanted) < 600 else 0
    return Denial(
        status or _STATUS_OF_REASON.get(reason, answer.status if answer.status >= 400 else 503),
        reason,
        headers["x-service-decision"],
        headers.get("x-service-decision-id", ""),
        tuple((name, headers[name]) for name in (*_TOLD, *AGENT_HEADERS) if name in headers),
        has_page=answer.status in {401, 403} and reason not in _STATUS_OF_REASON and not headers.get("x-service-drop"),
        drop=headers.get("x-service-drop") == "1",
    )


def _page_headers(answer: Answer) -> tuple[Header, ...]:
    return tuple((name, value) for name, value in answer.fields if name not in _OF_THE_CONNECTION)
