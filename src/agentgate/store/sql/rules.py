"""Rules in SQL."""

import json

from agentgate.core.database import Session
from agentgate.core.enums import RulesSource
from agentgate.rules.records import StoredRules


class SqlRules:
    """Implements RuleStore."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def find_rules(self, site_id: str) -> StoredRules | None:
        """Return what is stored for a site; None while it has never had rules of its own."""
        row = await self._session.one(
            """SELECT CASE WHEN rule_set IS NULL THEN 0 ELSE 1 END, overrides, effective_version, revision
                FROM site_rules WHERE site_id = $1""",
            site_id,
        )
        if row is None:
            return None
        has_own_set, overrides, effective_version, revision = row
        return StoredRules(
            source=RulesSource.SITE if has_own_set else RulesSource.SERVER,
            overrides=json.loads(overrides),
            effective_version=effective_version,
            revision=revision,
        )
