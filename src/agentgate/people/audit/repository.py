"""The audit trail in SQL."""

import json

from agentgate.lib.database import Row, Session
from agentgate.lib.enums import ActorKind
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional, to_json
from agentgate.people.audit.records import AuditEntry, AuditEvent, ConfigChange

# Above every number that either database counts up to.
LAST_ID = 2**63 - 1
_MATCHING = "AND (action = $4 OR substr(action, 1, $6) = $5)"

_CHANGE_COLUMNS = "id, site_id, time_ms, actor, action, detail"
# Which model decides is no site's own, yet changes every site: operators read it where they look for what changed.
_WITH_MODELS = """id IN (
    SELECT id FROM (SELECT id FROM audit_entry WHERE site_id = $1 ORDER BY id DESC LIMIT $2) own
    UNION ALL SELECT id FROM (SELECT id FROM audit_entry WHERE action IN ('model.promote', 'model.rollback')
        ORDER BY id DESC LIMIT $2) models)"""


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

    async def list_site_changes(self, site_id: str, limit: int, *, account_id: str | None = None) -> list[ConfigChange]:
        """Return a site's newest entries, newest first; with an account, only those of its own time with the site."""
        entries, values = (
            (_WITH_MODELS, ()) if account_id is None else ("site_id = $1 AND account_id = $3", (account_id,))
        )
        rows = await self._session.all(
            f"SELECT {_CHANGE_COLUMNS} FROM audit_entry WHERE {entries} ORDER BY id DESC LIMIT $2",  # noqa: S608
            site_id,
            limit,
            *values,
        )
        return [
            ConfigChange(
                id=entry_id,
                site_id=optional(entry_site),
                time=Moment(time_ms),
                actor=actor,
                kind=action,
                detail=json.loads(detail),
            )
            for entry_id, entry_site, time_ms, actor, action, detail in rows
        ]

    async def list_account_events(
        self, account_id: str, *, action: str | None = None, before: int | None = None, limit: int
    ) -> list[AuditEvent]:
        """Return an account's newest entries, newest first: of an action and its dotted children, before an entry."""
        # Whole parts are compared as they are: in LIKE the `_` of a name would stand for anything, and `<` would
        # follow the database's collation.
        prefix = f"{action}."
        matching, values = ("", ()) if action is None else (_MATCHING, (action, prefix, len(prefix)))
        rows = await self._session.all(
            f"""SELECT id, time_ms, actor, actor_kind, action, target, detail, address FROM audit_entry
                WHERE account_id = $1 AND id < $2 {matching} ORDER BY id DESC LIMIT $3""",  # noqa: S608 - likewise
            account_id,
            LAST_ID if before is None else before,
            limit,
            *values,
        )
        return [_event(row) for row in rows]


def _event(row: Row) -> AuditEvent:
    entry_id, time_ms, actor, actor_kind, action, target, detail, address = row
    return AuditEvent(
        id=entry_id,
        time=Moment(time_ms),
        actor=actor,
        actor_kind=ActorKind(actor_kind),
        action=action,
        target=optional(target),
        detail=json.loads(detail),
        address=optional(address),
    )
