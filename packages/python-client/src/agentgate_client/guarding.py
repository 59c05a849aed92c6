"""Common parts of every framework's guard: finding the token, and the response to a rejected request."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from ipaddress import ip_address
from urllib.parse import parse_qsl

from agentgate_client.results import AgentGateError, Unavailable, VerificationFailed, visitor_message
from agentgate_client.verify import log

TOKEN_HEADER = "X-AgentGate-Token"  # noqa: S105 - the name of a header
TOKEN_FIELD = "agentgate-token"  # noqa: S105 - the name of a field
# Of a body that is searched for the field. Larger ones, such as uploads, send the header.
FORM_BYTES = 1024 * 1024
RETRY_AFTER_S = 5

_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")


@dataclass(frozen=True, slots=True)
class Refusal:
    """The response to a rejected request."""

    status: int
    error: str
    message: str

    def body(self) -> bytes:
        """Return the JSON body."""
        return json.dumps({"error": self.error, "message": self.message}).encode()

    def headers(self) -> dict[str, str]:
        """Return the headers; the SDK's `agentgate.fetch` runs the check when it reads `receipt_required` there."""
        fields = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        if self.status == 401:
            fields |= {"X-Service-Reason": self.error, "WWW-Authenticate": "AgentGate"}
        if self.status == 503:
            fields["Retry-After"] = str(RETRY_AFTER_S)
        return fields


NO_TOKEN = Refusal(401, "receipt_required", visitor_message("receipt_required"))
TOO_LARGE = Refusal(
    413, "payload_too_large", f"A body of this size is not searched for a token. Send it in {TOKEN_HEADER}."
)
UNAVAILABLE = Refusal(503, "unavailable", "The browser check cannot be verified right now. Try again in a few seconds.")


def refusal_of(problem: AgentGateError) -> Refusal:
    """Return the response for an error of the client."""
    if isinstance(problem, VerificationFailed) and not problem.is_misconfiguration:
        return Refusal(403, problem.code, problem.visitor_message)
    if isinstance(problem, Unavailable):
        log.warning("a token could not be verified", extra={"reason": problem.message})
    else:
        # The visitor can do nothing about a wrong secret, so the response does not mention it.
        log.error("AgentGate rejects this server's calls", extra={"reason": str(problem)})
    return UNAVAILABLE


def visitor_address(address: str | None) -> str | None:
    """Return the address of a request's connection for siteverify; None for a proxy's on a private network."""
    try:
        return address if address and ip_address(address).is_global else None
    except ValueError:
        return None


def is_form(content_type: str) -> bool:
    """Return whether a body of this type may hold the field."""
    return content_type.partition(";")[0].strip().lower() in _FORM_TYPES


def find_token(headers: Mapping[str, str]) -> str:
    """Return the token of the header; empty when there is none. Names are in lower case."""
    return headers.get(TOKEN_HEADER.lower(), "").strip()


def find_field(body: bytes, content_type: str) -> str:
    """Return the token of a form's field; empty when there is none."""
    if content_type.partition(";")[0].strip().lower() == _FORM_TYPES[0]:
        pairs = parse_qsl(body.decode("latin-1"), max_num_fields=10_000) if body.count(b"&") < 10_000 else []
        return next((value.strip() for name, value in pairs if name == TOKEN_FIELD and value), "")
    return _find_part(body, content_type)


def _find_part(body: bytes, content_type: str) -> str:
    typed = Message()
    typed["Content-Type"] = content_type
    boundary = typed.get_boundary()
    if not boundary or not boundary.isascii():
        return ""
    for part in (b"\r\n" + body).split(b"\r\n--" + boundary.encode())[1:]:
        head, _, value = part.partition(b"\r\n\r\n")
        if _IS_TOKEN_PART.search(head) and b"filename" not in head.lower():
            return value.decode("latin-1").strip()
    return ""


_IS_TOKEN_PART = re.compile(
    rb"^content-disposition:\s*form-data\s*;(?:[^\r\n]*;)?\s*name=\"?" + TOKEN_FIELD.encode() + rb"\"?\s*(?:;|\r|$)",
    re.IGNORECASE | re.MULTILINE,
)
