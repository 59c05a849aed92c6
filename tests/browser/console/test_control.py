"""Letting somebody in from a decision, the site's exceptions, and appeals, by keyboard and by mouse."""

import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from agentgate.lib.decision_ids import read_id
from agentgate.lib.enums import AppealState, Outcome
from agentgate.protection.appeals.records import StoredAppeal
from tests.browser.console.steps import SITE, Console, open_page
from tests.browser.steps import wait_for

CANARY = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>\'"{{7*7}}'


@pytest.fixture
def refused(console: Console) -> list[dict[str, Any]]:
    """Decisions that enforce would have refused, each of another visitor."""
    query = {"siteKey": SITE, "limit": 200, "wouldDecision": "challenge"}
    found = console.service.operator.get("/v1/admin/decisions", params=query).json()["items"]
    return list({each["visitorId"]: each for each in found if "visitorId" in each}.values())


def entries(console: Console) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = console.service.operator.get(f"/v1/admin/sites/{SITE}/list-entries").json()["items"]
    return items


def add_appeal(console: Console, decision: dict[str, Any], number: int, message: str) -> str:
    """File an appeal without a visitor's browser; return its ID."""
    made = StoredAppeal(
        id=f"apl_{number:016x}",
        site_id=console.service.operator.get(f"/v1/admin/sites/{SITE}").json()["id"],
        link_digest=f"{number:064x}",
        decision=read_id(decision["id"]) or 0,
        visitor=int(decision["visitorId"], 16),
        outcome=Outcome.CHALLENGE,
        method=decision["method"],
        route=decision["route"],
        rule=decision.get("matchedRule"),
        message=message,
        state=AppealState.WAITING,
        created_ms=int(time.time() * 1000) - number * 1000,
    )
    console.service.change(lambda stores: stores.appeals.add_appeal(made))
    return made.id


def unharmed(page: Page) -> None:
    """Hold the page against its policy, and against what the canary would do."""
    assert page.evaluate("window.ran") is None
    assert page.evaluate("window.violations") == []


def test_this_one_is_let_in_from_its_decision_with_what_else_it_opens(
    signed_in: Page, console: Console, refused: list[dict[str, Any]]
) -> None:
    page, decision = signed_in, refused[0]
    open_page(page, f"{console.page('decisions')}?range=7d&open={decision['id']}", "Decisions")
    page.locator("aside .path").wait_for()
    page.keyboard.press("i")
    page.locator("aside form .note").wait_for()
    assert "7 days" in page.locator("aside form .note").inner_text()
    page.get_by_label("Note").fill(CANARY)
    page.get_by_role("button", name="Let in for 1 day").press("Enter")
    page.get_by_text(f"Let in: {decision['visitorId']}").wait_for()
    [entry] = [each for each in entries(console) if each["value"] == decision["visitorId"]]
    assert (entry["kind"], entry["outcome"], entry["note"]) == ("visitor", "allow", CANARY)
    page.get_by_role("button", name="Undo").click()
    wait_for(page, lambda: not [each for each in entries(console) if each["value"] == decision["visitorId"]])
    unharmed(page)


def test_an_exception_is_written_down_corrected_removed_and_brought_back(signed_in: Page, console: Console) -> None:
    page = signed_in
    open_page(page, console.page("lists"), "Exceptions")
    page.keyboard.press("n")
    page.locator("label", has_text="Keep out").click()
    page.locator("label", has_text="Network").click()
    value = page.get_by_role("textbox", name="Network")
    value.fill("203.0.113.9/24")
    expect(page.locator(".field .error")).to_contain_text("203.0.113.0/24")
    page.reload()
    expect(value).to_have_value("203.0.113.9/24")
    value.fill("203.0.113.0/24")
    page.locator("label", has_text="Keep out").click()
    page.get_by_label("Note").fill(CANARY)
    page.locator("form .note").wait_for()
    page.get_by_label("Note").press("Enter")
    row = page.get_by_role("row", name="203.0.113.0/24")
    row.wait_for()
    page.get_by_role("button", name="Remove 203.0.113.0/24").click()
    expect(row).to_have_count(0)
    page.get_by_text("Removed: 203.0.113.0/24").wait_for()
    page.keyboard.press("z")
    row.wait_for()
    [entry] = [each for each in entries(console) if each["value"] == "203.0.113.0/24"]
    assert (entry["outcome"], entry["note"]) == ("block", CANARY)
    unharmed(page)


