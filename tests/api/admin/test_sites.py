"""Sites: created, read, changed, moved, and every change in the trail."""

from typing import Any

import httpx
import pytest

from agentgate.http import paging
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.moment import Moment
from agentgate.sites.repository import ListedSite, SiteFilter, SiteStore
from tests.support.service import NOON_MS, RunningService

SITES = "/v1/admin/sites"
NOON = Moment(NOON_MS).text()

SHOP = {
    "name": "Shop",
    "siteKey": "site_shop",
    "allowedOrigins": ["https://shop.example"],
    "actions": {"login": {"browserRequired": True}, "search": {"browserRequired": False, "clearance": True}},
    "routes": [
        {"method": "POST", "path": "/login", "action": "login"},
        {"method": "*", "pathPrefix": "/search", "action": "search"},
    ],
}


def create(service: RunningService, **changes: Any) -> dict[str, Any]:
    reply = service.operator.post(SITES, json={**SHOP, **changes})
    assert reply.status_code == 201, reply.text
    return reply.json()


def test_a_new_site_starts_in_monitor_mode_under_a_customer_of_its_name(service: RunningService) -> None:
    site = create(service)

    assert site["id"].startswith("st_")
    assert site["customerId"].startswith("acc_")
    assert {name: site[name] for name in SHOP} == SHOP
    assert (site["mode"], site["widgetMode"], site["customerName"]) == ("monitor", "invisible", "Shop")
    assert (site["createdAt"], site["updatedAt"]) == (NOON, NOON)
    assert site["credentials"] == {"active": 0, "total": 0}
    assert site["credentialList"] == []
    assert site["today"] == {"allow": 0, "challenge": 0, "block": 0, "drop": 0, "monitored": 0}
    assert site["health"] == {"status": "no_credentials"}
    assert site["rules"]["source"] == "server"
    assert (site["rules"]["overrides"], site["rules"]["revision"]) == (0, 0)
    assert [(change["kind"], change["actor"]) for change in site["changes"]] == [("site.create", "operator")]


def test_what_is_omitted_gets_a_default(service: RunningService) -> None:
    site = service.operator.post(SITES, json={"name": "Bare"}).json()

    assert site["siteKey"].startswith("site_")
    assert len(site["siteKey"]) == 21
    assert site["actions"] == {"submit": {"browserRequired": True}}
    assert (site["allowedOrigins"], site["routes"]) == ([], [])
    assert site["formMethodOverride"] is True
    assert site["clearanceWithoutScript"] is False


def test_a_site_can_join_an_existing_customer(service: RunningService) -> None:
    first = create(service, customerName="Acme")

    second = create(service, siteKey="site_second", customerId=first["customerId"])

    assert (second["customerId"], second["customerName"]) == (first["customerId"], "Acme")


def test_a_key_can_be_had_once(service: RunningService) -> None:
    create(service)

    reply = service.operator.post(SITES, json=SHOP)

    assert (reply.status_code, reply.json()["error"]) == (409, "site_key_taken")
    assert len(service.operator.get(SITES).json()["items"]) == 1


def test_a_rejected_site_leaves_no_customer_behind(service: RunningService) -> None:
    create(service)
    accounts = service.run(service.application.stores.databases["config"].one("SELECT count(*) FROM account"))

    service.operator.post(SITES, json={**SHOP, "customerName": "Ghost"})

    assert service.run(service.application.stores.databases["config"].one("SELECT count(*) FROM account")) == accounts


def test_the_list_shows_the_newest_site_first(service: RunningService) -> None:
    create(service)
    service.clock.advance(seconds=1)
    create(service, siteKey="site_newer", name="Newer")

    items = service.operator.get(SITES).json()["items"]

    assert [item["siteKey"] for item in items] == ["site_newer", "site_shop"]
    assert "credentialList" not in items[0]


