"""Passwords: reset with a link, and changed. No response shows whether an address is known."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from agentgate.lib.clock import HOUR_MS
from agentgate.lib.enums import UserStatus
from agentgate.people.identity.records import LinkKind
from tests.api.account.steps import (
    ACCOUNT,
    NEW_PASSWORD,
    begin_with_mfa,
    link_in,
    log_in,
    make_link,
    messages,
    next_code,
    refusal,
    trail,
    turn_mfa_on,
)
from tests.support.cast import EMAILS, PASSWORD, Cast, add_user, cast, sign_in
from tests.support.service import RunningService

FORGOT, RESET, CHANGE = f"{ACCOUNT}/password/forgot", f"{ACCOUNT}/password/reset", f"{ACCOUNT}/password"


@pytest.fixture
def people(service: RunningService) -> Cast:
    return cast(service)


def test_a_forgotten_password_is_set_again_with_the_link_from_the_message(
    service: RunningService, people: Cast
) -> None:
    reply = service.public.post(FORGOT, json={"email": "ALICE@acme.example"})
    assert (reply.status_code, reply.json()) == (202, {"status": "received"})
    [message] = messages(service)
    assert (message["to"], message["kind"]) == (EMAILS["alice"], "reset")
    _, token = link_in(message)
    assert trail(service)[-1][1:] == (
        "user.reset_link",
        people.acme,
        people.user_ids["alice"],
        {"method": "forgot"},
    )

    service.clock.advance(seconds=1)
    client = service.new_public_client()
    reset = client.post(RESET, json={"token": token, "password": NEW_PASSWORD})

    assert reset.status_code == 200
    assert client.get(f"{ACCOUNT}/session").json() == reset.json()
    assert refusal(people.alice.get(f"{ACCOUNT}/session")) == (401, "session_expired")
    assert refusal(log_in(service.public)) == (401, "invalid_credentials")
    assert log_in(service.public, password=NEW_PASSWORD).status_code == 200
    assert [entry[1] for entry in trail(service)][-3] == "user.password"
    notice, used = messages(service)
    assert (notice["to"], notice["kind"]) == (EMAILS["alice"], "password_changed")
    assert used["body"] == ""
    again = service.public.post(RESET, json={"token": token, "password": "another password, long enough"})
    assert refusal(again) == (404, "invalid_link")


def test_unknown_invited_and_suspended_people_get_the_same_response_and_no_message(
    service: RunningService, people: Cast
) -> None:
    add_user(service, "ivy@acme.example", account_id=people.acme, invited=True)
    service.run(
        service.application.stores.store.change(
            lambda stores: stores.users.save_status(people.user_ids["bob"], UserStatus.SUSPENDED)
        )
    )

    addresses = ("nobody@acme.example", "ivy@acme.example", EMAILS["bob"], EMAILS["alice"])
    replies = [service.public.post(FORGOT, json={"email": email}) for email in addresses]

    assert {(reply.status_code, reply.content) for reply in replies} == {(202, b'{"status":"received"}')}
    assert [message["to"] for message in messages(service)] == [EMAILS["alice"]]
    assert refusal(service.public.post(FORGOT, json={"email": "not an address"})) == (400, "invalid_request")


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-Host": "evil.example"},
        {"Forwarded": "host=evil.example"},
        {"X-Forwarded-Proto": "https"},
        {"X-Original-Host": "evil.example", "X-Host": "evil.example"},
        {"Host": "evil.example"},
    ],
    ids="+".join,
)
def test_no_header_changes_where_a_link_leads(service: RunningService, people: Cast, headers: dict[str, str]) -> None:
    service.public.post(FORGOT, json={"email": EMAILS["alice"]}, headers=headers)

    [message] = messages(service)

    assert link_in(message)[0] == service.public_url
    assert "evil" not in message["body"]


def test_three_messages_an_hour_are_enough_and_further_ones_are_not_distinguished(
    service: RunningService, people: Cast
) -> None:
    replies = [service.public.post(FORGOT, json={"email": EMAILS["alice"]}) for _ in range(5)]

    assert {(reply.status_code, reply.content) for reply in replies} == {(202, b'{"status":"received"}')}
    sent = messages(service)
    assert len(sent) == 3
    assert [message["body"] == "" for message in sorted(sent, key=lambda each: each["body"] == "")].count(False) == 1
    service.clock.advance(ms=HOUR_MS)
    service.public.post(FORGOT, json={"email": EMAILS["alice"]})
    assert len(messages(service)) == 4


def test_one_source_may_ask_ten_times(service: RunningService, people: Cast) -> None:
    for number in range(10):
        assert service.public.post(FORGOT, json={"email": f"nobody{number}@acme.example"}).status_code == 202

    reply = service.public.post(FORGOT, json={"email": EMAILS["alice"]})

    assert refusal(reply) == (429, "rate_limited")
    assert 1 <= int(reply.headers["retry-after"]) <= 900
    other = service.public.post(FORGOT, json={"email": EMAILS["alice"]}, headers={"X-Forwarded-For": "198.51.100.1"})
    assert other.status_code == 202


def test_with_two_factor_authentication_a_reset_still_asks_for_a_code(service: RunningService, people: Cast) -> None:
    authenticator, _ = turn_mfa_on(service, people.alice)
    waiting = begin_with_mfa(service, EMAILS["alice"])
    client = service.new_public_client()
    token = make_link(service, LinkKind.RESET, people.user_ids["alice"])

    reply = client.post(RESET, json={"token": token, "password": NEW_PASSWORD})

    assert (reply.status_code, reply.json()) == (200, {"mfaRequired": True})
    assert refusal(client.get(f"{ACCOUNT}/session")) == (401, "mfa_required")
    code = next_code(service, authenticator)
    assert refusal(waiting.post(f"{ACCOUNT}/login/mfa", json={"code": code})) == (401, "session_expired")
    assert client.post(f"{ACCOUNT}/login/mfa", json={"code": code}).status_code == 200


def test_a_reset_link_lasts_an_hour_and_rejects_a_weak_password_without_being_used(
    service: RunningService, people: Cast
) -> None:
    token = make_link(service, LinkKind.RESET, people.user_ids["alice"])
    weak = service.public.post(RESET, json={"token": token, "password": "short"})
    assert refusal(weak) == (400, "weak_password")
    own = service.public.post(RESET, json={"token": token, "password": "alice in wonderland"})
    assert refusal(own) == (400, "weak_password")
    service.clock.advance(ms=HOUR_MS)

    late = service.public.post(RESET, json={"token": token, "password": NEW_PASSWORD})

    assert refusal(late) == (404, "invalid_link")
    assert log_in(service.public).status_code == 200


def test_what_is_not_a_reset_link_responds_like_an_unknown_one(service: RunningService, people: Cast) -> None:
    invite = make_link(service, LinkKind.INVITE, people.user_ids["bob"], people.acme)
    ivy = add_user(service, "ivy@acme.example", account_id=people.acme, invited=True)
    of_invited = make_link(service, LinkKind.RESET, ivy.id)
    older = make_link(service, LinkKind.RESET, people.user_ids["alice"])
    make_link(service, LinkKind.RESET, people.user_ids["alice"])

    for token in ("", "unknown", invite, of_invited, older):
        reply = service.public.post(RESET, json={"token": token, "password": NEW_PASSWORD})
        assert refusal(reply) == (404, "invalid_link")


def test_a_suspended_user_cannot_use_a_link_made_before(service: RunningService, people: Cast) -> None:
    token = make_link(service, LinkKind.RESET, people.user_ids["bob"])
    service.run(
        service.application.stores.store.change(
            lambda stores: stores.users.save_status(people.user_ids["bob"], UserStatus.SUSPENDED)
        )
    )

    reply = service.public.post(RESET, json={"token": token, "password": NEW_PASSWORD})

    assert refusal(reply) == (403, "user_suspended")


def test_of_many_who_use_a_reset_link_at_once_one_does(service: RunningService, people: Cast) -> None:
    token = make_link(service, LinkKind.RESET, people.user_ids["alice"])

    def reset(number: int) -> int:
        body = {"token": token, "password": f"{NEW_PASSWORD} {number}"}
        return service.public.post(RESET, json=body).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(reset, range(16)))

    assert statuses == [200] + [404] * 15


def test_changing_the_password_ends_other_sessions_and_changes_the_cookie(
    service: RunningService, people: Cast
) -> None:
    other = sign_in(service, EMAILS["alice"])
    before = people.alice.cookies["ag_account"]

    reply = people.alice.post(CHANGE, json={"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD})

    assert reply.status_code == 204
    assert people.alice.cookies["ag_account"] != before
    assert people.alice.get(f"{ACCOUNT}/session").status_code == 200
    assert refusal(other.get(f"{ACCOUNT}/session")) == (401, "session_expired")
    old = service.new_public_client().get(f"{ACCOUNT}/session", headers={"Cookie": f"ag_account={before}"})
    assert refusal(old) == (401, "session_expired")
    assert log_in(service.public, password=NEW_PASSWORD).status_code == 200
    assert (EMAILS["alice"], "user.password", people.acme, people.user_ids["alice"], {"method": "change"}) in trail(
        service
    )
    assert messages(service)[0]["kind"] == "password_changed"


def test_changing_the_password_needs_the_present_one_and_a_good_new_one(service: RunningService, people: Cast) -> None:
    weak = people.alice.post(CHANGE, json={"currentPassword": PASSWORD, "newPassword": "short"})
    wrong = [
        people.alice.post(CHANGE, json={"currentPassword": "wrong", "newPassword": NEW_PASSWORD}) for _ in range(5)
    ]
    locked = people.alice.post(CHANGE, json={"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD})

    assert refusal(weak) == (400, "weak_password")
    assert {refusal(reply) for reply in wrong} == {(403, "invalid_password")}
    assert refusal(locked) == (429, "rate_limited")
    # Wrong passwords sent with a user's session do not block sign-ins elsewhere.
    assert log_in(service.public).status_code == 200
