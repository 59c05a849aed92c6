"""Decisions over ranges, on both databases: any filters, over all pages, equal the plain filter over the events."""

import random
from collections.abc import AsyncIterator
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgate.events.decision_ids import first_id, write_id
from agentgate.events.labels.records import LabelEvidence, StoredLabel
from agentgate.events.queries.ports import DecisionFilters, SiteNumber
from agentgate.events.queries.records import Decision
from agentgate.events.records import Event
from agentgate.events.storage.days import patterns, postings
from agentgate.events.storage.queries import decisions as traffic_decisions
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS
from agentgate.lib.enums import (
    ChallengeStage,
    DecisionKind,
    DecisionLabelValue,
    LabelledFilter,
    LabelSource,
    Mode,
    Outcome,
)
from agentgate.lib.moment import Moment
from agentgate.lib.settings.schema import Settings
from tests.store.sql_objects import add_two_tenants
from tests.store.traffic_scene import (
    DAYS,
    Traffic,
    closed_days,
    histories,
    opened_traffic,
    property_test,
    spans,
)

pytestmark = pytest.mark.anyio

SITE = SiteNumber("st_1", 1)
OTHER_SITE = SiteNumber("st_2", 2)


@pytest.fixture
async def traffic(settings: Settings) -> AsyncIterator[Traffic]:
    async with opened_traffic(settings) as traffic:
        await add_two_tenants(traffic.stores.store)
        yield traffic


def optional(values: Any) -> Any:
    return st.one_of(st.none(), st.none(), st.sampled_from(values))


filters_of = st.builds(
    DecisionFilters,
    kind=optional(list(DecisionKind)),
    outcome=optional(list(Outcome)),
    would=optional(list(Outcome)),
    rule=optional(["a", "b", "never"]),
    label=optional(["net.tor", "ua.library", "never"]),
    visitor=optional([0, 1, 2**63, 2**64 - 1, 77]),
    action=optional(["login", "submit"]),
    labelling=st.booleans(),
)


def holds(filters: DecisionFilters, event: Event) -> bool:
    """Ask each filter of an event."""
    asked = (
        filters.kind in {None, event.kind},
        filters.outcome in {None, event.outcome},
        filters.would in {None, event.would},
        filters.rule in {None, event.rule},
        filters.label is None or filters.label in event.labels,
        filters.visitor in {None, event.visitor},
        filters.action in {None, event.action},
        not filters.labelling
        or (event.kind is DecisionKind.REQUEST and Outcome.CHALLENGE in {event.outcome, event.would}),
    )
    return all(asked)


async def all_pages(traffic: Traffic, span: TimeRange, filters: DecisionFilters, limit: int) -> list[Decision]:
    found: list[Decision] = []
    before = None
    while True:
        page = await traffic.stores.traffic.decisions.list_decisions(SITE, span, filters, before=before, limit=limit)
        assert len(page.items) <= limit
        found += page.items
        if page.more_before is None:
            return found
        assert before is None or page.more_before < before
        before = page.more_before


# Bounds at which SQLite scans events instead of reading postings or patterns, and small windows.
BOUNDS = ({}, {"TOGETHER": 1}, {"TOGETHER": 1, "MOST_PATTERNS": 1}, {"TOGETHER": 1, "WINDOW_ROWS": 2})
BOUNDED = {"TOGETHER": postings, "MOST_PATTERNS": patterns, "WINDOW_ROWS": traffic_decisions}


@pytest.fixture
def bounds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, bound in request.param.items():
        monkeypatch.setattr(BOUNDED[name], name, bound)


@pytest.mark.usefixtures("bounds")
@pytest.mark.parametrize("bounds", BOUNDS, ids=str, indirect=True)
@property_test
@given(history=histories, closed=closed_days, ends=spans(), filters=filters_of, limit=st.integers(1, 60))
async def test_all_pages_together_equal_the_plain_filter(
    traffic: Traffic,
    *,
    history: list[Any],
    closed: int,
    ends: tuple[int, int],
    filters: DecisionFilters,
    limit: int,
) -> None:
    played = await traffic.play(history, closed)
    span = played.span(ends)
    wanted = [write_id(event.id) for event in played.within(span) if holds(filters, event)]

    assert [decision.id for decision in await all_pages(traffic, span, filters, limit)] == wanted


EVERY_FILTER = (
    *({"kind": kind} for kind in DecisionKind),
    *({"outcome": outcome} for outcome in Outcome),
    *({"would": outcome} for outcome in Outcome),
    *({"rule": rule} for rule in ("a", "b", "never")),
    *({"label": label} for label in ("net.tor", "ua.library", "never")),
    *({"action": action} for action in ("login", "submit")),
    *({"visitor": visitor} for visitor in (0, 2**63, 77)),
    {"labelling": True},
)


def some_history(chance: random.Random, count: int) -> list[Any]:
    """Return events of a few kinds, and some that are like no other."""
    kinds = [{**_common(chance), **_special(chance)} for _ in range(12)]
    found = []
    for _ in range(count):
        fields = dict(chance.choice(kinds)) if chance.random() < 0.7 else {**_common(chance), **_special(chance)}
        fields["visitor"] = chance.choice((None, 0, 1, 2**63))
        found.append((chance.randrange(DAYS * DAY_MS), fields, {}))
    return found


