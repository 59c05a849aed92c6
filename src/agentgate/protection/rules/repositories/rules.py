"""Rules in SQL."""

import json

from agentgate.lib.database import Row, SqlSession, Value
from agentgate.lib.enums import RulesSource
from agentgate.protection.rules.records import StoredRules


class RuleStore:
    """The rules of sites."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    async def find_rules(self, site_id: str) -> StoredRules | None:
        """Return what is stored for a site; None while it has never had rules of its own."""
        row = await self._session.one(
            """SELECT rule_set, overrides, effective_version, revision, updated_ms, updated_by
                FROM site_rules WHERE site_id = $1""",
            site_id,
        )
        return None if row is None else _stored(row)

    async def list_rules(self) -> dict[str, StoredRules]:
        """Return what is stored, by site ID; sites that never had rules of their own are absent."""
        rows = await self._session.all(
            "SELECT rule_set, overrides, effective_version, revision, updated_ms, updated_by, site_id FROM site_rules"
        )
        return {row[6]: _stored(row[:6]) for row in rows}

    async def save_rules(self, site_id: str, rules: StoredRules) -> bool:
        """Keep a new revision; False, and nothing kept, unless it follows the present one."""
        rule_set = None if rules.rule_set is None else json.dumps(rules.rule_set, ensure_ascii=False)
        overrides = json.dumps(rules.overrides, ensure_ascii=False)
        values: tuple[Value, ...] = (
            site_id,
            rules.revision,
            rule_set,
            overrides,
            rules.effective_version,
            rules.updated_ms,
            rules.updated_by,
        )
        # The revision in the condition is what makes two writers at once impossible, not the look before.
        changed = await self._session.run(
            """INSERT INTO site_rules
                (site_id, revision, rule_set, overrides, effective_version, updated_ms, updated_by)
                VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (site_id) DO NOTHING"""
            if rules.revision == 1
            else """UPDATE site_rules SET revision = $2, rule_set = $3, overrides = $4, effective_version = $5,
                updated_ms = $6, updated_by = $7 WHERE site_id = $1 AND revision = $2 - 1""",
            *values,
        )
        if changed == 0:
            return False
        await self._session.run(
            """INSERT INTO rule_revision
                (site_id, revision, rule_set, overrides, effective_version, updated_ms, updated_by)
                VALUES ($1, $2, $3, $4, $5, $6, $7)""",
            *values,
        )
        return True


def _stored(row: Row) -> StoredRules:
    rule_set, overrides, effective_version, revision, updated_ms, updated_by = row
    return StoredRules(
        source=RulesSource.SERVER if rule_set is None else RulesSource.SITE,
        overrides=json.loads(overrides),
        effective_version=effective_version,
        revision=revision,
        rule_set=None if rule_set is None else json.loads(rule_set),
        updated_ms=updated_ms,
        updated_by=updated_by,
    )
