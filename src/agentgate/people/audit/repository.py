"""The audit trail in SQL."""

import json
import secrets
from typing import Protocol

from agentgate.lib.database import Repository, Row
from agentgate.lib.enums import ActorKind
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional, to_json
from agentgate.people.audit.records import AuditEntry, AuditEvent, ConfigChange

# Above every number that either database counts up to.
LAST_ID = 2**63 - 1
# Shown IDs are random, above what a table will ever count to, and whole in every JSON parser.
FIRST_PUBLIC_ID, LAST_PUBLIC_ID = 2**40, 2**53
_MATCHING = "AND (action = $4 OR substr(action, 1, $6) = $5)"

_CHANGE_COLUMNS = "coalesce(public_id, id), site_id, time_ms, actor, action, detail"
# Which model decides is no site's own, yet changes every site: operators read it where they look for what changed.
_WITH_MODELS = """id IN (
    SELECT id FROM (SELECT id FROM audit_entry WHERE site_id = $1 ORDER BY id DESC LIMIT $2) own
    UNION ALL SELECT id FROM (SELECT id FROM audit_entry WHERE action IN ('model.promote', 'model.rollback')
        ORDER BY id DESC LIMIT $2) models)"""


class AuditStore(Repository):
    """Entries are added and read, never changed."""

    async def add_entry(self, entry: AuditEntry) -> None:
        """Keep an entry, in the transaction of what it tells of."""
        await self._session.run(
            """INSERT INTO audit_entry
                (time_ms, actor, actor_kind, action, account_id, site_id, target, detail, address, public_id)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)""",
            entry.time,
            entry.actor,
            entry.actor_kind.value,
            entry.action,
            entry.account_id,
            entry.site_id,
            entry.target,
            to_json(entry.detail).decode(),
            entry.address,
            FIRST_PUBLIC_ID + secrets.randbelow(LAST_PUBLIC_ID - FIRST_PUBLIC_ID),
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
        return await self._list_events("account_id", account_id, action=action, before=before, limit=limit)

    async def list_operator_events(
        self, *, action: str | None = None, before: int | None = None, limit: int
    ) -> list[AuditEvent]:
        """Return the newest entries of what operators did, in any account and in none, newest first."""
        kind = ActorKind.OPERATOR.value
        return await self._list_events("actor_kind", kind, action=action, before=before, limit=limit)

    async def _list_events(
        self, column: str, value: str, *, action: str | None, before: int | None, limit: int
    ) -> list[AuditEvent]:
        # Whole parts are compared as they are: in LIKE the `_` of a name would stand for anything, and `<` would
        # follow the database's collation.
        prefix = f"{action}."
        matching, values = ("", ()) if action is None else (_MATCHING, (action, prefix, len(prefix)))
        rows = await self._session.all(
            f"""SELECT coalesce(public_id, id), time_ms, actor, actor_kind, action, target, detail, address
                FROM audit_entry
                WHERE {column} = $1 AND id < $2 {matching} ORDER BY id DESC LIMIT $3""",  # noqa: S608 - likewise
            value,
            await self._number(column, value, before),
            limit,
            *values,
        )
        return [_event(row) for row in rows]

    async def _number(self, column: str, value: str, shown_id: int | None) -> int:
        """Return the number of the entry that is shown under an ID; older entries are shown under their number."""
        if shown_id is None:
            return LAST_ID
        if shown_id < FIRST_PUBLIC_ID:
            return shown_id
        row = await self._session.one(
            f"SELECT id FROM audit_entry WHERE public_id = $1 AND {column} = $2",  # noqa: S608 - likewise
            shown_id,
            value,
        )
        return row[0] if row else 0


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


class AuditStores(Protocol):
    """The port that a unit of work needs to leave a trace."""

    @property
    def audit(self) -> AuditStore: ...
