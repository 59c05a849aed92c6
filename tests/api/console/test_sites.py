"""A customer's sites: the same as an operator's, but its own only, with fewer fields and within its limits."""

from typing import Any

from agentgate.lib.enums import AccountRole
from tests.api.console.steps import CONSOLE, at_once, refusal, set_limits, told, trail
from tests.support.api_client import ApiClient
from tests.support.cast import Cast, add_user, signed_in_client
from tests.support.service import RunningService

SITES = f"{CONSOLE}/sites"
UNKNOWN = "site_0000000000000000"


def create(client: ApiClient, **changes: Any) -> Any:
    return client.post(SITES, json={"name": "Shop", **changes})


def origins(count: int) -> list[str]:
    return [f"https://shop{number}.example" for number in range(count)]


def test_a_new_site_gets_the_defaults_and_the_callers_account(people: Cast) -> None:
    made = create(people.bob)

    assert made.status_code == 201
    site = made.json()
    assert (site["customerId"], site["customerName"]) == (people.acme, "Acme")
    assert (site["mode"], site["widgetMode"]) == ("monitor", "invisible")
    assert site["actions"] == {"submit": {"browserRequired": True}}
    assert (site["allowedOrigins"], site["routes"]) == ([], [])
    detail = {"name": "Shop", "siteKey": site["siteKey"], "mode": "monitor"}
    assert [told(event) for event in trail(people, "site")] == [
        ("bob@acme.example", "site.create", site["siteKey"], detail)
    ]


def test_a_site_may_be_described_in_full(people: Cast) -> None:
    given = {
        "name": "Shop",
        "allowedOrigins": origins(10),
        "actions": {"login": {"browserRequired": True}},
        "routes": [{"method": "POST", "path": "/login", "action": "login"}],
        "mode": "enforce",
        "widgetMode": "managed",
        "formMethodOverride": False,
        "clearanceWithoutScript": True,
    }

    site = people.alice.post(SITES, json=given).json()

    assert {name: site[name] for name in given} == given
    assert people.rita.get(f"{SITES}/{site['siteKey']}").json() == site


def test_what_a_customer_cannot_choose_is_rejected(people: Cast) -> None:
    for field in ("siteKey", "customerId", "customerName", "id", "ruleSet", "createdAt", "agentPolicy"):
        assert refusal(create(people.alice, **{field: people.globex})) == (400, "forbidden_field"), field
    assert people.alice.get(SITES).json() == {"items": []}


def test_a_malformed_site_is_rejected(people: Cast) -> None:
    malformed: tuple[tuple[dict[str, Any], str], ...] = (
        ({"name": ""}, "invalid_site"),
        ({"allowedOrigins": ["shop.example"]}, "invalid_site"),
        ({"routes": [{"method": "POST", "path": "/", "action": "nothing"}]}, "invalid_site"),
        ({"mode": "off"}, "invalid_site"),
        ({"name": 7}, "invalid_request"),
        ({"owner": "me"}, "invalid_request"),
    )
    for changes, code in malformed:
        assert refusal(create(people.alice, **changes)) == (400, code), changes


def test_the_list_shows_the_accounts_own_sites(people: Cast) -> None:
    mine, theirs = create(people.alice).json(), create(people.carol, name="Mart").json()

    assert [item["siteKey"] for item in people.rita.get(SITES).json()["items"]] == [mine["siteKey"]]
    assert [item["siteKey"] for item in people.carol.get(SITES).json()["items"]] == [theirs["siteKey"]]


def test_another_accounts_site_responds_like_an_unknown_one(people: Cast) -> None:
    key = create(people.alice).json()["siteKey"]
    credential = people.alice.post(f"{SITES}/{key}/credentials").json()["credential"]["id"]
    before = people.alice.get(f"{SITES}/{key}").json()

    for method, path, options in (
        ("GET", "", {}),
        ("PATCH", "", {"json": {"name": "Stolen"}}),
        ("GET", "/changes", {}),
        ("POST", "/credentials", {}),
        ("POST", f"/credentials/{credential}/rotate", {}),
        ("POST", f"/credentials/{credential}/revoke", {}),
    ):
        foreign = people.carol.request(method, f"{SITES}/{key}{path}", **options)
        unknown = people.carol.request(method, f"{SITES}/{UNKNOWN}{path}", **options)
        malformed = people.carol.request(method, f"{SITES}/nonsense{path}", **options)
        assert refusal(foreign) == (404, "site_not_found")
        assert foreign.content == unknown.content == malformed.content
    assert people.alice.get(f"{SITES}/{key}").json() == before


