"""Explaining one sample request: every rule in order, and why it matches or does not."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from agentgate.lib.enums import RuleAction
from agentgate.lib.records import optional
from agentgate.sites.rules.compile import compile_rules, matches_of, starts_of
from agentgate.sites.rules.conditions import miss, terms_of
from agentgate.sites.rules.effective import active_at
from agentgate.sites.rules.evaluate import CompiledRules, Traits
from agentgate.sites.rules.patterns.predicates import Predicate
from agentgate.sites.rules.rate import RATE
from agentgate.sites.rules.records import RuleSet
from agentgate.sites.rules.replay_records import SampleFacts, TestReport, TracedRule
from agentgate.sites.rules.schedule import why_inactive
from agentgate.sites.rules.terms import ConditionInput


def explain(effective: RuleSet, sample: SampleFacts, now_ms: int) -> TestReport:
    """Return the outcome and trace of a sample. Compiled rules decide, as for real requests."""
    rules = compile_rules(active_at(effective, now_ms))
    traits = sample.read_traits(rules.predicates)
    verdict = traits.listed or rules.evaluate(
        sample.labels, sample.scores, route=sample.route, action=sample.action, traits=traits
    )
    return TestReport(
        labels=list(sample.labels),
        scores=dict(sample.scores),
        route=sample.route,
        outcome=verdict.outcome,
        trace=[] if verdict.listed else list(_trace(effective, sample, _Reading(rules, traits), now_ms)),
        action=optional(sample.action),
        rule=optional(None if verdict.listed else verdict.rule),
        list_entry=optional(verdict.rule.partition(":")[2] if verdict.listed and verdict.rule else None),
        response=optional(verdict.response),
    )


class _Reading(Struct, frozen=True):
    """Results of the compiled predicates on the sample."""

    rules: CompiledRules
    traits: Traits

    def holds(self, predicate: Predicate) -> bool | None:
        """Return whether a predicate holds; None when it may."""
        assert self.rules.predicates is not None, "every condition was compiled"
        bit = self.rules.predicates.bits[predicate]
        return None if bit & self.traits.maybe else bool(bit & self.traits.sure)

    def is_unsure(self, item: Mapping[str, Any]) -> bool:
        """Return whether a rule that could match may not."""
        terms = terms_of(matches_of(dict(item)))
        return any(self.holds(each) is None for each in terms.holding | terms.failing)


def _trace(effective: RuleSet, sample: SampleFacts, reading: _Reading, now_ms: int) -> Iterator[TracedRule]:
    for item in effective.rules:
        # The predicates of a rule that is not active were not compiled.
        reason = why_inactive(item, now_ms) or _miss(item, sample, reading)
        is_unsure = reason is None and reading.is_unsure(item)
        because = reason or _matched(item)
        if is_unsure:
            because = f"it may match because the method or path is ambiguous; {because}"
        yield TracedRule(rule=item["name"], matched=reason is None, because=because)
        if reason is None and not is_unsure and item["action"] != RuleAction.COUNT:
            return


def _miss(item: Mapping[str, Any], sample: SampleFacts, reading: _Reading) -> str | None:
    routes = item.get("routes", ())
    if routes and not (sample.route in routes or sample.action in routes or sample.route.startswith(starts_of(routes))):
        return f"neither the route {sample.route} nor its action is among {', '.join(routes)}"
    seen = ConditionInput(frozenset(sample.labels), sample.scores, reading.holds)
    reasons = (miss(match, seen) for match in matches_of(dict(item)))
    found = next((reason for reason in reasons if reason is not None), None)
    return (
        "every condition holds, but a single request does not exceed its rate" if not found and RATE in item else found
    )


def _matched(item: Mapping[str, Any]) -> str:
    holds = "every condition holds" if item["match"] or item.get("scope_down") else "it matches every request"
    adds = f", which adds {item['add']} to the weight" if item.get("add") else ""
    return (
        f"{holds}; its action is count{adds}, so evaluation continues"
        if item["action"] == RuleAction.COUNT
        else f"{holds}: {item['action']}"
    )
