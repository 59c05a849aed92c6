"""Requests written oddly: each is held against every route that it could be, and each route must let it pass."""

from typing import Any

import pytest

from agentgate.lib.enums import ClearanceLevel
from agentgate.lib.ids import write_visitor
from tests.api.public.signed_agents import AGENT, set_policy, signed
from tests.support.browser_client import decision_of, get_token
from tests.support.gateway import ORIGIN, Gate, said
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
        visitor = application.refresher.decider.visitors.find(self.site_key, self.address)
        issued = application.data_plane._clearances.issue(
            site_key=self.site_key,
            origin=ORIGIN,
            visitor=write_visitor(visitor),
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
def test_a_method_that_could_be_another_is_held_against_its_routes(
    shop: Shop, method: str, headers: dict[str, str]
) -> None:
    assert said(shop.check(method, "/pay", Cookie=shop.cookie, **headers))[0] == 401
    assert said(shop.check(method, "/about", Cookie=shop.cookie, **headers))[0] == 204


def test_a_form_that_could_delete_is_held_against_what_deletes(shop: Shop) -> None:
    form = {"Content_Type": "application/x-www-form-urlencoded", "Cookie": shop.cookie}
    assert said(shop.check("POST", "/items/7", **form))[0] == 401
    assert said(shop.check("POST", "/items/7?_method=DELETE", Cookie=shop.cookie))[0] == 401

    shop.service.operator.patch(f"/v1/admin/sites/{shop.site_key}", json={"formMethodOverride": False})
    assert said(shop.check("POST", "/items/7", **form))[0] == 204
    assert said(shop.check("POST", "/items/7?%5fmethod=DELETE", **form))[0] == 401


def test_a_token_opens_its_route_in_any_spelling_that_is_no_other_route(shop: Shop) -> None:
    token = get_token(shop.service, shop.site_key, "pay", ORIGIN, address=shop.address)
    assert said(shop.check("GET", "/pay", X_AgentGate_Token=token))[0] == 204

    # It could also be the catch-all, for which this token was not made.
    token = get_token(shop.service, shop.site_key, "pay", ORIGIN, address=shop.address)
    assert said(shop.check("GET", "/p%61y", X_AgentGate_Token=token))[0] == 401


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