def test_a_change_is_reported_with_its_maker(people: Cast) -> None:
    key = create(people.alice).json()["siteKey"]

    changed = people.bob.patch(f"{SITES}/{key}", json={"name": "Store"}).json()
    people.bob.patch(f"{SITES}/{key}", json={"mode": "enforce"})

    assert (changed["name"], changed["changes"][0]["actor"]) == ("Store", "bob@acme.example")
    kinds = [item["kind"] for item in people.rita.get(f"{SITES}/{key}/changes").json()["items"]]
    assert kinds == ["site.mode", "site.update", "site.create"]
    assert [event["action"] for event in trail(people, "site")] == kinds


def test_key_and_customer_cannot_be_changed(people: Cast) -> None:
    key = create(people.alice).json()["siteKey"]

    for field in ("siteKey", "customerId", "customerName"):
        assert refusal(people.alice.patch(f"{SITES}/{key}", json={field: people.globex})) == (400, "immutable_field")


def test_an_eleventh_origin_is_rejected(people: Cast) -> None:
    key = create(people.alice, allowedOrigins=origins(10)).json()["siteKey"]

    for count in (11, 101):
        assert refusal(create(people.alice, allowedOrigins=origins(count))) == (400, "origin_limit")
        patched = people.alice.patch(f"{SITES}/{key}", json={"allowedOrigins": origins(count)})
        assert refusal(patched) == (400, "origin_limit")
    assert len(people.alice.get(SITES).json()["items"]) == 1
    assert len(people.alice.get(f"{SITES}/{key}").json()["allowedOrigins"]) == 10


def test_a_site_that_an_operator_gave_more_origins_keeps_them(service: RunningService, people: Cast) -> None:
    given = {"name": "Shop", "customerId": people.acme, "allowedOrigins": origins(12)}
    key = service.operator.post("/v1/admin/sites", json=given).json()["siteKey"]

    changed = people.alice.patch(f"{SITES}/{key}", json={"name": "Store"})

    assert changed.status_code == 200
    assert changed.json()["allowedOrigins"] == origins(12)


def test_the_limits_are_the_accounts_own(service: RunningService, people: Cast) -> None:
    set_limits(service, people.acme, sites=1, origins_per_site=1)

    assert refusal(create(people.alice, allowedOrigins=origins(2))) == (400, "origin_limit")
    assert create(people.alice, allowedOrigins=origins(1)).status_code == 201
    assert refusal(create(people.alice)) == (409, "site_limit")
    assert len(trail(people, "site.create")) == 1


def test_the_limit_holds_under_parallel_creation(service: RunningService, people: Cast) -> None:
    statuses = at_once(service, people.bob, lambda client, _: create(client))

    assert statuses == [201] * 5 + [409] * 59
    assert len(people.alice.get(SITES).json()["items"]) == 5
    assert len(trail(people, "site.create")) == 5


def test_a_moved_site_is_the_new_accounts_at_once_without_the_old_ones_trail(
    service: RunningService, people: Cast
) -> None:
    key = create(people.alice).json()["siteKey"]

    service.operator.post(f"/v1/admin/sites/{key}/move", json={"customerId": people.globex})

    assert refusal(people.alice.get(f"{SITES}/{key}")) == (404, "site_not_found")
    site = people.carol.get(f"{SITES}/{key}").json()
    assert [change["kind"] for change in site["changes"]] == ["site.move"]
    assert people.carol.get(f"{SITES}/{key}/changes").json()["items"] == site["changes"]
    assert [event["action"] for event in trail(people, "site")] == ["site.move_out", "site.create"]
    assert len(service.operator.get(f"/v1/admin/sites/{key}/changes").json()["items"]) == 3


def test_a_user_of_two_accounts_sees_only_the_one_they_work_in(service: RunningService, people: Cast) -> None:
    theirs = create(people.carol, name="Mart").json()["siteKey"]
    both = add_user(service, "both@acme.example", account_id=people.acme, role=AccountRole.MEMBER)
    body = {"email": both.email, "role": "owner"}
    assert service.operator.post(f"/v1/admin/customers/{people.globex}/members", json=body).status_code == 201

    client = signed_in_client(service, both, account_id=people.acme)

    assert client.get(SITES).json() == {"items": []}
    assert refusal(client.get(f"{SITES}/{theirs}")) == (404, "site_not_found")
