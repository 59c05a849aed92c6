"""The installation as operators read it: state, jobs, keys, settings, and what operators did."""

from msgspec.structs import replace

from agentgate.lib.settings.schema import Settings
from tests.support.cast import operator_client
from tests.support.service import ADMIN_KEY, RunningService, running_service

SERVICE, SETTINGS, AUDIT = "/v1/admin/service", "/v1/admin/settings", "/v1/admin/audit"


def keys_of(service: RunningService, purpose: str) -> list[tuple[str, str]]:
    report = service.operator.get(SERVICE).json()
    return [(key["id"], key["state"]) for key in report["keys"] if key["purpose"] == purpose]


def test_the_report_has_stores_workers_keys_lists_and_mail(service: RunningService) -> None:
    report = service.operator.get(SERVICE).json()

    assert report["status"] == "ready"
    assert {check["name"] for check in report["checks"]} >= {"config", "hot", "events", "fast", "intel"}
    assert all(check["ok"] for check in report["checks"])
    assert report["workers"]["configured"] == 1 <= report["workers"]["alive"]
    assert {key["state"] for key in report["keys"]} == {"current"}
    assert [row["kind"] for row in report["threatLists"]] == ["user_agents", "datacenter", "known_agents"]
    assert all("importedAt" not in row for row in report["threatLists"])
    assert report["mail"] == {"configured": False, "pending": 0, "failed": 0}
    assert "sealed" not in str(report)


def test_waiting_messages_are_counted(service: RunningService) -> None:
    service.operator.post("/v1/admin/accounts", json={"email": "ann@example.com"})

    assert service.operator.get(SERVICE).json()["mail"]["pending"] == 1


def test_jobs_say_when_they_ran_and_how_it_ended(service: RunningService) -> None:
    runner = service.application._jobs
    service.run(runner.run_due())

    jobs = {job["name"]: job for job in service.operator.get(SERVICE).json()["jobs"]}

    assert jobs["sweep"]["lastRunAt"] == "2026-11-15T12:00:00.000Z"
    assert jobs["sweep"]["nextRunAt"] == "2026-11-16T12:00:00.000Z"
    assert jobs["sweep"]["tookMs"] >= 0
    assert "failure" not in jobs["sweep"]


def test_settings_are_listed_and_secrets_are_not(service: RunningService) -> None:
    items = {item["name"]: item for item in service.operator.get(SETTINGS).json()["items"]}

    assert items["AGENTGATE_WORKERS"]["value"] == "1"
    assert items["AGENTGATE_WORKERS"]["source"] in {"default", "environment"}
    assert ADMIN_KEY not in str(items)
    assert items["AGENTGATE_ADMIN_KEY"]["value"] not in {"", ADMIN_KEY}


def test_a_rotated_key_waits_then_replaces_the_old_one_which_still_verifies(service: RunningService) -> None:
    olga = operator_client(service)
    [(first, _)] = keys_of(service, "clearance")

    made = olga.post("/v1/admin/keys/clearance/rotate")

    assert (made.status_code, made.json()["state"]) == (201, "next")
    second = made.json()["id"]
    assert keys_of(service, "clearance") == [(second, "next"), (first, "current")]
    again = olga.post("/v1/admin/keys/clearance/rotate")
    assert (again.status_code, again.json()["error"]) == (409, "invalid_state")
    service.clock.advance(seconds=420)
    assert keys_of(service, "clearance") == [(second, "current"), (first, "retired")]
    service.clock.advance(hours=49)
    assert keys_of(service, "clearance") == [(second, "current"), (first, "ended")]
    [entry] = service.operator.get(f"{AUDIT}?action=service").json()["items"]
    assert (entry["actor"], entry["action"], entry["target"]) == ("Olga", "service.key_rotate", second)
    assert entry["detail"] == {"purpose": "clearance"}


def test_an_unknown_purpose_is_named_with_the_right_ones(service: RunningService) -> None:
    answer = service.operator.post("/v1/admin/keys/nothing/rotate")

    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
    assert "clearance" in answer.json()["message"]


def test_the_operators_trail_has_what_operators_did_and_no_one_else(service: RunningService) -> None:
    made = service.operator.post("/v1/admin/accounts", json={"email": "ann@example.com"}).json()
    token = made["inviteUrl"].rpartition("#")[2]
    body = {"token": token, "password": "correct horse battery"}
    assert service.new_public_client().post("/v1/account/invite/accept", json=body).status_code == 200

    first = service.operator.get(f"{AUDIT}?limit=1").json()
    second = service.operator.get(f"{AUDIT}?limit=1&cursor={first['nextCursor']}").json()

    found = [*first["items"], *second["items"]]
    assert {entry["actorKind"] for entry in found} == {"operator"}
    assert [entry["action"] for entry in found] == ["member.invite", "account.create"]
    assert service.operator.get(f"{AUDIT}?action=member&cursor={first['nextCursor']}").status_code == 400


def test_a_mail_server_is_reported(settings: Settings) -> None:
    with running_service(replace(settings, smtp_url="smtp://127.0.0.1:9")) as service:
        assert service.operator.get(SERVICE).json()["mail"]["configured"] is True
