"""Suggestions from the blocked request to the allowed path and back: what is listed, and what accepting allows."""

from collections.abc import Iterable
from typing import Any

import httpx
import pytest

from agentgate.gateway.suggestions.collector import LEAST_NETWORKS, LEAST_REQUESTS, MOST_OF_NETWORK
from agentgate.gateway.suggestions.endpoints import delete_suggestions
from agentgate.gateway.suggestions.records import KEPT_DAYS, MOST_STORED
from agentgate.lib.clock import DAY_MS
from tests.population.visitors import ORIGIN
from tests.support.cast import cast
from tests.support.service import RunningService
from tests.support.traffic_site import Site, visitor_of

ROUTES = [{"method": "*", "pathPrefix": "/", "action": "open"}]
# Of Stripe's published networks.
STRIPE = ("3.18.12.63", "3.130.192.231")
JSON = ("Content-Type", "application/json")
MANY = [f"198.18.{number}.7" for number in range(1, 7)]


class Owner:
    """A site whose route for all paths needs a token, and its owner."""

    def __init__(self, service: RunningService, **fields: Any) -> None:
        self.service = service
        self.site = Site(service, **{"routes": ROUTES, **fields})
        self.path = f"/v1/admin/sites/{self.site.key}/suggestions"

    def ask(
        self, path: str, addresses: Iterable[str], name: str, *more: tuple[str, str], method: str = "GET"
    ) -> list[int]:
        headers = [("User-Agent", name), ("Accept", "*/*"), *more]
        return [self.site.status((ORIGIN + path, "", headers), each, method) for each in addresses]

    def suggestions(self) -> list[dict[str, Any]]:
        self.service.run(self.service.application.gateway.suggestions.save())
        found = self.service.operator.get(self.path)
        assert found.status_code == 200, found.text
        return list(found.json()["items"])

    def accept(self, suggestion: dict[str, Any], **body: Any) -> httpx.Response:
        return self.service.operator.post(f"{self.path}/{suggestion['id']}/accept", json=body)

    def withdraw(self, suggestion: dict[str, Any]) -> httpx.Response:
        return self.service.operator.delete(f"{self.path}/{suggestion['id']}/accept")

    def actions(self) -> list[str]:
        found = self.service.operator.get("/v1/admin/audit", params={"action": "suggestion"}).json()
        return [each["action"] for each in found["items"] if each["target"] == self.site.key]


@pytest.fixture
def owner(service: RunningService) -> Owner:
    return Owner(service)


def test_a_proven_sender_is_suggested_and_accepting_opens_its_path_to_its_networks_only(owner: Owner) -> None:
    assert owner.ask("/hooks/pay", STRIPE * 3, "Stripe/1.0", JSON, method="POST") == [401] * 6
    (found,) = owner.suggestions()

    assert (found["method"], found["path"], found["sender"], found["proven"]) == ("POST", "/hooks/pay", "stripe", True)
    assert found["requests"] == 6
    assert found["opens"] == {"path": "/hooks/pay", "sender": "stripe", "method": "POST"}
    accepted = owner.accept(found, note="payments")
    assert accepted.status_code == 200, accepted.text
    assert accepted.json()["opens"]["note"] == "payments"
    assert owner.ask("/hooks/pay", STRIPE, "Stripe/1.0", JSON, method="POST") == [204] * 2
    # Another method, another path, another network with the same name and header.
    assert owner.ask("/hooks/pay", STRIPE, "Stripe/1.0", method="GET") == [401] * 2
    assert owner.ask("/hooks/pay/more", STRIPE, "Stripe/1.0", JSON, method="POST") == [401] * 2
    signed = ("Stripe-Signature", "t=1")
    assert owner.ask("/hooks/pay", MANY, "Stripe/1.0", JSON, signed, method="POST") == [401] * 6


