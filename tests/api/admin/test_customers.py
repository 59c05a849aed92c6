"""Customers: listed, found, read, changed, and given sites, with what operators may do and customers may not."""

from typing import Any

import pytest

from agentgate.http import paging
from agentgate.lib.enums import AccountRole
from agentgate.lib.moment import Moment
from tests.api.admin.operating import CUSTOMERS, refusal, trail
from tests.support.cast import add_account, add_user, cast, operator_client
from tests.support.service import NOON_MS, RunningService

NOON = Moment(NOON_MS).text()
DEFAULT_LIMITS = {"sites": 5, "credentialsPerSite": 3, "members": 10, "tokens": 25, "originsPerSite": 10}


def found(service: RunningService, **params: Any) -> list[str]:
    reply = service.operator.get(CUSTOMERS, params=params)
    assert reply.status_code == 200, reply.text
    return [item["name"] for item in reply.json()["items"]]


def test_the_list_shows_owner_counts_limits_and_last_sign_in_newest_first(service: RunningService) -> None:
    acme = add_account(service, "Acme")
    owner = add_user(service, "alice@acme.example", account_id=acme)
    service.clock.advance(seconds=1)
    add_user(service, "second@acme.example", account_id=acme)
    member = add_user(service, "bob@acme.example", account_id=acme, role=AccountRole.MEMBER)
    service.operator.post(f"{CUSTOMERS}/{acme}/sites", json={"name": "Shop"})
    users = service.application.stores.store.read.users
    service.run(users.note_sign_in(owner.id, NOON_MS + 10))
    service.run(users.note_sign_in(member.id, NOON_MS + 20))
    empty = add_account(service, "Empty")

    items = service.operator.get(CUSTOMERS).json()["items"]

    assert items == [
        {
            "id": empty,
            "name": "Empty",
            "status": "active",
            "members": 0,
            "sites": 0,
            "limits": DEFAULT_LIMITS,
            "createdAt": Moment(NOON_MS + 1000).text(),
            "protected": False,
        },
        {
            "id": acme,
            "name": "Acme",
            "status": "active",
            "members": 3,
            "sites": 1,
            "limits": DEFAULT_LIMITS,
            "createdAt": NOON,
            "protected": False,
            "ownerEmail": "alice@acme.example",
            "lastSignInAt": Moment(NOON_MS + 20).text(),
        },
    ]


def test_the_list_can_be_narrowed_to_one_status_and_shortened(service: RunningService) -> None:
    for name in ("Active", "Suspended", "Deleted"):
        account_id = add_account(service, name)
        service.clock.advance(seconds=1)
        if name == "Suspended":
            service.operator.post(f"{CUSTOMERS}/{account_id}/suspend", json={"reason": "unpaid"})
        if name == "Deleted":
            service.operator.request("DELETE", f"{CUSTOMERS}/{account_id}", json={"confirm": name})

    assert found(service) == ["Deleted", "Suspended", "Active"]
    assert found(service, status="all", limit=2) == ["Deleted", "Suspended"]
    assert [found(service, status=name.lower()) for name in ("Active", "Suspended", "Deleted")] == [
        ["Active"],
        ["Suspended"],
        ["Deleted"],
    ]


def test_a_part_of_name_id_or_address_finds_a_customer_whatever_its_case(service: RunningService) -> None:
    names = ("Straße & Söhne", "ÇELİK", "Ελλάς", "100% Natural", "snake_case", "back\\slash", 'O\'Brien "Bob"')
    ids = {name: add_account(service, name) for name in names}
    add_user(service, "carol@globex.example", account_id=ids["ÇELİK"])
    add_user(service, "dora_x@globex.example", account_id=ids["Ελλάς"])

    assert found(service, q="STRASSE & SÖHNE") == ["Straße & Söhne"]
    assert found(service, q="so\u0308hne") == ["Straße & Söhne"]
    assert found(service, q="çeli\u0307k") == ["ÇELİK"]
    assert found(service, q="ελλάσ") == ["Ελλάς"]
    assert found(service, q=ids["snake_case"].upper()) == ["snake_case"]
    assert found(service, q=ids["snake_case"][4:14]) == ["snake_case"]
    assert found(service, q="CAROL@GLOBEX") == ["ÇELİK"]
    assert sorted(found(service, q="@globex.example")) == ["ÇELİK", "Ελλάς"]
    assert found(service, q=" & ") == ["Straße & Söhne"]
    assert sorted(found(service, q="")) == sorted(names)


