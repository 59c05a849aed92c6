"""Outcomes of verifying a token: a result, a rejection, or no verification in time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

# The source of the result: the service, the signature alone while the service was unavailable, or none (`fail_open`).
Source = Literal["service", "offline", "unchecked"]

# These codes are about the caller's own settings, never about the visitor.
MISCONFIGURED = frozenset(("invalid_credential", "invalid_request"))
# Texts for the visitor who sent the token, by code.
_VISITOR_MESSAGES = {
    "receipt_required": "The browser check is missing. Enable JavaScript, reload the page and try again.",
    "expired_token": "The browser check has expired. Reload the page and try again.",
    "token_used": "This form was already sent. Reload the page to send it again.",
}
_REJECTED = "The browser check was not accepted. Reload the page and try again."


def visitor_message(code: str) -> str:
    """Return what to show to the visitor whose token is not accepted."""
    return _VISITOR_MESSAGES.get(code, _REJECTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A token that was accepted. `requestId` identifies the redemption, `decisionId` the decision behind the token."""

    action: str
    request_id: str
    source: Source = "service"
    site_key: str = ""
    kind: str = ""
    decision_id: str = ""
    issued_at: datetime | None = None
    expires_at: datetime | None = None
    origin: str | None = None
    visitor_id: str | None = None
    agent: str | None = None
    c_data: str | None = None
    test: bool = False


class AgentGateError(Exception):
    """Whatever verifying may raise."""


class VerificationFailed(AgentGateError):  # noqa: N818 - an answer, not a fault
    """The token is not accepted. `code` is stable, `message` is for your log, `visitor_message` for the visitor."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message

    @property
    def visitor_message(self) -> str:
        """What to show to the visitor."""
        return visitor_message(self.code)

    @property
    def is_misconfiguration(self) -> bool:
        """Whether the caller's secret or parameters are at fault, so that no other token would do better."""
        return self.code in MISCONFIGURED


class Unavailable(AgentGateError):  # noqa: N818 - likewise
    """The token could not be verified in time. Trying again with the same `request_id` is safe."""

    def __init__(self, message: str, *, request_id: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.request_id = request_id
