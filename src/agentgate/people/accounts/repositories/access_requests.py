"""Requests for an account in SQL."""

from typing import Protocol

from agentgate.lib.database import LockingRepository, Row
from agentgate.lib.enums import AccessRequestStatus
from agentgate.people.accounts.access_request_records import StoredAccessRequest

_COLUMNS = "id, email, name, company, message, status, created_ms, decided_ms, decided_by"


class AccessRequestStore(LockingRepository):
    """People who asked for an account."""

    async def add_request(self, request: StoredAccessRequest) -> bool:
        """Keep a new request; False when one of the same address is pending."""
        await self._session.lock("access_request", request.email)
        # A write even when there is nothing to add: how long the commit takes must not tell whether one is pending.
        pending = await self._session.run(
            "UPDATE access_request SET email = email WHERE status = $1 AND email = $2",
            AccessRequestStatus.PENDING.value,
            request.email,
        )
        if pending:
            return False
        await self._session.run(
            """INSERT INTO access_request (id, email, name, company, message, status, created_ms)
                VALUES ($1, $2, $3, $4, $5, $6, $7)""",
            request.id,
            request.email,
            request.name,
            request.company,
            request.message,
            request.status.value,
            request.created_ms,
        )
        return True

    async def find_request(self, request_id: str) -> StoredAccessRequest | None:
        """Return a request, or None."""
        row = await self._session.one(f"SELECT {_COLUMNS} FROM access_request WHERE id = $1", request_id)  # noqa: S608
        return _request(row) if row else None

    async def list_requests(self, status: AccessRequestStatus | None, limit: int) -> list[StoredAccessRequest]:
        """Return the newest requests in a state, or in any with None, newest first."""
        newest_first = "ORDER BY created_ms DESC, id DESC LIMIT $1"
        if status is None:
            rows = await self._session.all(
                f"SELECT {_COLUMNS} FROM access_request {newest_first}",  # noqa: S608
                limit,
            )
        else:
            rows = await self._session.all(
                f"SELECT {_COLUMNS} FROM access_request WHERE status = $2 {newest_first}",  # noqa: S608
                limit,
                status.value,
            )
        return [_request(row) for row in rows]

    async def decide(self, request_id: str, status: AccessRequestStatus, decided_by: str, now_ms: int) -> bool:
        """Decide a pending request; False when it was decided already."""
        decided = await self._session.run(
            """UPDATE access_request SET status = $2, decided_by = $3, decided_ms = $4
                WHERE id = $1 AND status = $5""",
            request_id,
            status.value,
            decided_by,
            now_ms,
            AccessRequestStatus.PENDING.value,
        )
        return decided == 1


def _request(row: Row) -> StoredAccessRequest:
    request_id, email, name, company, message, status, created_ms, decided_ms, decided_by = row
    return StoredAccessRequest(
        id=request_id,
        email=email,
        name=name,
        company=company,
        message=message,
        status=AccessRequestStatus(status),
        created_ms=created_ms,
        decided_ms=decided_ms,
        decided_by=decided_by,
    )


class AccessRequestStores(Protocol):
    """The port that a unit of work on access requests needs."""

    @property
    def access_requests(self) -> AccessRequestStore: ...