def test_accepting_and_withdrawing_leave_audit_lines_and_change_nothing_else(owner: Owner) -> None:
    owner.ask("/hooks/pay", STRIPE * 3, "Stripe/1.0", JSON, method="POST")
    (found,) = owner.suggestions()
    owner.site.change(openPaths=[{"path": "/mine", "sender": "anyone"}])

    assert owner.accept(found).status_code == 200
    assert owner.accept(found).json()["error"] == "invalid_state"
    assert owner.actions()[0] == "suggestion.accept"
    (listed,) = owner.suggestions()
    assert listed["acceptedBy"]
    assert listed["acceptedAt"]
    assert owner.withdraw(found).status_code == 200
    assert owner.withdraw(found).json()["error"] == "invalid_state"
    assert owner.actions()[0] == "suggestion.withdraw"
    site = owner.service.operator.get(f"/v1/admin/sites/{owner.site.key}").json()
    assert site["openPaths"] == [{"path": "/mine", "sender": "anyone"}]
    assert owner.ask("/hooks/pay", STRIPE, "Stripe/1.0", JSON, method="POST") == [401] * 2


def test_a_name_alone_is_shown_as_unproven_and_accepting_opens_twenty_requests_a_minute(owner: Owner) -> None:
    owner.ask("/status", MANY, "StatusThing/1.0")
    (found,) = owner.suggestions()

    assert (found["program"], found["proven"], found["networks"]) == ("statusthing", False, 6)
    assert found["opens"] == {"path": "/status", "sender": "name:statusthing", "method": "GET", "perMinute": 20}
    assert owner.accept(found).status_code == 200
    assert owner.ask("/status", MANY * 5, "StatusThing/1.0") == [204] * 20 + [401] * 10
    assert owner.ask("/status", MANY, "OtherThing/1.0") == [401] * 6
    visitor = visitor_of("198.18.9.9")
    browser = [each for each in visitor.navigation(1).headers if each[0] != "User-Agent"]
    assert owner.ask("/status", ["198.18.9.9"], "StatusThing/1.0", *browser) == [401]


def test_suggestions_of_equal_evidence_are_accepted_together_and_open_nothing_else(owner: Owner) -> None:
    signed = ("X-Shopify-Hmac-Sha256", "x")
    for path in ("/hooks/a", "/hooks/b"):
        owner.ask(path, MANY, "Shopify-Captain-Hook", JSON, signed, method="POST")
    owner.ask("/hooks/c", MANY, "StatusThing/1.0", JSON, method="POST")
    listed = {each["path"]: each for each in owner.suggestions()}
    # An attacker fills the list after the owner has read it.
    owner.ask("/hooks/admin", MANY, "Shopify-Captain-Hook", JSON, signed, method="POST")
    owner.suggestions()

    mixed = owner.accept(listed["/hooks/a"], also=[listed["/hooks/c"]["id"]])
    unknown = owner.accept(listed["/hooks/a"], also=["sug_0123456789abcdef"])
    assert (mixed.json()["error"], unknown.json()["error"]) == ("invalid_state", "not_found")
    site = owner.service.operator.get(f"/v1/admin/sites/{owner.site.key}").json()
    assert site["openPaths"] == []

    assert owner.accept(listed["/hooks/a"], also=[listed["/hooks/b"]["id"]], note="shop").status_code == 200
    site = owner.service.operator.get(f"/v1/admin/sites/{owner.site.key}").json()
    assert [(each["path"], each["sender"], each["note"]) for each in site["openPaths"]] == [
        ("/hooks/a", "shopify", "shop"),
        ("/hooks/b", "shopify", "shop"),
    ]
    assert owner.actions()[:2] == ["suggestion.accept"] * 2
    for path in ("/hooks/admin", "/hooks/c", "/hooks"):
        assert owner.ask(path, MANY, "Shopify-Captain-Hook", JSON, signed, method="POST") == [401] * 6
    # Each can be closed alone.
    assert owner.withdraw(listed["/hooks/b"]).status_code == 200
    assert owner.ask("/hooks/a", MANY[:1], "Shopify-Captain-Hook", JSON, signed, method="POST") == [204]