def _common(chance: random.Random) -> dict[str, Any]:
    labels = ("net.country.de", "net.tor", "ua.library")
    return {
        "site": chance.choice((1, 1, 2)),
        "mode": chance.choice(list(Mode)),
        "route": chance.choice(("*", "/a")),
        "action": chance.choice((None, "login", "submit")),
        "rule": chance.choice((None, "a", "b")),
        "labels": tuple(label for label in labels if chance.random() < 0.3),
        "duration_us": 5,
    }


def _special(chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.3:
        stage = chance.choice(list(ChallengeStage))
        return {"kind": DecisionKind.CHALLENGE, "outcome": Outcome.ALLOW, "stage": stage}
    would = chance.choice((None, None, *Outcome))
    return {"kind": DecisionKind.REQUEST, "outcome": chance.choice(list(Outcome)), "would": would}


async def test_every_filter_and_every_pair_of_them_equals_the_plain_filter(
    traffic: Traffic, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "TOGETHER", 30)
    played = await traffic.play(some_history(random.Random(6), 400), 2)
    span = played.span((0, DAYS * DAY_MS))
    pairs = [one | other for one, other in combinations(EVERY_FILTER, 2) if one.keys() != other.keys()]
    if settings.events_url:
        # It takes ten times as long there: every two fields, with one value of each.
        pairs = list({frozenset(pair): pair for pair in reversed(pairs)}.values())
    for chosen in (*EVERY_FILTER, *pairs):
        filters = DecisionFilters(**chosen)
        wanted = [write_id(event.id) for event in played.within(span) if holds(filters, event)]

        assert [decision.id for decision in await all_pages(traffic, span, filters, 40)] == wanted, chosen


@property_test
@given(history=histories, closed=closed_days, filters=filters_of)
async def test_a_scan_that_is_cut_continues_where_it_stopped(
    traffic: Traffic, monkeypatch: pytest.MonkeyPatch, history: list[Any], closed: int, filters: DecisionFilters
) -> None:
    monkeypatch.setattr(traffic_decisions, "SCANNED_ROWS", 1)
    monkeypatch.setattr(traffic_decisions, "SCANNED_S", 0)
    monkeypatch.setattr(postings, "TOGETHER", 1)
    monkeypatch.setattr(traffic_decisions, "WINDOW_ROWS", 1)
    monkeypatch.setattr(traffic_decisions, "FEWEST_DAYS", 1)
    played = await traffic.play(history, closed)
    span = played.span((0, DAYS * DAY_MS))
    wanted = [write_id(event.id) for event in played.within(span) if holds(filters, event)]

    assert [decision.id for decision in await all_pages(traffic, span, filters, 2)] == wanted


@property_test
@given(history=histories, closed=closed_days)
async def test_each_decision_is_found_by_its_id_at_its_own_site_only(
    traffic: Traffic, history: list[Any], closed: int
) -> None:
    played = await traffic.play(history, closed)
    decisions = traffic.stores.traffic.decisions

    for event in played.events[:10]:
        own, other = (SITE, OTHER_SITE) if event.site == SITE.number else (OTHER_SITE, SITE)
        found = await decisions.find_decision(own, event.id)
        assert found is not None
        assert (found.id, found.site_id, found.labels) == (write_id(event.id), own.id, list(event.labels))
        assert await decisions.find_decision(other, event.id) is None
    assert await decisions.find_decision(SITE, first_id(played.day * DAY_MS) - 1) is None


def label(decision: int, source: LabelSource) -> StoredLabel:
    evidence = LabelEvidence(
        time=Moment(0),
        kind=DecisionKind.REQUEST,
        route="*",
        method="GET",
        outcome=Outcome.ALLOW,
        reasons=[],
        labels=[],
        scores={},
        model_versions={},
    )
    return StoredLabel(
        site_id=SITE.id,
        decision=decision,
        label=DecisionLabelValue.BOT,
        source=source,
        note="looks odd",
        actor="operator",
        created_ms=1,
        updated_ms=2,
        evidence=evidence,
    )


async def test_labelled_decisions_carry_the_label_and_can_be_hidden(traffic: Traffic) -> None:
    common = {"site": 1, "visitor": 1, "mode": Mode.MONITOR, "route": "*"}
    request = {"kind": DecisionKind.REQUEST, "outcome": Outcome.ALLOW, "duration_us": 1}
    played = await traffic.play([(offset, common, request) for offset in range(5)], 0)
    ids = [event.id for event in played.events]
    for decision, source in ((ids[1], LabelSource.OPERATOR), (ids[3], LabelSource.PROBE)):
        stored = label(decision, source)
        await traffic.stores.store.change(lambda stores, stored=stored: stores.decision_labels.save_label(stored))
    span = played.span((0, DAY_MS))

    everything = await all_pages(traffic, span, DecisionFilters(), 2)
    hidden = await all_pages(traffic, span, DecisionFilters(labelled=LabelledFilter.NO), 2)

    labelled = {decision.id: decision.operator_label for decision in everything if decision.operator_label}
    assert list(labelled) == [write_id(ids[1])]
    shown = labelled[write_id(ids[1])]
    assert (shown.label, shown.note, shown.decision_id) == (DecisionLabelValue.BOT, "looks odd", write_id(ids[1]))
    assert [decision.id for decision in hidden] == [write_id(ids[place]) for place in (4, 3, 2, 0)]