@pytest.mark.parametrize("key", ["site_nobody", "nonsense", "site_shop%20", "..", "site_" + "x" * 70])
def test_unknown_and_malformed_keys_respond_alike(service: RunningService, key: str) -> None:
    create(service)

    replies = [
        service.operator.get(f"{SITES}/{key}"),
        service.operator.get(f"{SITES}/{key}/changes"),
        service.operator.patch(f"{SITES}/{key}", json={"name": "X"}),
        service.operator.post(f"{SITES}/{key}/credentials", json={}),
    ]

    assert {reply.status_code for reply in replies} == {404}
    codes = {reply.json()["error"] for reply in replies}
    assert codes == ({"not_found"} if key == ".." else {"site_not_found"})


def test_a_change_keeps_what_it_does_not_name_and_shows_what_it_changed(service: RunningService) -> None:
    before = create(service)
    service.clock.advance(seconds=5)

    after = service.operator.patch(
        f"{SITES}/site_shop", json={"name": "Store", "allowedOrigins": ["https://store.example"]}
    ).json()

    assert after["name"] == "Store"
    assert after["actions"] == before["actions"]
    assert (after["createdAt"], after["updatedAt"]) == (NOON, Moment(NOON_MS + 5000).text())
    newest = after["changes"][0]
    assert newest["kind"] == "site.update"
    assert newest["detail"] == {
        "name": {"from": "Shop", "to": "Store"},
        "allowedOrigins": {"from": ["https://shop.example"], "to": ["https://store.example"]},
    }


def test_a_change_of_only_the_mode_has_its_own_kind(service: RunningService) -> None:
    create(service)

    after = service.operator.patch(f"{SITES}/site_shop", json={"mode": "enforce"}).json()

    assert after["mode"] == "enforce"
    assert after["changes"][0]["kind"] == "site.mode"
    assert after["changes"][0]["detail"] == {"mode": {"from": "monitor", "to": "enforce"}}


def test_whether_forms_override_methods_can_be_changed_and_is_audited(service: RunningService) -> None:
    create(service)

    after = service.operator.patch(f"{SITES}/site_shop", json={"formMethodOverride": False}).json()

    assert after["formMethodOverride"] is False
    assert after["changes"][0]["kind"] == "site.update"
    assert after["changes"][0]["detail"] == {"formMethodOverride": {"from": True, "to": False}}
    assert service.operator.get(f"{SITES}/site_shop").json() == after


def test_a_change_that_changes_nothing_leaves_no_trace(service: RunningService) -> None:
    create(service)
    service.clock.advance(seconds=5)

    after = service.operator.patch(f"{SITES}/site_shop", json={"name": " Shop ", "mode": "monitor"}).json()

    assert after["updatedAt"] == NOON
    assert len(after["changes"]) == 1


@pytest.mark.parametrize("field", ["siteKey", "customerId", "customerName"])
def test_what_was_fixed_at_creation_cannot_be_changed(service: RunningService, field: str) -> None:
    create(service)

    reply = service.operator.patch(f"{SITES}/site_shop", json={field: "site_other"})

    assert (reply.status_code, reply.json()["error"]) == (400, "immutable_field")
    assert field in reply.json()["message"]


@pytest.mark.parametrize(
    "field", ["id", "createdAt", "updatedAt", "ruleSet", "credentials", "today", "health", "rules"]
)
def test_what_the_server_sets_cannot_be_sent(service: RunningService, field: str) -> None:
    create(service)

    replies = [
        service.operator.post(SITES, json={"name": "New", field: "x"}),
        service.operator.patch(f"{SITES}/site_shop", json={field: "x"}),
    ]

    assert [reply.json()["error"] for reply in replies] == ["forbidden_field"] * 2


def test_wanted_programs_are_kept_in_one_spelling_and_audited(service: RunningService) -> None:
    create(service)

    wanted = ["Monitors", "podcasts", "feeds", "My Checker"]
    after = service.operator.patch(f"{SITES}/site_shop", json={"wantedPrograms": wanted}).json()

    assert after["wantedPrograms"] == ["uptime", "feed_reader", "my_checker"]
    assert after["changes"][0]["detail"] == {"wantedPrograms": {"from": [], "to": after["wantedPrograms"]}}
    assert service.operator.get(f"{SITES}/site_shop").json() == after


