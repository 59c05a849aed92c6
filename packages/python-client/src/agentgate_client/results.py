"""What verifying a token ends with: a result, a refusal, or nobody who could tell."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

# Who said so: the service, the signature alone while the service was away, or nobody (`fail_open`).
Source = Literal["service", "offline", "unchecked"]

# These codes are about the caller's own settings, never about the visitor.
MISCONFIGURED = frozenset(("invalid_credential", "invalid_request"))


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
    """The token is not accepted. `code` is stable, `message` is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message

    @property
    def is_misconfiguration(self) -> bool:
        """Whether the caller's secret or parameters are at fault, so that no other token would do better."""
        return self.code in MISCONFIGURED


class Unavailable(AgentGateError):  # noqa: N818 - likewise
    """Nobody could tell in time. Trying again with the same `request_id` is safe."""

    def __init__(self, message: str, *, request_id: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.request_id = request_id
