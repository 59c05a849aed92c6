"""Rule sets as they go over the wire and as the store keeps them. Their members keep snake_case names.

A set and its rules may have unknown keys. So the plain JSON value is received, stored and returned;
`Rule`, `RuleMatch` and the others are how the service reads it.
"""

import copy
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.lib.enums import Preset, RuleAction, RulesSource
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record, SiteKey
from agentgate.sites.rules.rate import BY
from agentgate.sites.rules.schedule import SCHEDULE_KEYS

# The range of the column; a backtest reads as many.
MOST_REVISIONS = 2**31 - 1
MOST_HUMAN_FLIPS = 1_000_000


def _either(*keys: str) -> list[str]:
    return [prefix + key for key in keys for prefix in ("", "not_")]


_TEXTS = {"type": "array", "items": {"type": "string"}}
_LABELS = {"type": "array", "items": {"type": "string", "examples": ["net.tor"]}}
_ASNS = {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}], "examples": [64500]}}
# Client generators name a class after each object, so each object has a title.
_GLOBS_BY_HEADER = {
    "title": "HeaderConditions",
    "description": "Header names with patterns for their values.",
    "type": "object",
    "additionalProperties": {"type": "array", "items": {"type": "string"}},
}
_GLOBS_BY_PARAMETER = {
    "title": "QueryConditions",
    "description": "Query parameters with patterns for their values.",
    "type": "object",
    "additionalProperties": {"type": "array", "items": {"type": "string"}},
}
_ACTION = {"enum": [action.value for action in RuleAction]}
_SCHEDULE = {
    "from": {"type": "string", "format": "date-time"},
    "until": {"type": "string", "format": "date-time"},
    "weekdays": {"type": "array", "items": {"enum": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]}},
}
_MATCH_SCHEMA = {
    "title": "MatchDocument",
    "description": "The conditions of a rule. All of them must hold.",
    "type": "object",
    "properties": {
        **dict.fromkeys(("all_labels", "any_labels", "none_labels", "any_prefix"), _LABELS),
        "score": {"type": "string"},
        "min_score": {"type": "number"},
        **dict.fromkeys(
            _either("countries", "networks", "network_lists", "user_agents", "methods", "paths", "hosts"), _TEXTS
        ),
        **dict.fromkeys(_either("asns"), _ASNS),
        **dict.fromkeys(_either("headers"), _GLOBS_BY_HEADER),
        **dict.fromkeys(_either("query"), _GLOBS_BY_PARAMETER),
        "more_parameters_than": {"type": "integer"},
    },
    "additionalProperties": True,
}
_RULE_SCHEMA = {
    "title": "RuleDocument",
    "description": "A rule: conditions, and the action for requests that meet them.",
    "type": "object",
    "properties": {
        "name": {"type": "string", "examples": ["block-scanners"]},
        "match": _MATCH_SCHEMA,
        "action": _ACTION,
        "add": {"type": "integer", "description": "Change of the request weight by a `count` rule."},
        "rate": {
            "title": "RuleRate",
            "description": "The rule matches once more requests than `more_than` met its conditions in this time.",
            "type": "object",
            "properties": {
                "by": {"enum": list(BY)},
                "more_than": {"type": "integer"},
                "within": {"type": "integer", "description": "Seconds, 1 to 3600."},
            },
            "required": ["by", "more_than", "within"],
            "additionalProperties": False,
        },
        "routes": _TEXTS,
        **_SCHEDULE,
        "response": {
            "title": "RuleResponseDocument",
            "description": "The response to a request that the rule blocks.",
            "type": "object",
            "properties": {
                "status": {"type": "integer"},
                "message": {"type": "string"},
                "retry_after": {"type": "integer"},
            },
            "additionalProperties": True,
        },
    },
    "required": ["name", "match", "action"],
    "additionalProperties": True,
}
_GROUP_SCHEMA = {
    "title": "ManagedGroupDocument",
    "description": "A reference to a version of a managed group.",
    "type": "object",
    "properties": {
        "group": {"type": "string", "examples": ["automation"]},
        "version": {"type": "integer", "minimum": 1},
        "overrides": {
            "title": "GroupOverrides",
            "description": "Rules of the group that have another action.",
            "type": "object",
            "additionalProperties": _ACTION,
        },
        "scope_down": _MATCH_SCHEMA,
        **_SCHEDULE,
    },
    "required": ["group", "version"],
    "additionalProperties": True,
}
_ITEM_SCHEMA = {
    "title": "RuleItem",
    "description": "A rule, or a reference to a managed group.",
    "anyOf": [_RULE_SCHEMA, _GROUP_SCHEMA],
}
_SET_SCHEMA = {
    "title": "RuleSetDocument",
    "description": "A rule set, with any additional fields.",
    "type": "object",
    "properties": {
        "version": {"type": "string", "examples": ["1"]},
        "rules": {"type": "array", "items": _ITEM_SCHEMA},
        "default_action": {"type": "string", "examples": ["allow"]},
        "thresholds": {
            "type": "array",
            "items": {
                "title": "ThresholdDocument",
                "description": "The action for requests with at least this weight.",
                "type": "object",
                "properties": {"at_least": {"type": "integer"}, "action": {"type": "string"}},
                "required": ["at_least", "action"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["version", "rules", "default_action"],
    "additionalProperties": True,
}


def rule_set_schema() -> dict[str, Any]:
    """Return the JSON Schema of rule sets for editors. A match has known conditions only: others match nothing."""
    schema: dict[str, Any] = copy.deepcopy(_SET_SCHEMA)
    rule, group = schema["properties"]["rules"]["items"]["anyOf"]
    for match in (rule["properties"]["match"], group["properties"]["scope_down"]):
        match["additionalProperties"] = False
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


# One entry of `rules`: a Rule or a ManagedGroupRef, with whatever else it carries.
RuleItem = Annotated[dict[str, Any], Meta(extra_json_schema=_ITEM_SCHEMA)]
# A RuleSet with whatever else it carries.
RuleSetDocument = Annotated[dict[str, Any], Meta(extra_json_schema=_SET_SCHEMA)]
# Rule name -> action. Unknown names and actions are problems of the set, told like all others.
Overrides = dict[str, str]


class RuleMatch(Struct, frozen=True, kw_only=True):
    """When a rule applies: every condition that is given must hold."""

    all_labels: list[str] | UnsetType = UNSET
    any_labels: list[str] | UnsetType = UNSET
    none_labels: list[str] | UnsetType = UNSET
    any_prefix: list[str] | UnsetType = UNSET
    score: str | UnsetType = UNSET
    min_score: float | UnsetType = UNSET
    countries: list[str] | UnsetType = UNSET
    not_countries: list[str] | UnsetType = UNSET
    asns: list[int | str] | UnsetType = UNSET
    not_asns: list[int | str] | UnsetType = UNSET
    networks: list[str] | UnsetType = UNSET
    not_networks: list[str] | UnsetType = UNSET
    network_lists: list[str] | UnsetType = UNSET
    not_network_lists: list[str] | UnsetType = UNSET
    user_agents: list[str] | UnsetType = UNSET
    not_user_agents: list[str] | UnsetType = UNSET
    headers: dict[str, list[str]] | UnsetType = UNSET
    not_headers: dict[str, list[str]] | UnsetType = UNSET
    methods: list[str] | UnsetType = UNSET
    not_methods: list[str] | UnsetType = UNSET
    paths: list[str] | UnsetType = UNSET
    not_paths: list[str] | UnsetType = UNSET
    query: dict[str, list[str]] | UnsetType = UNSET
    not_query: dict[str, list[str]] | UnsetType = UNSET
    hosts: list[str] | UnsetType = UNSET
    not_hosts: list[str] | UnsetType = UNSET
    more_parameters_than: int | UnsetType = UNSET


class RuleResponse(Struct, frozen=True, kw_only=True):
    """The response to a blocked visitor instead of the default."""

    status: int | UnsetType = UNSET
    message: str | UnsetType = UNSET
    retry_after: int | UnsetType = UNSET


# The keys of a set, a rule and a group, in the order in which they are written.
SET_KEYS = ("version", "rules", "thresholds", "default_action")
RULE_KEYS = ("name", "match", "routes", "action", "add", "rate", "response", "group", "scope_down", *SCHEDULE_KEYS)
GROUP_KEYS = ("group", "version", "name", "action", "overrides", "scope_down", *SCHEDULE_KEYS)


class Rule(Struct, frozen=True, kw_only=True):
    """A rule: a match, and the action for requests that match."""

    name: str
    match: RuleMatch
    action: RuleAction
    routes: list[str] | UnsetType = UNSET
    response: RuleResponse | UnsetType = UNSET


class ManagedGroupRef(Struct, frozen=True, kw_only=True):
    """A managed group instead of a rule."""

    group: str
    version: Annotated[int, Meta(ge=1)]
    overrides: dict[str, RuleAction] | UnsetType = UNSET
    scope_down: RuleMatch | UnsetType = UNSET


class Threshold(Struct, frozen=True, kw_only=True):
    """The action for requests with at least this weight, if no rule decides. `count` rules add to the weight."""

    at_least: int
    action: str


class RuleSet(Struct, frozen=True, kw_only=True):
    """Rules in order, thresholds for the weight that `count` rules add, and the default action."""

    version: str
    rules: list[RuleItem]
    default_action: str
    thresholds: list[Threshold] | UnsetType = UNSET


class ManagedGroupMember(Struct, frozen=True, kw_only=True):
    """A rule of a managed group, before any override."""

    name: str
    action: RuleAction
    routes: list[str]
    match: RuleMatch


class ManagedGroup(Struct, frozen=True, kw_only=True):
    """A group of rules that is part of AgentGate. A version never changes; the digest covers its members."""

    name: str
    version: int
    description: str
    digest: str
    rules: list[ManagedGroupMember]


class ManagedGroupList(Record, frozen=True, kw_only=True):
    """Every version of every managed group."""

    items: list[ManagedGroup]


class DraftInput(Input, frozen=True, kw_only=True):
    """Rules that are not stored: a set as a value or as text, overrides, and the preset of the site's application.

    Default `preset`: that of the site.
    """

    rule_set: RuleSetDocument | UnsetType | None = UNSET
    rule_set_text: str | UnsetType = UNSET
    overrides: Overrides | UnsetType = UNSET
    preset: Preset | UnsetType = UNSET


class RulesRequest(DraftInput, frozen=True, kw_only=True):
    """Rules to check. Default: the server's rules."""

    revision: Annotated[int, Meta(ge=0, le=MOST_REVISIONS)] | UnsetType = UNSET


class RulesChange(RulesRequest, frozen=True, kw_only=True):
    """Rules to store. `revision` is the edited revision. Default: 0, no revision.

    With `maxHumanFlips`, the rules are first replayed on the last seven days and rejected if they would make more
    decisions labeled human stricter.

    With `guard`, the response is 409 `confirmation_required` if the rules have warnings or would challenge or block
    more than 5% of the requests of the last 24 hours that the current rules allow. `acknowledge` confirms and saves
    them.
    """

    max_human_flips: Annotated[int, Meta(ge=0, le=MOST_HUMAN_FLIPS)] | UnsetType = UNSET
    guard: bool = False
    acknowledge: bool = False


class RuleProblem(Record, frozen=True, kw_only=True):
    """An error in a rule set and its position in `ruleSetText`, counted from 1."""

    message: str
    line: int | UnsetType = UNSET
    column: int | UnsetType = UNSET
    rule: str | UnsetType = UNSET


class ValidateResult(Record, frozen=True, kw_only=True):
    """Validity of rules, all errors, and the effective set."""

    valid: bool
    errors: list[RuleProblem]
    effective: RuleSet | UnsetType = UNSET


class Witness(Record, frozen=True, kw_only=True):
    """A request that proves a lint."""

    labels: list[str]
    scores: dict[str, float]
    route: str
    action: str | UnsetType = UNSET
    # Parts of the request that rules read; absent where none of the rules in question reads them.
    address: str | UnsetType = UNSET
    method: str | UnsetType = UNSET
    host: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    query: dict[str, str] | UnsetType = UNSET
    parameters: int | UnsetType = UNSET


class RuleLint(Record, frozen=True, kw_only=True):
    """A valid rule that is probably a mistake: `dead`, `shadowed`, `contradictory` and others."""

    kind: str
    message: str
    rule: str | UnsetType = UNSET
    other: str | UnsetType = UNSET
    witness: Witness | UnsetType = UNSET
    line: int | UnsetType = UNSET
    column: int | UnsetType = UNSET


class RulesView(Record, frozen=True, kw_only=True):
    """A site's rules: the set itself, the site's overrides, the preset of its application, and the effective set.

    `warnings` are the unknown conditions of the set, whose rules match nothing, and names of network lists that the
    site does not have.
    """

    site_key: SiteKey
    source: RulesSource
    revision: int
    server_version: str
    rule_set: RuleSetDocument
    overrides: Overrides
    preset: Preset
    effective: RuleSet
    warnings: list[RuleLint]
    updated_at: Moment | UnsetType = UNSET
    updated_by: str | UnsetType = UNSET


class CheckedRules(ValidateResult, frozen=True, kw_only=True):
    """The result of a validation, with its lints. `warnings` are the lints that require confirmation when saving with
    `guard`. `ruleSet` is the valid set as it was read, before groups and overrides."""

    rule_set: RuleSetDocument | UnsetType = UNSET
    lints: list[RuleLint]
    warnings: list[RuleLint]


class RulesSummary(Record, frozen=True, kw_only=True):
    """Source and active version of a site's rules."""

    source: RulesSource
    effective_version: str
    overrides: int
    revision: int


class StoredRules(Record, frozen=True, kw_only=True):
    """A site's own rules as the store keeps them. Without its own set the site follows the server's."""

    effective_version: str
    overrides: Overrides
    revision: int
    rule_set: dict[str, Any] | None = None
    updated_ms: int = 0
    updated_by: str = ""
    preset: Preset = Preset.NONE

    @property
    def source(self) -> RulesSource:
        """The origin of the set."""
        return RulesSource.SERVER if self.rule_set is None else RulesSource.SITE