@pytest.mark.parametrize(
    ("changes", "code", "part"),
    [
        ({"name": ""}, "invalid_site", "name"),
        ({"name": "  "}, "invalid_site", "name"),
        ({"name": "two\nlines"}, "invalid_site", "name"),
        ({"name": "x" * 101}, "invalid_site", "name"),
        ({"name": 5}, "invalid_request", "name"),
        ({"mode": "off"}, "invalid_site", "mode"),
        ({"widgetMode": "hidden"}, "invalid_site", "widgetMode"),
        ({"formMethodOverride": "no"}, "invalid_request", "formMethodOverride"),
        ({"formMethodOverride": None}, "invalid_request", "formMethodOverride"),
        ({"clearanceWithoutScript": "no"}, "invalid_request", "clearanceWithoutScript"),
        ({"wantedPrograms": "monitors"}, "invalid_request", "wantedPrograms"),
        ({"wantedPrograms": ["!?"]}, "invalid_site", "wantedPrograms"),
        ({"wantedPrograms": ["x" * 65]}, "invalid_site", "wantedPrograms"),
        ({"wantedPrograms": ["Scanner"]}, "invalid_site", "wantedPrograms"),
        ({"wantedPrograms": ["a"] * 51}, "invalid_site", "wantedPrograms"),
        ({"allowedOrigins": "https://a.example"}, "invalid_request", "allowedOrigins"),
        ({"allowedOrigins": ["shop.example"]}, "invalid_site", "allowedOrigins"),
        ({"actions": {"Log in": {"browserRequired": True}}}, "invalid_site", "actions"),
        ({"actions": {"login": {}}}, "invalid_request", "browserRequired"),
        ({"actions": {"login": {"browserRequired": True, "extra": 1}}}, "invalid_request", "extra"),
        ({"routes": [{"method": "POST", "action": "login"}]}, "invalid_site", "routes[0]"),
        (
            {"routes": [{"method": "POST", "action": "login", "path": "/a", "pathPrefix": "/b"}]},
            "invalid_site",
            "routes[0]",
        ),
        ({"routes": [{"method": "POST", "action": "unknown", "path": "/a"}]}, "invalid_site", "routes[0].action"),
        ({"routes": [{"method": "post", "action": "login", "path": "/a"}]}, "invalid_site", "routes[0].method"),
        ({"routes": [{"method": "POST", "action": "login", "path": "a"}]}, "invalid_site", "routes[0]"),
        ({"routes": [{"method": "POST", "action": "login", "path": "/a?b"}]}, "invalid_site", "routes[0]"),
        ({"actions": {}}, "invalid_site", "routes[0].action"),
        ({"color": "red"}, "invalid_request", "color"),
    ],
)
def test_a_wrong_value_is_rejected_and_nothing_changes(
    service: RunningService, changes: dict[str, Any], code: str, part: str
) -> None:
    before = create(service)

    created = service.operator.post(SITES, json={**SHOP, "siteKey": "site_other", **changes})
    changed = service.operator.patch(f"{SITES}/site_shop", json=changes)

    for reply in (created, changed):
        assert (reply.status_code, reply.json()["error"]) == (400, code)
        assert part in reply.json()["message"]
    assert service.operator.get(f"{SITES}/site_shop").json() == before
    assert len(service.operator.get(SITES).json()["items"]) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_site"),
        ({"name": "S", "siteKey": "shop"}, "invalid_site"),
        ({"name": "S", "siteKey": "site_abcd\n"}, "invalid_site"),
        ({"name": "S", "siteKey": "site_test_mine"}, "invalid_site"),
        ({"name": "S", "customerId": "acc_0000000000000000"}, "invalid_site"),
        ({"name": "S", "customerId": "x", "customerName": "y"}, "invalid_site"),
        ({"name": "S", "customerName": ""}, "invalid_site"),
        ([], "invalid_request"),
        ("text", "invalid_request"),
    ],
)
def test_a_site_that_cannot_be_created(service: RunningService, body: Any, code: str) -> None:
    reply = service.operator.post(SITES, json=body)

    assert (reply.status_code, reply.json()["error"]) == (400, code)


