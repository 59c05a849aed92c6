"""What identity asks of the durable store."""

from typing import Protocol

from agentgate.people.audit.ports import AuditStores
from agentgate.people.identity.records import OperatorSession


class OperatorSessionStore(Protocol):
    """The sessions of operators."""

    async def add_session(self, session: OperatorSession) -> None:
        """Keep a new session."""
        ...

    async def find_session(self, secret_digest: bytes) -> OperatorSession | None:
        """Return the session, ended or not; None when there never was one or it was swept."""
        ...

    async def list_sessions(self, created_after_ms: int) -> list[OperatorSession]:
        """Return the sessions made after a moment that were not ended, newest first."""
        ...

    async def touch_session(self, secret_digest: bytes, last_used_ms: int) -> None:
        """Note that the session was used."""
        ...

    async def end_session(self, secret_digest: bytes, ended_ms: int) -> None:
        """End the session; one that has ended stays as it is."""
        ...

    async def sweep_sessions(self, created_before_ms: int) -> None:
        """Forget sessions made before a moment."""
        ...


class OperatorStores(AuditStores, Protocol):
    """The ports that a unit of work on operators uses."""

    @property
    def operator_sessions(self) -> OperatorSessionStore: ...
