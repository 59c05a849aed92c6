"""Members: listed, invited, given roles, removed. Links go out by mail only, and an account keeps an owner."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.enums import AccountRole, ConsolePermission
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.people.accounts.members import lock_acting_role
from tests.api.console.steps import CONSOLE, at_once, outbox, refusal, same_person, set_limits, told, trail
from tests.support.api_client import ApiClient
from tests.support.cast import Cast, add_user
from tests.support.service import NOON_MS, RunningService

MEMBERS = f"{CONSOLE}/members"
UNKNOWN = "usr_0000000000000000"
ROUNDS = 100


def invite(client: ApiClient, email: str = "ivy@acme.example", role: str = "member") -> Any:
    return client.post(MEMBERS, json={"email": email, "role": role})


def listed(client: ApiClient) -> dict[str, str]:
    return {item["email"].partition("@")[0]: item["role"] for item in client.get(MEMBERS).json()["items"]}


def link_is_live(service: RunningService, secret: str) -> bool:
    return service.public.get(f"/v1/account/invite/{secret}").status_code == 200


def secret_in(text: str) -> str:
    found = re.search(r"/console/invite#([A-Za-z0-9_-]{43})", text)
    assert found is not None, text
    return found[1]


def test_the_list_shows_everyone_with_role_and_state(people: Cast) -> None:
    items = people.rita.get(MEMBERS).json()["items"]

    assert {
        "userId": people.user_ids["bob"],
        "email": "bob@acme.example",
        "name": "Bob",
        "role": "member",
        "status": "active",
        "mfaEnabled": False,
        "joinedAt": Moment(NOON_MS).text(),
    } in items
    assert listed(people.rita) == {"alice": "owner", "adam": "admin", "bob": "member", "rita": "readonly"}


def test_a_new_address_is_invited_by_mail_and_the_response_has_no_link(service: RunningService, people: Cast) -> None:
    invited = invite(people.adam, "Ivy@ACME.example")

    assert invited.status_code == 201
    body = invited.json()
    assert set(body) == {"member", "expiresAt"}
    assert body["expiresAt"] == Moment(NOON_MS + 7 * DAY_MS).text()
    member = body["member"]
    assert (member["email"], member["role"], member["status"]) == ("ivy@acme.example", "member", "invited")
    ((to, kind, text),) = outbox(service)
    assert (to, kind) == ("ivy@acme.example", "invite")
    assert secret_in(text) not in invited.text
    assert link_is_live(service, secret_in(text))
    assert [told(event) for event in trail(people, "member")] == [
        ("adam@acme.example", "member.invite", member["userId"], {"email": "ivy@acme.example", "role": "member"})
    ]


def test_the_link_in_the_message_does_not_follow_the_requests_host(service: RunningService, people: Cast) -> None:
    people.alice.headers["Host"] = "evil.example"
    people.alice.headers["X-Forwarded-Host"] = "evil.example"

    invite(people.alice)

    ((_, _, text),) = outbox(service)
    assert "evil" not in text


def test_a_member_cannot_be_invited_again(service: RunningService, people: Cast) -> None:
    assert refusal(invite(people.alice, "BOB@acme.example", "admin")) == (409, "already_member")
    assert listed(people.alice)["bob"] == "member"
    assert (outbox(service), trail(people, "member")) == ([], [])


def test_a_malformed_invitation_is_rejected(service: RunningService, people: Cast) -> None:
    malformed: tuple[Any, ...] = (
        {"email": "ivy", "role": "member"},
        {"email": "ivy@acme.example"},
        {"email": "ivy@acme.example", "role": "boss"},
        {"email": "a@b@c.example", "role": "member"},
        {"email": "m\u0131ke@acme.example", "role": "member"},
        {"email": "ivy\u0000@acme.example", "role": "member"},
        {"email": "ivy@acme.example", "role": "member", "inviteUrl": "x"},
        {"role": "member"},
        [],
    )
    for body in malformed:
        assert refusal(people.alice.post(MEMBERS, json=body)) == (400, "invalid_request"), body
    assert outbox(service) == []


def test_only_owners_invite_owners(service: RunningService, people: Cast) -> None:
    refused = invite(people.adam, role="owner")

    assert refusal(refused) == (403, "forbidden")
    assert "account:delete" in refused.json()["message"]
    assert outbox(service) == []
    assert invite(people.adam, "ann@acme.example", "admin").status_code == 201
    assert invite(people.alice, role="owner").status_code == 201


def test_the_limit_of_members_is_the_accounts_own(service: RunningService, people: Cast) -> None:
    set_limits(service, people.acme, members=5)

    assert invite(people.alice).status_code == 201
    refused = invite(people.alice, "jan@acme.example")
    assert refusal(refused) == (409, "member_limit")
    assert len(outbox(service)) == 1
    assert service.run(service.application.stores.store.read.users.find_user_by_email("jan@acme.example")) is None


def test_the_limit_holds_under_parallel_invitations(service: RunningService, people: Cast) -> None:
    statuses = at_once(service, people.alice, lambda client, number: invite(client, f"ivy{number}@acme.example"))

    assert statuses == [201] * 6 + [409] * 58
    assert len(listed(people.alice)) == 10
    assert len(outbox(service)) == 6
    assert len(trail(people, "member.invite")) == 6


def test_parallel_invitations_of_one_address_create_one_member(service: RunningService, people: Cast) -> None:
    statuses = at_once(service, people.alice, lambda client, _: invite(client))

    assert statuses == [201] + [409] * 4 + [429] * 59
    assert len(outbox(service)) == 1


def test_a_role_is_changed_and_told_once(people: Cast) -> None:
    bob = people.user_ids["bob"]

    changed = people.adam.patch(f"{MEMBERS}/{bob}", json={"role": "readonly"})
    again = people.adam.patch(f"{MEMBERS}/{bob}", json={"role": "readonly"})

    assert (changed.status_code, changed.json()["role"]) == (200, "readonly")
    assert again.json() == changed.json()
    assert refusal(people.bob.post(f"{CONSOLE}/sites", json={"name": "Shop"})) == (403, "forbidden")
    detail = {"email": "bob@acme.example", "role": {"from": "member", "to": "readonly"}}
    assert [told(event) for event in trail(people, "member")] == [("adam@acme.example", "member.role", bob, detail)]


def test_only_owners_make_and_change_owners(people: Cast) -> None:
    alice, bob = people.user_ids["alice"], people.user_ids["bob"]

    for refused in (
        people.adam.patch(f"{MEMBERS}/{bob}", json={"role": "owner"}),
        people.adam.patch(f"{MEMBERS}/{people.user_ids['adam']}", json={"role": "owner"}),
        people.adam.patch(f"{MEMBERS}/{alice}", json={"role": "member"}),
        people.adam.delete(f"{MEMBERS}/{alice}"),
    ):
        assert refusal(refused) == (403, "forbidden")
    assert listed(people.alice) == {"alice": "owner", "adam": "admin", "bob": "member", "rita": "readonly"}
    assert people.alice.patch(f"{MEMBERS}/{bob}", json={"role": "owner"}).status_code == 200
    assert people.bob.patch(f"{MEMBERS}/{alice}", json={"role": "member"}).status_code == 200


def test_the_last_owner_stays_owner(people: Cast) -> None:
    alice = people.user_ids["alice"]

    assert refusal(people.alice.patch(f"{MEMBERS}/{alice}", json={"role": "admin"})) == (409, "last_owner")
    assert refusal(people.alice.delete(f"{MEMBERS}/{alice}")) == (409, "last_owner")
    assert people.alice.patch(f"{MEMBERS}/{alice}", json={"role": "owner"}).status_code == 200
    assert trail(people, "member") == []


def test_another_accounts_member_responds_like_an_unknown_one(people: Cast) -> None:
    carol = people.user_ids["carol"]

    for method, path, options in (
        ("PATCH", "{}", {"json": {"role": "readonly"}}),
        ("DELETE", "{}", {}),
        ("POST", "{}/resend-invite", {}),
    ):
        foreign = people.alice.request(method, f"{MEMBERS}/{path.format(carol)}", **options)
        unknown = people.alice.request(method, f"{MEMBERS}/{path.format(UNKNOWN)}", **options)
        malformed = people.alice.request(method, f"{MEMBERS}/{path.format('x')}", **options)
        assert refusal(foreign) == (404, "not_found")
        assert foreign.content == unknown.content == malformed.content
    assert listed(people.carol) == {"carol": "owner"}


def test_a_malformed_role_is_rejected(people: Cast) -> None:
    for body in ({"role": "boss"}, {}, {"role": None}, {"role": "admin", "email": "x@y.example"}):
        reply = people.alice.patch(f"{MEMBERS}/{people.user_ids['bob']}", json=body)
        assert refusal(reply) == (400, "invalid_request"), body


def test_a_removed_member_is_out_at_once(people: Cast) -> None:
    bob = people.user_ids["bob"]

    removed = people.adam.delete(f"{MEMBERS}/{bob}")

    assert (removed.status_code, removed.content) == (204, b"")
    assert refusal(people.bob.get(f"{CONSOLE}/account")) == (403, "no_account")
    detail = {"email": "bob@acme.example", "role": "member"}
    assert [told(event) for event in trail(people, "member")] == [("adam@acme.example", "member.remove", bob, detail)]


def test_a_removed_members_sessions_fall_back_to_another_account(service: RunningService, people: Cast) -> None:
    body = {"email": "bob@acme.example", "role": "readonly"}
    assert service.operator.post(f"/v1/admin/customers/{people.globex}/members", json=body).status_code == 201

    people.alice.delete(f"{MEMBERS}/{people.user_ids['bob']}")

    account = people.bob.get(f"{CONSOLE}/account").json()
    assert (account["id"], account["role"]) == (people.globex, "readonly")


def test_anyone_may_leave_but_remove_no_one_else(people: Cast) -> None:
    refused = people.rita.delete(f"{MEMBERS}/{people.user_ids['bob']}")

    assert refusal(refused) == (403, "forbidden")
    assert "members:write" in refused.json()["message"]
    assert people.rita.delete(f"{MEMBERS}/{people.user_ids['rita']}").status_code == 204
    assert listed(people.alice) == {"alice": "owner", "adam": "admin", "bob": "member"}
    assert [told(event)[:2] for event in trail(people, "member")] == [("rita@acme.example", "member.remove")]


def test_the_link_of_a_removed_invitee_is_dead(service: RunningService, people: Cast) -> None:
    user_id = invite(people.alice).json()["member"]["userId"]
    ((_, _, text),) = outbox(service)

    people.alice.delete(f"{MEMBERS}/{user_id}")

    assert not link_is_live(service, secret_in(text))
    assert outbox(service) == [("ivy@acme.example", "invite", "")]


def test_an_invitation_is_sent_again_with_a_fresh_link(service: RunningService, people: Cast) -> None:
    user_id = invite(people.alice).json()["member"]["userId"]
    ((_, _, first),) = outbox(service)
    service.clock.advance(hours=1)

    again = people.adam.post(f"{MEMBERS}/{user_id}/resend-invite")

    assert again.status_code == 200
    assert set(again.json()) == {"member", "expiresAt"}
    assert again.json()["expiresAt"] == Moment(NOON_MS + 7 * DAY_MS + HOUR_MS).text()
    texts = [text for _, _, text in outbox(service) if text]
    assert len(texts) == 1
    assert secret_in(texts[0]) not in again.text
    assert link_is_live(service, secret_in(texts[0]))
    assert not link_is_live(service, secret_in(first))
    assert told(trail(people, "member")[0])[:3] == ("adam@acme.example", "member.resend", user_id)


def test_no_one_is_mailed_again_and_again(service: RunningService, people: Cast) -> None:
    user_id = invite(people.alice).json()["member"]["userId"]

    replies = [people.alice.post(f"{MEMBERS}/{user_id}/resend-invite") for _ in range(6)]

    assert [reply.status_code for reply in replies] == [200] * 5 + [429]
    assert refusal(replies[5]) == (429, "rate_limited")
    assert 1 <= int(replies[5].headers["retry-after"]) <= 3600
    assert len(outbox(service)) == 6
    service.clock.advance(hours=1)
    assert people.alice.post(f"{MEMBERS}/{user_id}/resend-invite").status_code == 200


def test_who_has_a_password_is_not_invited_again(service: RunningService, people: Cast) -> None:
    reply = people.alice.post(f"{MEMBERS}/{people.user_ids['bob']}/resend-invite")

    assert refusal(reply) == (409, "already_active")
    assert (outbox(service), trail(people, "member")) == ([], [])


def test_two_owners_who_demote_each_other_leave_one(service: RunningService, people: Cast) -> None:
    """Whichever is first, the other has lost the right, or is the last one."""
    olaf = add_user(service, "olaf@acme.example", account_id=people.acme, role=AccountRole.OWNER)
    alice, bob = people.user_ids["alice"], people.user_ids["bob"]
    people.alice.patch(f"{MEMBERS}/{bob}", json={"role": "owner"})
    people.alice.delete(f"{MEMBERS}/{olaf.id}")
    owners = {alice: same_person(service, people.alice), bob: same_person(service, people.bob)}

    def demote(pair: tuple[str, str]) -> int:
        actor, target = pair
        return owners[actor].patch(f"{MEMBERS}/{target}", json={"role": "admin"}).status_code

    with ThreadPoolExecutor(2) as pool:
        for _ in range(ROUNDS):
            statuses = sorted(pool.map(demote, ((alice, bob), (bob, alice))))
            roles = listed(people.alice)
            assert statuses == [200, 403]
            assert sorted((roles["alice"], roles["bob"])) == ["admin", "owner"]
            left, lost = (alice, bob) if roles["alice"] == "owner" else (bob, alice)
            assert owners[left].patch(f"{MEMBERS}/{lost}", json={"role": "owner"}).status_code == 200
    for client in owners.values():
        client.close()


@pytest.mark.parametrize("name", ["rita", "bob"])
def test_who_lost_the_permission_after_the_guard_looked_is_rejected(
    service: RunningService, people: Cast, name: str
) -> None:
    """The guard has accepted both users. Since then, Rita became a reader, and Bob was removed."""
    acme, user_id = people.acme, people.user_ids[name]
    if name == "bob":
        assert people.alice.delete(f"{MEMBERS}/{user_id}").status_code == 204

    with pytest.raises(Refused, match="forbidden"):
        service.run(
            service.application.stores.store.change(
                lambda stores: lock_acting_role(stores, acme, user_id, ConsolePermission.MEMBERS_WRITE)
            )
        )


def test_two_owners_who_leave_at_once_leave_one(service: RunningService, people: Cast) -> None:
    alice, bob = people.user_ids["alice"], people.user_ids["bob"]
    people.alice.patch(f"{MEMBERS}/{bob}", json={"role": "owner"})

    with ThreadPoolExecutor(2) as pool:
        replies = pool.map(
            lambda pair: pair[0].delete(f"{MEMBERS}/{pair[1]}").status_code, ((people.alice, alice), (people.bob, bob))
        )

    assert sorted(replies) == [204, 409]
    assert "owner" in listed(people.adam).values()
