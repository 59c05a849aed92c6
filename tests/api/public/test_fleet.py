"""A fleet: one secret for all sites of an account, the site found by the server name that the proxy states."""

from typing import Any

import httpx
import pytest

from tests.api.public.challenge_page import ACTIONS, NAVIGATION, ROUTES, SCRIPT, facts_of
from tests.api.public.printed_adapter import CURL, PLAIN
from tests.api.public.shop import SITEVERIFY, code, open_shop
from tests.support.browser_client import decision_of
from tests.support.cast import add_account
from tests.support.service import RunningService

CUSTOMERS = "/v1/admin/customers"


class Fleet:
    """A hosting provider with one credential, and its proxies."""

    def __init__(self, service: RunningService, name: str = "Hosting", **body: Any) -> None:
        self.service = service
        self.account = add_account(service, name)
        service.operator.patch(f"{CUSTOMERS}/{self.account}", json={"limits": {"sites": 50}})
        made = service.operator.post(f"{CUSTOMERS}/{self.account}/fleet-credentials", json=body).json()
        self.id, self.secret = made["credential"]["id"], made["secret"]

    def host(self, *origins: str, **fields: Any) -> str:
        """Create a site and return its key."""
        body = {"name": origins[0], "allowedOrigins": origins, "mode": "enforce", "actions": ACTIONS, "routes": ROUTES}
        made = self.service.operator.post(f"{CUSTOMERS}/{self.account}/sites", json=body | fields)
        assert made.status_code == 201, made.text
        return str(made.json()["siteKey"])

    def send(self, target: str, line: str, headers: dict[str, str], method: str = "GET", **options: Any):
        own = {"X-AgentGate-Request": line, "X-AgentGate-Secret": self.secret}
        request = httpx.Request(method, self.service.public_url + target, headers=own | headers, **options)
        with httpx.Client(verify=PLAIN) as client:
            return client.send(request)

    def check(self, server: str, path: str = "/members", *, host: str = "", headers: dict[str, str] | None = None):
        """Ask as nginx does: the URL has the server's name, `host=` the visitor's Host header."""
        named = server.partition("://")[2].rpartition(":")[0]
        line = f"GET 203.0.113.20 host={host or named} {server}{path}"
        return self.send("/v1/gateway/check?respond=denial", line, headers or CURL)

    def is_of(self, reply: httpx.Response, key: str) -> bool:
        """Return whether this site decided."""
        found = decision_of(self.service, key, reply.headers["x-service-decision-id"])
        return found["id"] == reply.headers["x-service-decision-id"]


@pytest.fixture
def fleet(service: RunningService) -> Fleet:
    return Fleet(service)


def test_each_server_name_finds_its_site(fleet: Fleet) -> None:
    first, second = fleet.host("https://a.example", "https://www.a.example"), fleet.host("https://b.example")

    assert fleet.is_of(fleet.check("https://a.example:443"), first)
    assert fleet.is_of(fleet.check("https://www.a.example:443"), first)
    assert fleet.is_of(fleet.check("https://b.example:443"), second)


def test_a_site_is_found_behind_another_scheme_and_port(fleet: Fleet) -> None:
    key = fleet.host("https://a.example:8443")

    assert fleet.is_of(fleet.check("http://a.example:8080"), key)
    page = fleet.send(
        "/v1/gateway/check?respond=visitor", "GET 203.0.113.20 host=a.example http://a.example:80/members", NAVIGATION
    )
    assert facts_of(page)["return"] == "https://a.example:8443/members"


def test_of_two_sites_with_one_host_the_oldest_decides(fleet: Fleet) -> None:
    first = fleet.host("https://a.example")
    fleet.host("https://a.example", mode="monitor")

    assert fleet.is_of(fleet.check("https://a.example:443"), first)


def test_the_challenge_page_and_its_calls_work_with_the_fleets_secret(fleet: Fleet) -> None:
    fleet.host("https://a.example")
    checked = fleet.check("https://a.example:443", headers=NAVIGATION)
    line = "GET 203.0.113.20 host=a.example https://a.example:443"
    page = fleet.send(f"/v1/gateway/denied?d={checked.headers['x-service-denial']}", f"{line}/members", NAVIGATION)

    assert (page.status_code, facts_of(page)["return"]) == (401, "https://a.example/members")
    own = "/.agentgate/v1/gateway/challenge"
    assert fleet.send(own, f"{line}{own}", NAVIGATION).status_code == 401
    body = {"schemaVersion": 1, "siteKey": facts_of(page)["siteKey"], "action": "clearance"}
    called = fleet.send(
        "/.agentgate/v1/browser/challenge",
        f"POST 203.0.113.20 host=a.example https://a.example:443{own}",
        SCRIPT | {"Origin": "https://a.example"},
        "POST",
        json=body,
    )
    assert called.headers["content-type"].startswith("application/json")
    assert "invalid_credential" not in called.text


