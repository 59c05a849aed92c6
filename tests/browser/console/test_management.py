"""What operators and members do in the consoles, by mouse and by keyboard, against the real service."""

import re

from playwright.sync_api import Browser, Page

from tests.browser.console.codes import one_time_code
from tests.browser.console.furniture import sign_in_operator
from tests.browser.console.steps import PASSWORD, SITE, Console, open_page, sign_in, watch
from tests.browser.steps import wait_for

NEW = "a few words are better"


def operating(page: Page, console: Console, path: str, heading: str) -> None:
    """Sign in as an operator and open a page."""
    watch(page)
    sign_in_operator(page, console)
    open_page(page, f"{console.admin_url}/operator/{path}", heading)


def test_an_operator_approves_access_by_keyboard_and_the_person_joins(
    page: Page, browser: Browser, console: Console
) -> None:
    body = {"email": "cho@example.com", "name": "Cho", "company": "<b>Cho Books</b>", "message": "Two shops."}
    assert console.service.public.post("/v1/account/request-access", json=body).is_success
    operating(page, console, "service", "Service")
    page.keyboard.press("g")
    page.keyboard.press("q")
    page.locator(".quote", has_text="Two shops.").wait_for()
    assert page.locator("section h2", has_text="<b>Cho Books</b>").is_visible()
    page.keyboard.press("a")
    link = page.locator(".secret code").inner_text()
    assert "/console/invite#" in link
    page.get_by_text("Nobody waits.").wait_for()
    assert page.evaluate("window.violations") == []

    context = browser.new_context()
    try:
        person = context.new_page()
        person.goto(link)
        wait_for(person, lambda: "cho@example.com" in person.locator("[data-invite]").inner_text())
        person.locator("#password").fill(NEW)
        person.keyboard.press("Enter")
        wait_for(person, lambda: person.locator("main h1").inner_text() == "Welcome, <b>Cho Books</b>")
    finally:
        context.close()


def test_an_operator_declines_only_when_it_is_confirmed(page: Page, console: Console) -> None:
    console.service.public.post("/v1/account/request-access", json={"email": "no@example.com", "name": "Nobody"})
    operating(page, console, "access-requests", "Access requests")
    page.get_by_role("button", name="Decline").click()
    page.get_by_role("button", name="Keep it as it is").click()
    assert console.service.operator.get("/v1/admin/access-requests?status=pending").json()["items"]
    page.get_by_role("button", name="Decline").click()
    page.get_by_role("dialog").get_by_role("button", name="Decline").click()
    page.get_by_text("Nobody waits.").wait_for()


def test_a_lost_second_factor_is_turned_off_by_an_operator(page: Page, browser: Browser, console: Console) -> None:
    console.join(console.invite("lost@example.com", role="member"), PASSWORD)
    sign_in(page, console, "lost@example.com")
    open_page(page, f"{console.url}/console/security", "Security")
    page.get_by_role("button", name="Set it up").click()
    page.locator("#code").fill(one_time_code(page.locator(".secret code").inner_text()))
    page.get_by_role("button", name="Turn it on").click()
    page.get_by_role("button", name="I have kept them").click()

    operating(page, console, "users?q=lost@example.com", "Users")
    page.get_by_role("button", name="Actions for lost@example.com").click()
    page.get_by_role("button", name="Turn the second factor off").click()
    page.get_by_role("dialog").get_by_role("button", name="Turn the second factor off").click()
    page.get_by_text("Second factor of lost@example.com turned off").wait_for()

    context = browser.new_context()
    try:
        person = context.new_page()
        person.goto(f"{console.url}/console/sign-in")
        person.locator("#email").fill("lost@example.com")
        person.locator("#password").fill(PASSWORD)
        person.keyboard.press("Enter")
        wait_for(person, lambda: person.url == f"{console.url}/console")
    finally:
        context.close()


def test_a_key_is_rotated_and_the_trail_says_who_did_it(page: Page, console: Console) -> None:
    operating(page, console, "service", "Service")
    page.get_by_role("button", name="Rotate Receipts").click()
    page.get_by_text("New key for Receipts").wait_for()
    receipts = page.get_by_role("region", name="Receipts")
    wait_for(page, lambda: receipts.locator(".tag").all_inner_texts() == ["next", "in use"])
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.locator("tbody tr", has_text="rotated a key").first.wait_for()
    assert "ada" in page.locator("tbody tr").first.inner_text()