def test_signs_that_mean_something_to_a_database_are_only_signs(service: RunningService) -> None:
    for name in ("100% Natural", "snake_case", "back\\slash", 'O\'Brien "Bob"', "Plain"):
        add_account(service, name)

    assert found(service, q="%") == ["100% Natural"]
    assert found(service, q="e_c") == ["snake_case"]
    assert found(service, q="\\") == ["back\\slash"]
    assert found(service, q="O'Brien") == ['O\'Brien "Bob"']
    assert found(service, q='"bob"') == ['O\'Brien "Bob"']
    for harmless in ("%%", "\\%", "' OR '1'='1", "'; DROP TABLE account; --", "1%N", "plain*", "$1", "?1", "%n"):
        assert found(service, q=harmless) == []
    assert len(found(service)) == 5


def test_a_filter_out_of_bounds_is_rejected(service: RunningService) -> None:
    for params, code in (
        ({"status": "gone"}, "invalid_filter"),
        ({"status": ""}, "invalid_filter"),
        ({"q": "x" * 201}, "invalid_filter"),
        ({"q": "a\0b"}, "invalid_filter"),
        ({"page": "2"}, "invalid_filter"),
        ({"limit": "0"}, "invalid_limit"),
        ({"limit": "1001"}, "invalid_limit"),
        ({"limit": "ten"}, "invalid_limit"),
    ):
        assert refusal(service.operator.get(CUSTOMERS, params=params)) == (400, code), params
    for params in ({"limit": "1"}, {"limit": "1000"}, {"q": "ß" * 200}):
        assert service.operator.get(CUSTOMERS, params=params).status_code == 200


def test_the_detail_has_members_sites_tokens_usage_and_the_newest_events(service: RunningService) -> None:
    people = cast(service)
    service.operator.post(f"{CUSTOMERS}/{people.acme}/sites", json={"name": "Shop", "siteKey": "site_shop"})
    token = people.alice.post("/v1/console/tokens", json={"name": "CI", "scopes": ["sites:read"]}).json()["token"]

    customer = service.operator.get(f"{CUSTOMERS}/{people.acme}").json()

    assert (customer["id"], customer["name"], customer["status"]) == (people.acme, "Acme", "active")
    assert {member["email"]: member["role"] for member in customer["memberList"]} == {
        "alice@acme.example": "owner",
        "adam@acme.example": "admin",
        "bob@acme.example": "member",
        "rita@acme.example": "readonly",
    }
    assert {member["status"] for member in customer["memberList"]} == {"active"}
    assert customer["siteList"] == [
        {
            "siteKey": "site_shop",
            "name": "Shop",
            "mode": "monitor",
            "widgetMode": "invisible",
            "health": {"status": "no_credentials"},
        }
    ]
    assert customer["tokens"] == [token]
    assert customer["usage"] == {"sites": 1, "members": 4, "tokens": 1}
    assert [event["action"] for event in customer["audit"]] == ["token.create", "site.create"]
    assert customer["requireMfa"] is False
    assert not {"suspendedReason", "deletedAt", "purgeAt"} & set(customer)


