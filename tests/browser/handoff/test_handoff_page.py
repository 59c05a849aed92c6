"""The handoff page in Chromium: keyboard alone, every theme and width, and the whole way from agent to receipt."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from agentgate.lib.clock import SystemClock
from agentgate.lib.ids import new_handoff_id
from agentgate.lib.settings.schema import read_settings
from tests.browser.axe import load_axe, run_axe
from tests.browser.chromium import plain_user_agent
from tests.browser.steps import COLLECT_VIOLATIONS, wait_for
from tests.support.handoff import HandoffScene
from tests.support.service import ADMIN_KEY, running_service

WAIT_MS = 1100
TABS = 20


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandoffScene]:
    """One service on the machine's clock for all tests here."""
    folder: Path = tmp_path_factory.mktemp("handoff")
    settings = read_settings(
        {
            "AGENTGATE_DATA_DIR": str(folder / "data"),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
            "AGENTGATE_CONFIRM_CRAWLERS": "off",
        }
    )
    with running_service(settings, SystemClock()) as service:
        made = HandoffScene(service)
        made.challenge()
        yield made


def open_page(page: Page, scene: HandoffScene, handoff_id: str) -> list[str]:
    """Open the page of a handoff; return a list to which every request to another origin is added."""
    foreign: list[str] = []
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith((scene.service.public_url, "blob:")) else foreign.append(request.url)
        ),
    )
    page.add_init_script(COLLECT_VIOLATIONS)
    page.goto(f"{scene.service.public_url}/handoff/{handoff_id}")
    return foreign


def focused(page: Page) -> str:
    """Return the name of what has the focus, inside the check too."""
    script = """() => {
      const own = document.activeElement?.shadowRoot?.activeElement ?? document.activeElement;
      return own?.ariaLabel || own?.textContent;
    }"""
    return str(page.evaluate(script)).strip()


def tab_to(page: Page, name: str) -> None:
    """Move the focus with the Tab key alone."""
    for _ in range(TABS):
        if focused(page) == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the Tab key does not lead to {name!r}")


def pass_the_check(page: Page) -> None:
    """Do what the check asks for, by keyboard."""
    page.get_by_role("button", name="Confirm you are human").wait_for()
    tab_to(page, "Confirm you are human")
    page.keyboard.press("Enter", delay=60)
    page.wait_for_timeout(WAIT_MS)
    page.keyboard.press("Enter", delay=60)
    wait_for(page, lambda: page.evaluate("document.querySelector('[name=agentgate-token]')?.value"))


def heading(page: Page) -> str:
    return str(page.locator("h1").inner_text())


def test_from_the_agents_handoff_to_a_receipt_that_is_redeemed_once(page: Page, scene: HandoffScene) -> None:
    refused = scene.submit("browser-1")
    assert (refused.status_code, refused.json()["error"]) == (403, "challenge_required"), refused.text
    handoff_id = refused.json()["handoff"]["id"]
    assert scene.poll(handoff_id).json()["status"] == "pending"

    foreign = open_page(page, scene, handoff_id)
    assert page.get_by_text(refused.json()["handoff"]["userCode"]).is_visible()
    assert page.get_by_text("https://agent.example").is_visible()
    pass_the_check(page)
    tab_to(page, "Approve")
    page.keyboard.press("Enter")
    wait_for(page, lambda: heading(page) == "Approved")

    assert foreign == []
    assert page.evaluate("window.violations") == []
    answer = scene.poll(handoff_id).json()
    assert answer["status"] == "completed"
    assert scene.poll(handoff_id, scene.other).status_code == 404
    assert scene.redeem(answer["receipt"]).json()["agent"] == "https://agent.example"
    assert scene.redeem(answer["receipt"]).json()["error"] == "token_used"
    gone = scene.poll(handoff_id)
    assert (gone.status_code, gone.json()["error"]) == (410, "handoff_redeemed")
    assert scene.poll(handoff_id, scene.other).status_code == 404


def test_who_chooses_first_is_led_to_the_check_and_the_choice_is(page: Page, scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="browser-2")
    open_page(page, scene, handoff.id)
    page.get_by_role("button", name="Confirm you are human").wait_for()
    page.get_by_role("button", name="Decline").press("Enter")
    wait_for(page, lambda: focused(page) == "Confirm you are human")
    page.keyboard.press("Enter", delay=60)
    page.wait_for_timeout(WAIT_MS)
    page.keyboard.press("Enter", delay=60)
    wait_for(page, lambda: heading(page) == "Declined")

    assert scene.poll(handoff.id).json()["status"] == "declined"


def test_a_person_may_allow_further_uses(page: Page, scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="browser-3")
    open_page(page, scene, handoff.id)
    page.get_by_label("Allow this agent to do this again without approval").check()
    page.get_by_label("Number of times").select_option("3")
    page.get_by_label("Duration").select_option(label="7 days")
    pass_the_check(page)
    page.get_by_role("button", name="Approve").click()
    wait_for(page, lambda: heading(page) == "Approved")

    [grant] = scene.service.operator.get(f"/v1/admin/sites/{scene.site_key}/agent-grants").json()["items"]
    assert (grant["uses"], grant["handoffId"]) == (3, handoff.id)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible_at_320_pixels_in_both_themes(
    browser: Browser, scene: HandoffScene, scheme: Any
) -> None:
    context = browser.new_context(
        user_agent=plain_user_agent(browser),
        viewport={"width": 320, "height": 640},
        color_scheme=scheme,
        bypass_csp=True,
    )
    try:
        page = context.new_page()
        content = {"message": "averyveryverylongwordwithoutanyspace" * 6, "email": "ada@example.org"}
        handoff = scene.open(submission_id=f"browser-{scheme}", content=content)
        open_page(page, scene, handoff.id)
        page.get_by_role("button", name="Confirm you are human").wait_for()
        load_axe(page)
        found = run_axe(page)
        assert found["violations"] == []
        assert found["inside"] > 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        page.goto(f"{scene.service.public_url}/handoff/{new_handoff_id()}")
        load_axe(page)
        assert run_axe(page)["violations"] == []
    finally:
        context.close()
