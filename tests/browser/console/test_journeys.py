"""What people do in the customers' console, by mouse and by keyboard alone, against the real service."""

import re

from playwright.sync_api import Browser, Page

from tests.browser.console.codes import set_up_second_factor
from tests.browser.console.hands import Hand, see_heading
from tests.browser.console.steps import EMAIL, PASSWORD, SITE, Console, open_page, sign_in
from tests.browser.steps import wait_for
from tests.support.service import ADMIN_KEY

NEW = "a few words are better"


def test_from_the_mailed_link_to_the_first_decision(hand: Hand, console: Console) -> None:
    page = hand.page
    email = f"new-{hand.name}@example.com"
    page.goto(f"{console.url}/console/invite#{console.invite(email, role='admin')}")
    wait_for(page, lambda: email in page.locator("[data-invite]").inner_text())
    assert page.evaluate("location.hash") == ""
    hand.fill(page.locator("#password"), NEW)
    hand.send(page.locator("#password"))
    see_heading(page, "Sites")

    hand.press(page.locator("main").get_by_role("link", name="New site").first)
    hand.fill(page.locator("#name"), "Shop <script>alert(1)</script>")
    hand.fill(page.locator("#origin"), "shop.example.com/cart")
    assert page.get_by_text("Will be saved as https://shop.example.com").is_visible()
    hand.send(page.locator("#origin"))
    see_heading(page, "Protect Shop")

    hand.press(page.get_by_role("radio", name="Caddy"))
    hand.press(page.get_by_role("button", name="Create secret"))
    secret = page.locator(".secret code").first.inner_text()
    assert re.fullmatch(r"GATE_SECRET=ags_[A-Za-z0-9_-]+", secret)
    wait_for(page, lambda: secret.partition("=")[2] in "".join(page.locator(".code pre").all_inner_texts()))
    assert page.get_by_text("Waiting for the first request").is_visible()
    site_key = re.search(r"/sites/([^/]+)/", page.url)[1]  # type: ignore[index]
    check_gateway(console, site_key, secret.partition("=")[2])
    page.locator(".wait .b", has_text="First request received").wait_for()


def check_gateway(console: Console, site_key: str, secret: str) -> None:
    """Ask about one request, as the site's proxy does."""
    headers = {
        "authorization": f"Bearer {secret}",
        "x-original-method": "GET",
        "x-original-url": "https://shop.example.com/",
        "x-original-address": "203.0.113.9",
        "x-agentgate-site": site_key,
    }
    answer = console.service.public.get("/v1/gateway/check", headers=headers)
    assert answer.status_code in {200, 204}, answer.text


def test_a_discarded_second_factor_is_replaced_by_a_recovery_code(hand: Hand, console: Console) -> None:
    page = hand.page
    email = f"factor-{hand.name}@example.com"
    console.join(console.invite(email, role="member"), PASSWORD)
    sign_in(page, console, email)
    open_page(page, f"{console.url}/console/security", "Security")
    codes = set_up_second_factor(hand)
    assert len(codes) == 10
    page.get_by_text("On. 10 recovery codes left.").wait_for()

    page.context.clear_cookies()
    page.goto(f"{console.url}/console/sites")
    wait_for(page, lambda: page.url.startswith(f"{console.url}/console/sign-in?next="))
    hand.fill(page.locator("#email"), email)
    hand.fill(page.locator("#password"), PASSWORD)
    hand.send(page.locator("#password"))
    hand.press(page.get_by_role("link", name="Use a recovery code instead"))
    hand.fill(page.locator("#recoveryCode"), codes[0])
    hand.send(page.locator("#recoveryCode"))
    wait_for(page, lambda: page.url == f"{console.url}/console/sites")


