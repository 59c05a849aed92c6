"""Accounts: users with their customers, and invitations into a new customer or an existing one."""

from typing import Any

import pytest
from msgspec.structs import replace

from agentgate.http import paging
from agentgate.lib.clock import DAY_MS
from agentgate.lib.enums import AccountRole
from agentgate.lib.moment import Moment
from agentgate.lib.settings.schema import Settings
from tests.api.admin.operating import ACCOUNTS, CUSTOMERS, USERS, accept, messages, refusal, trail
from tests.support.cast import add_account, add_user, cast
from tests.support.service import NOON_MS, RunningService, running_service


def invite(service: RunningService, **body: Any) -> Any:
    return service.operator.post(ACCOUNTS, json=body)


def count(service: RunningService, table: str) -> int:
    row = service.run(service.application.stores.databases["config"].one(f"SELECT count(*) FROM {table}"))
    assert row is not None
    return int(row[0])


def test_the_list_has_a_row_for_each_membership_newest_first(service: RunningService) -> None:
    acme = add_account(service, "Acme")
    ann = add_user(service, "ann@acme.example", account_id=acme)
    service.clock.advance(seconds=1)
    bob = add_user(service, "bob@acme.example", account_id=acme, role=AccountRole.READONLY, invited=True)
    service.clock.advance(seconds=1)
    globex = add_account(service, "Globex")
    service.run(
        service.application.stores.store.change(
            lambda stores: stores.members.add_membership(globex, ann.id, AccountRole.ADMIN, service.clock.now_ms())
        )
    )
    add_user(service, "nobody@acme.example")
    service.run(service.application.stores.store.read.users.note_sign_in(ann.id, NOON_MS + 5))

    items = service.operator.get(ACCOUNTS).json()["items"]

    of_ann = {
        "userId": ann.id,
        "email": "ann@acme.example",
        "name": "Ann",
        "status": "active",
        "mfaEnabled": False,
        "createdAt": Moment(NOON_MS).text(),
        "lastSignInAt": Moment(NOON_MS + 5).text(),
    }
    assert items == [
        {**of_ann, "role": "admin", "customerId": globex, "customerName": "Globex"},
        {
            "userId": bob.id,
            "email": "bob@acme.example",
            "name": "Bob",
            "status": "invited",
            "role": "readonly",
            "customerId": acme,
            "customerName": "Acme",
            "mfaEnabled": False,
            "createdAt": Moment(NOON_MS + 1000).text(),
        },
        {**of_ann, "role": "owner", "customerId": acme, "customerName": "Acme"},
    ]
    service.operator.post(f"{USERS}/{bob.id}/suspend")
    assert [item["status"] for item in service.operator.get(ACCOUNTS).json()["items"]] == [
        "active",
        "suspended",
        "active",
    ]


def test_inviting_someone_new_creates_their_customer_with_them_as_owner(service: RunningService) -> None:
    reply = invite(service, email="Ann@Acme.example", name="Ann", customerName="Acme")

    assert reply.status_code == 201
    made = reply.json()
    assert (made["email"], made["expiresAt"]) == ("ann@acme.example", Moment(NOON_MS + 7 * DAY_MS).text())
    customer = service.operator.get(f"{CUSTOMERS}/{made['customerId']}").json()
    assert (customer["name"], customer["ownerEmail"]) == ("Acme", "ann@acme.example")
    [member] = customer["memberList"]
    assert (member["userId"], member["name"], member["role"]) == (made["userId"], "Ann", "owner")
    assert [action for action, _, _ in trail(service, made["customerId"])] == ["member.invite", "account.create"]
    [(to, kind, text)] = messages(service)
    assert (to, kind) == ("ann@acme.example", "invite")
    assert made["inviteUrl"] in text
    session = accept(service, made["inviteUrl"]).json()
    assert (session["account"]["id"], session["account"]["role"]) == (made["customerId"], "owner")


def test_links_lead_to_the_address_that_the_settings_name_whatever_the_host(settings: Settings) -> None:
    with running_service(replace(settings, public_base_url="https://gate.example")) as service:
        made = invite(service, email="ann@acme.example").json()
        accept(service, made["inviteUrl"])
        reset = service.operator.post(f"{USERS}/{made['userId']}/reset-link").json()

    assert made["inviteUrl"].startswith("https://gate.example/console/invite#")
    assert reset["resetUrl"].startswith("https://gate.example/console/reset#")


def test_a_new_customer_is_named_after_the_person_when_it_has_no_name(service: RunningService) -> None:
    for body, name in (
        ({"email": "ann@acme.example", "name": "Ann"}, "Ann"),
        ({"email": "bob@acme.example", "role": "owner"}, "bob@acme.example"),
    ):
        made = invite(service, **body).json()
        assert service.operator.get(f"{CUSTOMERS}/{made['customerId']}").json()["name"] == name


def test_inviting_with_a_customer_adds_a_teammate_as_member_or_as_told(service: RunningService) -> None:
    acme = add_account(service, "Acme")

    plain = invite(service, email="ann@acme.example", customerId=acme).json()
    owner = invite(service, email="bob@acme.example", customerId=acme, role="owner").json()

    assert (plain["customerId"], owner["customerId"]) == (acme, acme)
    members = service.operator.get(f"{CUSTOMERS}/{acme}").json()["memberList"]
    assert {each["email"]: each["role"] for each in members} == {
        "ann@acme.example": "member",
        "bob@acme.example": "owner",
    }
    assert count(service, "account") == 1


