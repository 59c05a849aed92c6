"""Requests with unusual targets: each is compared with every route that it could mean, and each route must allow it."""

from typing import Any

import pytest

from agentgate.browser_check.tokens.clearance import ClearanceHolder
from agentgate.lib.enums import ClearanceLevel
from tests.api.public.signed_agents import AGENT, set_policy, signed
from tests.support.browser_client import decision_of, get_token
from tests.support.gateway import CHROME, ORIGIN, Gate, said
from tests.support.service import RunningService

# Spellings that some server takes for `/pay`, and some that none may take for anything.
ODD = [
    "/p%61y",
    "/PAY",
    "/pay/",
    "/pay;a",
    "/pay;%ff",
    "/pay;a=b/..",
    "/x/../pay",
    "/%e9/../pay",
    "///x/pay",
    "/\\x/pay",
    "//u@x/pay",
    "//x:80/pay",
    "/%2570ay",
    "/p%u0061y",
    "/pa%C5%B7/../pay",
    "/pay%00",
    "/pay%3fx",
    "/%70%61%79?x=1",
    "/%c0%afpay",
    "/pay.",
]


class Shop(Gate):
    """A site with a catch-all that a clearance opens, a route that takes tokens alone, and a page for staff."""

    def __init__(self, service: RunningService) -> None:
        super().__init__(service)
        site = {
            "actions": {
                "browse": {"browserRequired": True, "clearance": True},
                "pay": {"browserRequired": True},
                "staff": {"browserRequired": False},
            },
            "routes": [
                {"method": "*", "pathPrefix": "/", "action": "browse"},
                {"method": "GET", "path": "/pay", "action": "pay"},
                {"method": "DELETE", "pathPrefix": "/items/", "action": "pay"},
                {"method": "GET", "path": "/staff", "action": "staff"},
            ],
        }
        reply = service.operator.patch(f"/v1/admin/sites/{self.site_key}", json=site)
        assert reply.status_code == 200, reply.text
        self.cookie = self._clearance()

    def _clearance(self) -> str:
        application = self.service.application
        issued = application.browser_check.clearances.issue(
            site_key=self.site_key,
            origin=ORIGIN,
            holder=ClearanceHolder(self.address, CHROME.encode()),
            level=ClearanceLevel.CHECKED,
            now_ms=self.service.clock.now_ms(),
        )
        return f"{issued.name}={issued.value}"

    def set_rules(self, *rules: dict[str, Any]) -> None:
        path = f"/v1/admin/sites/{self.site_key}/rules"
        revision = self.service.operator.get(path).json()["revision"]
        rule_set = {"version": "1", "default_action": "allow", "rules": list(rules)}
        reply = self.service.operator.put(path, json={"ruleSet": rule_set, "revision": revision})
        assert reply.status_code == 200, reply.text


@pytest.fixture
def shop(service: RunningService) -> Shop:
    return Shop(service)


def test_a_clearance_opens_the_catch_all_and_no_spelling_of_a_route_for_tokens(shop: Shop) -> None:
    assert said(shop.check("GET", "/about", Cookie=shop.cookie))[0] == 204
    assert said(shop.check("GET", "/pay", Cookie=shop.cookie)) == (401, "challenge", "receipt_required")

    answers = {path: said(shop.check("GET", path, Cookie=shop.cookie))[0] for path in ODD}
    assert answers == dict.fromkeys(ODD, 401)


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {"X_HTTP_Method_Override": "GET"}),
        ("POST", {"X_HTTP_Method_Override": "FOO"}),
        ("POST", {"X_Method_Override": ""}),
        ("PURGE", {}),
        ("HEAD", {}),
    ],
)
def test_a_method_that_could_be_another_is_compared_with_its_routes(
    shop: Shop, method: str, headers: dict[str, str]
) -> None:
    # A body without fields names no method by itself.
    sent = {"Content_Type": "text/plain", "Cookie": shop.cookie, **headers}
    assert said(shop.check(method, "/pay", **sent))[0] == 401
    assert said(shop.check(method, "/about", **sent))[0] == 204


def test_a_form_that_could_delete_is_compared_with_what_deletes(shop: Shop) -> None:
    form = {"Content_Type": "application/x-www-form-urlencoded", "Cookie": shop.cookie}
    assert said(shop.check("POST", "/items/7", **form))[0] == 401
    assert said(shop.check("POST", "/items/7?_method=DELETE", Cookie=shop.cookie))[0] == 401

    shop.service.operator.patch(f"/v1/admin/sites/{shop.site_key}", json={"formMethodOverride": False})
    assert said(shop.check("POST", "/items/7", **form))[0] == 204
    assert said(shop.check("POST", "/items/7?%5fmethod=DELETE", **form))[0] == 401