def test_account_pages_work_without_script(browser: Browser, console: Console) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        token = console.invite("plain@example.com", role="readonly")
        page.goto(f"{console.url}/console/invite")
        page.locator("#token").fill(f"{console.url}/console/invite#{token}")
        page.locator("#password").fill("short")
        page.locator("#password").evaluate("element => element.removeAttribute('minlength')")
        page.get_by_role("button", name="Join").click()
        assert page.get_by_text("too easy to guess").is_visible()
        assert token in page.locator("#token").input_value()
        page.locator("#password").fill(NEW)
        page.get_by_role("button", name="Join").click()
        assert page.url == f"{console.url}/console"

        page.goto(f"{console.url}/console/reset")
        page.locator("#token").fill("nothing-of-ours")
        page.locator("#password").fill(NEW)
        page.get_by_role("button", name="Set password").click()
        assert page.get_by_text("This link no longer works").is_visible()

        page.goto(f"{console.url}/console/sign-in")
        page.locator("#email").fill(EMAIL)
        page.locator("#password").fill("wrong wrong wrong")
        page.get_by_role("button", name="Sign in").click()
        assert page.get_by_role("alert").is_visible()
        assert page.locator("#email").input_value() == EMAIL
        page.locator("#password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        assert page.url == f"{console.url}/console"
    finally:
        context.close()


def test_decisions_are_filtered_read_and_found_by_their_number(owner: Hand, console: Console) -> None:
    page = owner.page
    open_page(page, console.page("decisions") + "?range=7d", "Decisions")
    wait_for(page, lambda: page.locator("tbody .out").count() > 5)
    owner.use("f", page.get_by_role("button", name="Filter"))
    owner.press(page.locator("#filter-menu button", has_text="Enforce outcome").first)
    wait_for(page, lambda: "wouldDecision=" in page.url and page.locator(".chip b").count() == 1)
    owner.press(page.locator(".chip button"))
    wait_for(page, lambda: page.locator(".chip b").count() == 0)
    owner.fill(page.locator("#find"), "label:ua.http_library")
    page.keyboard.press("Enter")
    wait_for(page, lambda: "label=ua.http_library" in page.url and page.locator(".chip b").count() == 1)
    # Wait until the list shows the filtered decisions.
    page.wait_for_load_state("networkidle")
    owner.use("j", page.locator("tbody a").first)
    page.locator("aside .path").wait_for()
    assert "open=dec_" in page.url
    wait_for(page, lambda: page.locator("aside .pill", has_text="http_library").count() >= 1)
    number = page.locator("aside header code").inner_text()
    owner.use("Escape", page.locator("aside").get_by_role("button", name="Close"))
    wait_for(page, lambda: "open=" not in page.url)

    # The palette opens from everywhere, by its button too.
    owner.use("Control+k", page.locator("button.find"))
    page.locator("dialog.palette input:focus").wait_for()
    page.keyboard.type(number)
    owner.use_option(page.get_by_role("option", name=re.compile(number)))
    wait_for(page, lambda: page.locator("aside header code").inner_text() == number)
    page.reload()
    wait_for(page, lambda: page.locator("aside .lead").count() == 1)


def test_the_range_is_chosen_by_key_and_by_marking_the_chart(owner: Hand, console: Console) -> None:
    page = owner.page
    open_page(page, console.page("overview"), "Overview")
    page.locator(".chart polyline").first.wait_for()
    owner.press(page.get_by_role("radio", name="7 days"))
    wait_for(page, lambda: "range=7d" in page.url)
    page.wait_for_load_state("networkidle")
    owner.mark(page.locator(".chart .plot"))
    wait_for(page, lambda: "from=" in page.url and "to=" in page.url)
    owner.press(page.get_by_role("button", name="Reset the range"))
    wait_for(page, lambda: "from=" not in page.url)
    owner.go("Decisions")
    wait_for(page, lambda: page.url.startswith(console.page("decisions")))


def test_every_page_lists_its_keys_and_has_one_for_the_others(signed_in: Page, console: Console) -> None:
    page = signed_in
    open_page(page, console.page("overview"), "Overview")
    page.keyboard.press("w")
    wait_for(page, lambda: "range=7d" in page.url)
    page.keyboard.press("h")
    wait_for(page, lambda: "range=" not in page.url)
    page.keyboard.press("g")
    page.keyboard.press("d")
    wait_for(page, lambda: page.url.startswith(console.page("decisions")))
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()


def test_enforce_is_switched_on_with_evidence_and_undone(owner: Hand, console: Console) -> None:
    page = owner.page
    open_page(page, console.page("install"), "Protect")
    page.locator(".thousand").wait_for()
    assert page.get_by_text(re.compile("Enforce mode would block")).is_visible()
    line = page.locator("[data-part=unavailable]")
    assert "@agentgate_closed" in (line.get_by_role("region", name=re.compile("change to")).text_content() or "")
    owner.press(page.get_by_role("button", name="Switch to enforce mode"))
    page.get_by_text("Enforce mode is active").wait_for()
    assert console.service.operator.get(f"/v1/admin/sites/{SITE}").json()["mode"] == "enforce"
    page.get_by_text("so this configuration fails closed").wait_for()
    owner.use("z", page.get_by_role("button", name="Undo").last)
    page.get_by_text("Monitor mode is active").wait_for()
    assert console.service.operator.get(f"/v1/admin/sites/{SITE}").json()["mode"] == "monitor"


def test_an_operator_signs_in_with_the_key_on_the_admin_listener_only(hand: Hand, console: Console) -> None:
    page = hand.page
    page.goto(f"{console.admin_url}/")
    hand.press(page.get_by_role("link", name=re.compile("Operator console")))
    wait_for(page, lambda: page.url.startswith(f"{console.admin_url}/operator/sign-in"))
    hand.fill(page.locator("#key"), "agk_wrong_wrong_wrong_wrong_wrong_wrong")
    hand.send(page.locator("#key"))
    page.get_by_role("alert").wait_for()
    hand.fill(page.locator("#key"), ADMIN_KEY)
    hand.fill(page.locator("#operator"), "ada")
    hand.send(page.locator("#operator"))
    see_heading(page, "Service")
    assert page.request.get(f"{console.url}/operator").status == 404
    assert page.request.get(f"{console.admin_url}/console").status == 404