def test_decisions_are_labelled_one_key_each(page: Page, console: Console) -> None:
    operating(page, console, f"sites/{SITE}/labelling", "Labelling")
    page.locator("aside .path").wait_for()
    first = page.locator("aside header code").inner_text()
    page.keyboard.press("b")
    page.get_by_text("Labelled bot").wait_for()
    wait_for(page, lambda: page.locator("aside header code").inner_text() != first)
    labels = console.service.operator.get(f"/v1/admin/labels?siteKey={SITE}").json()["items"]
    assert [(each["decisionId"], each["label"]) for each in labels] == [(first, "bot")]


def test_a_member_is_invited_and_joins_by_the_link_of_the_outbox(
    signed_in: Page, browser: Browser, console: Console
) -> None:
    page = signed_in
    open_page(page, f"{console.url}/console/members", "Members")
    page.keyboard.press("n")
    page.locator("dialog #email:focus").wait_for()
    page.keyboard.type("mate@example.com")
    page.keyboard.press("Enter")
    page.get_by_text("Invited mate@example.com").wait_for()
    page.get_by_label("Role of mate@example.com").select_option("admin")
    page.get_by_text("mate@example.com is admin now").wait_for()

    operating(page, console, "outbox", "Outbox")
    row = page.locator("tbody tr", has_text="mate@example.com")
    row.get_by_role("button", name="Read").click()
    link = re.search(r"http\S+/console/invite#[\w-]+", page.locator(".code pre").inner_text())
    assert link is not None
    context = browser.new_context()
    try:
        person = context.new_page()
        person.goto(link[0])
        person.locator("#password").fill(NEW)
        person.keyboard.press("Enter")
        wait_for(person, lambda: person.locator("main h1").inner_text() == "Sites")
    finally:
        context.close()


def test_a_token_is_shown_once_and_revoked(signed_in: Page, console: Console) -> None:
    page = signed_in
    open_page(page, f"{console.url}/console/tokens", "API tokens")
    page.get_by_role("button", name="New token").first.click()
    page.locator("dialog #name").fill("Reports")
    page.get_by_role("dialog").get_by_role("button", name="New token").click()
    secret = page.locator(".secret code").inner_text()
    answer = console.service.public.get("/v1/console/sites", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 200
    page.reload()
    page.locator("tbody tr", has_text="Reports").wait_for()
    assert secret not in page.content()
    page.get_by_role("button", name="Revoke Reports").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    page.get_by_text("Revoked Reports").wait_for()
    answer = console.service.public.get("/v1/console/sites", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 401


def test_a_customer_is_deleted_only_with_its_name_typed(page: Page, console: Console) -> None:
    body = {"email": "gone@example.com", "customerName": "Gone Ltd"}
    made = console.service.operator.post("/v1/admin/accounts", json=body).json()
    operating(page, console, f"customers/{made['customerId']}", "Gone Ltd")
    page.get_by_role("button", name="Delete…").click()
    page.locator("#confirm-word").fill("gone")
    page.keyboard.press("Enter")
    assert page.get_by_role("dialog").is_visible()
    page.locator("#confirm-word").fill("Gone Ltd")
    page.keyboard.press("Enter")
    page.get_by_text("Deleted Gone Ltd").wait_for()
    page.get_by_role("button", name="Reactivate").click()
    page.get_by_text("Reactivated Gone Ltd").wait_for()


def test_a_webhook_is_made_tested_and_deleted(signed_in: Page, console: Console) -> None:
    page = signed_in
    open_page(page, console.page("webhooks"), "Webhooks")
    page.get_by_role("button", name="New webhook").first.click()
    page.locator("dialog #url").fill("not an address")
    page.get_by_role("dialog").get_by_role("button", name="New webhook").click()
    page.get_by_role("dialog").get_by_role("alert").wait_for()
    page.locator("dialog #url").fill("https://hooks.invalid/agentgate")
    page.get_by_role("dialog").get_by_role("button", name="New webhook").click()
    assert page.locator(".secret code").inner_text()
    page.get_by_role("button", name="Send a test").click()
    page.get_by_text("The test did not arrive").wait_for()
    page.get_by_role("button", name="Deliveries").click()
    page.locator("tbody tr", has_text="test").first.wait_for()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_text("Nothing is pushed anywhere yet.").wait_for()
    assert page.evaluate("window.violations") == []