def test_an_appeal_becomes_a_label_and_an_exception_by_three_keys(
    signed_in: Page, console: Console, refused: list[dict[str, Any]]
) -> None:
    page = signed_in
    first, second = (add_appeal(console, refused[at + 1], at + 1, f"{CANARY} {at}") for at in (0, 1))
    open_page(page, console.page("appeals"), "Appeals")
    page.locator("article .quote").wait_for()
    assert page.locator("article .quote").inner_text() == f"{CANARY} 0"
    page.locator("article .path li").first.wait_for()
    page.keyboard.press("h")
    page.locator("article button[aria-pressed=true]").wait_for()
    page.get_by_label("A line for the person").fill(CANARY)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("l")
    page.get_by_text("Let in for 1 day").wait_for()
    wait_for(page, lambda: page.locator("article .quote").inner_text() == f"{CANARY} 1")
    appeal = console.service.operator.get(f"/v1/admin/sites/{SITE}/appeals/{first}").json()["appeal"]
    assert (appeal["state"], appeal["label"], appeal["reply"]) == ("let_in", "human", CANARY)
    assert [each["id"] for each in entries(console) if each["value"] == appeal["visitorId"]] == [appeal["listEntryId"]]
    labels = console.service.operator.get("/v1/admin/labels", params={"siteKey": SITE, "limit": 1000}).json()["items"]
    assert [each["source"] for each in labels if each["decisionId"] == appeal["decisionId"]] == ["appeal"]
    page.keyboard.press("s")
    page.get_by_text("Nobody waits").wait_for()
    page.keyboard.press("z")
    page.get_by_text("The appeal waits again").wait_for()
    state = console.service.operator.get(f"/v1/admin/sites/{SITE}/appeals/{second}").json()["appeal"]["state"]
    assert state == "waiting"
    unharmed(page)


RULES = f"/v1/admin/sites/{SITE}/rules"


def in_editor(page: Page, before: str, after: str) -> None:
    """Replace a part of the editor's text, as somebody who types does."""
    editor = page.get_by_role("textbox", name="Rule set")
    text = editor.input_value()
    assert before in text
    editor.fill(text.replace(before, after, 1))


def test_a_wrong_rule_is_shown_at_its_line_tried_and_refused_before_it_hurts(signed_in: Page, console: Console) -> None:
    page = signed_in
    allowed = console.service.operator.get(
        "/v1/admin/decisions", params={"siteKey": SITE, "limit": 200, "outcome": "allow", "kind": "request"}
    ).json()["items"]
    person = next(each for each in allowed if "wouldDecision" not in each and not each.get("matchedRule"))
    path = f"/v1/admin/decisions/{person['id']}/label"
    assert console.service.operator.put(path, params={"siteKey": SITE}, json={"label": "human"}).status_code == 200

    open_page(page, console.page("rules"), "Rules")
    page.locator(".editor textarea").wait_for()
    in_editor(page, "rules:\n", "rules:\n  - name: all\n    match: {}\n    action: blok\n")
    page.locator(".note[data-o=block]").wait_for()
    assert "Line 5" in page.locator(".note[data-o=block]").first.inner_text()
    page.reload()
    page.locator(".note[data-o=block]").wait_for()
    in_editor(page, "action: blok", f'action: block # {CANARY}"')
    in_editor(page, f'# {CANARY}"', "# everybody")
    page.locator(".dock .dot[data-o=allow]").wait_for()
    page.keyboard.press("Control+s")
    page.locator("dialog .diff .add", has_text="name: all").wait_for()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("labelled human").first.wait_for()
    assert console.service.operator.get(RULES).json()["revision"] == 0
    page.get_by_role("button", name="Go on editing").click()
    page.get_by_role("button", name="Discard").click()
    wait_for(page, lambda: page.locator(".dock").count() == 0)
    unharmed(page)


