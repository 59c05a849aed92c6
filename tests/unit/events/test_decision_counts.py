"""The decision counts in the metrics."""

import re

from agentgate.events import decision_counts
from agentgate.events.decision_counts import DecisionCounts, DecisionMetrics
from agentgate.events.records import Count, CounterName, Pattern, Repeated
from agentgate.lib.enums import Outcome
from agentgate.lib.telemetry.metrics import MetricRegistry
from tests.support.events import new_event


def shown(counts: DecisionCounts) -> dict[str, float]:
    metrics = MetricRegistry(version="1", worker="w")
    metrics.show(DecisionMetrics(counts, {1: "site_shop"}.get))
    lines = metrics.exposition()[0].decode()
    return {name: float(value) for name, value in re.findall(r"^(agentgate_decision\S+) (\S+)$", lines, re.MULTILINE)}


def test_decisions_are_counted_by_site_outcome_and_reason() -> None:
    counts = DecisionCounts()
    blocked = new_event(1, site=1, outcome=Outcome.BLOCK, reasons=("policy",), duration_us=300)
    allowed = Pattern(new_event(2, site=1, outcome=Outcome.ALLOW, would=Outcome.CHALLENGE, reasons=("monitor",)))

    counts.add([blocked, Repeated(3, 7, 60, allowed), Repeated(4, 8, 40, allowed)])
    counts.add([Repeated(5, 8, 2_000_000, allowed)])

    figures = shown(counts)
    kind = blocked.kind.value
    of_site = f'agentgate_decisions_total{{kind="{kind}",outcome="%s",reason="%s",site="site_shop",would="%s"}}'
    assert figures[of_site % ("block", "policy", "")] == 1
    assert figures[of_site % ("allow", "monitor", "challenge")] == 3
    buckets = f'agentgate_decision_duration_seconds_bucket{{kind="{kind}",le="%s"}}'
    assert [figures[buckets % bound] for bound in ("5e-05", "0.0001", "0.0005", "1.0", "+Inf")] == [1, 2, 3, 3, 4]


def test_too_many_series_are_counted_together(monkeypatch) -> None:
    monkeypatch.setattr(decision_counts, "MOST_SERIES", 2)
    counts = DecisionCounts()

    counts.add([new_event(number, site=number) for number in range(1, 6)])

    sites = [re.search(r'site="(\w+)"', name)[1] for name in shown(counts) if "decisions_total" in name]
    assert sorted(sites) == ["gone", "other", "site_shop"]
    assert sum(value for name, value in shown(counts).items() if "decisions_total" in name) == 5


def test_agents_tokens_and_siteverify_are_counted(monkeypatch) -> None:
    monkeypatch.setattr(decision_counts, "MOST_AGENTS", 1)
    counts = DecisionCounts()
    counts.add([new_event(1, agent="gptbot"), new_event(2, agent="gptbot"), new_event(3, agent="other-bot")])
    counts.add_counts(
        [
            Count(1, 2, CounterName.TOKENS_ISSUED, "", 3),
            Count(1, 2, CounterName.TOKENS_REDEEMED, "", 2),
            Count(2, 2, CounterName.SITEVERIFY_SUCCESS, "", 2),
            Count(2, 2, CounterName.SITEVERIFY_FAILURE, "token_used", 1),
            Count(2, 2, CounterName.SERVER_CHECK, "", 9),
        ]
    )

    assert sum(counts.agents.values()) == 3
    assert {agent for agent, _ in counts.agents} == {"gptbot", "other"}
    assert counts.tokens == {"issued": 3, "redeemed": 2}
    assert counts.siteverify == {"success": 2, "token_used": 1}
