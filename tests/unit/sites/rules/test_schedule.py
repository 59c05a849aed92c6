"""Schedules of rules: when a rule is active, what is wrong with one, and what lints and explanations say."""

from typing import Any

import pytest

from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.moment import Moment
from agentgate.sites.rules.effective import active_at, effective_set, read_set, scheduled_items
from agentgate.sites.rules.explain import explain
from agentgate.sites.rules.lints import find_lints, find_schedules
from agentgate.sites.rules.records import StoredRules
from agentgate.sites.rules.replay_records import SampleFacts
from agentgate.sites.rules.schedule import last_boundary_ms, next_boundary_ms, why_inactive
from agentgate.sites.rules.validate import check_rules

FRIDAY = Moment.parse("2026-11-20T00:00:00Z")
SALE = {"from": "2026-11-27T00:00:00+01:00", "until": "2026-11-30T00:00:00Z"}


def rules(**schedule: Any) -> dict[str, Any]:
    items = [
        {"name": "sale", "match": {}, "action": "challenge", **schedule},
        {"name": "rest", "match": {"any_labels": ["net.tor"]}, "action": "block"},
        {"group": "rate", "version": 2, **schedule},
    ]
    return {"version": "1", "rules": items, "default_action": "allow"}


@pytest.mark.parametrize(
    ("schedule", "says"),
    [
        ({"from": "2026-11-27"}, "from must be a date and time in quotes"),
        ({"until": 5}, "until must be a date and time"),
        ({"from": SALE["until"], "until": SALE["from"]}, "until must be later than from"),
        ({"weekdays": []}, "weekdays must be a list of mon"),
        ({"weekdays": ["Monday"]}, "weekdays must be a list of mon"),
    ],
)
def test_a_wrong_schedule_is_rejected_on_rules_and_groups(schedule: dict[str, Any], says: str) -> None:
    problems = check_rules(rules(**schedule), {})

    assert [says in problem.message for problem in problems] == [True, True]


@pytest.mark.parametrize(
    ("schedule", "now", "active"),
    [
        (SALE, "2026-11-26T22:59:59Z", False),
        (SALE, "2026-11-26T23:00:00Z", True),
        (SALE, "2026-11-29T23:59:59Z", True),
        (SALE, "2026-11-30T00:00:00Z", False),
        ({"weekdays": ["sat", "sun"]}, "2026-11-20T23:59:59Z", False),
        ({"weekdays": ["sat", "sun"]}, "2026-11-21T00:00:00Z", True),
        ({"weekdays": ["sat", "sun"]}, "2026-11-23T00:00:00Z", False),
        ({}, "2026-11-23T00:00:00Z", True),
    ],
)
def test_a_rule_and_the_members_of_a_group_are_active_at_their_times(
    schedule: dict[str, Any], now: str, *, active: bool
) -> None:
    effective = active_at(effective_set(read_set(rules(**schedule)), {}), Moment.parse(now))
    names = {item["name"] for item in effective.rules}

    assert ("sale" in names, "rate-visitor-extreme" in names) == (active, active)
    assert "rest" in names


def test_the_rules_change_at_the_boundaries_and_at_no_other_time() -> None:
    items: list[dict[str, Any]] = [SALE, {"weekdays": ["sat"]}]
    at, seen = int(FRIDAY), []
    for _ in range(400):
        following = next_boundary_ms(items, at)
        assert following is not None
        assert following > at
        between = [[why_inactive(item, moment) is None for item in items] for moment in (at, following - 1)]
        assert between[0] == between[1]
        assert last_boundary_ms(items, following - 1) == at
        seen.append(between[0])
        at = following
    assert [True, False] in seen
    assert [True, True] in seen
    assert next_boundary_ms([SALE], FRIDAY + 30 * DAY_MS) is None
    assert last_boundary_ms([SALE], FRIDAY) == 0


@pytest.mark.parametrize(
    ("rule_set", "scheduled"),
    [
        (rules(**SALE), 2),
        (rules(), 0),
        (None, 0),
        ({}, 0),
        ({"rules": 7}, 0),
        ({"rules": [7, "from", {"name": "sale", **SALE}]}, 1),
        ([], 0),
    ],
)
def test_a_stored_set_that_cannot_be_used_is_not_scheduled(rule_set: Any, scheduled: int) -> None:
    stored = StoredRules(effective_version="1", overrides={}, revision=1, rule_set=rule_set)

    assert len(scheduled_items(stored)) == scheduled


def test_lints_show_what_is_inactive_and_a_scheduled_rule_shadows_nothing() -> None:
    document = rules(**SALE)
    effective = effective_set(read_set(document), {})

    shown = [lint.message for _, lint in find_schedules(document, FRIDAY)]
    assert shown == [
        f"{name} is not active now: it is active from 2026-11-26T23:00:00.000Z." for name in ("sale", "rate")
    ]
    assert find_schedules(document, FRIDAY + 7 * DAY_MS) == []
    assert [lint.kind for _, lint in find_lints(document, effective)] == []
    assert "shadowed" in [lint.kind for _, lint in find_lints(rules(), effective_set(read_set(rules()), {}))]


def test_an_explanation_names_the_time() -> None:
    effective = effective_set(read_set(rules(**SALE)), {})
    sample = SampleFacts(labels=("net.tor",), scores={}, route="*", action=None)

    before, during = (explain(effective, sample, FRIDAY + days * DAY_MS) for days in (0, 8))

    assert (before.outcome, before.rule) == ("block", "rest")
    assert before.trace[0].because == "it is active from 2026-11-26T23:00:00.000Z"
    assert (during.outcome, during.rule) == ("challenge", "sale")


def test_a_day_begins_at_midnight_utc() -> None:
    saturday = {"weekdays": ["sat"]}

    assert next_boundary_ms([saturday], FRIDAY + HOUR_MS) == FRIDAY + DAY_MS