def test_the_detail_has_all_sites_of_a_large_customer(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "PAGE", 2)
    acme = add_account(service, "[]")
    names = ["[]", '"siteList":[]', "[", "Shop", "\\u0000"]
    for name in names:
        made = service.operator.post(f"{CUSTOMERS}/{acme}/sites", json={"name": name})
        assert made.status_code == 201, made.text
        service.clock.advance(seconds=1)

    read = service.operator.get(f"{CUSTOMERS}/{acme}").json()
    suspended = service.operator.post(f"{CUSTOMERS}/{acme}/suspend", json={"reason": "unpaid"}).json()

    assert [site["name"] for site in read["siteList"]] == names[::-1]
    assert suspended["siteList"] == read["siteList"]
    assert suspended["status"] == "suspended"


def test_the_detail_shows_the_twenty_newest_events(service: RunningService) -> None:
    acme = add_account(service, "Acme")
    for number in range(25):
        service.operator.patch(f"{CUSTOMERS}/{acme}", json={"name": f"Acme {number}"})

    events = service.operator.get(f"{CUSTOMERS}/{acme}").json()["audit"]

    assert [event["detail"]["name"]["to"] for event in events] == [f"Acme {number}" for number in range(24, 4, -1)]


def test_an_unknown_customer_is_not_found_on_any_route(service: RunningService) -> None:
    acme = add_account(service, "Acme")
    for account_id in ("acc_0000000000000000", acme.upper(), "%00", acme + "%20"):
        place = f"{CUSTOMERS}/{account_id}"
        replies = [
            service.operator.get(place),
            service.operator.patch(place, json={"name": "X"}),
            service.operator.request("DELETE", place, json={"confirm": "Acme"}),
            service.operator.post(f"{place}/suspend", json={"reason": "x"}),
            service.operator.post(f"{place}/reactivate"),
            service.operator.post(f"{place}/sites", json={"name": "X"}),
            service.operator.post(f"{place}/members", json={"email": "x@x.example", "role": "owner"}),
            service.operator.patch(f"{place}/members/usr_0", json={"role": "owner"}),
            service.operator.delete(f"{place}/members/usr_0"),
            service.operator.post(f"{place}/members/usr_0/resend-invite"),
            service.operator.get(f"{place}/audit"),
            service.operator.delete(f"{place}/tokens/tok_0"),
        ]
        assert {refusal(reply) for reply in replies} == {(404, "not_found")}


def test_a_change_keeps_what_it_does_not_name_and_each_kind_has_its_entry(service: RunningService) -> None:
    acme = add_account(service, "Acme")
    olga = operator_client(service)

    changed = olga.patch(
        f"{CUSTOMERS}/{acme}", json={"name": " Acme Ltd ", "limits": {"sites": 7, "tokens": 0}, "requireMfa": True}
    ).json()

    assert changed["name"] == "Acme Ltd"
    assert changed["limits"] == {**DEFAULT_LIMITS, "sites": 7, "tokens": 0}
    assert changed["requireMfa"] is True
    assert trail(service, acme) == [
        ("account.mfa_policy", "Olga", {"requireMfa": {"from": False, "to": True}}),
        ("account.limits", "Olga", {"sites": {"from": 5, "to": 7}, "tokens": {"from": 25, "to": 0}}),
        ("account.rename", "Olga", {"name": {"from": "Acme", "to": "Acme Ltd"}}),
    ]
    assert olga.patch(f"{CUSTOMERS}/{acme}", json={"limits": {"members": 1}}).json()["limits"]["sites"] == 7


def test_a_change_that_changes_nothing_leaves_no_trace(service: RunningService) -> None:
    acme = add_account(service, "Acme")

    for body in ({}, {"name": "Acme"}, {"limits": {}}, {"limits": {"sites": 5}}, {"requireMfa": False}):
        assert service.operator.patch(f"{CUSTOMERS}/{acme}", json=body).status_code == 200

    assert trail(service, acme) == []


