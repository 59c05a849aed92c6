"""Integration health over HTTP: each check with its threshold, worst first, over the last 24 hours."""

from typing import Any

import pytest

from agentgate.events.records import CounterName
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.enums import ChallengeStage
from tests.api.admin.operating import refusal
from tests.api.traffic_steps import SITE, add_site, challenge, count, days_ago, record
from tests.support.service import NOON_MS, RunningService


def read(service: RunningService) -> Any:
    reply = service.operator.get(f"/v1/admin/sites/{SITE}/health")
    assert reply.status_code == 200, reply.text
    return reply.json()


def checks(service: RunningService) -> list[tuple[str, str]]:
    return [(check["check"], check["severity"]) for check in read(service)["checks"]]


@pytest.fixture
def site_id(service: RunningService) -> str:
    """A site with a credential."""
    site_id = add_site(service)
    assert service.operator.post(f"/v1/admin/sites/{SITE}/credentials").status_code == 201
    return site_id


def passed(service: RunningService, site_id: str, number: int, at_ms: int = NOON_MS - 5 * MINUTE_MS) -> None:
    record(service, site_id, *(challenge(ChallengeStage.PASSED, at_ms=at_ms) for _ in range(number)))


def test_a_site_that_is_seen_and_checked_is_ok(service: RunningService, site_id: str) -> None:
    record(service, site_id, {})

    assert read(service) == {
        "siteKey": SITE,
        "status": "ok",
        "from": "2026-11-14T12:00:00.000Z",
        "to": "2026-11-15T12:00:00.000Z",
        "checks": [],
    }
    assert refusal(service.operator.get("/v1/admin/sites/site_unknown/health")) == (404, "site_not_found")


def test_a_new_site_lacks_a_credential_and_its_installation_worst_first(service: RunningService) -> None:
    add_site(service)

    assert checks(service) == [("no_credential", "critical"), ("not_installed", "info")]
    assert read(service)["status"] == "critical"


def test_a_revoked_credential_is_none(service: RunningService, site_id: str) -> None:
    record(service, site_id, {})
    listed = service.operator.get(f"/v1/admin/sites/{SITE}").json()["credentialList"]
    service.operator.post(f"/v1/admin/sites/{SITE}/credentials/{listed[0]['id']}/revoke")

    assert checks(service) == [("no_credential", "critical")]


def test_a_site_that_is_only_not_installed_is_worth_an_info(service: RunningService, site_id: str) -> None:
    assert site_id
    assert (checks(service), read(service)["status"]) == ([("not_installed", "info")], "info")


def test_a_site_that_was_observed_earlier_misses_its_traffic(service: RunningService, site_id: str) -> None:
    record(service, site_id, {"at_ms": days_ago(1) - 1})

    assert checks(service) == [("no_traffic", "warning")]


def test_tokens_that_no_one_validates_are_critical(service: RunningService, site_id: str) -> None:
    passed(service, site_id, 1)

    assert checks(service) == [("siteverify_missing", "critical")]
    assert read(service)["checks"][0]["detail"] == {"tokens": 1, "serverChecks": 0}


def test_tokens_that_may_still_be_on_their_way_are_not_missed(service: RunningService, site_id: str) -> None:
    passed(service, site_id, 20, at_ms=NOON_MS - MINUTE_MS)

    assert checks(service) == []


@pytest.mark.parametrize(("tokens", "seen", "severity"), [(10, 4, "warning"), (10, 5, None), (9, 1, None)])
def test_fewer_checks_than_half_of_ten_tokens_are_a_warning(
    service: RunningService, site_id: str, tokens: int, seen: int, severity: str | None
) -> None:
    passed(service, site_id, tokens)
    count(service, site_id, CounterName.SERVER_CHECK, "", seen)

    assert checks(service) == ([("siteverify_missing", severity)] if severity else [])


@pytest.mark.parametrize(("success", "failures", "fails"), [(20, 5, True), (21, 5, False), (0, 4, False)])
def test_many_failed_validations_are_critical(
    service: RunningService, site_id: str, success: int, failures: int, *, fails: bool
) -> None:
    record(service, site_id, {})
    count(service, site_id, CounterName.SITEVERIFY_SUCCESS, "", success)
    count(service, site_id, CounterName.SITEVERIFY_FAILURE, "token_used", failures)

    assert checks(service) == ([("siteverify_errors", "critical")] if fails else [])
    if fails:
        assert read(service)["checks"][0]["detail"] == {"calls": 25, "failures": 5, "codes": {"token_used": 5}}


def test_checks_with_an_unknown_secret_are_a_warning(service: RunningService, site_id: str) -> None:
    record(service, site_id, {})
    count(service, site_id, CounterName.CREDENTIAL_UNKNOWN, "", 3)

    assert checks(service) == [("credential_unknown", "warning")]
    assert read(service)["checks"][0]["detail"] == {"checks": 3}


@pytest.mark.parametrize(("same", "other", "warns"), [(10, 10, True), (11, 10, False), (0, 19, False)])
def test_a_server_that_sends_another_address_than_visitors_have_is_a_warning(
    service: RunningService, site_id: str, same: int, other: int, *, warns: bool
) -> None:
    record(service, site_id, {})
    count(service, site_id, CounterName.ADDRESS_SAME, "", same)
    count(service, site_id, CounterName.ADDRESS_OTHER, "", other)

    assert checks(service) == ([("address_mismatch", "warning")] if warns else [])
    if warns:
        found = read(service)["checks"][0]
        assert found["message"].startswith("Your server sends another address than visitors have: 50% mismatch in 20 ")
        assert found["detail"] == {"calls": 20, "mismatches": 10}


def test_rejected_origins_are_named(service: RunningService, site_id: str) -> None:
    record(service, site_id, {})
    count(service, site_id, CounterName.ORIGIN_REFUSED, "https://copy.example", 3)

    assert checks(service) == [("origin_not_allowed", "warning")]
    detail = read(service)["checks"][0]["detail"]
    assert detail == {"refused": 3, "origins": [{"origin": "https://copy.example", "count": 3}], "hosts": []}