def test_a_name_opens_no_named_route(owner: Owner) -> None:
    named = [*ROUTES, {"method": "POST", "path": "/login", "action": "open"}]
    owner.site.change(routes=named)
    owner.ask("/login", MANY, "StatusThing/1.0", JSON, method="POST")
    (found,) = owner.suggestions()

    assert "opens" not in found
    assert found["problem"].startswith("A route of the site names this path")
    assert owner.accept(found).json()["error"] == "invalid_state"
    # Neither does an entry that the owner added before the route.
    entry = {"path": "/login", "sender": "name:statusthing", "method": "POST"}
    owner.site.change(openPaths=[entry])
    assert owner.ask("/login", MANY, "StatusThing/1.0", JSON, method="POST") == [401] * 6
    owner.site.change(routes=ROUTES)
    assert owner.ask("/login", MANY, "StatusThing/1.0", JSON, method="POST") == [204] * 6


def test_a_signature_header_alone_opens_a_shared_budget(owner: Owner) -> None:
    signed = ("X-Shopify-Hmac-Sha256", "x")
    owner.ask("/orders", MANY, "Shopify-Captain-Hook", JSON, signed, method="POST")
    (found,) = owner.suggestions()

    assert (found["sender"], found["proven"]) == ("shopify", False)
    assert owner.accept(found).status_code == 200
    got = owner.ask("/orders", MANY * 5, "Shopify-Captain-Hook", JSON, signed, method="POST")
    assert got == [204] * 20 + [401] * 10
    assert owner.ask("/orders", MANY, "Shopify-Captain-Hook", JSON, method="POST") == [401] * 6


def test_a_hundred_addresses_of_one_network_get_nothing_into_the_list(owner: Owner) -> None:
    """Any names, paths and headers, and all proofs that a client can claim."""
    network = [f"198.51.100.{number}" for number in range(1, 101)]
    prefix = [f"2001:db8:7:{number:x}::1" for number in range(1, 101)]
    for number, addresses in enumerate((network, prefix)):
        for name in ("Stripe/1.0", "Feedly/1.0", "UptimeRobot/2.0", f"Own{number}/1.0", "WhatsApp/2.0"):
            owner.ask("/admin", addresses, name, JSON, ("Stripe-Signature", "t=1"), method="POST")
            owner.ask("/admin", addresses[:20], name)

    assert owner.suggestions() == []


def test_one_address_and_few_requests_create_no_suggestion(owner: Owner) -> None:
    owner.ask("/one", MANY[:1] * 50, "StatusThing/1.0")
    owner.ask("/few", (MANY * 2)[: LEAST_REQUESTS - 1], "StatusThing/1.0")
    owner.ask("/near", MANY[: LEAST_NETWORKS - 1] * 5, "StatusThing/1.0")
    owner.ask("/hooks/pay", STRIPE[:1] * 9, "Stripe/1.0", JSON, method="POST")

    assert owner.suggestions() == []


def test_a_network_cannot_evict_the_groups_of_others(owner: Owner) -> None:
    owner.ask("/status", MANY[:3], "StatusThing/1.0")
    for number in range(150):
        owner.ask(f"/noise/x{'abcdefghij'[number % 10]}{'abcdefghijklmno'[number // 10]}", ["203.0.113.9"], "Noise/1.0")
    owner.ask("/status", MANY[3:], "StatusThing/1.0")

    assert [each["path"] for each in owner.suggestions()] == ["/status"]
    assert MOST_OF_NETWORK < 150


def test_a_site_keeps_at_most_a_hundred_suggestions_and_the_proven_ones_first(owner: Owner) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    owner.ask("/hooks/pay", STRIPE * 3, "Stripe/1.0", JSON, method="POST")
    for number in range(MOST_STORED + 10):
        # Each group has its own networks, as a botnet would.
        addresses = [f"10.{number}.{each}.1" for each in range(5)]
        owner.ask(f"/{letters[number // 26]}/{letters[number % 26]}", addresses, "Noise/1.0")
        if number % 20 == 0:
            owner.suggestions()
    found = owner.suggestions()

    assert len(found) == MOST_STORED
    assert found[0]["sender"] == "stripe"


@pytest.mark.parametrize(
    ("path", "stored"),
    [
        ("/people/4711/orders?token=secret", "/people/#/orders"),
        ("/reset/ann@shop.example", "/reset/*"),
        ("/hooks/aB3dE5gH7jK9mN1p", "/hooks/*"),
        ("/api/v2/items", "/api/v2/items"),
        ("/a/b/c/d/e/f/g/h", "/a/b/c/d/e/f/..."),
    ],
)
def test_a_stored_path_has_no_query_no_digits_and_no_secret(owner: Owner, path: str, stored: str) -> None:
    owner.ask(path, MANY, "StatusThing/1.0")

    (found,) = owner.suggestions()
    assert found["path"] == stored


