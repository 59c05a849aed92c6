"""Invite links: looked at without being used, accepted once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from agentgate.lib.clock import DAY_MS
from agentgate.lib.enums import AccountRole
from agentgate.people.identity.records import LinkKind
from tests.api.account.steps import ACCOUNT, NEW_PASSWORD, log_in, make_link, refusal, trail
from tests.support.cast import Cast, add_user, cast
from tests.support.service import RunningService

ACCEPT = f"{ACCOUNT}/invite/accept"
IVY = "ivy@acme.example"


@pytest.fixture
def people(service: RunningService) -> Cast:
    return cast(service)


@pytest.fixture
def ivy_id(service: RunningService, people: Cast) -> str:
    return add_user(service, IVY, account_id=people.acme, role=AccountRole.MEMBER, invited=True).id


@pytest.fixture
def token(service: RunningService, people: Cast, ivy_id: str) -> str:
    return make_link(service, LinkKind.INVITE, ivy_id, people.acme)


def test_looking_at_an_invite_tells_who_it_is_for_and_does_not_use_it(service: RunningService, token: str) -> None:
    replies = [service.public.get(f"{ACCOUNT}/invite/{token}") for _ in range(3)]

    assert [reply.status_code for reply in replies] == [200] * 3
    assert replies[0].json() == {
        "email": IVY,
        "accountName": "Acme",
        "role": "member",
        "expiresAt": "2026-11-22T12:00:00.000Z",
        "hasPassword": False,
    }
    assert replies[0].headers["referrer-policy"] == "no-referrer"
    assert replies[0].headers["cache-control"] == "no-store"
    assert service.public.head(f"{ACCOUNT}/invite/{token}").status_code == 200
    assert service.public.post(ACCEPT, json={"token": token, "password": NEW_PASSWORD}).status_code == 200


def test_accepting_sets_password_and_name_joins_and_signs_in(
    service: RunningService, people: Cast, ivy_id: str, token: str
) -> None:
    client = service.new_public_client()

    reply = client.post(ACCEPT, json={"token": token, "password": NEW_PASSWORD, "name": " Ivy Ivory "})

    assert reply.status_code == 200
    assert reply.json()["user"] == {"id": ivy_id, "email": IVY, "name": "Ivy Ivory", "mfaEnabled": False}
    assert reply.json()["account"]["role"] == "member"
    assert client.get(f"{ACCOUNT}/session").json() == reply.json()
    assert trail(service)[-1] == (IVY, "member.join", people.acme, ivy_id, {})
    assert log_in(service.public, IVY, NEW_PASSWORD).status_code == 200
    assert refusal(service.public.get(f"{ACCOUNT}/invite/{token}")) == (404, "invalid_link")
    again = service.public.post(ACCEPT, json={"token": token, "password": "another password, long enough"})
    assert refusal(again) == (404, "invalid_link")


def test_of_many_who_accept_at_once_one_does(service: RunningService, token: str) -> None:
    def accept(number: int) -> int:
        body = {"token": token, "password": f"{NEW_PASSWORD} {number}"}
        return service.public.post(ACCEPT, json=body).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(accept, range(16)))

    assert statuses == [200] + [404] * 15


def test_a_weak_password_is_rejected_and_the_link_still_works(service: RunningService, token: str) -> None:
    for password in ("short", "x" * 129, "passwordpassword", "ivy is my very own name"):
        reply = service.public.post(ACCEPT, json={"token": token, "password": password})
        assert refusal(reply) == (400, "weak_password")

    assert service.public.post(ACCEPT, json={"token": token, "password": NEW_PASSWORD}).status_code == 200


def test_a_name_that_would_break_a_line_is_rejected_and_the_link_still_works(
    service: RunningService, token: str
) -> None:
    for name in ("", "  ", "Iv\ny", "Iv\u202ey", "x" * 101):
        reply = service.public.post(ACCEPT, json={"token": token, "password": NEW_PASSWORD, "name": name})
        assert refusal(reply) == (400, "invalid_request")

    assert service.public.get(f"{ACCOUNT}/invite/{token}").status_code == 200


def test_a_link_ends_after_seven_days(service: RunningService, token: str) -> None:
    service.clock.advance(ms=7 * DAY_MS - 1)
    assert service.public.get(f"{ACCOUNT}/invite/{token}").status_code == 200

    service.clock.advance(ms=1)

    assert refusal(service.public.get(f"{ACCOUNT}/invite/{token}")) == (404, "invalid_link")
    late = service.public.post(ACCEPT, json={"token": token, "password": NEW_PASSWORD})
    assert refusal(late) == (404, "invalid_link")


def test_a_new_link_ends_the_older_one(service: RunningService, people: Cast, ivy_id: str, token: str) -> None:
    make_link(service, LinkKind.INVITE, ivy_id, people.acme)

    assert refusal(service.public.get(f"{ACCOUNT}/invite/{token}")) == (404, "invalid_link")


def test_what_is_not_an_invite_responds_like_an_unknown_one(
    service: RunningService, people: Cast, ivy_id: str, token: str
) -> None:
    reset = make_link(service, LinkKind.RESET, ivy_id)
    # Bob already has a password, so no link for Bob is an invitation, even if it was created as one.
    of_bob = make_link(service, LinkKind.INVITE, people.user_ids["bob"], people.acme)
    elsewhere = make_link(service, LinkKind.INVITE, ivy_id, people.globex)

    for wrong in ("unknown", reset, elsewhere, "x" * 1000):
        assert refusal(service.public.get(f"{ACCOUNT}/invite/{wrong}")) == (404, "invalid_link")
        reply = service.public.post(ACCEPT, json={"token": wrong, "password": NEW_PASSWORD})
        assert refusal(reply) == ((404, "invalid_link") if len(wrong) < 1024 else (400, "invalid_request"))
    reply = service.public.post(ACCEPT, json={"token": of_bob, "password": NEW_PASSWORD})
    assert refusal(reply) == (404, "invalid_link")
    assert refusal(log_in(service.public, "bob@acme.example", NEW_PASSWORD)) == (401, "invalid_credentials")
    assert service.public.get(f"{ACCOUNT}/invite/{token}").status_code == 200


def test_an_invitation_that_was_taken_back_is_void(
    service: RunningService, people: Cast, ivy_id: str, token: str
) -> None:
    service.run(
        service.application.stores.store.change(lambda stores: stores.members.remove_membership(people.acme, ivy_id))
    )

    assert refusal(service.public.get(f"{ACCOUNT}/invite/{token}")) == (404, "invalid_link")
    reply = service.public.post(ACCEPT, json={"token": token, "password": NEW_PASSWORD})
    assert refusal(reply) == (404, "invalid_link")


def test_no_secret_of_an_invitation_is_in_the_log(service: RunningService, token: str) -> None:
    service.public.get(f"{ACCOUNT}/invite/{token}")
    reply = service.public.post(ACCEPT, json={"token": token, "password": NEW_PASSWORD})

    log = service.log.getvalue()

    assert f"{ACCOUNT}/invite/(hidden)" in log
    for secret in (token, NEW_PASSWORD, service.public.cookies["ag_account"], reply.json()["csrfToken"]):
        assert secret not in log