@pytest.mark.parametrize("unknown", ["allow", "block"])
def test_a_host_without_a_site_is_decided_by_the_credential(service: RunningService, unknown: str) -> None:
    fleet = Fleet(service, "Choosing", unknownHosts=unknown)
    fleet.host("https://a.example")

    for server in ("https://b.example:443", "http://_:80", "http://:80", "http://~^(.*)$:80"):
        reply = fleet.check(server, host="a.example")
        expected = {"allow": (204, "allowed"), "block": (401, "invalid_request")}[unknown]
        assert (reply.status_code, reply.headers["x-service-reason"]) == expected
        assert "server name" in reply.headers["x-service-message"]


# Attackers.


def test_a_host_header_of_another_site_does_not_choose_the_site(fleet: Fleet) -> None:
    strict = fleet.host("https://a.example")
    fleet.host("https://open.example", mode="monitor")

    reply = fleet.check("https://a.example:443", host="open.example")

    assert reply.status_code == 401
    assert fleet.is_of(reply, strict)


def test_a_server_name_of_another_account_is_unknown(service: RunningService, fleet: Fleet) -> None:
    other = Fleet(service, "Other", unknownHosts="block")
    fleet.host("https://a.example", mode="monitor")

    reply = other.check("https://a.example:443")

    assert (reply.status_code, reply.headers["x-service-reason"]) == (401, "invalid_request")
    assert "x-service-decision-id" not in reply.headers


def test_a_stolen_secret_redeems_and_scores_nothing(service: RunningService, fleet: Fleet) -> None:
    shop = open_shop(service)
    service.operator.post(f"/v1/admin/sites/{shop.site_key}/move", json={"customerId": fleet.account})
    bearer, token = {"Authorization": f"Bearer {fleet.secret}"}, shop.token()

    redeemed = service.public.post(SITEVERIFY, json={"token": token, "expectedAction": "login"}, headers=bearer)
    scored = service.public.post("/v1/content/score", json={"text": "hello"}, headers=bearer)
    compatible = service.public.post("/turnstile/v0/siteverify", data={"secret": fleet.secret, "response": "x"})

    assert code(redeemed) == (401, "invalid_credential")
    assert code(shop.verify(token)) == (200, None)
    assert scored.status_code == 401
    assert compatible.json()["success"] is False
    assert "invalid-input-secret" in compatible.json()["error-codes"]


def test_a_revoked_secret_is_wrong_at_once(service: RunningService, fleet: Fleet) -> None:
    fleet.host("https://a.example")
    assert fleet.check("https://a.example:443").status_code == 401

    service.operator.delete(f"{CUSTOMERS}/{fleet.account}/fleet-credentials/{fleet.id}")

    reply = fleet.check("https://a.example:443")
    assert (reply.status_code, reply.headers["x-service-reason"]) == (503, "invalid_credential")
    own = "/.agentgate/v1/gateway/challenge"
    refused = fleet.send(own, f"GET 203.0.113.20 https://a.example:443{own}", NAVIGATION)
    assert refused.headers["x-service-reason"] == "invalid_credential"


def test_the_secret_of_a_deleted_account_is_wrong(service: RunningService, fleet: Fleet) -> None:
    fleet.host("https://a.example", mode="monitor")

    service.operator.request("DELETE", f"{CUSTOMERS}/{fleet.account}", json={"confirm": "Hosting"})

    assert fleet.check("https://a.example:443").headers["x-service-reason"] == "invalid_credential"


def test_a_moved_site_is_no_longer_in_the_fleet(service: RunningService, fleet: Fleet) -> None:
    key = fleet.host("https://a.example")
    assert fleet.check("https://a.example:443").status_code == 401

    moved = service.operator.post(f"/v1/admin/sites/{key}/move", json={"customerId": add_account(service, "Own")})

    assert moved.status_code == 200, moved.text
    assert fleet.check("https://a.example:443").status_code == 204


def test_a_malformed_description_is_denied_and_never_counts_as_unavailable(fleet: Fleet) -> None:
    fleet.host("https://a.example")
    fleet.host("https://open.example", mode="monitor")

    def ask(server: str) -> httpx.Response:
        line = f"GET 203.0.113.20 host=x {server}/#fragment"
        return fleet.send("/v1/gateway/check?respond=denial", line, CURL)

    assert (ask("https://a.example:443").status_code, ask("https://open.example:443").status_code) == (401, 204)


def test_a_use_is_noted(service: RunningService, fleet: Fleet) -> None:
    fleet.host("https://a.example")
    fleet.check("https://a.example:443")
    service.run(service.application.background.finish())

    (shown,) = service.operator.get(f"{CUSTOMERS}/{fleet.account}/fleet-credentials").json()["items"]
    assert "lastUsedAt" in shown
