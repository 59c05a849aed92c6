"""The audit trail in SQL."""

import secrets
from typing import Protocol

from agentgate.lib.database import RecordTable, Repository
from agentgate.lib.enums import ActorKind
from agentgate.people.audit.records import AuditEntry, AuditEvent, ConfigChange

# Above every number that either database counts up to.
LAST_ID = 2**63 - 1
# Shown IDs are random, above what a table will ever count to, and whole in every JSON parser.
FIRST_PUBLIC_ID, LAST_PUBLIC_ID = 2**40, 2**53

_SHOWN = {"id": "coalesce(public_id, id)", "time": "time_ms"}
_ENTRIES = RecordTable("audit_entry", AuditEntry, named={"time": "time_ms"}, json=("detail",))
_EVENTS = RecordTable("audit_entry", AuditEvent, named=_SHOWN, json=("detail",))
_CHANGES = RecordTable("audit_entry", ConfigChange, named={**_SHOWN, "kind": "action"}, json=("detail",))

_MATCHING = "AND (action = $4 OR substr(action, 1, $6) = $5)"
# Which model decides is no site's own, yet changes every site: operators read it where they look for what changed.
_WITH_MODELS = """id IN (
    SELECT id FROM (SELECT id FROM audit_entry WHERE site_id = $1 ORDER BY id DESC LIMIT $2) own
    UNION ALL SELECT id FROM (SELECT id FROM audit_entry WHERE action IN ('model.promote', 'model.rollback')
        ORDER BY id DESC LIMIT $2) models)"""


class AuditStore(Repository):
    """Entries are added and read, never changed."""

    async def add_entry(self, entry: AuditEntry) -> None:
        """Add an entry, in the transaction of the change that it records."""
        public_id = FIRST_PUBLIC_ID + secrets.randbelow(LAST_PUBLIC_ID - FIRST_PUBLIC_ID)
        await _ENTRIES.add(self._session, entry, public_id=public_id)

    async def list_site_changes(self, site_id: str, limit: int, *, account_id: str | None = None) -> list[ConfigChange]:
        """Return a site's newest entries, newest first; with an account, only those of its own time with the site."""
        entries, values = (
            (_WITH_MODELS, ()) if account_id is None else ("site_id = $1 AND account_id = $3", (account_id,))
        )
        return await _CHANGES.find_all(self._session, f"{entries} ORDER BY id DESC LIMIT $2", site_id, limit, *values)

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
        # Whole parts are compared as they are: in LIKE the `_` of a name would match any character, and `<` would
        # follow the database's collation.
        prefix = f"{action}."
        matching, values = ("", ()) if action is None else (_MATCHING, (action, prefix, len(prefix)))
        earlier = f"{column} = $1 AND id < $2 {matching} ORDER BY id DESC LIMIT $3"
        number = await self._number(column, value, before)
        return await _EVENTS.find_all(self._session, earlier, value, number, limit, *values)

    async def _number(self, column: str, value: str, shown_id: int | None) -> int:
        """Return the number of the entry that is shown under an ID; older entries are shown under their number."""
        if shown_id is None:
            return LAST_ID
        if shown_id < FIRST_PUBLIC_ID:
            return shown_id
        row = await self._session.one(
            f"SELECT id FROM audit_entry WHERE public_id = $1 AND {column} = $2",  # noqa: S608 - our own names
            shown_id,
            value,
        )
        return row[0] if row else 0


class AuditStores(Protocol):
    """The repository that a unit of work needs to leave a trace."""

    audit: AuditStore