def test_someone_invited_before_can_be_invited_elsewhere(service: RunningService) -> None:
    acme = add_account(service, "Acme")
    first = invite(service, email="ann@acme.example", customerId=acme).json()

    second = invite(service, email="ann@acme.example", customerName="Second").json()

    assert second["userId"] == first["userId"]
    assert second["customerId"] != acme
    assert accept(service, second["inviteUrl"]).json()["account"]["name"] == "Second"


def test_who_cannot_be_invited_leaves_nothing_behind(service: RunningService) -> None:
    people = cast(service)
    invited = invite(service, email="ann@acme.example", customerId=people.acme).json()
    suspended = add_user(service, "sue@acme.example", invited=True)
    service.operator.post(f"{USERS}/{suspended.id}/suspend")
    before = {table: count(service, table) for table in ("account", "users", "membership", "link", "outbox_message")}

    refused = {
        "already_active": invite(service, email="carol@globex.example", customerName="Carol's second"),
        "already_member": invite(service, email=invited["email"], customerId=people.acme),
        "invalid_state": invite(service, email="sue@acme.example", customerName="Sue"),
    }
    assert {refusal(reply) for reply in refused.values()} == {(409, code) for code in refused}
    teammate = invite(service, email="carol@globex.example", customerId=people.acme)
    assert refusal(teammate) == (409, "already_active")
    service.operator.patch(f"{CUSTOMERS}/{people.globex}", json={"limits": {"members": 1}})
    assert refusal(invite(service, email="zoe@acme.example", customerId=people.globex)) == (409, "member_limit")

    assert {table: count(service, table) for table in before} == before


def test_a_malformed_invitation_is_rejected(service: RunningService) -> None:
    acme, gone = add_account(service, "Acme"), add_account(service, "Gone")
    service.operator.request("DELETE", f"{CUSTOMERS}/{gone}", json={"confirm": "Gone"})

    for body, part in (
        ({}, "email"),
        ({"email": "nonsense"}, "email address"),
        ({"email": "a@b.example", "name": "two\nlines"}, "name"),
        ({"email": "a@b.example", "customerName": ""}, "customerName"),
        ({"email": "a@b.example", "customerName": "x" * 101}, "customerName"),
        ({"email": "a@b.example", "customerId": acme, "customerName": "Acme"}, "not both"),
        ({"email": "a@b.example", "customerId": "acc_0000000000000000"}, "customerId"),
        ({"email": "a@b.example", "customerId": gone}, "customerId"),
        ({"email": "a@b.example", "customerName": "New", "role": "member"}, "role"),
        ({"email": "a@b.example", "customerId": acme, "role": "king"}, "role"),
        ({"email": "a@b.example", "customer": "Acme"}, "customer"),
    ):
        reply = service.operator.post(ACCOUNTS, json=body)
        assert refusal(reply) == (400, "invalid_request"), body
        assert part in reply.json()["message"]

    assert (count(service, "users"), messages(service)) == (0, [])


@pytest.mark.parametrize("at_once", [1, 250])
def test_the_list_has_pages_if_the_caller_asks_for_them(
    service: RunningService, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(paging, "PAGE", at_once)
    for number in range(5):
        add_user(service, f"user{number}@acme.example", account_id=add_account(service, f"Acme {number}"))
        service.clock.advance(seconds=number % 2)
    complete = [each["email"] for each in service.operator.get(ACCOUNTS).json()["items"]]

    pages: list[list[str]] = []
    cursor = {}
    while True:
        page = service.operator.get(ACCOUNTS, params={"limit": 2, **cursor}).json()
        pages.append([each["email"] for each in page["items"]])
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}

    assert [len(page) for page in pages] == [2, 2, 1]
    assert [each for page in pages for each in page] == complete


def test_users_are_found_by_a_part_of_address_id_name_or_customer(service: RunningService) -> None:
    acme, globex = add_account(service, "Acme Ärzte"), add_account(service, "Globex")
    alice = add_user(service, "alice@acme.example", account_id=acme)
    add_user(service, "under_score@globex.example", account_id=globex)
    add_user(service, "underAscore@globex.example", account_id=globex)

    def find(text: str, **more: Any) -> list[str]:
        reply = service.operator.get(ACCOUNTS, params={"q": text, **more})
        assert reply.status_code == 200, reply.text
        return [each["email"] for each in reply.json()["items"]]

    assert find("LICE@acme") == find(alice.id) == find("ÄRZTE") == find("alice") == ["alice@acme.example"]
    # A wildcard of LIKE is a character like any other.
    assert find("under_") == ["under_score@globex.example"]
    assert find("%") == find("nobody") == []
    first = service.operator.get(ACCOUNTS, params={"q": "globex", "limit": 1}).json()
    assert len(first["items"]) == 1
    assert len(find("globex", cursor=first["nextCursor"])) == 1
    assert service.operator.get(ACCOUNTS, params={"q": "acme", "cursor": first["nextCursor"]}).status_code == 400
    assert service.operator.get(ACCOUNTS, params={"q": "x" * 201}).status_code == 400
