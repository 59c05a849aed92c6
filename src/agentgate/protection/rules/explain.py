"""Explaining one sample request: every rule that is asked, and why it matches or does not."""

from collections.abc import Iterator, Mapping
from typing import Any

from agentgate.lib.enums import RuleAction
from agentgate.lib.records import optional
from agentgate.protection.rules.compile import compile_rules, matches_of, starts_of
from agentgate.protection.rules.conditions import miss
from agentgate.protection.rules.records import RuleSet
from agentgate.protection.rules.replay_records import Sample, TestReport, TracedRule


def explain(effective: RuleSet, sample: Sample) -> TestReport:
    """Say what rules make of a sample. The outcome is that of the compiled rules, which would really decide."""
    verdict = compile_rules(effective).evaluate(sample.labels, sample.scores, route=sample.route, action=sample.action)
    return TestReport(
        labels=list(sample.labels),
        scores=dict(sample.scores),
        route=sample.route,
        outcome=verdict.outcome,
        trace=list(_trace(effective, sample)),
        action=optional(sample.action),
        rule=optional(verdict.rule),
        response=optional(verdict.response),
    )


def _trace(effective: RuleSet, sample: Sample) -> Iterator[TracedRule]:
    for item in effective.rules:
        reason = _miss(item, sample)
        yield TracedRule(rule=item["name"], matched=reason is None, because=reason or _matched(item))
        if reason is None and item["action"] != RuleAction.COUNT:
            return


def _miss(item: Mapping[str, Any], sample: Sample) -> str | None:
    routes = item.get("routes", ())
    if routes and not (sample.route in routes or sample.action in routes or sample.route.startswith(starts_of(routes))):
        return f"neither the route {sample.route} nor its action is among {', '.join(routes)}"
    labels = frozenset(sample.labels)
    reasons = (miss(match, labels, sample.scores) for match in matches_of(dict(item)))
    return next((reason for reason in reasons if reason is not None), None)


def _matched(item: Mapping[str, Any]) -> str:
    holds = "every condition holds" if item["match"] or item.get("scope_down") else "it matches every request"
    return f"{holds}; it only counts" if item["action"] == RuleAction.COUNT else f"{holds}: {item['action']}"
