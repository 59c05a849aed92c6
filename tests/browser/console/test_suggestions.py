"""Suggestions on a site's overview: few presses open many paths, each to its own sender; one closes a path."""

from tests.browser.console.hands import Hand
from tests.browser.console.steps import Console, open_page
from tests.browser.steps import wait_for
from tests.support.suggestions import named, suggest, verified

NAMES = 12


def test_one_press_opens_all_names_and_no_other_sender(owner: Hand, console: Console) -> None:
    page, operator = owner.page, console.service.operator
    account = operator.get("/v1/admin/sites/site_demo_shop").json()["customerId"]
    body = {"name": f"Shop {owner.name}", "customerId": account, "allowedOrigins": ["https://many.example"]}
    site = operator.post("/v1/admin/sites", json=body).json()
    place = f"/v1/admin/sites/{site['siteKey']}"
    names = [letter * 6 for letter in "abcdefghijklmnop"[:NAMES]]
    claimed = [named(name, f"/status/{name}") for name in names]
    suggest(console.service, site["id"], *claimed, verified("stripe", "/hooks/pay"))

    def opened() -> list[str]:
        return sorted(each["sender"] for each in operator.get(place).json()["openPaths"])

    open_page(page, console.page("overview", site["siteKey"]), "Overview")
    card = page.locator(".card", has_text="Programs that enforce mode would block")
    card.get_by_text("/hooks/pay").wait_for()
    # The ten most credible ones are shown, and the button opens no others.
    assert card.locator("li").count() == 10
    card.get_by_role("button", name="Open for 9 names").wait_for()
    owner.press(card.get_by_role("button", name=f"Show all {NAMES + 1}"))
    owner.press(card.get_by_role("button", name=f"Open for {NAMES} names"))
    wait_for(page, lambda: opened() == [f"name:{name}" for name in names])
    owner.press(card.get_by_role("button", name="Open for stripe"))
    wait_for(page, lambda: "stripe" in opened())
    wait_for(page, lambda: card.get_by_role("button", name="Close again").count() == NAMES + 1)
    owner.press(card.locator("li", has_text="/hooks/pay").get_by_role("button"))
    wait_for(page, lambda: len(opened()) == NAMES and "stripe" not in opened())