def test_a_wrong_change_is_rejected_whole(service: RunningService) -> None:
    acme = add_account(service, "Acme")
    before = service.operator.get(f"{CUSTOMERS}/{acme}").json()

    for body, code in (
        ({"name": ""}, "invalid_request"),
        ({"name": "two\nlines"}, "invalid_request"),
        ({"name": "x" * 101}, "invalid_request"),
        ({"limits": {"sites": -1}}, "invalid_request"),
        ({"limits": {"sites": 10_001}}, "invalid_request"),
        ({"limits": {"sites": 1.5}}, "invalid_request"),
        ({"limits": {"sites": None}}, "invalid_request"),
        ({"limits": {"domains": 1}}, "invalid_request"),
        ({"limits": 5}, "invalid_request"),
        ({"requireMfa": "yes"}, "invalid_request"),
        ({"color": "red"}, "invalid_request"),
        ({"id": "acc_1"}, "forbidden_field"),
        ({"status": "deleted"}, "forbidden_field"),
        ({"protected": True}, "forbidden_field"),
        ({"limits": {"sites": 9}, "name": " "}, "invalid_request"),
    ):
        assert refusal(service.operator.patch(f"{CUSTOMERS}/{acme}", json=body)) == (400, code), body

    assert service.operator.get(f"{CUSTOMERS}/{acme}").json() == before


def test_lowering_a_limit_removes_nothing_but_stops_more(service: RunningService) -> None:
    people = cast(service)
    site = people.alice.post("/v1/console/sites", json={"name": "One"})

    service.operator.patch(f"{CUSTOMERS}/{people.acme}", json={"limits": {"sites": 0}})

    assert site.status_code == 201
    assert refusal(people.alice.post("/v1/console/sites", json={"name": "Two"})) == (409, "site_limit")
    assert service.operator.get(f"{CUSTOMERS}/{people.acme}").json()["usage"]["sites"] == 1


def test_an_operator_adds_sites_beyond_the_limits(service: RunningService) -> None:
    acme = add_account(service, "Acme")
    service.operator.patch(f"{CUSTOMERS}/{acme}", json={"limits": {"sites": 0, "originsPerSite": 1}})
    origins = [f"https://{number}.example" for number in range(20)]

    reply = service.operator.post(
        f"{CUSTOMERS}/{acme}/sites", json={"name": "Shop", "siteKey": "site_shop", "allowedOrigins": origins}
    )

    assert reply.status_code == 201
    site = reply.json()
    assert (site["customerId"], site["customerName"], site["mode"]) == (acme, "Acme", "monitor")
    assert len(site["allowedOrigins"]) == 20
    assert trail(service, acme)[0][0] == "site.create"


def test_a_customers_site_takes_no_other_customer(service: RunningService) -> None:
    acme = add_account(service, "Acme")
    service.operator.post(f"{CUSTOMERS}/{acme}/sites", json={"name": "Shop", "siteKey": "site_shop"})

    for body, status, code in (
        ({"name": "S", "customerId": acme}, 400, "forbidden_field"),
        ({"name": "S", "customerName": "Other"}, 400, "forbidden_field"),
        ({"name": "S", "createdAt": NOON}, 400, "forbidden_field"),
        ({}, 400, "invalid_site"),
        ({"name": "S", "siteKey": "shop"}, 400, "invalid_site"),
        ({"name": "S", "color": "red"}, 400, "invalid_request"),
        ({"name": "S", "siteKey": "site_shop"}, 409, "site_key_taken"),
    ):
        assert refusal(service.operator.post(f"{CUSTOMERS}/{acme}/sites", json=body)) == (status, code), body

    assert service.operator.get(f"{CUSTOMERS}/{acme}").json()["usage"]["sites"] == 1


