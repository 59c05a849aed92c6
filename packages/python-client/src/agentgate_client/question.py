"""One call of siteverify without the network: the body that is sent, and the meaning of the response."""

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentgate_client.results import Unavailable, VerificationFailed, Verified

TOKEN_CHARACTERS = 2048
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\Z", re.ASCII)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}\Z", re.ASCII)

# The service rejects tokens with these; any other status has no meaning for the token.
_REFUSALS = frozenset((400, 401, 409, 422))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A token, and what it must have been issued for. The request ID is made once and kept over every retry."""

    token: str
    expected_action: str
    request_id: str
    expected_origin: str | None = None
    remote_address: str | None = None
    content_digest: str | None = None

    def __post_init__(self) -> None:
        # Visitor input is checked first: a text that cannot be a token is rejected without a call.
        if len(self.token) > TOKEN_CHARACTERS or not _TOKEN.match(self.token):
            raise VerificationFailed("invalid_token", "It is not in token format.")
        if not _REQUEST_ID.match(self.request_id):
            raise VerificationFailed("invalid_request", "request_id must match [A-Za-z0-9._:-]{1,128}.")

    def body(self) -> bytes:
        """Return the body of the call."""
        fields = {
            "token": self.token,
            "expectedAction": self.expected_action,
            "expectedOrigin": self.expected_origin,
            "requestId": self.request_id,
            "remoteAddress": self.remote_address,
            "contentDigest": self.content_digest,
        }
        return json.dumps({name: value for name, value in fields.items() if value is not None}).encode()


def new_request_id() -> str:
    """Return a new, unique request ID."""
    return f"py:{secrets.token_hex(16)}"


def read_answer(question: Question, status: int, body: bytes) -> Verified:
    """Return the result, or raise the error in the response. Only `Unavailable` is worth a retry."""
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if isinstance(answer, dict):
        if status == 200 and answer.get("success") is True:
            return _verified(question, answer)
        if status in _REFUSALS and answer.get("success") is False and isinstance(answer.get("error"), str):
            raise VerificationFailed(answer["error"], str(answer.get("message", "")))
    raise Unavailable(f"AgentGate returned {status}", request_id=question.request_id)


def _verified(question: Question, answer: Mapping[str, Any]) -> Verified:
    # The response to another call must never count for this one, whatever mixed them up on the way.
    if answer.get("requestId") != question.request_id or answer.get("action") != question.expected_action:
        raise Unavailable("AgentGate returned a response for another request", request_id=question.request_id)
    return Verified(
        action=question.expected_action,
        request_id=question.request_id,
        site_key=str(answer.get("siteKey", "")),
        kind=str(answer.get("kind", "")),
        decision_id=str(answer.get("decisionId", "")),
        issued_at=_moment(answer.get("issuedAt")),
        expires_at=_moment(answer.get("expiresAt")),
        origin=answer.get("origin"),
        visitor_id=answer.get("visitorId"),
        agent=answer.get("agent"),
        c_data=answer.get("cData"),
        test=answer.get("test") is True,
    )


def _moment(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