def test_a_masked_path_is_accepted_only_with_the_exact_path(owner: Owner) -> None:
    owner.ask("/hooks/4711", MANY, "StatusThing/1.0")
    (found,) = owner.suggestions()

    assert found["problem"].startswith("The path is masked")
    assert owner.accept(found).json()["error"] == "invalid_state"
    assert owner.accept(found, path="/login").json()["error"] == "invalid_state"
    assert owner.accept(found, path="/hooks/*").json()["error"] == "invalid_state"
    assert owner.accept(found, path="/hooks/4711").json()["opens"]["path"] == "/hooks/4711"
    assert owner.ask("/hooks/4711", MANY, "StatusThing/1.0") == [204] * 6
    assert owner.ask("/hooks/4712", MANY, "StatusThing/1.0") == [401] * 6


def test_monitor_mode_collects_what_enforce_mode_would_refuse(service: RunningService) -> None:
    owner = Owner(service)
    owner.site.change(mode="monitor")

    assert owner.ask("/status", MANY, "StatusThing/1.0") == [204] * 6
    assert [each["path"] for each in owner.suggestions()] == ["/status"]


def test_browsers_scanners_and_what_the_owner_refuses_are_not_suggested(owner: Owner) -> None:
    for number, address in enumerate(MANY):
        visitor = visitor_of(address, number)
        owner.site.status((f"{ORIGIN}/p", "", visitor.navigation(1).headers), address)
    owner.ask("/p", MANY, "sqlmap/1.8")
    owner.ask("/p", MANY, "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")
    entry = {"kind": "program", "value": "Unwanted", "outcome": "block"}
    made = owner.service.operator.post(f"/v1/admin/sites/{owner.site.key}/list-entries", json=entry)
    assert made.status_code == 201, made.text
    owner.ask("/p", MANY, "Unwanted/1.0")

    assert owner.suggestions() == []


def test_a_site_that_collects_none_keeps_none(owner: Owner) -> None:
    owner.ask("/status", MANY, "StatusThing/1.0")
    assert len(owner.suggestions()) == 1

    owner.site.change(suggestions=False)
    assert owner.service.operator.get(owner.path).json() == {"enabled": False, "items": []}
    owner.ask("/other", MANY, "StatusThing/1.0")
    owner.service.run(delete_suggestions(owner.service.application.stores.store, owner.service.application.clock))
    owner.site.change(suggestions=True)
    assert owner.suggestions() == []


def test_suggestions_are_deleted_after_their_days_and_accepted_ones_stay(owner: Owner) -> None:
    owner.ask("/status", MANY, "StatusThing/1.0")
    owner.ask("/other", MANY, "StatusThing/1.0")
    found = {each["path"]: each for each in owner.suggestions()}
    assert owner.accept(found["/other"]).status_code == 200

    stores = owner.service.application.stores
    late_ms = owner.service.application.clock.now_ms() + 1
    owner.service.change(lambda each: each.suggestions.delete_suggestions(late_ms))
    assert stores is not None
    assert KEPT_DAYS * DAY_MS == 7 * 86_400_000
    assert [each["path"] for each in owner.suggestions()] == ["/other"]


def test_members_read_and_only_those_who_may_write_accept(service: RunningService) -> None:
    people = cast(service)
    made = people.alice.post("/v1/console/sites", json={"name": "Shop", "allowedOrigins": [ORIGIN]})
    key = made.json()["siteKey"]
    path = f"/v1/console/sites/{key}/suggestions"

    assert people.rita.get(path).json() == {"enabled": True, "items": []}
    assert people.carol.get(path).status_code == 404
    accept = f"{path}/sug_0000000000000000/accept"
    assert people.rita.post(accept, json={}).status_code == 403
    assert people.alice.post(accept, json={}).json()["error"] == "not_found"
    assert people.alice.delete(accept).json()["error"] == "not_found"
    assert service.public.get(path).status_code == 401
