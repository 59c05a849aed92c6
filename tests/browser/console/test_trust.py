"""What makes an owner trust the console: it shows what happened, explains it, and takes changes back."""

import re

from tests.browser.console.hands import Hand
from tests.browser.console.steps import SITE, Console, open_page
from tests.browser.steps import wait_for


def test_switching_to_enforce_does_not_rewrite_what_happened(owner: Hand, console: Console) -> None:
    page = owner.page
    operator = console.service.operator
    open_page(page, console.page("overview"), "Overview")
    wait_for(page, lambda: "all allowed. Monitor mode allowed" in page.locator(".head").inner_text())
    operator.patch(f"/v1/admin/sites/{SITE}", json={"mode": "enforce"})
    try:
        page.reload()
        wait_for(page, lambda: page.locator("main .tag", has_text="enforce").count() == 1)
        wait_for(page, lambda: "all allowed. Monitor mode allowed" in page.locator(".head").inner_text())
        card = page.locator(".card", has_text="Top reasons")
        card.locator(".bars li").first.wait_for()
        total = re.search(r"([\d,]+) requests", page.locator(".head").inner_text())
        assert total is not None
        # One denominator on the page.
        assert page.get_by_text(f"Of {total[1]} requests.").count() == 3
        assert card.locator(".bars rect.would").count() > 3
    finally:
        operator.patch(f"/v1/admin/sites/{SITE}", json={"mode": "monitor"})


def test_a_decision_explains_itself_and_leads_to_its_three_remedies(owner: Hand, console: Console) -> None:
    page = owner.page
    open_page(page, console.page("decisions") + "?range=7d&kind=request&rule=automation-http-library", "Decisions")
    owner.press(page.locator("tbody a").first)
    sentence = page.locator("aside .lead")
    sentence.wait_for()
    assert "enforce mode would have challenged it: this request came from a script, not a browser" in (
        sentence.inner_text()
    )
    assert "names an HTTP library" in page.locator("aside .reasons").first.inner_text()
    assert "The visitor saw the requested page." in page.locator("aside").inner_text()
    owner.press(page.get_by_text("Other requests of this visitor"))
    owner.press(page.get_by_role("button", name="Allow this visitor"))
    assert page.locator("aside input:checked").first.is_visible()
    address = page.url
    owner.press(page.get_by_role("link", name="Change the rule"))
    wait_for(page, lambda: page.locator("tr[aria-current]", has_text="automation-http-library").count() == 1)
    page.goto(address)
    owner.press(page.get_by_role("link", name="Open this path"))
    page.get_by_role("region", name="Save the changes").wait_for()


def test_a_saved_setting_is_undone_and_later_restored_from_history(owner: Hand, console: Console) -> None:
    page = owner.page

    def name() -> str:
        return str(console.service.operator.get(f"/v1/admin/sites/{SITE}").json()["name"])

    before = name()
    open_page(page, console.page("settings"), "Settings")
    owner.fill(page.locator("#site-name"), "Renamed shop")
    owner.press(page.get_by_role("button", name="Review and save"))
    owner.press(page.get_by_role("dialog").get_by_role("button", name="Save"))
    wait_for(page, lambda: name() == "Renamed shop")
    owner.use("z", page.get_by_role("button", name="Undo").last)
    wait_for(page, lambda: name() == before)
    # The undo is a change like others: it can be taken back too.
    open_page(page, console.page("settings"), "Settings")
    owner.press(page.get_by_role("button", name=re.compile("^Restore")).first)
    dialog = page.get_by_role("dialog")
    assert "Renamed shop" in dialog.inner_text()
    owner.press(dialog.get_by_role("button", name="Restore"))
    wait_for(page, lambda: name() == "Renamed shop")
    console.service.operator.patch(f"/v1/admin/sites/{SITE}", json={"name": before})


def test_a_rule_set_is_restored_through_review(owner: Hand, console: Console) -> None:
    page = owner.page
    rules = f"/v1/admin/sites/{SITE}/rules"
    operator = console.service.operator
    for action in ("challenge", "block"):
        rule = {"name": "tor", "match": {"all_labels": ["net.tor"]}, "action": action}
        own = {"version": action, "rules": [rule], "default_action": "allow"}
        body = {"ruleSet": own, "revision": operator.get(rules).json()["revision"]}
        assert operator.put(rules, json=body).status_code == 200
    try:
        open_page(page, console.page("settings"), "Settings")
        owner.press(page.get_by_role("button", name=re.compile("^Restore")).first)
        wait_for(page, lambda: "action: challenge" in (page.locator(".editor textarea").input_value() or ""))
        review = page.get_by_role("button", name="Review and save")
        wait_for(page, lambda: review.get_attribute("aria-disabled") != "true")
        owner.press(review)
        owner.press(page.get_by_role("dialog").get_by_role("button", name="Save"))
        wait_for(page, lambda: operator.get(rules).json()["ruleSet"]["rules"][0]["action"] == "challenge")
    finally:
        operator.put(rules, json={"revision": operator.get(rules).json()["revision"]})
