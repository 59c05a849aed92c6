"""The simulator: sends requests as an agent to a service or to a protected site, and checks the responses.

It is a client like any other: it knows only the API of the service, and only the given policy of the site.
"""

import http.client
import json
import ssl
from collections.abc import Iterable, Mapping
from typing import Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from agentgate_tools.agent_simulator.cases import (
    ACCEPTED,
    AWAY,
    CHALLENGED,
    DENIED,
    INVALID,
    LEFT_TO_RULES,
    LIMITED,
    OFFER_INVALID,
    REQUIRED,
    UNVERIFIED,
    Case,
)

TIMEOUT_S = 10.0
MOST_BODY_BYTES = 256 * 1024
# An address of a network that is reserved for documentation, so it does not belong to a visitor.
ADDRESS = "203.0.113.77"
USER_AGENT = "AgentGate-agent-sim/1"

_ABOUT_AGENTS = frozenset((INVALID, UNVERIFIED, DENIED, REQUIRED, OFFER_INVALID, LIMITED))
_WOULD = {
    "allow": frozenset((ACCEPTED,)),
    "challenge": frozenset((UNVERIFIED, CHALLENGED, ACCEPTED)),
    "block": _ABOUT_AGENTS,
}
# The reasons that a status allows, where a proxy removes the reason.
_BY_STATUS = {
    401: frozenset((UNVERIFIED, CHALLENGED)),
    402: frozenset((REQUIRED,)),
    403: frozenset((INVALID, UNVERIFIED, DENIED, OFFER_INVALID)),
    429: frozenset((LIMITED,)),
    503: frozenset((AWAY,)),
}


class SimulationStopped(Exception):  # noqa: N818 - says what happened
    """Continuing would show nothing. The message explains what is wrong and how to correct it."""


