"""Stored cross-site scripting: a canary in every text that a user can write, and every page of both consoles opened.

A canary that ran, or that the page's policy had to stop, fails the test; so does a canary that no page shows, because
then it tested nothing.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from playwright.sync_api import Error as PlaywrightError

from agentgate.events.decision_ids import read_id
from agentgate.gateway.appeals.records import StoredAppeal
from agentgate.lib.enums import AppealState, Outcome
from tests.browser.console.furniture import sign_in_operator
from tests.browser.console.page_lists import ACCOUNT_PAGES, CONSOLE_PAGES, MANAGEMENT_PAGES, OPERATOR_PAGES
from tests.browser.console.steps import PASSWORD, SITE, Console, OpenRequests, sign_in, watch
from tests.browser.steps import wait_for

EMAIL = "canary@example.com"
LONG_S = 300
COLLECT = "window.ran = (field) => { window.hits = [...(window.hits ?? []), String(field)]; };"
# All text that a person can read, including field values and collapsed content.
READ = """() => [
  document.body.textContent,
  document.title,
  ...[...document.querySelectorAll('input, textarea')].map((field) => field.value),
  ...[...document.querySelectorAll('[title]')].map((element) => element.title),
].join('\\n')"""


def canary(field: str) -> str:
    """Return a text that calls `ran` with the field's name when it becomes markup, in any context."""
    return f"'\"><svg/onload=ran(/{field}/)>"


@dataclass
class Planted:
    """A site of a new customer, and the fields that contain a canary."""

    site_key: str
    customer_id: str
    decision_id: str
    fields: set[str]


class Gardener:
    """Writes canaries through the API, and records their fields."""

    def __init__(self, console: Console) -> None:
        self.service = console.service
        self.fields: set[str] = set()

    def send(self, method: str, path: str, body: Any, *fields: str, public: bool = False) -> Any:
        """Send a body that holds the canaries of `fields`; return the response."""
        client = self.service.public if public else self.service.operator
        answer = client.request(method, path, json=body)
        assert answer.is_success, (path, answer.text)
        self.fields.update(fields)
        return answer.json() if answer.content else {}


def plant(console: Console) -> Planted:
    """Put a canary into everything that customers, visitors, strangers and operators can write."""
    garden = Gardener(console)
    person = {"email": EMAIL, "customerName": canary("customer"), "name": canary("user")}
    made = garden.send("POST", "/v1/admin/accounts", person, "customer", "user")
    joined = {"token": made["inviteUrl"].rpartition("#")[2], "password": PASSWORD, "name": canary("user")}
    garden.send("POST", "/v1/account/invite/accept", joined, public=True)
    site_key = _plant_site(garden, made["customerId"])
    secret = garden.send(
        "POST", f"/v1/admin/sites/{site_key}/credentials", {"name": canary("credential")}, "credential"
    )
    decision_id = _plant_decision(garden, site_key, secret["secret"])
    asked = {"email": "cho@example.com", "name": canary("asker"), "company": canary("company")}
    asked["message"] = canary("request")
    garden.send("POST", "/v1/account/request-access", asked, "asker", "company", "request", public=True)
    other = garden.send("POST", "/v1/admin/accounts", {"email": "other@example.com", "customerName": "Other"})
    reason = {"reason": canary("suspension")}
    garden.send("POST", f"/v1/admin/customers/{other['customerId']}/suspend", reason, "suspension")
    return Planted(site_key, made["customerId"], decision_id, garden.fields)


def _plant_site(garden: Gardener, customer_id: str) -> str:
    """Create the site; return its key."""
    site = {
        "name": canary("site"),
        "allowedOrigins": ["https://canary.example"],
        "actions": {"login": {"browserRequired": True}},
        "routes": [{"method": "*", "path": f"/{canary('route')}", "action": "login"}],
        "openPaths": [{"path": "/hooks/payment", "sender": "anyone", "note": canary("open_path")}],
        "wantedPrograms": [canary("program")],
    }
    # A wanted program is kept as letters and digits, and so without its markup.
    made = garden.send("POST", f"/v1/admin/customers/{customer_id}/sites", site, "site", "route", "open_path")
    at = f"/v1/admin/sites/{made['siteKey']}"
    match = {"user_agents": [canary("rule_agent")], "headers": {"x-canary": [canary("rule_header")]}}
    rule = {"name": "canary", "match": match, "action": "block", "response": {"message": canary("rule_message")}}
    rules = {"ruleSet": {"version": "1", "rules": [rule], "default_action": "allow"}, "overrides": {}, "revision": 0}
    garden.send("PUT", f"{at}/rules", rules, "rule_agent", "rule_header", "rule_message")
    for kind in ("program", "agent"):
        entry = {"kind": kind, "value": canary(f"list_{kind}"), "outcome": "block", "note": canary("list_note")}
        garden.send("POST", f"{at}/list-entries", entry, f"list_{kind}", "list_note")
    agents = {canary("agent"): {"decision": "allow", "name": canary("agent_name")}}
    garden.send("PUT", f"{at}/agent-policy", {"agents": agents}, "agent", "agent_name")
    hook = {"url": f"https://hooks.example.com/{canary('webhook')}", "events": ["decisions"]}
    garden.send("POST", f"{at}/webhooks", hook, "webhook")
    return str(made["siteKey"])