def test_the_trail_is_read_in_pages_and_by_action(service: RunningService) -> None:
    acme, globex = add_account(service, "Acme"), add_account(service, "Globex")
    for number in range(4):
        service.operator.patch(f"{CUSTOMERS}/{acme}", json={"name": f"Acme {number}"})
    service.operator.post(f"{CUSTOMERS}/{acme}/suspend", json={"reason": "unpaid"})
    audit = f"{CUSTOMERS}/{acme}/audit"

    first = service.operator.get(audit, params={"limit": 3}).json()
    second = service.operator.get(audit, params={"limit": 3, "cursor": first["nextCursor"]}).json()

    actions = [item["action"] for item in [*first["items"], *second["items"]]]
    assert actions == ["account.suspend", *["account.rename"] * 4]
    assert "nextCursor" not in second
    assert first["items"][0]["actorKind"] == "operator"
    for action, count in (("account", 5), ("account.", 5), ("account.rename", 4), ("account.re", 0), ("acc", 0)):
        assert len(service.operator.get(audit, params={"action": action}).json()["items"]) == count, action
    elsewhere = service.operator.get(f"{CUSTOMERS}/{globex}/audit", params={"cursor": first["nextCursor"]})
    assert refusal(elsewhere) == (400, "invalid_cursor")


def test_an_operator_revokes_a_token_of_the_named_account_only(service: RunningService) -> None:
    people = cast(service)
    made = people.alice.post("/v1/console/tokens", json={"name": "CI", "scopes": ["sites:read"]}).json()
    token = made["token"]["id"]
    bearer = {"Authorization": f"Bearer {made['secret']}"}
    assert service.public.get("/v1/console/sites", headers=bearer).status_code == 200

    foreign = service.operator.delete(f"{CUSTOMERS}/{people.globex}/tokens/{token}")
    unknown = service.operator.delete(f"{CUSTOMERS}/{people.acme}/tokens/tok_0000000000000000")
    assert [refusal(foreign), refusal(unknown)] == [(404, "not_found")] * 2
    revoked = people.olga.delete(f"{CUSTOMERS}/{people.acme}/tokens/{token}")

    assert revoked.status_code == 204
    assert refusal(service.public.get("/v1/console/sites", headers=bearer)) == (401, "invalid_token")
    assert trail(service, people.acme)[0] == ("token.revoke", "Olga", {"name": "CI"})
    assert "revokedAt" in service.operator.get(f"{CUSTOMERS}/{people.acme}").json()["tokens"][0]


def test_a_moved_site_is_gone_from_the_old_accounts_console_at_once(service: RunningService) -> None:
    people = cast(service)
    service.operator.post(f"{CUSTOMERS}/{people.acme}/sites", json={"name": "Shop", "siteKey": "site_shop"})
    shop = "/v1/console/sites/site_shop"
    assert people.alice.get(shop).status_code == 200
    assert refusal(people.carol.get(shop)) == (404, "site_not_found")

    service.operator.post("/v1/admin/sites/site_shop/move", json={"customerId": people.globex})

    for reply in (
        people.alice.get(shop),
        people.alice.patch(shop, json={"mode": "enforce"}),
        people.alice.get(f"{shop}/changes"),
        people.alice.post(f"{shop}/credentials", json={}),
    ):
        assert refusal(reply) == (404, "site_not_found")
    assert people.alice.get("/v1/console/sites").json()["items"] == []
    assert people.carol.get(shop).status_code == 200
    assert [trail(service, account_id)[0][0] for account_id in (people.acme, people.globex)] == [
        "site.move_out",
        "site.move",
    ]


@pytest.mark.parametrize("who", ["anonymous", "customer"])
def test_no_one_but_operators_sees_customers(service: RunningService, who: str) -> None:
    people = cast(service)
    client = service.new_client()
    if who == "customer":
        client.cookies.update(people.alice.cookies)
        client.headers["X-CSRF-Token"] = people.alice.headers["X-CSRF-Token"]

    replies = [
        client.get(CUSTOMERS),
        client.get(f"{CUSTOMERS}/{people.acme}"),
        client.post(f"{CUSTOMERS}/{people.acme}/suspend", json={"reason": "x"}),
        client.get("/v1/admin/accounts"),
        client.get("/v1/admin/access-requests"),
        client.post(f"/v1/admin/users/{people.user_ids['bob']}/suspend"),
    ]

    assert {refusal(reply) for reply in replies} == {(401, "unauthorized")}