class Answer(Struct, frozen=True):
    """A response: headers by lower-case name."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Reading(Struct, frozen=True):
    """The meaning of a response, as text for people, and the expectations that it fulfills."""

    shown: str
    fulfills: frozenset[str]


class Result(Struct, frozen=True, kw_only=True):
    name: str
    expected: str
    answered: str
    status: int
    is_right: bool
    note: str = ""


class Door(Protocol):
    """A way to send a request and to interpret the response."""

    def send(self, case: Case) -> Answer: ...

    def read(self, answer: Answer) -> Reading:
        """Return the meaning of the response."""


class GatewayDoor:
    """Asks the service about requests, as the proxy of the site does."""

    def __init__(self, service: str, *, origin: str, secret: str) -> None:
        self._service = service
        self._origin = origin
        self._secret = secret

    def send(self, case: Case) -> Answer:
        headers = {
            "user-agent": USER_AGENT,
            **case.headers,
            "authorization": f"Bearer {self._secret}",
            "x-original-method": case.method,
            "x-original-url": self._origin + case.path,
            "x-original-address": ADDRESS,
        }
        if case.body_digest is not None:
            headers["x-original-body-digest"] = case.body_digest
        return exchange("GET", f"{self._service}/v1/gateway/check", headers)

    def read(self, answer: Answer) -> Reading:
        """Return the reason that the gateway gives."""
        reason = answer.headers.get("x-service-reason")
        if reason is None:
            raise SimulationStopped(
                f"the response (status {answer.status}) is not from a gateway check; give AgentGate's own address"
            )
        if reason in {"invalid_credential", "invalid_request"}:
            message = answer.headers.get("x-service-message", "")
            raise SimulationStopped(
                f"the gateway rejects the adapter ({reason}) {message}; check the secret and --site"
            )
        would = answer.headers.get("x-service-would-decision")
        if would is not None:
            return Reading(f"would {would}", _WOULD.get(would, frozenset()))
        return _read_reason(reason, is_challenge=answer.headers.get("x-service-decision") == "challenge")


class SiteDoor:
    """Sends requests to the site itself, through its proxies."""

    def __init__(self, origin: str) -> None:
        self._origin = origin

    def send(self, case: Case) -> Answer:
        return exchange(case.method, self._origin + case.path, {"user-agent": USER_AGENT, **case.headers}, case.body)

    def read(self, answer: Answer) -> Reading:
        """Return the reason of a denial. Default: the reasons that its status allows."""
        reason = answer.headers.get("x-service-reason")
        if reason is not None:
            return _read_reason(reason, is_challenge=answer.status == 401)
        shown = f"status {answer.status}"
        return Reading(shown, _BY_STATUS.get(answer.status, frozenset((ACCEPTED,))))


class SubmitDoor:
    """Sends submissions to the service."""

    def __init__(self, service: str) -> None:
        self._service = service

    def send(self, case: Case) -> Answer:
        return exchange(case.method, self._service + case.path, {"user-agent": USER_AGENT, **case.headers}, case.body)

    def read(self, answer: Answer) -> Reading:
        """Return the error code of the response, or that the agent was accepted."""
        if answer.status == 200:
            return Reading(ACCEPTED, frozenset((ACCEPTED,)))
        code = _error_code(answer.body)
        if code is None:
            raise SimulationStopped(f"/agent/submit returns status {answer.status}; give AgentGate's own address")
        # The agent was accepted, and what it submits is for a person or for the site's rules to judge.
        more = {ACCEPTED} if code in {CHALLENGED, "policy"} else set()
        return Reading(code, frozenset({code, *more}))


def _read_reason(reason: str, *, is_challenge: bool) -> Reading:
    if reason in _ABOUT_AGENTS:
        return Reading(reason, frozenset((reason,)))
    if reason == "service_unavailable":
        return Reading(reason, frozenset((AWAY,)))
    # The site's rules may block or challenge an accepted agent too. A challenge may also be the policy's own.
    fulfills = {ACCEPTED, CHALLENGED} if is_challenge else {ACCEPTED}
    return Reading(ACCEPTED if reason == "allowed" else reason, frozenset(fulfills))


def simulate(cases: Iterable[Case], door: Door) -> list[Result]:
    """Send every request and return the results."""
    return [_try(case, door) for case in cases]


def exchange(method: str, url: str, headers: Mapping[str, str], body: bytes | None = None) -> Answer:
    """Send one request over a separate connection; follow no redirect."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    connection = (
        http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=ssl.create_default_context())
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    )
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request(method, target, body=body, headers=dict(headers))
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, named, answer.read(MOST_BODY_BYTES))
    except (OSError, http.client.HTTPException) as failure:
        raise SimulationStopped(f"{parts.scheme}://{parts.netloc} does not respond: {failure}") from None
    finally:
        connection.close()


def _try(case: Case, door: Door) -> Result:
    note = ""
    if case.is_repeated:
        first = door.read(door.send(case))
        if ACCEPTED not in first.fulfills:
            note = f"the first of the two responses was {first.shown}"
    answer = door.send(case)
    reading = door.read(answer)
    expected = {ACCEPTED, UNVERIFIED} if case.expected == LEFT_TO_RULES else {case.expected}
    is_right = not reading.fulfills.isdisjoint(expected)
    error = answer.headers.get("crawler-error")
    if is_right and case.error is not None and error not in {case.error, None}:
        is_right, note = False, f"Crawler-Error is {error} instead of {case.error}"
    elif LIMITED in reading.fulfills and not is_right:
        note = "the agent exceeded its quota; run the simulator again in a minute"
    elif not is_right and not note:
        note = answer.headers.get("x-service-message", "")
    return Result(
        name=case.name,
        expected=case.expected,
        answered=reading.shown + (f" {error}" if error else ""),
        status=answer.status,
        is_right=is_right,
        note=note,
    )


def _error_code(body: bytes) -> str | None:
    try:
        document = json.loads(body)
    except ValueError:
        return None
    code = document.get("error") if isinstance(document, dict) else None
    return code if isinstance(code, str) else None
