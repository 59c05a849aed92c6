"""Users as operators suspend, reactivate and help them."""

import re
from typing import Any

from agentgate.lib.clock import HOUR_MS
from agentgate.lib.enums import AccountRole
from agentgate.lib.moment import Moment
from tests.api.admin.operating import CUSTOMERS, USERS, messages, refusal, trail
from tests.support.cast import PASSWORD, Cast, add_account, add_user, cast
from tests.support.service import NOON_MS, RunningService

NEW_PASSWORD = "nine green umbrellas sing"


def log_in(service: RunningService, email: str, password: str = PASSWORD) -> Any:
    return service.new_public_client().post("/v1/account/login", json={"email": email, "password": password})


def reset(service: RunningService, url: str) -> Any:
    body = {"token": url.partition("#")[2], "password": NEW_PASSWORD}
    return service.new_public_client().post("/v1/account/password/reset", json=body)


def turn_mfa_on(service: RunningService, people: Cast, name: str) -> None:
    async def work(stores: Any) -> None:
        await stores.users.save_pending_mfa(people.user_ids[name], b"sealed", NOON_MS)
        assert await stores.users.enable_mfa(people.user_ids[name], step=1, now_ms=NOON_MS)

    service.run(service.application.stores.store.change(work))


def test_a_suspended_user_is_out_at_once_and_cannot_sign_in(service: RunningService) -> None:
    people = cast(service)

    reply = people.olga.post(f"{USERS}/{people.user_ids['bob']}/suspend", json={"reason": "left in anger"})

    assert reply.status_code == 200
    assert reply.json() == {
        "userId": people.user_ids["bob"],
        "email": "bob@acme.example",
        "name": "Bob",
        "status": "suspended",
        "role": "member",
        "customerId": people.acme,
        "customerName": "Acme",
        "mfaEnabled": False,
        "createdAt": Moment(NOON_MS).text(),
    }
    assert refusal(people.bob.get("/v1/console/account")) == (403, "user_suspended")
    assert refusal(log_in(service, "bob@acme.example")) == (403, "user_suspended")
    assert people.alice.get("/v1/console/account").status_code == 200
    detail = {"email": "bob@acme.example", "reason": "left in anger"}
    assert trail(service, people.acme) == [("user.suspend", "Olga", detail)]


def test_a_reactivated_user_signs_in_again_but_old_sessions_stay_ended(service: RunningService) -> None:
    people = cast(service)
    bob = people.user_ids["bob"]
    service.operator.post(f"{USERS}/{bob}/suspend")

    reply = people.olga.post(f"{USERS}/{bob}/reactivate")

    assert reply.json()["status"] == "active"
    assert refusal(people.bob.get("/v1/console/account")) == (401, "session_expired")
    assert log_in(service, "bob@acme.example").status_code == 200
    actions = [(action, detail) for action, _, detail in trail(service, people.acme) if action.startswith("user")]
    assert actions == [
        ("user.reactivate", {"email": "bob@acme.example"}),
        ("user.suspend", {"email": "bob@acme.example"}),
    ]


def test_a_user_is_suspended_and_reactivated_once(service: RunningService) -> None:
    people = cast(service)
    bob = f"{USERS}/{people.user_ids['bob']}"

    assert refusal(service.operator.post(f"{bob}/reactivate")) == (409, "invalid_state")
    assert service.operator.post(f"{bob}/suspend", json={}).status_code == 200
    assert refusal(service.operator.post(f"{bob}/suspend")) == (409, "invalid_state")
    assert service.operator.post(f"{bob}/reactivate").status_code == 200
    assert refusal(service.operator.post(f"{bob}/reactivate")) == (409, "invalid_state")
    for body in ({"reason": "x" * 501}, {"reason": 1}, {"why": "x"}):
        assert refusal(service.operator.post(f"{bob}/suspend", json=body)) == (400, "invalid_request")

    assert [action for action, _, _ in trail(service, people.acme)] == ["user.reactivate", "user.suspend"]


