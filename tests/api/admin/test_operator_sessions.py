"""Operators' sessions: listed, ended by oneself and by others, and all over when the operator key changes."""

import pytest
from msgspec.structs import replace

from agentgate.lib.settings.schema import Settings
from tests.support.api_client import ApiClient
from tests.support.cast import operator_client
from tests.support.service import RunningService, running_service

SESSIONS, SESSION = "/v1/admin/sessions", "/v1/admin/session"
NEW_KEY = "agk_test_another_operator_credential"


def listed(client: ApiClient) -> list[tuple[str, bool]]:
    return [(item["operator"], item["current"]) for item in client.get(SESSIONS).json()["items"]]


def session_id(client: ApiClient) -> str:
    return next(item["id"] for item in client.get(SESSIONS).json()["items"] if item["current"])


def last_entry(service: RunningService) -> tuple[str, ...]:
    rows = service.run(
        service.application.stores.databases["config"].all(
            "SELECT actor, action, target, detail FROM audit_entry ORDER BY id DESC LIMIT 1"
        )
    )
    return tuple(rows[0])


def test_operators_see_everybodys_live_sessions_newest_first(service: RunningService) -> None:
    olga = operator_client(service)
    service.clock.advance(seconds=1)
    otto = operator_client(service, "Otto")

    assert listed(olga) == [("Otto", False), ("Olga", True)]
    assert listed(otto) == [("Otto", True), ("Olga", False)]
    assert listed(service.operator) == [("Otto", False), ("Olga", False)]
    item = olga.get(SESSIONS).json()["items"][1]
    assert item["browser"] == "Python"
    assert item["createdAt"] == item["lastUsedAt"] == "2026-11-15T12:00:00.000Z"
    assert "127.0.0.1" not in str(item)
    service.clock.advance(hours=2)
    assert listed(service.operator) == []


def test_an_operator_ends_another_ones_session_and_their_own(service: RunningService) -> None:
    olga, otto = operator_client(service), operator_client(service, "Otto")
    ended = session_id(otto)

    assert olga.delete(f"{SESSIONS}/{ended}").status_code == 204

    assert otto.get(SESSION).json()["error"] == "session_expired"
    assert last_entry(service) == ("Olga", "operator.session_end", ended, '{"operator":"Otto"}')
    again = olga.delete(f"{SESSIONS}/{ended}")
    assert (again.status_code, again.json()["error"]) == (404, "not_found")
    own = olga.delete(f"{SESSIONS}/{session_id(olga)}")
    assert (own.status_code, "Max-Age=0" in own.headers["set-cookie"]) == (204, True)
    assert listed(service.operator) == []


def test_all_others_are_ended_at_once_and_with_the_key_really_all(service: RunningService) -> None:
    olga, otto = operator_client(service), operator_client(service, "Otto")

    assert olga.post(f"{SESSIONS}/revoke-others").status_code == 204

    assert listed(olga) == [("Olga", True)]
    assert last_entry(service) == ("Olga", "operator.sessions_end", None, '{"ended":1}')
    assert otto.get(SESSION).status_code == 401
    assert service.operator.post(f"{SESSIONS}/revoke-others").status_code == 204
    assert olga.get(SESSION).status_code == 401


def test_ending_a_session_needs_the_csrf_token_and_an_operator(service: RunningService) -> None:
    olga = operator_client(service)
    path = f"{SESSIONS}/{session_id(olga)}"
    del olga.headers["X-CSRF-Token"]

    assert olga.delete(path).json()["error"] == "csrf"
    assert service.anonymous.delete(path).json()["error"] == "unauthorized"
    assert service.anonymous.get(SESSIONS).json()["error"] == "unauthorized"


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_a_changed_operator_key_ends_every_session(settings: Settings) -> None:
    with running_service(settings) as service:
        cookie = operator_client(service).cookies["ag_admin"]

    def statuses(key: str) -> list[int]:
        with running_service(replace(settings, admin_key=key)) as service:
            reader = service.new_client()
            reader.cookies.set("ag_admin", cookie)
            operator = ApiClient(service.admin_url, headers={"X-Admin-Key": key})
            found = [reader.get(SESSION).status_code, len(listed(operator))]
            operator.close()
            return found

    # The same key after a restart: the session remains valid.
    assert statuses(settings.admin_key) == [200, 1]
    assert statuses(NEW_KEY) == [401, 0]


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_a_session_from_before_keys_were_noted_has_ended(service: RunningService) -> None:
    olga = operator_client(service)
    service.run(service.application.stores.databases["config"].run("UPDATE operator_session SET key_tag = NULL"))

    assert olga.get(SESSION).json()["error"] == "session_expired"