def _plant_decision(garden: Gardener, site_key: str, secret: str) -> str:
    """Ask for a decision with canaries in the visitor's own words, label it, appeal against it; return its ID."""
    headers = {
        "Authorization": f"Bearer {secret}",
        "X-Original-Method": "GET",
        "X-Original-URL": f"https://canary.example/{canary('route')}",
        "X-Original-Address": "203.0.113.9",
        "User-Agent": canary("user_agent"),
        "Referer": canary("referer"),
        "X-Request-Id": canary("request_id"),
    }
    answer = garden.service.public.get("/v1/gateway/check", headers=headers)
    decision_id = answer.headers["x-service-decision-id"]
    at = f"/v1/admin/decisions/{decision_id}"
    deadline = time.monotonic() + 10
    while not (found := garden.service.operator.get(at, params={"siteKey": site_key})).is_success:
        assert time.monotonic() < deadline, found.text
        time.sleep(0.1)
    # A label's note is intended for training models: no page shows it.
    garden.send("PUT", f"{at}/label?siteKey={site_key}", {"label": "bot", "note": canary("label")})
    decision = found.json()["decision"]
    appeal = StoredAppeal(
        id=f"apl_{7:016x}",
        site_id=decision["siteId"],
        link_digest=f"{7:064x}",
        decision=read_id(decision_id) or 0,
        visitor=decision["visitorId"],
        outcome=Outcome.CHALLENGE,
        method=decision["method"],
        route=decision["route"],
        rule=None,
        message=canary("appeal"),
        state=AppealState.WAITING,
        created_ms=int(time.time() * 1000),
    )
    garden.service.change(lambda stores: stores.appeals.add_appeal(appeal))
    garden.fields.add("appeal")
    return decision_id


@pytest.fixture(scope="module")
def planted(console: Console) -> Planted:
    """Canaries in every field."""
    return plant(console)


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """A tab under the pages' own policy that notes every canary that runs."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    watch(page)
    page.add_init_script(COLLECT)
    yield page
    context.close()


def read(page: Page, url: str, requests: OpenRequests) -> str:
    """Open a page, wait until it has read everything, hold it against its policy; return all its text."""
    requests.clear()
    page.goto(url)
    wait_for(page, lambda: page.locator("main h1, main .card").count())
    requests.wait_until_answered()
    assert page.evaluate("window.hits") is None, url
    assert page.evaluate("window.violations") == [], url
    return str(page.evaluate(READ))


def plant_as_owner(page: Page, console: Console, planted: Planted) -> None:
    """Write what only a member of the account can write."""
    token = page.request.get(f"{console.url}/v1/account/session").json()["csrfToken"]
    headers = {"X-CSRF-Token": token, "Origin": console.url}
    body = {"name": canary("token"), "scopes": ["sites:read"]}
    answer = page.request.post(f"{console.url}/v1/console/tokens", data=body, headers=headers)
    assert answer.ok, answer.text()
    planted.fields.add("token")


def addresses(planted: Planted, console: Console) -> list[str]:
    """Return every page of both consoles; the pages of a site are opened for the planted one."""
    customer = [*ACCOUNT_PAGES, *CONSOLE_PAGES, *MANAGEMENT_PAGES, f"/console/sites/{SITE}/decisions?open=OPEN"]
    # Links with a canary that an attacker could send to a customer.
    customer += [
        f"/console/sites/{SITE}/decisions?label={canary('address')}",
        f"/console/sign-in?next={canary('next')}",
    ]
    operator = [*OPERATOR_PAGES, f"/operator/customers/{planted.customer_id}", "/operator/sign-in", "/"]
    operator += [f"/operator/sites/{SITE}/decisions?open=OPEN", "/operator/customers?status=suspended"]
    paths = [console.url + path for path in customer] + [console.admin_url + path for path in operator]
    return [path.replace(SITE, planted.site_key).replace("OPEN", planted.decision_id) for path in paths]


@pytest.mark.timeout(LONG_S)
def test_no_text_that_someone_wrote_becomes_markup(tab: Page, console: Console, planted: Planted) -> None:
    sign_in(tab, console, EMAIL)
    plant_as_owner(tab, console, planted)
    sign_in_operator(tab, console)
    requests = OpenRequests(tab)
    text = "\n".join(read(tab, url, requests) for url in addresses(planted, console))

    assert sorted(field for field in planted.fields if f"ran(/{field}/)" not in text) == []


def test_a_canary_that_becomes_markup_is_noticed(tab: Page, console: Console) -> None:
    # The check itself: a page without a policy runs the canary, one with it reports what it stopped.
    body = f"<main>{canary('markup')}</main>"
    tab.route("**/unguarded", lambda route: route.fulfill(content_type="text/html", body=body))
    tab.goto(f"{console.url}/unguarded")
    wait_for(tab, lambda: tab.evaluate("window.hits"))
    assert tab.evaluate("window.hits") == ["/markup/"]
    tab.goto(f"{console.url}/")
    with pytest.raises(PlaywrightError, match="TrustedHTML"):
        tab.evaluate("text => { document.querySelector('main').innerHTML = text; }", body)
    wait_for(tab, lambda: tab.evaluate("window.violations.length"))
