"""The user's own sessions: listed and ended, never the sessions of other users."""

import pytest

from tests.api.account.steps import ACCOUNT, refusal
from tests.support.cast import EMAILS, Cast, cast, sign_in
from tests.support.service import RunningService

SESSIONS = f"{ACCOUNT}/sessions"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture
def people(service: RunningService) -> Cast:
    return cast(service)


def test_the_list_has_ones_own_live_sessions_newest_first(service: RunningService, people: Cast) -> None:
    service.clock.advance(seconds=1)
    client = service.new_public_client()
    client.headers["User-Agent"] = FIREFOX
    client.post(f"{ACCOUNT}/login", json={"email": EMAILS["alice"], "password": "seven purple bicycles hum"})

    newest, oldest = client.get(SESSIONS).json()["items"]

    assert set(newest) == {"id", "current", "browser", "addressId", "createdAt", "lastUsedAt"}
    assert (newest["current"], newest["browser"], oldest["current"]) == (True, "Firefox on Linux", False)
    assert newest["createdAt"] == "2026-11-15T12:00:01.000Z"
    assert newest["addressId"] != "127.0.0.1"
    assert len(newest["addressId"]) == 16
    service.clock.advance(hours=2)
    client.headers["User-Agent"] = "curl/8"
    later = sign_in(service, EMAILS["alice"])
    assert [item["current"] for item in later.get(SESSIONS).json()["items"]] == [True]


def test_ending_one_session_leaves_the_others(service: RunningService, people: Cast) -> None:
    other = sign_in(service, EMAILS["alice"])
    [session_id] = [item["id"] for item in other.get(SESSIONS).json()["items"] if item["current"]]

    assert people.alice.delete(f"{SESSIONS}/{session_id}").status_code == 204

    assert refusal(other.get(SESSIONS)) == (401, "session_expired")
    assert len(people.alice.get(SESSIONS).json()["items"]) == 1
    assert refusal(people.alice.delete(f"{SESSIONS}/{session_id}")) == (404, "not_found")


def test_ending_the_current_session_signs_out(people: Cast) -> None:
    [session] = people.alice.get(SESSIONS).json()["items"]

    reply = people.alice.delete(f"{SESSIONS}/{session['id']}")

    assert reply.status_code == 204
    assert "Max-Age=0" in reply.headers["set-cookie"]
    assert refusal(people.alice.get(SESSIONS)) == (401, "unauthorized")


def test_someone_elses_session_responds_like_an_unknown_one(people: Cast) -> None:
    [of_bob] = people.bob.get(SESSIONS).json()["items"]

    replies = [people.alice.delete(f"{SESSIONS}/{each}") for each in (of_bob["id"], "ses_0123456789abcdef", "x")]

    assert {(*refusal(reply), reply.content) for reply in replies} == {(404, "not_found", replies[0].content)}
    assert people.bob.get(SESSIONS).status_code == 200


def test_ending_all_others_keeps_the_current_one(service: RunningService, people: Cast) -> None:
    others = [sign_in(service, EMAILS["alice"]) for _ in range(2)]

    assert people.alice.post(f"{SESSIONS}/revoke-others").status_code == 204

    assert [refusal(other.get(SESSIONS)) for other in others] == [(401, "session_expired")] * 2
    assert len(people.alice.get(SESSIONS).json()["items"]) == 1
    assert people.bob.get(SESSIONS).status_code == 200
