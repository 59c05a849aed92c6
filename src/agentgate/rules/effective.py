"""The version of a rule set in force: its own version and eight hex digits of what it says."""

import hashlib
import json
from functools import cache
from importlib import resources
from typing import Any

from agentgate.core.enums import RulesSource
from agentgate.rules.records import RulesSummary, StoredRules


def effective_version(rule_set: dict[str, Any]) -> str:
    """Return the version under which decisions will name this set."""
    text = json.dumps(rule_set, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{rule_set['version']}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@cache
def server_rule_set_version() -> str:
    """Return the effective version of the set that applies where a site has none of its own."""
    text = resources.files("agentgate.rules").joinpath("default.json").read_text("utf-8")
    return effective_version(json.loads(text))


def summary_of(stored: StoredRules | None) -> RulesSummary:
    """Say which rules apply to a site."""
    if stored is None:
        return RulesSummary(
            source=RulesSource.SERVER, effective_version=server_rule_set_version(), overrides=0, revision=0
        )
    return RulesSummary(
        source=stored.source,
        effective_version=stored.effective_version,
        overrides=len(stored.overrides),
        revision=stored.revision,
    )
