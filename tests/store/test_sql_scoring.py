"""Models, labels, feature capture, evidence and score samples in SQL, on both databases."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from agentgate.decision.scoring.endpoints import expire_features
from agentgate.decision.scoring.records import CapturingSite, StoredCapture, StoredModel
from agentgate.events.decision_ids import LARGEST_ID, first_id
from agentgate.events.labels.records import LabelEvidence, StoredLabel
from agentgate.events.records import Event
from agentgate.lib.clock import DAY_MS, FixedClock
from agentgate.lib.enums import DecisionKind, DecisionLabelValue, LabelSource, Mode, ModelKind, ModelRole, Outcome
from agentgate.lib.moment import Moment
from agentgate.lib.settings.schema import Settings
from agentgate.server.stores.open import Stores, open_stores
from agentgate.storage.migrate import apply
from tests.store.sql_objects import NOW_MS, add_two_tenants

pytestmark = pytest.mark.anyio

NOW_ID = first_id(NOW_MS)
EVIDENCE = LabelEvidence(
    time=Moment(NOW_MS),
    kind=DecisionKind.REQUEST,
    route="/login",
    method="POST",
    outcome=Outcome.ALLOW,
    reasons=["monitor"],
    labels=["net.datacenter", "ua.browser"],
    scores={"bot": 0.25},
    model_versions={"bot": "bot-1"},
    visitor_id="00000000000000ff",
    features={"rate_visitor": 3.0},
)


@pytest.fixture
async def stores(settings: Settings) -> AsyncIterator[Stores]:
    """Everything over empty, migrated databases."""
    clock = FixedClock(NOW_MS)
    opened = await open_stores(settings, clock)
    for name, database in opened.databases.items():
        await apply(database, name, clock=clock)
    await opened.segments.migrate(clock)
    await add_two_tenants(opened.store)
    yield opened
    await opened.close()


def model(role: ModelRole, file: str = "{}", **changes: Any) -> StoredModel:
    usual = {"kind": ModelKind.BOT, "role": role, "file": file, "installed_ms": NOW_MS, "installed_by": "Olga"}
    return StoredModel(**usual | changes)


def label(decision: int, updated_ms: int = NOW_MS, **changes: Any) -> StoredLabel:
    usual: dict[str, Any] = {
        "site_id": "st_1",
        "decision": decision,
        "label": DecisionLabelValue.BOT,
        "source": LabelSource.OPERATOR,
        "note": None,
        "actor": "Olga",
        "created_ms": NOW_MS,
        "updated_ms": updated_ms,
        "evidence": EVIDENCE,
    }
    return StoredLabel(**usual | changes)


def event(number: int, **changes: Any) -> Event:
    usual: dict[str, Any] = {
        "id": NOW_ID + number,
        "site": 1,
        "visitor": 255,
        "kind": DecisionKind.REQUEST,
        "mode": Mode.MONITOR,
        "outcome": Outcome.ALLOW,
        "method": "GET",
        "route": "*",
        "status": 204,
        "duration_us": 20,
        "labels": ("ua.browser",),
        "scores": {"bot": 0.2},
        "model_versions": {"bot": "bot-1"},
        "shadow_scores": {"bot": 0.6},
        "shadow_versions": {"bot": "bot-2"},
    }
    return Event(**usual | changes)


async def save_models(stores: Stores, *models: StoredModel) -> None:
    for each in models:
        await stores.store.change(lambda ports, each=each: ports.models.save_model(each))


async def save_labels(stores: Stores, *labels: StoredLabel) -> None:
    for each in labels:
        await stores.store.change(lambda ports, each=each: ports.decision_labels.save_label(each))


async def save_capture(stores: Stores, site_id: str, capture: StoredCapture) -> None:
    await stores.store.change(lambda ports: ports.captures.save_capture(site_id, capture))


async def test_a_model_takes_the_place_of_the_one_in_its_role(stores: Stores) -> None:
    await save_models(stores, model(ModelRole.CANDIDATE, "1"), model(ModelRole.ACTIVE, "2"))
    await save_models(stores, model(ModelRole.CANDIDATE, "3", installed_by="Otto"))

    found = await stores.store.read.models.list_models()

    assert [(each.role, each.file, each.installed_by) for each in found] == [
        (ModelRole.ACTIVE, "2", "Olga"),
        (ModelRole.CANDIDATE, "3", "Otto"),
    ]
    assert await stores.store.read.models.find_model(ModelKind.AGENT, ModelRole.CANDIDATE) is None


async def test_a_deleted_model_is_gone_and_the_others_remain(stores: Stores) -> None:
    await save_models(stores, model(ModelRole.CANDIDATE), model(ModelRole.ACTIVE))

    await stores.store.change(lambda ports: ports.models.delete_model(ModelKind.BOT, ModelRole.CANDIDATE))

    assert [each.role for each in await stores.store.read.models.list_models()] == [ModelRole.ACTIVE]


async def test_a_label_comes_back_as_it_was_stored(stores: Stores) -> None:
    stored = label(NOW_ID, note="slow and steady")
    await save_labels(stores, stored)

    assert await stores.store.read.decision_labels.find_label("st_1", NOW_ID) == stored
    assert await stores.store.read.decision_labels.find_label("st_2", NOW_ID) is None
    assert await stores.store.read.decision_labels.find_labels("st_1", [1, NOW_ID, 2]) == [stored]
    assert await stores.store.read.decision_labels.find_labels("st_1", []) == []


async def test_a_second_label_keeps_evidence_and_time_of_the_first(stores: Stores) -> None:
    await save_labels(stores, label(NOW_ID))
    later = label(NOW_ID, NOW_MS + 5, label=DecisionLabelValue.HUMAN, actor="Otto", created_ms=NOW_MS + 5)

    await save_labels(stores, replace(later, evidence=replace(EVIDENCE, route="/other")))

    found = await stores.store.read.decision_labels.find_label("st_1", NOW_ID)
    assert found == replace(later, created_ms=NOW_MS, evidence=EVIDENCE)


async def test_labels_are_listed_oldest_update_first_behind_a_position(stores: Stores) -> None:
    await save_labels(stores, label(3, 10), label(1, 20), label(2, 20), label(9, 15, site_id="st_2"))
    labels = stores.store.read.decision_labels

    assert [each.decision for each in await labels.list_labels("st_1", after=None, limit=10)] == [3, 1, 2]
    assert [each.decision for each in await labels.list_labels("st_1", after=(20, 1), limit=10)] == [2]
    assert [each.decision for each in await labels.list_labels("st_1", after=None, limit=2)] == [3, 1]


async def test_what_can_be_trained_on_comes_newest_first_from_all_sites(stores: Stores) -> None:
    unsure = label(4, 30, label=DecisionLabelValue.UNSURE)
    await save_labels(stores, label(3, 10), label(9, 15, site_id="st_2"), label(2, 20), unsure)

    assert [each.decision for each in await stores.store.read.decision_labels.list_newest_labels(2)] == [2, 9]


async def test_a_site_captures_nothing_until_it_is_instructed_to(stores: Stores) -> None:
    capture = StoredCapture(enabled=True, retention_days=7, updated_ms=NOW_MS, updated_by="Olga")
    assert await stores.store.read.captures.find_capture("st_1") is None

    await save_capture(stores, "st_1", replace(capture, retention_days=90))
    await save_capture(stores, "st_1", capture)

    number = await stores.store.read.sites.find_number("st_1")
    assert await stores.store.read.captures.find_capture("st_1") == capture
    expected = [CapturingSite(number=number, enabled=True, retention_days=7)]
    assert await stores.store.read.captures.list_captures() == expected


async def test_evidence_is_found_with_its_features_in_its_own_site_only(stores: Stores) -> None:
    kept = event(0, features={"rate_visitor": 3.0}, request_id="r1", action="login", rule="rule-1")
    await stores.events.write([kept, event(1)])

    assert await stores.evidence.find_event(1, kept.id) == kept
    assert await stores.evidence.find_event(1, event(1).id) == event(1)
    assert await stores.evidence.find_event(2, kept.id) is None
    assert await stores.evidence.find_event(1, kept.id + 7) is None
    assert await stores.evidence.find_event(1, LARGEST_ID) is None


async def test_a_request_id_leads_to_its_newest_decision(stores: Stores) -> None:
    yesterday = event(0, id=NOW_ID - (DAY_MS << 22), request_id="r1")
    await stores.events.write([yesterday])
    await stores.events.write([event(1, request_id="r2"), event(2, request_id="r2"), event(3, request_id="r1", site=2)])

    assert await stores.evidence.find_by_request(1, "r1") == yesterday.id
    assert await stores.evidence.find_by_request(1, "r2") == NOW_ID + 2
    assert await stores.evidence.find_by_request(1, "r3") is None


async def test_samples_are_the_newest_requests_that_both_versions_scored(stores: Stores) -> None:
    yesterday = event(0, id=NOW_ID - (DAY_MS << 22), site=2)
    await stores.events.write([yesterday])
    await stores.events.write(
        [
            event(1, shadow_versions={}, shadow_scores={}),
            event(2, model_versions={"bot": "bot-0"}),
            event(3, shadow_versions={"bot": "bot-3"}),
            event(4, kind=DecisionKind.CHALLENGE),
            event(5, route="/login", action="login", ruled=False),
            event(6, model_versions={"bot": "bot-1", "agent": "agent-1"}),
        ]
    )

    async def newest(**changes: Any) -> list[tuple[int, str]]:
        usual = {"active_version": "bot-1", "candidate_version": "bot-2", "since_id": 0, "limit": 10}
        found = await stores.score_samples.newest(ModelKind.BOT, **usual | changes)
        return [(sample.site, sample.route) for sample in found]

    assert await newest() == [(1, "*"), (1, "/login"), (2, "*")]
    assert await newest(limit=2) == [(1, "*"), (1, "/login")]
    assert await newest(since_id=NOW_ID) == [(1, "*"), (1, "/login")]
    assert await newest(candidate_version="bot-9") == []


async def test_a_sample_has_what_the_rules_saw(stores: Stores) -> None:
    await stores.events.write([event(5, route="/login", action="login", ruled=False)])

    [sample] = await stores.score_samples.newest(
        ModelKind.BOT, active_version="bot-1", candidate_version="bot-2", since_id=0, limit=10
    )

    assert (sample.labels, sample.scores, sample.shadow_scores) == (("ua.browser",), {"bot": 0.2}, {"bot": 0.6})
    assert (sample.action, sample.ruled) == ("login", False)


async def test_feature_vectors_expire_with_their_site_and_go_with_its_capture(stores: Stores) -> None:
    first = await stores.store.read.sites.find_number("st_1")
    second = await stores.store.read.sites.find_number("st_2")
    old = NOW_ID - (8 * DAY_MS << 22)
    for site in (first, second):
        await stores.events.write([event(site, id=old + site, site=site, features={})])
        await stores.events.write([event(site, site=site, features={})])
    capture = StoredCapture(enabled=True, retention_days=7, updated_ms=NOW_MS, updated_by="Olga")
    await save_capture(stores, "st_1", capture)
    await save_capture(stores, "st_2", replace(capture, enabled=False))

    await expire_features(stores.store, stores.events, FixedClock(NOW_MS))

    assert [await stores.evidence.count_features(site) for site in (first, second)] == [1, 0]
