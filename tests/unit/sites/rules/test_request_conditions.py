"""Conditions on the request itself: invalid ones, explanations, backtests, and the documentation's examples."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentgate.events.decision_ids import first_id
from agentgate.events.queries.replays import ReplayedEvent
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.enums import Outcome
from agentgate.lib.limits import GLOBS_PER_SET, NETWORKS_PER_SET
from agentgate.sites.rules.backtest import Backtests
from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.effective import effective_set, read_set
from agentgate.sites.rules.explain import explain
from agentgate.sites.rules.lints import find_lints
from agentgate.sites.rules.patterns.predicates import Predicates
from agentgate.sites.rules.records import RuleSet
from agentgate.sites.rules.replay_records import SampleFacts
from agentgate.sites.rules.text import read_text
from agentgate.sites.rules.validate import check_rules
from tests.support.request_traits import traits_of

pytestmark = pytest.mark.anyio

DOCS = Path(__file__).parents[4] / "docs" / "write-rules.md"
FIRST = first_id(1_794_744_000_000)
SPAN = TimeRange(1_794_744_000_000, 1_794_745_000_000)


def document(*matches: dict[str, Any], action: str = "block", default: str = "allow") -> dict[str, Any]:
    rules = [{"name": f"r{number}", "match": match, "action": action} for number, match in enumerate(matches)]
    return {"version": "1", "rules": rules, "default_action": default}


@pytest.mark.parametrize(
    ("match", "says"),
    [
        ({"networks": []}, "1 to 1000 entries"),
        ({"networks": "203.0.113.7"}, "must be a list"),
        ({"networks": ["203.0.113.7/24"]}, "bits set beyond its prefix; 203.0.113.0/24 is the network"),
        ({"networks": ["2001:db8::1/32"]}, "2001:db8::/32 is the network"),
        ({"networks": ["shop.example"]}, "must be an address or a network"),
        ({"networks": [7]}, "must be text"),
        ({"countries": ["germany"]}, "two letters"),
        ({"asns": ["ASx"]}, "number of a network"),
        ({"asns": [True]}, "number of a network"),
        ({"asns": [2**32]}, "number of a network"),
        ({"user_agents": ["caf\u00e9"]}, "printable ASCII"),
        ({"user_agents": ["x" * 257]}, "1 to 256"),
        ({"user_agents": ["a\\b"]}, "backslash"),
        ({"headers": {}}, "1 to 8 header names"),
        ({"headers": ["accept"]}, "must be an object"),
        ({"headers": {"accept": []}}, "must be a list"),
        ({"headers": {"accept": "x"}}, "must be a list"),
        ({"headers": {"a b": ["*"]}}, "name of a header"),
        ({"headers": {"Authorization": ["*"]}}, "header of the adapter"),
        ({"headers": {"X-Forwarded-For": ["*"]}}, "header of the adapter"),
        ({"headers": {"Host": ["*"]}}, "use hosts"),
        ({"methods": ["post"]}, "capital letters"),
        ({"paths": ["blog/*"]}, "begin with /"),
        ({"paths": ["/a?b"]}, "Omit the query"),
        ({"paths": ["/a b"]}, "without blanks"),
        ({"paths": ["/100%"]}, "does not start an escape"),
        ({"hosts": ["shop.example:80"]}, "without a port"),
        ({"hosts": ["https://shop.example"]}, "without a port"),
        ({"not_paths": ["x"]}, "begin with /"),
    ],
)
def test_a_condition_that_is_not_valid_shows_what_would_be_right(match: dict[str, Any], says: str) -> None:
    problems = check_rules(document(match), {})

    assert len(problems) == 1
    assert says in problems[0].message
    assert problems[0].path is not None
    assert problems[0].path[:3] == ("rules", 0, "match")


@pytest.mark.parametrize(
    ("match", "says"),
    [
        ({"paths": [f"/{number}*" for number in range(GLOBS_PER_SET // 2 + 1)]}, "globs"),
        ({"networks": [f"10.0.{number // 250}.{number % 250}" for number in range(1_000)]}, "networks"),
    ],
)
def test_a_set_has_no_more_patterns_than_it_may(match: dict[str, Any], says: str) -> None:
    assert check_rules(document(match), {}) == []

    problems = check_rules(document(*[match] * (NETWORKS_PER_SET // 1_000 + 1)), {})

    assert [f"{says}; at most" in problem.message for problem in problems] == [True]


def test_the_examples_of_the_documents_are_valid_and_decide_as_they_show() -> None:
    texts = re.findall(r"```yaml\n(version:.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert len(texts) == 2
    for text in texts:
        read = read_text(text).value
        assert check_rules(read, {}) == []
        lints = find_lints(read, effective_set(read_set(read), {}))
        assert [lint for _, lint in lints if lint.kind != "contradictory"] == []

    compiled = compile_rules(effective_set(read_set(read_text(texts[1]).value), {}))

    def rule(labels: tuple[str, ...] = (), **request: Any) -> str | None:
        traits = traits_of(compiled, request)
        return compiled.evaluate(labels, {}, route="*", action=None, traits=traits).rule

    signed = {"x-signature": "sha256=1234"}
    assert rule(address="203.0.113.200") == "office"
    assert rule(path="/hooks/payments", method="POST", headers=signed) == "payment-webhook"
    assert rule(path="/hooks/payments", method="GET", headers=signed) is None
    assert rule(path="/hooks/payments", method="POST") is None
    assert rule(path="/blog/1", headers={"User-Agent": "python-requests/2.32"}) == "no-scripts-on-the-blog"
    assert rule(path="/blog/1", headers={"User-Agent": "Firefox"}) is None
    assert rule(host="staging.shop.example") == "staging-is-for-us"
    assert rule(host="staging.shop.example", address="203.0.113.9") == "office"
    assert rule(("net.country.us",), path="/admin/users") == "admin-from-home"
    assert rule(("net.country.de",), path="/admin/users") is None
    assert rule(path="/x/..%2fadmin/users") == "admin-from-home"


def test_an_explanation_names_the_condition_that_does_not_hold_and_what_could() -> None:
    rules = document({"networks": ["203.0.113.0/24"]}, {"paths": ["/a/*"]}, {"headers": {"x-probe": ["1"]}}, {})
    effective = read_set(rules)
    request = {"address": "192.0.2.1", "path": "/x/../a/b", "headers": {}}

    def read_traits(predicates: Predicates | None) -> Any:
        return traits_of(compile_rules(effective), request) if predicates else None

    report = explain(effective, SampleFacts(labels=(), scores={}, route="*", action=None, read_traits=read_traits), 0)

    assert [(each.rule, each.matched) for each in report.trace] == [
        ("r0", False),
        ("r1", True),
        ("r2", False),
        ("r3", True),
    ]
    assert report.trace[0].because == "the address is not among 203.0.113.0/24"
    assert report.trace[1].because.startswith("it may match because the method or path is ambiguous")
    assert report.trace[2].because == "the header x-probe is not among 1"
    assert (report.outcome, report.rule) == ("block", "r1")


class Stored:
    def __init__(self, *events: ReplayedEvent) -> None:
        self.events = list(events)

    async def replay(self, *_: Any, **__: Any) -> AsyncIterator[list[ReplayedEvent]]:
        yield self.events


def event(number: int, recorded: Outcome, *labels: str, method: str = "GET") -> ReplayedEvent:
    return ReplayedEvent(FIRST + number, labels, {}, "*", None, recorded, None, method)


async def test_a_backtest_shows_what_stored_events_do_not_tell_and_guesses_nothing() -> None:
    rules = RuleSet(
        version="1",
        rules=[
            {"name": "posts", "match": {"methods": ["POST"]}, "action": "challenge"},
            {"name": "tor", "match": {"all_labels": ["net.tor"], "headers": {"x-probe": ["*"]}}, "action": "block"},
            {"name": "vpn", "match": {"all_labels": ["net.vpn"], "not_networks": ["10.0.0.0/8"]}, "action": "allow"},
            {"name": "de", "match": {"countries": ["de"]}, "action": "drop"},
        ],
        default_action="allow",
    )
    stored = Stored(
        event(0, Outcome.ALLOW, method="POST"),
        event(1, Outcome.ALLOW, "net.tor"),
        event(2, Outcome.ALLOW, "net.vpn"),
        event(3, Outcome.ALLOW, "net.country.de"),
        event(4, Outcome.ALLOW),
        event(5, Outcome.ALLOW, method="OTHER"),
    )

    report = await Backtests(stored).run("st_1", rules, SPAN, "acc_1")

    assert (report.evaluated, report.untold) == (6, 2)
    assert report.untold_rules == {"tor": ["headers"], "vpn": ["not_networks"]}
    assert {(flip.from_, flip.to): flip.count for flip in report.flips} == {
        ("allow", "challenge"): 1,
        ("allow", "drop"): 1,
    }
    assert report.by_rule == {"posts": 1, "de": 1, "(unknown)": 1, "(default)": 1}
