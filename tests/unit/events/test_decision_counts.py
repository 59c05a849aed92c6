"""What the metrics say of decisions."""

import re

from agentgate.events import decision_counts
from agentgate.events.decision_counts import DecisionCounts, DecisionMetrics
from agentgate.events.records import Pattern, Repeated
from agentgate.lib.enums import Outcome
from agentgate.lib.telemetry.metrics import Metrics
from tests.made_events import new_event


def shown(counts: DecisionCounts) -> dict[str, float]:
    metrics = Metrics(version="1", worker="w")
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
    of_site = (
        f'agentgate_decisions_total{{kind="{kind}",outcome="%s",reason="%s",site="site_shop",worker="w",would="%s"}}'
    )
    assert figures[of_site % ("block", "policy", "")] == 1
    assert figures[of_site % ("allow", "monitor", "challenge")] == 3
    buckets = f'agentgate_decision_duration_seconds_bucket{{kind="{kind}",le="%s",worker="w"}}'
    assert [figures[buckets % bound] for bound in ("5e-05", "0.0001", "0.0005", "1.0", "+Inf")] == [1, 2, 3, 3, 4]


def test_too_many_series_are_counted_together(monkeypatch) -> None:
    monkeypatch.setattr(decision_counts, "MOST_SERIES", 2)
    counts = DecisionCounts()

    counts.add([new_event(number, site=number) for number in range(1, 6)])

    sites = [re.search(r'site="(\w+)"', name)[1] for name in shown(counts) if "decisions_total" in name]
    assert sorted(sites) == ["gone", "other", "site_shop"]
    assert sum(value for name, value in shown(counts).items() if "decisions_total" in name) == 5
