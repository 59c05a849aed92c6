"""The compiled rules compared with the reference: the results of both for the same requests."""

from typing import Any

import msgspec

from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.effective import effective_set, read_set
from agentgate.sites.rules.validate import check_rules
from tests.support.request_traits import traits_of
from tests.support.rule_reference import decide


def check_agreement(rule_set: dict[str, Any], overrides: dict[str, str], requests: list[dict[str, Any]]) -> None:
    """Decide each request both ways."""
    assert check_rules(rule_set, overrides) == []
    compiled = compile_rules(effective_set(read_set(rule_set), overrides))
    # Run twice, because what the first run cached about labels must not change the results.
    for request in [*requests, *requests]:
        verdict = compiled.evaluate(
            request["labels"],
            request["scores"],
            route=request["route"],
            action=request["action"],
            traits=traits_of(compiled, request),
        )
        outcome, rule, response, counted = decide(rule_set, overrides, request)
        said = None if verdict.response is None else msgspec.to_builtins(verdict.response)
        assert (verdict.outcome, verdict.rule, said, list(verdict.counted)) == (outcome, rule, response, counted)
