"""Members of an account as operators add, change, remove and invite them again."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agentgate.lib.clock import DAY_MS
from agentgate.lib.enums import AccountRole
from agentgate.lib.moment import Moment
from tests.api.admin.operating import CUSTOMERS, accept, messages, refusal, trail
from tests.support.cast import add_account, add_user, cast, signed_in_client
from tests.support.service import NOON_MS, RunningService


def add(service: RunningService, account_id: str, email: str, role: str = "member") -> Any:
    return service.operator.post(f"{CUSTOMERS}/{account_id}/members", json={"email": email, "role": role})


def test_a_new_address_is_invited_with_a_link_that_works_once(service: RunningService) -> None:
    acme = add_account(service, "Acme")

    reply = add(service, acme, "Ann@Acme.example", "owner")

    assert reply.status_code == 201
    made = reply.json()
    user_id = made["member"]["userId"]
    assert made["member"] == {
        "userId": user_id,
        "email": "ann@acme.example",
        "role": "owner",
        "status": "invited",
        "mfaEnabled": False,
        "joinedAt": Moment(NOON_MS).text(),
    }
    # Without PUBLIC_BASE_URL the link leads to where the public listener really is.
    assert re.fullmatch(re.escape(service.public_url) + r"/console/invite#[A-Za-z0-9_-]{43}", made["inviteUrl"])
    assert made["expiresAt"] == Moment(NOON_MS + 7 * DAY_MS).text()
    [(to, kind, text)] = messages(service)
    assert (to, kind) == ("ann@acme.example", "invite")
    assert made["inviteUrl"] in text
    assert trail(service, acme) == [("member.invite", "operator", {"email": "ann@acme.example", "role": "owner"})]
    assert accept(service, made["inviteUrl"]).status_code == 200
    assert refusal(accept(service, made["inviteUrl"])) == (404, "invalid_link")
    [member] = service.operator.get(f"{CUSTOMERS}/{acme}").json()["memberList"]
    assert member["status"] == "active"


def test_someone_with_a_password_is_added_with_a_notice_and_no_link(service: RunningService) -> None:
    people = cast(service)

    made = add(service, people.acme, "carol@globex.example", "admin").json()

    assert set(made) == {"member"}
    assert (made["member"]["status"], made["member"]["role"]) == ("active", "admin")
    [(to, kind, text)] = messages(service)
    assert (to, kind) == ("carol@globex.example", "added")
    assert "invite#" not in text


def test_no_one_joins_twice_and_no_one_beyond_the_limit(service: RunningService) -> None:
    people = cast(service)
    service.operator.patch(f"{CUSTOMERS}/{people.acme}", json={"limits": {"members": 5}})

    again = [add(service, people.acme, email) for email in ("bob@acme.example", "BOB@ACME.EXAMPLE")]
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda number: add(service, people.acme, f"new{number}@acme.example"), range(8)))

    assert {refusal(reply) for reply in again} == {(409, "already_member")}
    assert sorted(reply.status_code for reply in replies) == [201, *[409] * 7]
    assert {refusal(reply) for reply in replies if reply.status_code == 409} == {(409, "member_limit")}
    assert service.operator.get(f"{CUSTOMERS}/{people.acme}").json()["usage"]["members"] == 5
    assert len(messages(service)) == 1


def test_a_malformed_member_is_rejected(service: RunningService) -> None:
    acme = add_account(service, "Acme")
    place = f"{CUSTOMERS}/{acme}/members"

    for body in (
        {"email": "nonsense", "role": "owner"},
        {"email": "a@b.example\r\nBcc: x@y.example", "role": "owner"},
        {"email": "a@b.example", "role": "king"},
        {"email": "a@b.example"},
        {"email": "a@b.example", "role": "owner", "name": "Ann"},
        {},
    ):
        assert refusal(service.operator.post(place, json=body)) == (400, "invalid_request"), body

    assert messages(service) == []


def test_an_operator_makes_and_unmakes_owners_but_never_the_last(service: RunningService) -> None:
    people = cast(service)
    alice, adam = (f"{CUSTOMERS}/{people.acme}/members/{people.user_ids[name]}" for name in ("alice", "adam"))

    assert refusal(service.operator.patch(alice, json={"role": "admin"})) == (409, "last_owner")
    assert refusal(service.operator.delete(alice)) == (409, "last_owner")
    made = people.olga.patch(adam, json={"role": "owner"})
    demoted = people.olga.patch(alice, json={"role": "readonly"})

    assert (made.json()["role"], demoted.json()["role"]) == ("owner", "readonly")
    assert refusal(service.operator.patch(adam, json={"role": "member"})) == (409, "last_owner")
    assert trail(service, people.acme)[:2] == [
        ("member.role", "Olga", {"email": "alice@acme.example", "role": {"from": "owner", "to": "readonly"}}),
        ("member.role", "Olga", {"email": "adam@acme.example", "role": {"from": "admin", "to": "owner"}}),
    ]
    refused = people.alice.patch("/v1/console/account", json={"name": "Mine"})
    assert refusal(refused) == (403, "forbidden")


def test_a_role_that_is_the_same_or_does_not_exist_changes_nothing(service: RunningService) -> None:
    people = cast(service)
    place = f"{CUSTOMERS}/{people.acme}/members"
    bob = f"{place}/{people.user_ids['bob']}"

    assert service.operator.patch(bob, json={"role": "member"}).json()["role"] == "member"
    assert refusal(service.operator.patch(bob, json={"role": "king"})) == (400, "invalid_request")
    for user_id in (people.user_ids["carol"], "usr_0000000000000000"):
        assert refusal(service.operator.patch(f"{place}/{user_id}", json={"role": "admin"})) == (404, "not_found")
        assert refusal(service.operator.delete(f"{place}/{user_id}")) == (404, "not_found")

    assert trail(service, people.acme) == []


def test_a_removed_members_sessions_continue_in_another_account_or_nowhere(service: RunningService) -> None:
    acme, globex = add_account(service, "Acme"), add_account(service, "Globex")
    both = add_user(service, "both@acme.example", account_id=acme, role=AccountRole.MEMBER)
    service.clock.advance(seconds=1)
    service.run(
        service.application.stores.store.change(
            lambda stores: stores.members.add_membership(globex, both.id, AccountRole.READONLY, NOON_MS + 1)
        )
    )
    alone = add_user(service, "alone@acme.example", account_id=acme, role=AccountRole.ADMIN)
    clients = [signed_in_client(service, user, account_id=acme) for user in (both, alone)]
    assert [client.get("/v1/console/account").json()["id"] for client in clients] == [acme, acme]

    for user in (both, alone):
        assert service.operator.delete(f"{CUSTOMERS}/{acme}/members/{user.id}").status_code == 204

    elsewhere = clients[0].get("/v1/console/account").json()
    assert (elsewhere["id"], elsewhere["role"]) == (globex, "readonly")
    assert refusal(clients[1].get("/v1/console/account")) == (403, "no_account")
    assert [action for action, _, _ in trail(service, acme)] == ["member.remove", "member.remove"]


def test_a_fresh_invite_link_ends_the_one_before(service: RunningService) -> None:
    acme = add_account(service, "Acme")
    made = add(service, acme, "ann@acme.example").json()
    service.clock.advance(seconds=DAY_MS // 1000)

    reply = service.operator.post(f"{CUSTOMERS}/{acme}/members/{made['member']['userId']}/resend-invite")

    assert reply.status_code == 200
    assert set(reply.json()) == {"inviteUrl"}
    fresh = reply.json()["inviteUrl"]
    assert [(to, kind) for to, kind, _ in messages(service)] == [("ann@acme.example", "invite")] * 2
    assert fresh in messages(service)[0][2]
    assert made["inviteUrl"] not in messages(service)[1][2]
    assert trail(service, acme)[0] == ("member.resend", "operator", {"email": "ann@acme.example"})
    assert refusal(accept(service, made["inviteUrl"])) == (404, "invalid_link")
    assert accept(service, fresh).status_code == 200


def test_only_an_invited_member_is_invited_again(service: RunningService) -> None:
    people = cast(service)
    place = f"{CUSTOMERS}/{people.acme}/members"

    active = service.operator.post(f"{place}/{people.user_ids['bob']}/resend-invite")
    foreign = service.operator.post(f"{place}/{people.user_ids['carol']}/resend-invite")

    assert refusal(active) == (409, "already_active")
    assert refusal(foreign) == (404, "not_found")
    assert messages(service) == []


def test_an_invite_link_ends_with_the_membership_and_after_seven_days(service: RunningService) -> None:
    acme = add_account(service, "Acme")
    removed = add(service, acme, "gone@acme.example").json()
    late = add(service, acme, "late@acme.example").json()
    service.operator.delete(f"{CUSTOMERS}/{acme}/members/{removed['member']['userId']}")
    assert refusal(accept(service, removed["inviteUrl"])) == (404, "invalid_link")

    service.clock.advance(seconds=7 * DAY_MS // 1000)

    assert refusal(accept(service, late["inviteUrl"])) == (404, "invalid_link")