def test_the_trail_is_newest_first_and_as_long_as_asked(service: RunningService) -> None:
    create(service)
    for number in range(4):
        service.clock.advance(seconds=1)
        service.operator.patch(f"{SITES}/site_shop", json={"name": f"Shop {number}"})

    items = service.operator.get(f"{SITES}/site_shop/changes", params={"limit": 2}).json()["items"]

    assert [item["detail"]["name"]["to"] for item in items] == ["Shop 3", "Shop 2"]
    assert items[0]["time"] > items[1]["time"]
    assert len(service.operator.get(f"{SITES}/site_shop/changes").json()["items"]) == 5


@pytest.mark.parametrize("limit", ["0", "501", "-1", "1.5", "ten", "", "\u0665", "1e2", "9" * 40])
def test_a_limit_out_of_bounds_is_rejected(service: RunningService, limit: str) -> None:
    create(service)

    reply = service.operator.get(f"{SITES}/site_shop/changes", params={"limit": limit})

    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_limit")


def test_unknown_and_repeated_parameters_are_rejected(service: RunningService) -> None:
    create(service)

    for query in ("?page=2", "?limit=1&limit=2"):
        reply = service.operator.get(f"{SITES}/site_shop/changes{query}")
        assert (reply.status_code, reply.json()["error"]) == (400, "invalid_filter")


def test_a_moved_site_belongs_to_the_other_account_and_both_trails_tell(service: RunningService) -> None:
    site = create(service)
    target = create(service, siteKey="site_other", name="Other")["customerId"]

    reply = service.operator.post(f"{SITES}/site_shop/move", json={"customerId": target})

    assert reply.status_code == 200
    assert (reply.json()["customerId"], reply.json()["customerName"]) == (target, "Other")
    kinds = service.run(
        service.application.stores.databases["config"].all(
            "SELECT action, account_id FROM audit_entry WHERE action LIKE 'site.move%' ORDER BY id"
        )
    )
    assert kinds == [("site.move_out", site["customerId"]), ("site.move", target)]


@pytest.mark.parametrize(
    ("target", "status", "code"),
    [("acc_0000000000000000", 404, "not_found"), ("own", 409, "invalid_state"), (7, 400, "invalid_request")],
)
def test_a_site_moves_only_to_another_account_that_exists(
    service: RunningService, target: Any, status: int, code: str
) -> None:
    site = create(service)

    reply = service.operator.post(
        f"{SITES}/site_shop/move", json={"customerId": site["customerId"] if target == "own" else target}
    )

    assert (reply.status_code, reply.json()["error"]) == (status, code)
    assert service.operator.get(f"{SITES}/site_shop").json() == site


def test_the_services_own_sites_remain(service: RunningService) -> None:
    site = create(service)
    target = create(service, siteKey="site_other", name="Other")["customerId"]
    service.run(
        service.application.stores.databases["config"].run(
            "UPDATE account SET protected = 1 WHERE id = $1", site["customerId"]
        )
    )

    reply = service.operator.post(f"{SITES}/site_shop/move", json={"customerId": target})

    assert (reply.status_code, reply.json()["error"]) == (409, "protected_account")


def test_todays_counts_and_health_come_from_the_hourly_counters(service: RunningService) -> None:
    site = create(service)
    service.operator.post(f"{SITES}/site_shop/credentials")
    assert service.operator.get(f"{SITES}/site_shop").json()["health"] == {"status": "no_traffic"}
    # Whole-site protection guards what no route names.
    service.operator.patch(f"{SITES}/site_shop", json={"routes": []})
    assert service.operator.get(f"{SITES}/site_shop").json()["health"] == {"status": "no_routes"}
    service.operator.patch(f"{SITES}/site_shop", json={"wholeSite": True})
    assert service.operator.get(f"{SITES}/site_shop").json()["health"] == {"status": "no_traffic"}
    hour = NOON_MS // 3_600_000
    stats = service.application.stores.databases["stats"]
    for row in ((1, hour, 5, 1, 2, 3, 4), (1, hour - 13, 50, 50, 50, 50, 0), (2, hour, 9, 9, 9, 9, 9)):
        service.run(
            stats.run(
                """INSERT INTO site_hour (site, hour, allowed, challenged, blocked, dropped, would_block, last_event_ms)
                    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)""",
                *row,
                row[1] * 3_600_000,
            )
        )

    shown = service.operator.get(f"{SITES}/{site['siteKey']}").json()

    assert shown["today"] == {"allow": 5, "challenge": 1, "block": 2, "drop": 3, "monitored": 4}
    assert shown["health"] == {"status": "ok", "lastEventAt": NOON}


