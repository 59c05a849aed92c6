"""What people do in the customers' console, by mouse and by keyboard, against the real service."""

import re

from playwright.sync_api import Browser, Page

from tests.browser.console.codes import one_time_code
from tests.browser.console.steps import EMAIL, PASSWORD, SITE, Console, open_page, sign_in, watch
from tests.browser.steps import wait_for
from tests.support.service import ADMIN_KEY

NEW = "a few words are better"


def test_from_the_mailed_link_to_a_protected_site_without_a_mouse(page: Page, console: Console) -> None:
    watch(page)
    token = console.invite("new@example.com", role="admin")
    page.goto(f"{console.url}/console/invite#{token}")
    wait_for(page, lambda: "new@example.com" in page.locator("[data-invite]").inner_text())
    assert page.evaluate("location.hash") == ""
    page.locator("#password").focus()
    page.keyboard.type(NEW)
    page.keyboard.press("Enter")
    wait_for(page, lambda: page.locator("main h1").inner_text() == "Sites")

    page.keyboard.press("Control+k")
    page.locator("dialog.palette input:focus").wait_for()
    page.keyboard.type("new s")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="New site").first.press("Enter")
    page.locator("#name").fill("Shop <script>alert(1)</script>")
    page.locator("#origin").fill("shop.example.com/cart")
    assert page.get_by_text("We will use https://shop.example.com").is_visible()
    page.keyboard.press("Enter")
    wait_for(page, lambda: "Protect Shop" in page.locator("main h1").inner_text())

    page.get_by_role("button", name="Make a secret").press("Enter")
    secret = page.locator(".secret code").first.inner_text()
    assert re.fullmatch(r"GATE_SECRET=ags_[A-Za-z0-9_-]+", secret)
    wait_for(page, lambda: secret.partition("=")[2] in page.locator(".code pre").first.inner_text())
    assert page.get_by_text("Waiting for the first request").is_visible()
    site_key = re.search(r"/sites/([^/]+)/", page.url)[1]  # type: ignore[index]
    check_gateway(console, site_key, secret.partition("=")[2])
    page.locator(".wait .b", has_text="The first decision is there").wait_for()
    assert page.evaluate("window.violations") == []


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


def test_a_forgotten_second_factor_is_replaced_by_a_recovery_code(page: Page, console: Console) -> None:
    console.join(console.invite("factor@example.com", role="member"), PASSWORD)
    sign_in(page, console, "factor@example.com")
    open_page(page, f"{console.url}/console/security", "Security")
    page.get_by_role("button", name="Set it up").click()
    page.locator("svg.qr path").wait_for()
    secret = page.locator(".secret code").inner_text()
    page.locator("#code").fill(one_time_code(secret))
    page.get_by_role("button", name="Turn it on").click()
    codes = page.locator("pre.code").inner_text().split()
    assert len(codes) == 10
    page.get_by_role("button", name="I have kept them").click()
    page.get_by_text("On. 10 recovery codes are left.").wait_for()

    page.context.clear_cookies()
    page.goto(f"{console.url}/console/sites")
    wait_for(page, lambda: page.url.startswith(f"{console.url}/console/sign-in?next="))
    page.locator("#email").fill("factor@example.com")
    page.locator("#password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Use a recovery code instead").click()
    page.locator("#recoveryCode").fill(codes[0])
    page.get_by_role("button", name="Continue").click()
    wait_for(page, lambda: page.url == f"{console.url}/console/sites")
    assert page.evaluate("window.violations") == []


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
        page.get_by_role("button", name="Set the password").click()
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


def test_the_filters_of_decisions_are_in_the_address_and_the_detail_explains(signed_in: Page, console: Console) -> None:
    page = signed_in
    open_page(page, console.page("decisions") + "?range=7d", "Decisions")
    wait_for(page, lambda: page.locator("tbody .out").count() > 5)
    page.keyboard.press("/")
    page.keyboard.type("label:ua.http_library")
    page.keyboard.press("Enter")
    wait_for(page, lambda: "label=ua.http_library" in page.url and page.locator(".chip b").count() == 1)
    # The list is that of the filter.
    page.wait_for_load_state("networkidle")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.locator("aside .path").wait_for()
    assert "open=dec_" in page.url
    wait_for(page, lambda: page.locator("aside .pill", has_text="http_library").count() >= 1)
    number = page.locator("aside header code").inner_text()
    page.keyboard.press("Escape")
    wait_for(page, lambda: "open=" not in page.url)

    page.keyboard.press("Control+k")
    page.locator("dialog.palette input:focus").wait_for()
    page.keyboard.type(number)
    page.keyboard.press("Enter")
    wait_for(page, lambda: page.locator("aside header code").inner_text() == number)
    page.reload()
    wait_for(page, lambda: page.locator("aside .lead").count() == 1)
    assert page.evaluate("window.violations") == []


def test_ranges_have_keys_and_a_dragged_chart_sets_the_range(signed_in: Page, console: Console) -> None:
    page = signed_in
    open_page(page, console.page("overview"), "Overview")
    page.locator(".chart polyline").first.wait_for()
    page.keyboard.press("w")
    wait_for(page, lambda: "range=7d" in page.url)
    page.keyboard.press("h")
    wait_for(page, lambda: "range=" not in page.url)
    page.locator(".chart polyline").first.wait_for()
    page.wait_for_timeout(200)
    box = page.locator(".chart .plot").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 60, steps=4)
    page.mouse.up()
    wait_for(page, lambda: "from=" in page.url and "to=" in page.url)
    page.keyboard.press("g")
    page.keyboard.press("d")
    wait_for(page, lambda: page.url.startswith(console.page("decisions")))
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard").wait_for()


def test_enforce_is_switched_on_with_evidence_and_undone(signed_in: Page, console: Console) -> None:
    page = signed_in
    open_page(page, console.page("install"), "Protect")
    page.locator(".thousand").wait_for()
    assert page.get_by_text(re.compile("Enforce would have refused")).is_visible()
    page.get_by_role("button", name="Switch to enforce").click()
    page.get_by_text("Switched to enforce").wait_for()
    assert console.service.operator.get(f"/v1/admin/sites/{SITE}").json()["mode"] == "enforce"
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Switched to monitor").wait_for()
    assert console.service.operator.get(f"/v1/admin/sites/{SITE}").json()["mode"] == "monitor"


def test_an_operator_signs_in_with_the_key_on_the_admin_listener_only(page: Page, console: Console) -> None:
    watch(page)
    page.goto(f"{console.admin_url}/")
    page.get_by_role("link", name=re.compile("Operator console")).click()
    wait_for(page, lambda: page.url.startswith(f"{console.admin_url}/operator/sign-in"))
    page.locator("#key").fill("agk_wrong_wrong_wrong_wrong_wrong_wrong")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").wait_for()
    page.locator("#key").fill(ADMIN_KEY)
    page.locator("#operator").fill("ada")
    page.keyboard.press("Enter")
    wait_for(page, lambda: page.locator("main h1").inner_text() == "Service")
    assert page.evaluate("window.violations") == []
    assert page.request.get(f"{console.url}/operator").status == 404
    assert page.request.get(f"{console.admin_url}/console").status == 404
