"""Five questions of a site's owner take at most three presses from the overview; controls of the settings."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.browser.console.furniture import sign_in_operator
from tests.browser.console.hands import Hand
from tests.browser.console.steps import SITE, Console, looking, open_page, sign_in
from tests.browser.steps import wait_for

MOST_PRESSES = 3
SETTINGS = f"/v1/admin/sites/{SITE}"


class Counted:
    """A hand that counts what it presses."""

    def __init__(self, hand: Hand) -> None:
        self.page = hand.page
        self._hand = hand
        self.presses = 0

    def press(self, target: Locator) -> None:
        """Press, and count."""
        self.presses += 1
        self._hand.press(target.first)

    def go(self, name: str) -> None:
        """Open a page by the navigation, which is one press with the mouse."""
        self.presses += 1
        self._hand.go(name)


@pytest.fixture
def asking(owner: Hand, console: Console) -> Iterator[Counted]:
    """The owner at the overview, with a question."""
    open_page(owner.page, console.page("overview"), "Overview")
    made = Counted(owner)
    yield made
    assert 0 < made.presses <= MOST_PRESSES


def test_a_decision_explains_why_a_visitor_was_blocked(asking: Counted) -> None:
    page = asking.page
    reasons = page.locator(".card", has_text="Top reasons")
    asking.press(reasons.get_by_role("link", name="Too many requests came within a minute."))
    page.get_by_role("heading", name="Decisions").wait_for()
    asking.press(page.locator("tbody a"))
    sentence = page.locator("aside .lead")
    sentence.wait_for()
    assert "too many requests came within a minute" in sentence.inner_text()


def test_the_history_leads_to_the_traffic_since_a_change(asking: Counted, console: Console) -> None:
    page = asking.page
    asking.go("Settings")
    history = page.locator(".card", has_text="Configuration changes, newest first.")
    asking.press(history.get_by_role("link", name="Traffic since"))
    page.get_by_role("heading", name="Overview").wait_for()
    page.get_by_text("Selected range").wait_for()
    assert page.get_by_role("button", name="Compare with the previous period").get_attribute("aria-pressed") == "true"


def test_the_overview_shows_the_bots_of_a_week(asking: Counted) -> None:
    page = asking.page
    asking.press(page.get_by_role("radio", name="7 days"))
    bots = page.locator(".card", has_text="Bots by kind")
    bots.get_by_text("HTTP libraries and tools").wait_for()
    bots.get_by_text("since the previous period").wait_for()
    # The crawl of the demo, six days ago, was allowed.
    asking.press(bots.get_by_role("link", name="AI traffic"))
    page.get_by_role("heading", name="AI traffic").wait_for()
    page.get_by_text("meta-externalagent").wait_for()


def test_the_settings_show_the_effect_of_enforce_mode(asking: Counted) -> None:
    page = asking.page
    asking.go("Settings")
    asking.press(page.get_by_role("radio", name="enforce"))
    page.get_by_text(re.compile(r"Enforce mode would block or challenge [\d.]+% of the requests")).wait_for()


def test_the_history_names_the_author_of_a_change(asking: Counted, console: Console) -> None:
    before = console.service.operator.get(SETTINGS).json()["name"]
    console.service.operator.patch(SETTINGS, json={"name": "Renamed shop"})
    try:
        asking.go("Settings")
        newest = asking.page.locator(".card", has_text="Configuration changes").locator("li").first
        newest.get_by_title("site.update").wait_for()
        assert newest.locator("b").inner_text()
        asking.press(newest.get_by_text("Show 1 change"))
        wait_for(asking.page, lambda: "Renamed shop" in newest.inner_text())
    finally:
        console.service.operator.patch(SETTINGS, json={"name": before})


def test_an_attack_is_declared_undone_and_ended(owner: Hand, console: Console) -> None:
    page, operator = owner.page, console.service.operator
    open_page(page, console.page("settings"), "Settings")
    attack = page.get_by_role("region", name="Under attack")
    owner.press(attack.get_by_role("button", name="Protect for an hour"))
    # In monitor mode nothing is challenged, and the page does not claim otherwise.
    attack.get_by_text("Monitor mode allows every request").wait_for()
    assert "underAttackUntil" in operator.get(SETTINGS).json()
    owner.use("z", page.get_by_role("button", name="Undo").last)
    attack.get_by_role("button", name="Protect for an hour").wait_for()
    owner.press(attack.get_by_role("button", name="Protect for an hour"))
    owner.press(attack.get_by_role("button", name="End it now"))
    attack.get_by_role("button", name="Protect for an hour").wait_for()
    wait_for(page, lambda: not operator.get(SETTINGS).json().get("underAttackUntil"))


def test_the_whole_site_is_protected_only_while_it_is_busy(owner: Hand, console: Console) -> None:
    page, operator = owner.page, console.service.operator
    before = operator.get(SETTINGS).json()
    open_page(page, console.page("settings"), "Settings")
    busy = page.get_by_role("radio", name="Only while the site is busy")
    assert busy.count() == 0
    try:
        owner.press(page.get_by_role("switch", name="Require a browser check on the whole site"))
        owner.press(busy)
        owner.press(page.get_by_role("switch", name="Feed for firewalls"))
        owner.press(page.get_by_role("button", name="Review and save"))
        owner.press(page.get_by_role("dialog").get_by_role("button", name="Save"))
        wait_for(page, lambda: operator.get(SETTINGS).json()["wholeSiteWhen"] == "busy")
        saved = operator.get(SETTINGS).json()
        assert (saved["wholeSite"], saved["blockFeed"]) == (True, True)
    finally:
        names = ("wholeSite", "wholeSiteWhen", "blockFeed")
        operator.patch(SETTINGS, json={name: before[name] for name in names})


def test_a_network_list_is_explained_made_and_named_by_a_rule(owner: Hand, console: Console) -> None:
    page, operator = owner.page, console.service.operator
    name = f"office-{owner.name}"
    open_page(page, console.page("lists"), "Exceptions")
    lists = page.get_by_role("region", name="Network lists")
    lists.get_by_text("It changes nothing until a rule names it.").wait_for()
    assert lists.get_by_role("link", name="Learn more").get_attribute("href") == "/docs/write-rules#network-lists"
    try:
        owner.press(lists.get_by_role("button", name="New network list"))
        form = page.locator("form", has_text="Source")
        owner.fill(form.get_by_label("Name"), name)
        owner.send(form.get_by_label("Name"))
        owner.press(lists.get_by_role("button", name=name, exact=True))
        dialog = page.get_by_role("dialog", name=name)
        owner.fill(dialog.get_by_role("textbox", name="Networks"), "192.0.2.0/24 2001:db8::/32")
        owner.press(dialog.get_by_role("button", name="Add networks"))
        wait_for(page, lambda: "2001:db8::/32" in dialog.locator("pre").inner_text())
        owner.press(dialog.get_by_role("button", name="Close"))
        open_page(page, console.page("rules"), "Rules")
        owner.press(page.get_by_role("radio", name="Builder"))
        builder = page.locator("[data-part=builder]")
        owner.press(builder.get_by_role("button", name="New rule"))
        owner.press(builder.get_by_role("button", name="Add a condition"))
        owner.choose(builder.get_by_label("Condition 1", exact=True), "address is in one of the lists")
        owner.press(builder.get_by_role("checkbox", name=name))
        assert builder.get_by_label("Condition 1: values").input_value() == name
    finally:
        operator.delete(f"{SETTINGS}/network-lists/{name}")


def test_a_phone_shows_every_control_of_the_settings(browser: Browser, console: Console) -> None:
    context = looking({"viewport": {"width": 360, "height": 800}}, browser)
    try:
        page = context.new_page()
        sign_in(page, console)
        open_page(page, console.page("settings"), "Settings")
        page.locator(".tbl.edit button").first.wait_for()
        hidden = page.evaluate(
            """() => [...document.querySelectorAll('main :is(button, input, select, textarea, a[href])')]
                 .filter((each) => each.checkVisibility() && !each.closest('[popover], .seg, .code'))
                 .map((each) => [each.outerHTML.slice(0, 80), each.getBoundingClientRect()])
                 .filter(([, box]) => box.width > 1 && (box.left < 0 || box.right > innerWidth + 1))
                 .map(([html]) => html)"""
        )
        assert hidden == []
    finally:
        context.close()


def test_operators_have_documentation_too(page: Page, console: Console) -> None:
    sign_in_operator(page, console)
    open_page(page, f"{console.admin_url}/operator/models", "Models")
    assert page.get_by_role("link", name="Learn more").first.get_attribute("href") == "/docs/train-model"
    assert page.request.get(f"{console.admin_url}/docs/train-model").status == 200