@pytest.mark.parametrize("at_once", [2, 5, 250])
def test_sites_are_listed_in_pages_if_the_caller_asks_for_them(
    service: RunningService, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(paging, "PAGE", at_once)
    for number in range(5):
        create(service, siteKey=f"site_shop{number}", name=f"Shop {number}")
        service.clock.advance(seconds=number % 2)
    complete = service.operator.get(SITES).json()

    pages: list[list[str]] = []
    cursor = {}
    while True:
        page = service.operator.get(SITES, params={"limit": 2, **cursor}).json()
        pages.append([each["siteKey"] for each in page["items"]])
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}

    assert pages == [["site_shop4", "site_shop3"], ["site_shop2", "site_shop1"], ["site_shop0"]]
    assert [each["siteKey"] for each in complete["items"]] == [each for page in pages for each in page]
    assert "nextCursor" not in complete
    plain = service.operator.get(SITES, headers={"accept-encoding": "identity"})
    assert plain.json() == complete
    # A list that is sent while it is read has no length.
    assert ("content-length" in plain.headers) == (at_once >= 5)
    head = service.operator.head(SITES)
    assert (head.status_code, head.content) == (200, b"")


def test_a_list_that_cannot_be_read_to_its_end_is_cut_off(
    service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "PAGE", 2)
    for number in range(5):
        create(service, siteKey=f"site_shop{number}")
    read, left = SiteStore.list_sites, [2]

    async def fail(store: SiteStore, wanted: SiteFilter, *, now_ms: int) -> list[ListedSite]:
        left[0] -= 1
        if not left[0]:
            raise StoreUnavailable("away")
        return await read(store, wanted, now_ms=now_ms)

    monkeypatch.setattr(SiteStore, "list_sites", fail)
    with pytest.raises(httpx.RemoteProtocolError):
        service.operator.get(SITES)


def test_sites_are_found_by_a_part_of_key_name_or_origin(service: RunningService) -> None:
    create(service, siteKey="site_first", name="Alpha_1", allowedOrigins=["https://alpha.example"])
    create(service, siteKey="site_second", name="Beta", allowedOrigins=["https://beta.example"])

    def found(text: str) -> list[str]:
        return [each["siteKey"] for each in service.operator.get(SITES, params={"q": text}).json()["items"]]

    assert found("SECOND") == ["site_second"]
    assert found("alpha_") == ["site_first"]
    assert found("https://beta.example") == ["site_second"]
    assert found("example") == ["site_second", "site_first"]
    assert found("%") == []


def test_a_cursor_of_sites_is_good_for_its_search_only(service: RunningService) -> None:
    for number in range(3):
        create(service, siteKey=f"site_shop{number}")
    cursor = service.operator.get(SITES, params={"limit": 1, "q": "shop"}).json()["nextCursor"]

    assert service.operator.get(SITES, params={"limit": 1, "q": "sho", "cursor": cursor}).status_code == 400
    assert service.operator.get(SITES, params={"limit": 0}).status_code == 400


def test_a_long_list_is_complete(service: RunningService) -> None:
    account = create(service)["customerId"]
    for number in range(120):
        create(service, siteKey=f"site_many{number}", customerId=account)

    items = service.operator.get(SITES).json()["items"]

    assert [each["siteKey"] for each in items] == [f"site_many{number}" for number in reversed(range(120))] + [
        "site_shop"
    ]
