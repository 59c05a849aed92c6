"""Models over HTTP: listed, installed as candidate, compared, promoted, rolled back; bad ones change nothing."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agentgate.decision.signals.facts import Observation
from agentgate.events.decision_ids import first_id, write_id
from agentgate.events.records import Event
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.enums import DecisionKind, Mode, Outcome
from agentgate.lib.limits import MODEL_BODY_BYTES
from agentgate.lib.moment import Moment
from tests.api.admin.operating import refusal
from tests.support.api_client import ApiClient
from tests.support.cast import operator_client
from tests.support.service import ADMIN_KEY, NOON_MS, RunningService, running_service
from tests.unit.decision.scoring.made_models import STUMP, forest, logistic

MODELS = "/v1/admin/models"
CANDIDATE = f"{MODELS}/bot/candidate"


def install(service: RunningService, **changes: Any) -> dict[str, Any]:
    reply = service.operator.put(CANDIDATE, json=logistic(**changes))
    assert reply.status_code == 200, reply.text
    return reply.json()


def versions(service: RunningService, kind: str = "bot") -> list[str | None]:
    """Return the versions of the active, the candidate and the previous model."""
    roles = service.operator.get(MODELS).json()["models"][kind]
    return [roles[role] and roles[role]["version"] for role in ("active", "candidate", "previous")]


def shipped(service: RunningService) -> str:
    return str(service.operator.get(f"{MODELS}/bot/active").json()["version"])


def configuration(service: RunningService) -> int:
    return service.run(service.application.stores.store.read.configuration.version())


def trail(service: RunningService) -> list[tuple[str, str, Any]]:
    """Return what was done to models, oldest first."""
    rows = service.run(
        service.application.stores.databases["config"].all(
            "SELECT action, actor, detail FROM audit_entry WHERE target = 'model/bot' ORDER BY id"
        )
    )
    return [(action, actor, json.loads(detail)) for action, actor, detail in rows]


def test_every_kind_has_a_shipped_active_model_and_no_other(service: RunningService) -> None:
    models = service.operator.get(MODELS).json()["models"]

    assert set(models) == {"agent", "bot", "content"}
    # Nothing separates browsers that AI agents drive, so no agent model is shipped.
    assert models.pop("agent") == {"active": None, "candidate": None, "previous": None}
    for roles in models.values():
        assert (roles["candidate"], roles["previous"]) == (None, None)
        assert (roles["active"]["role"], roles["active"]["installedBy"]) == ("active", "system")


def test_a_candidate_is_installed_read_back_and_replaced(service: RunningService) -> None:
    before = configuration(service)
    olga = operator_client(service)

    reply = olga.put(CANDIDATE, json=logistic())

    assert reply.status_code == 200
    shown = reply.json()
    assert service.operator.get(CANDIDATE).headers["etag"] == shown.pop("digest")
    assert shown == {
        "kind": "bot",
        "role": "candidate",
        "version": "test-1",
        "type": "logistic",
        "features": 2,
        "installedAt": Moment(NOON_MS).text(),
        "installedBy": "Olga",
        "metadata": {"note": "by hand"},
    }
    assert service.operator.get(CANDIDATE).json() == logistic()
    assert service.operator.put(CANDIDATE, json=forest()).json()["type"] == "trees"
    assert service.operator.get(CANDIDATE).json() == forest()
    assert configuration(service) == before + 2
    assert [(action, actor, detail["candidate"]) for action, actor, detail in trail(service)] == [
        ("model.candidate", "Olga", {"from": None, "to": "test-1"}),
        ("model.candidate", "operator", {"from": "test-1", "to": "trees-1"}),
    ]


def test_a_bad_model_is_rejected_with_the_reason_and_changes_nothing(service: RunningService) -> None:
    install(service)
    before = configuration(service)

    for body, words in (
        (logistic(features=["net.datacenter", "nonsense"]), "nonsense is not a feature"),
        (logistic(weights=[1.0]), "one entry per feature"),
        (logistic(kind="agent"), "kind is agent"),
        (logistic(code="1"), "code is not a known property"),
        (logistic(weights=None), "weights and no trees"),
        (forest(trees=[{**STUMP, "left": [0, -1, -1]}]), "two later nodes"),
        ([], "Expected object"),
    ):
        reply = service.operator.put(CANDIDATE, json=body)
        assert refusal(reply) == (400, "invalid_request")
        assert words in reply.json()["message"]

    assert service.operator.get(CANDIDATE).json() == logistic()
    assert (configuration(service), len(trail(service))) == (before, 1)


def test_a_weight_that_is_not_a_finite_number_is_rejected(service: RunningService) -> None:
    for number in ("NaN", "Infinity", "-Infinity", "1e999", "1e300"):
        text = json.dumps(logistic()).replace("3.0", number)
        reply = service.operator.put(CANDIDATE, content=text, headers={"Content-Type": "application/json"})
        assert refusal(reply) == (400, "invalid_request"), number

    assert refusal(service.operator.get(CANDIDATE)) == (404, "not_found")


def test_a_model_over_2_mib_is_rejected(service: RunningService) -> None:
    text = json.dumps(logistic(metadata={"x": "y" * MODEL_BODY_BYTES}))

    reply = service.operator.put(CANDIDATE, content=text, headers={"Content-Type": "application/json"})

    assert refusal(reply) == (400, "invalid_request")
    assert "2048 KiB" in reply.json()["message"]


def test_a_candidate_may_not_have_the_version_of_the_active_model(service: RunningService) -> None:
    reply = service.operator.put(CANDIDATE, json=logistic(version=shipped(service)))

    assert refusal(reply) == (400, "invalid_request")
    assert "Give the candidate another" in reply.json()["message"]


def test_only_the_candidate_can_be_put_or_deleted(service: RunningService) -> None:
    for role in ("active", "previous"):
        assert refusal(service.operator.put(f"{MODELS}/bot/{role}", json=logistic())) == (400, "invalid_request")
        assert refusal(service.operator.delete(f"{MODELS}/bot/{role}")) == (400, "invalid_request")
    assert versions(service) == [shipped(service), None, None]


def test_unknown_kinds_and_roles_are_not_found(service: RunningService) -> None:
    for path in (f"{MODELS}/cat/active", f"{MODELS}/bot/king", f"{MODELS}/bot/previous", f"{MODELS}/bot/candidate"):
        assert refusal(service.operator.get(path)) == (404, "not_found")
    for path in (f"{MODELS}/cat/candidate", f"{MODELS}/bot/king"):
        assert refusal(service.operator.put(path, json=logistic())) == (404, "not_found")
    assert refusal(service.operator.delete(CANDIDATE)) == (404, "not_found")
    assert refusal(service.operator.get(f"{MODELS}/cat/compare")) == (404, "not_found")
    assert refusal(service.operator.post(f"{MODELS}/cat/promote")) == (404, "not_found")
    assert refusal(service.operator.post(f"{MODELS}/cat/rollback")) == (404, "not_found")


def test_clearing_the_candidate_shows_which_it_was(service: RunningService) -> None:
    install(service)

    reply = service.operator.delete(CANDIDATE)

    assert (reply.status_code, reply.json()) == (200, {"cleared": "test-1"})
    assert versions(service)[1] is None
    assert trail(service)[-1][2] == {"kind": "bot", "candidate": {"from": "test-1", "to": None}}


def test_promoting_and_rolling_back_move_models_between_their_roles(service: RunningService) -> None:
    first = shipped(service)
    install(service)
    service.clock.advance(seconds=5)

    promoted = service.operator.post(f"{MODELS}/bot/promote")

    assert promoted.status_code == 200
    swap = promoted.json()
    assert (swap["kind"], swap["time"], swap["actor"]) == ("bot", Moment(NOON_MS + 5000).text(), "operator")
    assert (swap["active"]["version"], swap["active"]["role"]) == ("test-1", "active")
    assert (swap["previous"]["version"], swap["previous"]["role"]) == (first, "previous")
    assert versions(service) == ["test-1", None, first]
    assert service.operator.get(f"{MODELS}/bot/active").json() == logistic()

    back = service.operator.post(f"{MODELS}/bot/rollback").json()
    assert (back["active"]["version"], back["previous"]["version"]) == (first, "test-1")
    assert versions(service) == [first, None, "test-1"]
    assert trail(service)[1][2]["acknowledged"] is False
    assert [(action, detail["active"]) for action, _, detail in trail(service)[1:]] == [
        ("model.promote", {"from": first, "to": "test-1"}),
        ("model.rollback", {"from": "test-1", "to": first}),
    ]
    assert versions(service, "agent")[2] is None


def test_promote_needs_a_candidate_and_rollback_a_previous_model(service: RunningService) -> None:
    assert refusal(service.operator.post(f"{MODELS}/bot/promote")) == (400, "invalid_request")
    assert refusal(service.operator.post(f"{MODELS}/bot/rollback")) == (400, "invalid_request")
    assert refusal(service.operator.get(f"{MODELS}/bot/compare")) == (400, "invalid_request")


def test_of_many_promotions_at_once_one_happens(service: RunningService) -> None:
    first = shipped(service)
    install(service)

    def promote(_number: int) -> int:
        with ApiClient(service.admin_url, headers={"X-Admin-Key": ADMIN_KEY}) as client:
            return client.post(f"{MODELS}/bot/promote").status_code

    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(pool.map(promote, range(6)))

    assert statuses == [200, 400, 400, 400, 400, 400]
    assert versions(service) == ["test-1", None, first]


def test_operators_see_promotions_in_the_trail_of_every_site_and_customers_do_not(service: RunningService) -> None:
    service.operator.post("/v1/admin/sites", json={"name": "Shop", "siteKey": "site_shop"})
    install(service)
    service.operator.post(f"{MODELS}/bot/promote")

    changes = service.operator.get("/v1/admin/sites/site_shop/changes").json()["items"]

    assert [(change["kind"], "siteId" in change) for change in changes] == [
        ("model.promote", False),
        ("site.create", True),
    ]
    account = service.operator.get("/v1/admin/sites/site_shop").json()["customerId"]
    stores = service.application.stores.store.read
    site = service.run(stores.sites.find_site("site_shop", account_id=None))
    own = service.run(stores.audit.list_site_changes(site.id, 50, account_id=account))
    assert [change.kind for change in own] == ["site.create"]


def test_a_promotion_survives_a_restart(settings: Any) -> None:
    with running_service(settings) as service:
        install(service)
        service.operator.post(f"{MODELS}/bot/promote")
        install(service, version="test-2")
        before = versions(service)
    with running_service(settings) as service:
        assert versions(service) == before
        assert before[:2] == ["test-1", "test-2"]


def add_events(service: RunningService, site: int, active: str, pairs: list[tuple[float, float]]) -> None:
    """Store requests with the scores that the active model and the candidate gave them."""
    events = [
        Event(
            id=first_id(service.clock.now_ms()) + number,
            site=site,
            visitor=number,
            kind=DecisionKind.REQUEST,
            mode=Mode.MONITOR,
            outcome=Outcome.ALLOW,
            method="GET",
            route="*",
            status=204,
            duration_us=10,
            labels=("ua.browser",),
            scores={"bot": scores[0]},
            model_versions={"bot": active},
            shadow_scores={"bot": scores[1]},
            shadow_versions={"bot": "test-1"},
        )
        for number, scores in enumerate(pairs)
    ]
    service.run(service.application.stores.events.write(events))


def guard_by_score(service: RunningService) -> None:
    """Give the site a rule that blocks requests with a bot score of 0.5 and more, and activate it."""
    rule = {"name": "bots", "match": {"score": "bot", "min_score": 0.5}, "action": "block"}
    rule_set = {"version": "1", "rules": [rule], "default_action": "allow"}
    reply = service.operator.put("/v1/admin/sites/site_shop/rules", json={"ruleSet": rule_set, "revision": 0})
    assert reply.status_code == 200, reply.text
    service.run(service.application.refresher.refresh())


def test_compare_shows_how_the_candidate_differs_on_recent_traffic(service: RunningService) -> None:
    made = service.operator.post("/v1/admin/sites", json={"name": "Shop", "siteKey": "site_shop"}).json()
    install(service)
    guard_by_score(service)
    number = service.run(service.application.stores.store.read.sites.find_number(made["id"]))
    add_events(service, number, shipped(service), [(0.1, 0.2), (0.1, 0.7), (0.9, 0.95), (0.9, 0.1), (0.2, 0.8)])
    label = {"decisionId": decision_id(service, 2), "label": "bot", "source": "operator"}
    reply = service.operator.post("/v1/admin/labels", params={"siteKey": "site_shop"}, json=label)
    assert reply.status_code == 201, reply.text
    service.clock.advance(hours=1)

    report = service.operator.get(f"{MODELS}/bot/compare").json()

    assert (report["samples"], report["agreement"]) == (5, 0.4)
    assert (report["active"]["version"], report["candidate"]["version"]) == (shipped(service), "test-1")
    assert (report["from"], report["to"]) == (
        Moment(NOON_MS + HOUR_MS - 7 * DAY_MS).text(),
        Moment(NOON_MS + HOUR_MS).text(),
    )
    changes = report["wouldChange"]
    assert (changes["total"], changes["stricter"], changes["looser"]) == (3, 2, 1)
    assert changes["decisions"] == [decision_id_at(NOON_MS, number) for number in (4, 3, 1)]
    bots = report["perLabel"]["bot"]
    assert (bots["samples"], bots["activeRate"], bots["candidateRate"]) == (1, 0.0, 0.0)


def decision_id_at(now_ms: int, number: int) -> str:
    return write_id(first_id(now_ms) + number)


def decision_id(service: RunningService, number: int) -> str:
    return write_id(first_id(service.clock.now_ms()) + number)


def test_compare_without_traffic_has_no_agreement(service: RunningService) -> None:
    install(service)

    report = service.operator.get(f"{MODELS}/bot/compare").json()

    assert (report["samples"], report["agreement"]) == (0, None)
    assert report["wouldChange"] == {"total": 0, "stricter": 0, "looser": 0, "decisions": []}
    assert report["perLabel"] == {}


def test_a_promoted_model_decides_and_a_candidate_scores_in_shadow(service: RunningService) -> None:
    seen = Observation(labels=("net.datacenter",), numbers={})
    refresher = service.application.refresher

    def scored() -> tuple[str, dict[str, str]]:
        service.run(refresher.refresh())
        found = refresher.models.view.score(seen, content=None)
        return found.versions["bot"], dict(found.shadow_versions)

    first = shipped(service)
    install(service)
    assert scored() == (first, {"bot": "test-1"})
    service.operator.post(f"{MODELS}/bot/promote")
    assert scored() == ("test-1", {})
    service.operator.post(f"{MODELS}/bot/rollback")
    assert scored() == (first, {})


def test_models_need_an_operator(service: RunningService) -> None:
    assert refusal(service.anonymous.get(MODELS)) == (401, "unauthorized")
    assert refusal(service.anonymous.put(CANDIDATE, json=logistic())) == (401, "unauthorized")
    assert refusal(service.anonymous.post(f"{MODELS}/bot/promote")) == (401, "unauthorized")
    assert service.public.get(MODELS).status_code == 404


def with_traffic(service: RunningService, pairs: list[tuple[float, float]]) -> None:
    made = service.operator.post("/v1/admin/sites", json={"name": "Shop", "siteKey": "site_shop"}).json()
    guard_by_score(service)
    number = service.run(service.application.stores.store.read.sites.find_number(made["id"]))
    add_events(service, number, shipped(service), pairs)
    service.clock.advance(hours=1)


def test_a_model_for_which_everyone_is_a_bot_must_be_confirmed(service: RunningService) -> None:
    first = shipped(service)
    install(service)
    with_traffic(service, [(0.1, 0.99)] * 200)

    reply = service.operator.post(f"{MODELS}/bot/promote")

    assert refusal(reply) == (409, "confirmation_required")
    found = reply.json()
    assert (found["evaluated"], found["allowed"], found["newlyRefused"]) == (200, 200, 200)
    assert (found["byFamily"]["ua.browser"]["newlyRefused"], len(found["decisions"])) == (200, 10)
    assert versions(service) == [first, "test-1", None]

    assert service.operator.post(f"{MODELS}/bot/promote", json={"acknowledge": True}).status_code == 200
    assert versions(service)[0] == "test-1"
    assert trail(service)[-1][2]["acknowledged"] is True


def test_a_candidate_that_changes_little_is_promoted_without_a_question(service: RunningService) -> None:
    install(service)
    with_traffic(service, [(0.1, 0.2)] * 200)

    reply = service.operator.post(f"{MODELS}/bot/promote")

    assert reply.status_code == 200
    assert (trail(service)[-1][2]["evaluated"], trail(service)[-1][2]["newlyRefused"]) == (200, 0)


def test_requests_from_before_the_candidate_are_scored_again(service: RunningService) -> None:
    install(service, version="test-2", weights=[0.0, 0.0], bias=9.0)
    with_traffic(service, [(0.1, 0.1)] * 200)

    assert refusal(service.operator.post(f"{MODELS}/bot/promote")) == (409, "confirmation_required")


def test_if_match_promotes_that_file_and_no_other(service: RunningService) -> None:
    first = shipped(service)
    older = install(service)["digest"]
    newer = install(service, weights=[2.0, -4.0])["digest"]

    stale = service.operator.post(f"{MODELS}/bot/promote", headers={"If-Match": older})

    assert refusal(stale) == (409, "revision_conflict")
    assert versions(service) == [first, "test-1", None]
    assert service.operator.post(f"{MODELS}/bot/promote", headers={"If-Match": newer}).status_code == 200


def test_rollback_can_name_one_of_the_last_five_models_or_the_shipped_one(service: RunningService) -> None:
    first = shipped(service)
    for number in range(7):
        install(service, version=f"test-{number}")
        service.clock.advance(seconds=1)
        service.operator.post(f"{MODELS}/bot/promote")

    listed = service.operator.get(f"{MODELS}/bot/versions").json()["versions"]

    assert [each["version"] for each in listed] == ["test-5", "test-4", "test-3", "test-2", "test-1", first]
    back = service.operator.post(f"{MODELS}/bot/rollback", params={"version": "test-2"}).json()
    assert (back["active"]["version"], back["previous"]["version"]) == ("test-2", "test-6")
    assert refusal(service.operator.post(f"{MODELS}/bot/rollback", params={"version": "test-0"})) == (404, "not_found")
    again = service.operator.post(f"{MODELS}/bot/rollback", params={"version": "test-2"})
    assert refusal(again) == (400, "invalid_request")
    assert service.operator.post(f"{MODELS}/bot/rollback", params={"version": first}).status_code == 200
    assert versions(service)[0] == first