def test_every_account_of_a_user_reads_of_it_and_nobodys_user_is_noted_too(service: RunningService) -> None:
    acme, globex = add_account(service, "Acme"), add_account(service, "Globex")
    both = add_user(service, "both@acme.example", account_id=acme)
    service.run(
        service.application.stores.store.change(
            lambda stores: stores.members.add_membership(globex, both.id, AccountRole.ADMIN, NOON_MS + 1)
        )
    )
    nobodys = add_user(service, "nobody@acme.example")

    service.operator.post(f"{USERS}/{both.id}/suspend")
    alone = service.operator.post(f"{USERS}/{nobodys.id}/suspend")

    assert [action for place in (acme, globex) for action, _, _ in trail(service, place)] == ["user.suspend"] * 2
    assert alone.json()["status"] == "suspended"
    assert not {"role", "customerId", "customerName"} & set(alone.json())
    rows = service.run(
        service.application.stores.databases["config"].all(
            "SELECT action, target FROM audit_entry WHERE account_id IS NULL AND action LIKE 'user.%'"
        )
    )
    assert rows == [("user.suspend", nobodys.id)]


def test_a_reset_link_sets_a_new_password_once_within_the_hour(service: RunningService) -> None:
    people = cast(service)
    bob = f"{USERS}/{people.user_ids['bob']}"

    first = people.olga.post(f"{bob}/reset-link").json()
    service.clock.advance(seconds=1)
    second = people.olga.post(f"{bob}/reset-link").json()

    assert set(second) == {"resetUrl"}
    assert re.fullmatch(re.escape(service.public_url) + r"/console/reset#[A-Za-z0-9_-]{43}", second["resetUrl"])
    assert [(to, kind) for to, kind, _ in messages(service)] == [("bob@acme.example", "reset")] * 2
    assert second["resetUrl"] in messages(service)[0][2]
    assert first["resetUrl"] not in messages(service)[1][2]
    assert trail(service, people.acme)[0] == ("user.reset_link", "Olga", {"email": "bob@acme.example"})
    assert refusal(reset(service, first["resetUrl"])) == (404, "invalid_link")
    assert reset(service, second["resetUrl"]).status_code == 200
    assert refusal(reset(service, second["resetUrl"])) == (404, "invalid_link")
    late = service.operator.post(f"{bob}/reset-link").json()
    service.clock.advance(seconds=HOUR_MS // 1000)
    assert refusal(reset(service, late["resetUrl"])) == (404, "invalid_link")


def test_a_reset_link_is_for_users_who_have_a_password_and_may_use_it(service: RunningService) -> None:
    people = cast(service)
    invited = add_user(service, "ann@acme.example", account_id=people.acme, invited=True)
    bob = f"{USERS}/{people.user_ids['bob']}"
    earlier = service.operator.post(f"{bob}/reset-link").json()["resetUrl"]
    service.operator.post(f"{bob}/suspend")

    assert refusal(service.operator.post(f"{bob}/reset-link")) == (409, "invalid_state")
    assert refusal(service.operator.post(f"{USERS}/{invited.id}/reset-link")) == (409, "invalid_state")

    service.operator.post(f"{bob}/reactivate")
    # A reset link from before the suspension must not work afterwards.
    assert refusal(reset(service, earlier)) == (404, "invalid_link")
    assert len(messages(service)) == 1


def test_resetting_two_factor_authentication_leaves_the_password_and_tells_the_user(service: RunningService) -> None:
    people = cast(service)
    turn_mfa_on(service, people, "bob")
    bob = f"{USERS}/{people.user_ids['bob']}"
    members = service.operator.get(f"{CUSTOMERS}/{people.acme}").json()["memberList"]
    assert {each["email"] for each in members if each["mfaEnabled"]} == {"bob@acme.example"}

    reply = people.olga.post(f"{bob}/mfa/reset")

    assert reply.status_code == 200
    assert (reply.json()["mfaEnabled"], reply.json()["status"]) == (False, "active")
    assert people.bob.get("/v1/console/account").status_code == 200
    assert "user" in log_in(service, "bob@acme.example").json()
    assert [(to, kind) for to, kind, _ in messages(service)] == [("bob@acme.example", "mfa_reset")]
    assert ("user.mfa_reset", "Olga", {"email": "bob@acme.example"}) in trail(service, people.acme)
    assert refusal(service.operator.post(f"{bob}/mfa/reset")) == (409, "mfa_not_enabled")


def test_an_unknown_user_is_not_found_on_any_route(service: RunningService) -> None:
    for user_id in ("usr_0000000000000000", "x", "%00"):
        replies = [
            service.operator.post(f"{USERS}/{user_id}/{step}")
            for step in ("suspend", "reactivate", "reset-link", "mfa/reset")
        ]
        assert {refusal(reply) for reply in replies} == {(404, "not_found")}
