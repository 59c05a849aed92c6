"""Operators' sessions in SQL."""

from typing import Protocol

from agentgate.lib.database import Repository, Row
from agentgate.people.audit.repository import AuditStores
from agentgate.people.identity.records import OperatorSession

_COLUMNS = "secret_digest, id, operator, created_ms, last_used_ms, ended_ms, key_tag, browser, address_id"


class OperatorSessionStore(Repository):
    """The sessions of operators."""

    async def add_session(self, session: OperatorSession) -> None:
        """Keep a new session."""
        await self._session.run(
            """INSERT INTO operator_session
                    (secret_digest, id, operator, created_ms, last_used_ms, key_tag, browser, address_id)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8)""",
            session.secret_digest,
            session.id,
            session.operator,
            session.created_ms,
            session.last_used_ms,
            session.key_tag,
            session.browser,
            session.address_id,
        )

    async def find_session(self, secret_digest: bytes) -> OperatorSession | None:
        """Return the session, ended or not; None when there never was one or it was swept."""
        row = await self._session.one(
            f"SELECT {_COLUMNS} FROM operator_session WHERE secret_digest = $1",  # noqa: S608 - the columns are constants
            secret_digest,
        )
        return None if row is None else _session(row)

    async def list_sessions(self, created_after_ms: int) -> list[OperatorSession]:
        """Return the sessions made after a moment that were not ended, newest first."""
        rows = await self._session.all(
            f"""SELECT {_COLUMNS} FROM operator_session WHERE created_ms > $1 AND ended_ms IS NULL
                ORDER BY created_ms DESC, id""",  # noqa: S608 - likewise
            created_after_ms,
        )
        return [_session(row) for row in rows]

    async def touch_session(self, secret_digest: bytes, last_used_ms: int) -> None:
        """Note that the session was used."""
        await self._session.run(
            "UPDATE operator_session SET last_used_ms = $2 WHERE secret_digest = $1 AND last_used_ms < $2",
            secret_digest,
            last_used_ms,
        )

    async def end_session(self, secret_digest: bytes, ended_ms: int) -> None:
        """End the session; one that has ended stays as it is."""
        await self._session.run(
            "UPDATE operator_session SET ended_ms = $2 WHERE secret_digest = $1 AND ended_ms IS NULL",
            secret_digest,
            ended_ms,
        )

    async def sweep_sessions(self, created_before_ms: int) -> None:
        """Forget sessions made before a moment."""
        await self._session.run("DELETE FROM operator_session WHERE created_ms < $1", created_before_ms)


def _session(row: Row) -> OperatorSession:
    secret_digest, session_id, operator, created_ms, last_used_ms, ended_ms, key_tag, browser, address_id = row
    return OperatorSession(
        secret_digest=bytes(secret_digest),
        id=session_id,
        operator=operator,
        created_ms=created_ms,
        last_used_ms=last_used_ms,
        ended_ms=ended_ms,
        key_tag=key_tag,
        browser=browser or "",
        address_id=address_id or "",
    )


class OperatorStores(AuditStores, Protocol):
    """The ports that a unit of work on operators uses."""

    @property
    def operator_sessions(self) -> OperatorSessionStore: ...
