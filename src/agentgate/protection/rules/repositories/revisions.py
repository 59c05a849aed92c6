"""Earlier revisions of sites' rules in SQL, for decisions that were made by them."""

import json

from agentgate.lib.database import SqlSession
from agentgate.lib.enums import RulesSource
from agentgate.protection.rules.records import StoredRules


class RevisionStore:
    """Earlier rules of sites."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    async def find_revision(self, site_id: str, effective_version: str) -> StoredRules | None:
        """Return the newest revision that was in force under a version, or None."""
        row = await self._session.one(
            """SELECT revision, rule_set, overrides, updated_ms, updated_by FROM rule_revision
                WHERE site_id = $1 AND effective_version = $2 ORDER BY revision DESC LIMIT 1""",
            site_id,
            effective_version,
        )
        if row is None:
            return None
        revision, rule_set, overrides, updated_ms, updated_by = row
        return StoredRules(
            source=RulesSource.SERVER if rule_set is None else RulesSource.SITE,
            effective_version=effective_version,
            overrides=json.loads(overrides),
            revision=revision,
            rule_set=None if rule_set is None else json.loads(rule_set),
            updated_ms=updated_ms,
            updated_by=updated_by,
        )
