"""The audit trail in SQL."""

import secrets
from typing import Protocol

from agentgate.lib.database import RecordTable, Repository
from agentgate.people.audit.actions import Action
from agentgate.people.audit.records import AuditEntry, AuditEvent, ConfigChange

# Above every number that either database counts up to.
LAST_ID = 2**63 - 1
# Shown IDs are random, above what a table will ever count to, and whole in every JSON parser.
FIRST_PUBLIC_ID, LAST_PUBLIC_ID = 2**40, 2**53

_SHOWN = {"id": "coalesce(public_id, id)", "time": "time_ms"}
_ENTRIES = RecordTable("audit_entry", AuditEntry, named={"time": "time_ms"}, json=("detail",))
_EVENTS = RecordTable("audit_entry", AuditEvent, named=_SHOWN, json=("detail",))
_CHANGES = RecordTable("audit_entry", ConfigChange, named={**_SHOWN, "kind": "action"}, json=("detail",))

# The newest of each action: an index finds them, however rare they are.
_OF_ACTION = (
    "SELECT id FROM (SELECT id FROM audit_entry WHERE {} AND action = ${} AND id < $1 ORDER BY id DESC LIMIT $2) a"
)
_OF_ACCOUNT, _OF_OPERATORS = "account_id = $3", "actor_kind = 'operator'"
# Which model decides is no site's own, yet changes every site: operators read it where they look for what changed.
_WITH_MODELS = """id IN (
    SELECT id FROM (SELECT id FROM audit_entry WHERE site_id = $1 ORDER BY id DESC LIMIT $2) own
    UNION ALL SELECT id FROM (SELECT id FROM audit_entry WHERE action IN ('model.promote', 'model.rollback')
        ORDER BY id DESC LIMIT $2) models)"""


class AuditStore(Repository):
    """Entries are added and read, never changed, and deleted after their retention."""

    async def delete_entries(self, before_ms: int, *, most: int) -> int:
        """Delete some entries from before a moment; return how many."""
        return await _ENTRIES.delete_some(self._session, "time_ms < $1", before_ms, most=most)

    async def add_entry(self, entry: AuditEntry) -> None:
        """Add an entry, in the transaction of the change that it records."""
        public_id = FIRST_PUBLIC_ID + secrets.randbelow(LAST_PUBLIC_ID - FIRST_PUBLIC_ID)
        await _ENTRIES.add(self._session, entry, public_id=public_id)

    async def list_site_changes(self, site_id: str, limit: int, *, account_id: str | None = None) -> list[ConfigChange]:
        """Return a site's newest entries, newest first; with an account, only entries from its time with the site."""
        entries, values = (
            (_WITH_MODELS, ()) if account_id is None else ("site_id = $1 AND account_id = $3", (account_id,))
        )
        return await _CHANGES.find_all(self._session, f"{entries} ORDER BY id DESC LIMIT $2", site_id, limit, *values)

    async def list_account_events(
        self, account_id: str, *, action: str | None = None, before: int | None = None, limit: int
    ) -> list[AuditEvent]:
        """Return an account's newest entries, newest first: of an action and its dotted children, before an entry."""
        return await self._list_events(_OF_ACCOUNT, account_id, action=action, before=before, limit=limit)

    async def list_operator_events(
        self, *, action: str | None = None, before: int | None = None, limit: int
    ) -> list[AuditEvent]:
        """Return the newest entries of what operators did, in any account and in none, newest first."""
        return await self._list_events(_OF_OPERATORS, action=action, before=before, limit=limit)

    async def _list_events(
        self, of: str, *values: str, action: str | None, before: int | None, limit: int
    ) -> list[AuditEvent]:
        number = await self._number(of, values, before)
        if action is None:
            condition = f"{of} AND id < $1"
        else:
            wanted = [each for each in Action if each == action or each.startswith(f"{action}.")]
            if not wanted:
                return []
            first = len(values) + 3
            newest = (_OF_ACTION.format(of, place) for place in range(first, first + len(wanted)))
            condition = f"id IN ({' UNION ALL '.join(newest)})"
            values += tuple(wanted)
        return await _EVENTS.find_all(self._session, f"{condition} ORDER BY id DESC LIMIT $2", number, limit, *values)

    async def _number(self, of: str, values: tuple[str, ...], shown_id: int | None) -> int:
        """Return the number of the entry that is shown under an ID; older entries are shown under their number."""
        if shown_id is None:
            return LAST_ID
        if shown_id < FIRST_PUBLIC_ID:
            return shown_id
        sql = f"SELECT id FROM audit_entry WHERE public_id = $1 AND {of.replace('$3', '$2')}"  # noqa: S608 - our own names
        row = await self._session.one(sql, shown_id, *values)
        return row[0] if row else 0


class AuditStores(Protocol):
    """The repository that a unit of work needs to leave a trace."""

    audit: AuditStore
