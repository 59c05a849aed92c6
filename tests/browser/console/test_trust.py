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
    operator.put(f"/v1/admin/sites/{SITE}/mode", json={"mode": "enforce"})
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
        operator.put(f"/v1/admin/sites/{SITE}/mode", json={"mode": "monitor"})
