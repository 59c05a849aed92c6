"""From an empty site to its first decision and the first exception, on one page."""

from collections.abc import Iterator

import pytest

from tests.browser.console.hands import Hand
from tests.browser.console.steps import Console, open_page
from tests.browser.steps import wait_for
from tests.support.http_receiver import Answering, Receiver, receiver
from tests.support.suggestions import suggest, verified


@pytest.fixture
def site() -> Iterator[Receiver]:
    with receiver() as running:
        running.answer = lambda _request: Answering(body=b"<h1>Shop</h1>", headers=(("content-type", "text/html"),))
        yield running


def test_a_site_is_connected_and_tested_from_one_page(owner: Hand, console: Console, site: Receiver) -> None:
    page, operator = owner.page, console.service.operator
    account = operator.get("/v1/admin/sites/site_demo_shop").json()["customerId"]
    body = {"name": f"New {owner.name}", "customerId": account, "allowedOrigins": [site.url(path="")]}
    key = operator.post("/v1/admin/sites", json=body).json()["siteKey"]
    open_page(page, console.page("install", key), f"Protect New {owner.name}")
    code = page.locator(".code pre").first
    code.wait_for()
    # One file; the two for an existing server are behind a choice.
    assert page.locator(".code pre:visible").count() == 1
    owner.fill(page.get_by_label("Address of your application"), "http://127.0.0.1:4321")
    owner.fill(page.get_by_label("Port of the proxy"), "8085")
    page.keyboard.press("Tab")
    wait_for(page, lambda: "127.0.0.1:4321" in code.inner_text() and "8085" in code.inner_text())
    assert "ags_PUT_THE_SECRET" in code.locator("mark").all_inner_texts()[-1]
    owner.press(page.get_by_role("button", name="Create secret"))
    wait_for(page, lambda: "ags_PUT_THE_SECRET" not in code.inner_text())
    secret = page.locator(".secret code").inner_text().partition("=")[2]
    owner.press(page.get_by_role("button", name="Test http"))
    card = page.locator("[data-part=test]")
    card.get_by_text("no sign that the site is behind AgentGate").wait_for()
    assert "checks passed" in card.inner_text()
    # The first decision ends the waiting.
    visitor = {"X-Original-Method": "GET", "X-Original-URL": site.url(path="/"), "X-Original-Address": "203.0.113.9"}
    reply = console.service.new_public_client().get(
        "/v1/gateway/check", headers={"Authorization": f"Bearer {secret}", **visitor}
    )
    assert reply.status_code < 500, reply.text
    page.get_by_text("First request received").first.wait_for()


FRONT = b"""<link rel="alternate" type="application/rss+xml" href="/blog/feed">
<link rel="alternate" type="application/rss+xml" href="/feed"><h1>Shop</h1>"""


def test_feeds_and_senders_are_offered_on_the_installation_page(owner: Hand, console: Console, site: Receiver) -> None:
    site.answer = lambda _request: Answering(body=FRONT, headers=(("content-type", "text/html"),))
    page, operator = owner.page, console.service.operator
    account = operator.get("/v1/admin/sites/site_demo_shop").json()["customerId"]
    body = {"name": f"Fed {owner.name}", "customerId": account, "allowedOrigins": [site.url(path="")]}
    made = operator.post("/v1/admin/sites", json=body).json()
    place = f"/v1/admin/sites/{made['siteKey']}"
    secret = operator.post(f"{place}/credentials", json={"name": "proxy"}).json()["secret"]
    visitor = {"X-Original-Method": "GET", "X-Original-URL": site.url(path="/"), "X-Original-Address": "203.0.113.9"}
    console.service.new_public_client().get(
        "/v1/gateway/check", headers={"Authorization": f"Bearer {secret}", **visitor}
    )
    suggest(console.service, made["id"], verified("stripe", "/hooks/pay"))

    open_page(page, console.page("install", made["siteKey"]), f"Protect Fed {owner.name}")
    owner.press(page.get_by_role("button", name="Test http"))
    offered = page.locator("[data-part=feeds]")
    offered.wait_for()
    assert offered.locator("code").all_inner_texts()[1:] == ["/blog/feed", "/feed"]
    owner.press(offered.get_by_role("button", name="Declare these feeds"))
    wait_for(page, lambda: operator.get(place).json()["feeds"] == ["/blog/feed", "/feed"])
    wait_for(page, lambda: offered.count() == 0)
    owner.press(page.get_by_role("button", name="Undo"))
    wait_for(page, lambda: operator.get(place).json()["feeds"] == [])
    owner.press(page.get_by_role("button", name="Open for stripe"))
    wait_for(page, lambda: [each["sender"] for each in operator.get(place).json()["openPaths"]] == ["stripe"])


def test_the_application_is_chosen_on_the_installation_page(owner: Hand, console: Console) -> None:
    page, operator = owner.page, console.service.operator
    account = operator.get("/v1/admin/sites/site_demo_shop").json()["customerId"]
    actions = {"submit": {"browserRequired": True}}
    body = {"name": f"Git {owner.name}", "customerId": account, "actions": actions}
    key = operator.post("/v1/admin/sites", json={**body, "allowedOrigins": ["https://git.example"]}).json()["siteKey"]
    place = f"/v1/admin/sites/{key}"
    open_page(page, console.page("install", key), f"Protect Git {owner.name}")

    owner.choose(page.get_by_role("combobox", name="Application"), "Forgejo")
    wait_for(page, lambda: operator.get(f"{place}/rules").json()["preset"] == "forgejo")
    assert operator.get(place).json()["actions"]["visit"] == {"browserRequired": True, "clearance": True}
    owner.choose(page.get_by_role("combobox", name="Application"), "Another application")
    wait_for(page, lambda: operator.get(f"{place}/rules").json()["preset"] == "none")


def test_the_overview_shows_people_and_bots_by_kind(owner: Hand, console: Console) -> None:
    page = owner.page
    open_page(page, console.page("overview"), "Overview")
    people = page.locator(".card", has_text="Solved the challenge")
    assert "Gave up" in people.inner_text()
    owner.press(people.get_by_role("link"))
    page.get_by_role("heading", name="Appeals").first.wait_for()
    open_page(page, console.page("overview"), "Overview")
    bots = page.locator(".card", has_text="Bots by kind")
    bots.locator(".bars li").first.wait_for()
    assert "HTTP libraries and tools" in bots.inner_text()
    bots.get_by_text("since the previous period").wait_for()
