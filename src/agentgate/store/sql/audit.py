"""The audit trail in SQL."""

import json

from agentgate.audit.records import AuditEntry, ConfigChange
from agentgate.core.database import Session
from agentgate.core.moment import Moment
from agentgate.core.records import to_json


class SqlAudit:
    """Implements AuditStore."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def add_entry(self, entry: AuditEntry) -> None:
        """Keep an entry, in the transaction of what it tells of."""
        await self._session.run(
            """INSERT INTO audit_entry
                (time_ms, actor, actor_kind, action, account_id, site_id, target, detail, address)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)""",
            entry.time,
            entry.actor,
            entry.actor_kind.value,
            entry.action,
            entry.account_id,
            entry.site_id,
            entry.target,
            to_json(entry.detail).decode(),
            entry.address,
        )

    async def list_site_changes(self, site_id: str, limit: int) -> list[ConfigChange]:
        """Return a site's newest entries, newest first; none for an unknown site."""
        rows = await self._session.all(
            """SELECT id, time_ms, actor, action, detail FROM audit_entry
                WHERE site_id = $1 ORDER BY id DESC LIMIT $2""",
            site_id,
            limit,
        )
        return [
            ConfigChange(
                id=entry_id, site_id=site_id, time=Moment(time_ms), actor=actor, kind=action, detail=json.loads(detail)
            )
            for entry_id, time_ms, actor, action, detail in rows
        ]
