"""What other concepts need to know of a site's rules."""

from agentgate.core.enums import RulesSource
from agentgate.core.records import Record


class RulesSummary(Record, frozen=True, kw_only=True):
    """Where a site's rules come from and which version is in force."""

    source: RulesSource
    effective_version: str
    overrides: int
    revision: int


class StoredRules(Record, frozen=True, kw_only=True):
    """A site's own rules as the store keeps them."""

    source: RulesSource
    effective_version: str
    overrides: dict[str, str]
    revision: int