BODIES = ["application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "application/json", None]


@pytest.mark.parametrize("content_type", BODIES)
def test_a_body_that_could_name_get_is_compared_with_what_get_reads(shop: Shop, content_type: str | None) -> None:
    sent = {"Content_Type": content_type, "Cookie": shop.cookie}
    assert said(shop.check("POST", "/about", **sent))[0] == 204
    assert said(shop.check("POST", "/pay", **sent)) == (401, "challenge", "receipt_required")

    shop.service.operator.patch(f"/v1/admin/sites/{shop.site_key}", json={"formMethodOverride": False})
    assert said(shop.check("POST", "/pay", **sent))[0] == 204
    assert said(shop.check("POST", "/pay?_method=GET", **sent))[0] == 401


def test_a_path_that_the_site_opened_takes_bodies_that_could_name_a_method(shop: Shop) -> None:
    opened = {"path": "/pay", "sender": "198.51.100.0/24"}
    shop.service.operator.patch(f"/v1/admin/sites/{shop.site_key}", json={"openPaths": [opened]})
    body = {"Content_Type": "application/json"}

    assert said(shop.check("POST", "/pay", X_Original_Address="198.51.100.7", **body))[0] == 204
    # The path is open to that sender only.
    assert said(shop.check("POST", "/pay", Cookie=shop.cookie, **body))[0] == 401


def test_a_token_opens_its_route_and_the_catch_all_that_a_clearance_opens_once(shop: Shop) -> None:
    for path in ("/pay", "/p%61y"):
        token = get_token(shop.service, shop.site_key, "pay", ORIGIN, address=shop.address)
        assert said(shop.check("GET", path, X_AgentGate_Token=token))[0] == 204
        assert said(shop.check("GET", path, X_AgentGate_Token=token)) == (401, "challenge", "token_used")


@pytest.mark.parametrize("content_type", BODIES)
def test_a_token_opens_a_form_below_a_catch_all_once(shop: Shop, content_type: str | None) -> None:
    token = get_token(shop.service, shop.site_key, "pay", ORIGIN, address=shop.address)
    sent = {"Content_Type": content_type, "X_AgentGate_Token": token}

    assert said(shop.check("POST", "/items/7", **sent))[0] == 204
    assert said(shop.check("POST", "/items/7", **sent)) == (401, "challenge", "token_used")


def test_a_token_of_another_action_opens_no_catch_all(shop: Shop) -> None:
    token = get_token(shop.service, shop.site_key, "staff", ORIGIN, address=shop.address)

    assert said(shop.check("GET", "/about", X_AgentGate_Token=token)) == (401, "challenge", "action_mismatch")
    assert said(shop.check("POST", "/items/7", X_AgentGate_Token=token)) == (401, "challenge", "action_mismatch")


def test_a_token_does_not_open_another_route_for_tokens(shop: Shop) -> None:
    actions = {"pay": {"browserRequired": True}, "vote": {"browserRequired": True}}
    routes = [{"method": "POST", "path": "/pay", "action": "vote"}, {"method": "GET", "path": "/pay", "action": "pay"}]
    path = f"/v1/admin/sites/{shop.site_key}"
    assert shop.service.operator.patch(path, json={"actions": actions, "routes": routes}).status_code == 200

    for action in actions:
        token = get_token(shop.service, shop.site_key, action, ORIGIN, address=shop.address)
        reply = shop.check("POST", "/pay", X_AgentGate_Token=token, Content_Type="application/json")
        assert said(reply) == (401, "challenge", "action_mismatch")


def test_a_token_of_another_visitor_opens_no_catch_all(shop: Shop) -> None:
    token = get_token(shop.service, shop.site_key, "pay", ORIGIN, address="198.51.100.77")

    assert said(shop.check("POST", "/items/7", X_AgentGate_Token=token)) == (401, "challenge", "visitor_mismatch")


@pytest.mark.parametrize("is_first", [True, False])
def test_a_token_is_redeemed_where_another_route_needs_none(shop: Shop, is_first: bool) -> None:
    routes = [{"method": "GET", "path": "/pay", "action": "staff"}, {"method": "POST", "path": "/pay", "action": "pay"}]
    path = f"/v1/admin/sites/{shop.site_key}"
    assert shop.service.operator.patch(path, json={"routes": routes if is_first else routes[::-1]}).status_code == 200
    token = get_token(shop.service, shop.site_key, "pay", ORIGIN, address=shop.address)
    sent = {"Content_Type": "application/json", "X_AgentGate_Token": token}

    assert said(shop.check("POST", "/pay", **sent))[0] == 204
    assert said(shop.check("POST", "/pay", **sent)) == (401, "challenge", "token_used")


def test_a_rule_for_a_route_holds_in_every_spelling(shop: Shop) -> None:
    block = {"name": "staff", "match": {"all_labels": ["ua.browser"]}, "action": "block", "routes": ["/staff"]}
    shop.set_rules(block)

    assert said(shop.check("GET", "/about", Cookie=shop.cookie))[0] == 204
    for path in ("/staff", "/STAFF", "/st%61ff", "/x/../staff", "//x/staff", "/staff;a", "/staff/"):
        assert said(shop.check("GET", path, Cookie=shop.cookie)) == (403, "block", "policy"), path


def test_an_agent_is_denied_and_charged_for_what_its_request_could_be(shop: Shop) -> None:
    entry = {"decision": "allow", "jwks": AGENT.jwks, "actions": {"staff": "deny"}}
    prices = {"browse": {"price": "USD 0.01"}, "pay": {"price": "USD 0.50"}}
    set_policy(shop, agents={AGENT.url: entry}, actions=prices)
    offer = {"crawler-max-price": "USD 1.00"}

    def ask(path: str):
        return shop.check("GET", path, **signed(shop, "GET", path, **offer))

    assert ask("/about").headers["crawler-charged"] == "USD 0.01"
    assert said(ask("/staff")) == (403, "block", "agent_denied")
    assert said(ask("/st%61ff"))[0] == 403
    # Two routes, one charge: the dearer one.
    paid = ask("/p%61y")
    assert (said(paid)[0], paid.headers["crawler-charged"]) == (204, "USD 0.50")


def test_the_event_names_the_route_that_was_strictest(shop: Shop) -> None:
    reply = shop.check("GET", "/x/../pay", Cookie=shop.cookie)
    found = decision_of(shop.service, shop.site_key, reply.headers["x-service-decision-id"])

    assert (found["route"], found["action"]) == ("/pay", "pay")
