"""Drafts: rules as they were sent, read and checked. Run it in a thread, as a large text takes a while."""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from agentgate.lib.enums import Preset
from agentgate.lib.errors import Refused
from agentgate.lib.records import optional
from agentgate.sites.rules.effective import effective_set, read_set, server_document
from agentgate.sites.rules.lints import (
    PlacedLint,
    find_ignored_limits,
    find_lints,
    find_schedules,
    find_unknown_lists,
    find_warnings,
)
from agentgate.sites.rules.records import (
    CheckedRules,
    DraftInput,
    RuleLint,
    RuleProblem,
    RuleSet,
    ValidateResult,
)
from agentgate.sites.rules.text import Path, ReadText, TextProblem, read_text
from agentgate.sites.rules.validate import Problem, check_rules


class Draft(Struct, frozen=True, kw_only=True):
    """A rule set as it was sent. It is valid when it has an effective set."""

    # None for the server's set.
    own: Mapping[str, Any] | None
    overrides: dict[str, str]
    errors: list[RuleProblem]
    effective: RuleSet | None = None
    # The set itself, own or the server's, and the positions of its parts if it came as text.
    document: Mapping[str, Any] = {}
    text: ReadText | None = None
    preset: Preset = Preset.NONE
    # The site's network lists; None if they are not known.
    network_lists: frozenset[str] | None = None


def check_one_form(body: DraftInput) -> None:
    """Reject a set that is sent in two forms at once."""
    if body.rule_set is not None and not isinstance(body.rule_set, UnsetType) and isinstance(body.rule_set_text, str):
        raise Refused("invalid_request", "Send ruleSet or ruleSetText, not both.")


def is_given(body: DraftInput) -> bool:
    """Return whether a set was sent, in either form."""
    return isinstance(body.rule_set, dict) or isinstance(body.rule_set_text, str)


def read_draft(
    body: DraftInput, *, otherwise: Mapping[str, Any] | None = None, site_preset: Preset = Preset.NONE
) -> Draft:
    """Read and check a draft. Without a set in it, `otherwise` or else the server's set is used."""
    preset = site_preset if isinstance(body.preset, UnsetType) else body.preset
    overrides = {} if isinstance(body.overrides, UnsetType) else body.overrides
    text: ReadText | None = None
    own: Any = otherwise
    if isinstance(body.rule_set, dict):
        own = body.rule_set
    elif isinstance(body.rule_set_text, str):
        try:
            text = read_text(body.rule_set_text)
        except TextProblem as problem:
            error = RuleProblem(message=problem.message, **problem.place._asdict())
            return Draft(own={}, overrides=overrides, errors=[error])
        # A text with the value null is an invalid set, and not a missing one.
        own = [] if text.value is None else text.value
    document = server_document() if own is None else own
    errors = [_error(problem, text) for problem in check_rules(document, overrides, preset)]
    if errors:
        return Draft(own=own if isinstance(own, dict) else {}, overrides=overrides, errors=errors)
    return Draft(
        own=own,
        overrides=overrides,
        errors=[],
        effective=effective_set(read_set(document), overrides, preset),
        document=document,
        text=text,
        preset=preset,
    )


def result_of(draft: Draft) -> ValidateResult:
    """Return whether a draft is valid, and why not."""
    return ValidateResult(valid=not draft.errors, errors=draft.errors, effective=optional(draft.effective))


def checked(draft: Draft, now_ms: int) -> CheckedRules:
    """Return the result of a valid draft with its lints."""
    lints: list[PlacedLint] = []
    if draft.effective is not None:
        lints = [
            *find_schedules(draft.document, now_ms),
            *find_lints(draft.document, draft.effective),
            *_unknown_lists(draft),
        ]
    return CheckedRules(
        valid=not draft.errors,
        errors=draft.errors,
        effective=optional(draft.effective),
        rule_set=UNSET if draft.effective is None else dict(draft.document),
        lints=_at_places(lints, draft.text),
        warnings=warnings_of(draft),
    )


def warnings_of(draft: Draft) -> list[RuleLint]:
    """Return what a person confirms before a valid draft is saved."""
    if draft.effective is None:
        return []
    found = [*find_warnings(draft.document), *find_ignored_limits(draft.document), *_unknown_lists(draft)]
    return _at_places(found, draft.text)


def _unknown_lists(draft: Draft) -> list[PlacedLint]:
    return [] if draft.network_lists is None else find_unknown_lists(draft.document, draft.network_lists)


def _at_places(lints: list[PlacedLint], text: ReadText | None) -> list[RuleLint]:
    return [lint if text is None else replace(lint, **text.locate(path)._asdict()) for path, lint in lints]


def _error(problem: Problem, text: ReadText | None) -> RuleProblem:
    return RuleProblem(message=problem.message, rule=optional(problem.rule), **_position(text, problem.path))


def _position(text: ReadText | None, path: Path | None) -> dict[str, int]:
    return {} if text is None or path is None else text.locate(path)._asdict()