def test_two_editors_of_the_rules_lose_nothing(signed_in: Page, console: Console) -> None:
    page = signed_in
    open_page(page, console.page("rules"), "Rules")
    page.locator(".editor textarea").wait_for()
    in_editor(page, "name: list-allow", "name: mine")
    before = console.service.operator.get(RULES).json()
    theirs = {**before["ruleSet"], "rules": [{"name": "theirs", "match": {"methods": ["TRACE"]}, "action": "block"}]}
    theirs["rules"] += before["ruleSet"]["rules"]
    saved = console.service.operator.put(RULES, json={"ruleSet": theirs, "revision": before["revision"]})
    assert saved.status_code == 200, saved.text
    page.locator(".dock .dot[data-o=allow]").wait_for()
    page.get_by_role("button", name="Review and save").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("while you were editing").wait_for()
    page.get_by_role("button", name="Merge both").click()
    page.get_by_text("Merged; look at it and save").wait_for()
    page.locator(".dock .dot[data-o=allow]").wait_for()
    page.get_by_role("button", name="Review and save").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text(f"Saved as revision {before['revision'] + 2}").wait_for()
    rule_set = console.service.operator.get(RULES).json()["ruleSet"]
    assert {"theirs", "mine"} <= {rule.get("name") for rule in rule_set["rules"]}
    page.get_by_role("button", name="Follow the server's rules").click()
    page.locator("#confirm-word").fill(SITE)
    page.locator("dialog .btn.bad").click()
    page.get_by_text("The site follows the server's rules").first.wait_for()
    unharmed(page)


def test_an_agent_is_named_and_priced_and_what_it_would_earn_is_shown(signed_in: Page, console: Console) -> None:
    page = signed_in
    open_page(page, console.page("agents"), "Agents")
    page.get_by_role("button", name="Name an agent").click()
    page.get_by_label("Named agents: Agent 1").fill("https://agent.example")
    page.get_by_label("Named agents: Name 1").fill(CANARY)
    page.get_by_label("Named agents: Price 1").fill("five cents")
    page.locator("#trial").fill("USD 0.02")
    page.locator(".fig", has_text="USD").wait_for()
    page.get_by_role("button", name="Review and save").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator("dialog .note[data-o=block]").wait_for()
    page.get_by_role("button", name="Go on editing").click()
    page.get_by_label("Named agents: Price 1").fill("USD 0.05")
    page.get_by_role("button", name="Review and save").click()
    page.locator("dialog .diff .add", has_text="USD 0.05").wait_for()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved", exact=True).wait_for()
    policy = console.service.operator.get(f"/v1/admin/sites/{SITE}/agent-policy").json()
    assert policy["agents"]["https://agent.example"] == {"decision": "allow", "name": CANARY, "price": "USD 0.05"}
    unharmed(page)


def test_settings_are_changed_with_a_diff_and_their_history_shows_it(signed_in: Page, console: Console) -> None:
    page = signed_in
    open_page(page, console.page("settings"), "Settings")
    page.get_by_role("switch", name="Let browsers without JavaScript wait").click()
    page.get_by_role("button", name="Open a path").click()
    page.get_by_label("Open paths: Path 1").fill("/hooks/pay")
    page.get_by_label("Open paths: Sender 1").fill("203.0.113.0/24")
    page.get_by_label("Open paths: Note 1").fill(CANARY)
    page.locator("#site-wanted").fill("monitors")
    page.reload()
    page.get_by_role("button", name="Review and save").click()
    page.locator("dialog .diff .add", has_text="clearanceWithoutScript: true").wait_for()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved", exact=True).wait_for()
    site = console.service.operator.get(f"/v1/admin/sites/{SITE}").json()
    assert (site["clearanceWithoutScript"], site["wantedPrograms"]) == (True, ["uptime"])
    assert site["openPaths"] == [{"path": "/hooks/pay", "sender": "203.0.113.0/24", "note": CANARY}]
    page.locator(".list code", has_text="site.update").first.wait_for()
    unharmed(page)


def test_a_secret_is_replaced_with_a_countdown_and_ended_by_its_typed_name(signed_in: Page, console: Console) -> None:
    page = signed_in
    made = console.service.operator.post(f"/v1/admin/sites/{SITE}/credentials", json={"name": CANARY}).json()
    open_page(page, console.page("settings"), "Settings")
    page.get_by_role("button", name="Replace").first.click()
    page.locator(".secret code", has_text="ags_").wait_for()
    page.get_by_role("button", name="End the overlap now").wait_for()
    assert "ends" in page.locator(".list .state").first.inner_text()
    page.get_by_role("button", name="End the overlap now").first.click()
    page.locator("#confirm-word").press("Enter")
    alive = console.service.operator.get(f"/v1/admin/sites/{SITE}").json()["credentialList"]
    assert not [each for each in alive if each["id"] == made["credential"]["id"] and "revokedAt" in each]
    page.locator("#confirm-word").fill(CANARY)
    page.locator("dialog .btn.bad").click()
    page.get_by_text("Revoked", exact=True).wait_for()
    unharmed(page)
