"""Allowing a visitor from a decision, exceptions, appeals, rules and settings, by mouse and by keyboard alone."""

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from agentgate.events.decision_ids import read_id
from agentgate.gateway.appeals.records import StoredAppeal
from agentgate.lib.enums import AppealState, Outcome
from tests.browser.console.hands import Hand
from tests.browser.console.steps import SITE, Console, open_page
from tests.browser.steps import wait_for

CANARY = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>\'"{{7*7}}'


@pytest.fixture
def refused(console: Console) -> list[dict[str, Any]]:
    """Return decisions that enforce mode would have challenged, each of another visitor."""
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
        visitor=decision["visitorId"],
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
    """Hold the page against what the canary would do."""
    assert page.evaluate("window.ran") is None


def test_this_one_is_allowed_from_its_decision_with_what_else_it_opens(
    owner: Hand, console: Console, refused: list[dict[str, Any]]
) -> None:
    page, decision = owner.page, refused[0]
    open_page(page, f"{console.page('decisions')}?range=7d&open={decision['id']}", "Decisions")
    page.locator("aside .path").wait_for()
    owner.use("i", page.locator("aside summary", has_text="Add an exception"))
    page.locator("aside form .note").wait_for()
    assert "7 days" in page.locator("aside form .note").inner_text()
    owner.fill(page.get_by_label("Note"), CANARY)
    owner.press(page.get_by_role("button", name="Allow for 1 day"))
    page.get_by_text(f"Allowed: {decision['visitorId']}").wait_for()
    [entry] = [each for each in entries(console) if each["value"] == decision["visitorId"]]
    assert (entry["kind"], entry["outcome"], entry["note"]) == ("visitor", "allow", CANARY)
    owner.use("z", page.get_by_role("button", name="Undo").last)
    wait_for(page, lambda: not [each for each in entries(console) if each["value"] == decision["visitorId"]])
    unharmed(page)


def test_an_exception_is_written_down_corrected_removed_and_brought_back(owner: Hand, console: Console) -> None:
    page = owner.page
    network = {"mouse": "203.0.113", "keyboard": "198.51.100"}[owner.name]
    open_page(page, console.page("lists"), "Exceptions")
    owner.use("n", page.get_by_role("button", name="New exception").first)
    owner.press(page.get_by_role("radio", name="Block", exact=True))
    owner.press(page.get_by_role("radio", name="Network"))
    value = page.get_by_role("textbox", name="Network (CIDR)")
    owner.fill(value, f"{network}.9/24")
    expect(page.locator(".field .error")).to_contain_text(f"{network}.0/24")
    page.reload()
    expect(value).to_have_value(f"{network}.9/24")
    owner.fill(value, f"{network}.0/24")
    owner.press(page.get_by_role("radio", name="Block", exact=True))
    owner.fill(page.get_by_label("Note"), CANARY)
    page.locator("form .note").wait_for()
    owner.send(page.get_by_label("Note"))
    row = page.get_by_role("row", name=f"{network}.0/24")
    row.wait_for()
    owner.press(page.get_by_role("button", name=f"Remove {network}.0/24"))
    expect(row).to_have_count(0)
    page.get_by_text(f"Removed: {network}.0/24").wait_for()
    owner.use("z", page.get_by_role("button", name="Undo").last)
    row.wait_for()
    [entry] = [each for each in entries(console) if each["value"] == f"{network}.0/24"]
    assert (entry["outcome"], entry["note"]) == ("block", CANARY)
    unharmed(page)


def test_an_exception_is_edited_undone_and_restored_from_history(owner: Hand, console: Console) -> None:
    page, operator = owner.page, console.service.operator
    value = {"mouse": "203.0.113.71", "keyboard": "203.0.113.72"}[owner.name]
    body = {"kind": "address", "value": value, "outcome": "block", "note": "ticket 1"}
    assert operator.post(f"/v1/admin/sites/{SITE}/list-entries", json=body).status_code == 201

    def entry() -> tuple[str, str, bool]:
        found = next(each for each in entries(console) if each["value"] == value)
        return found["outcome"], found["note"], "expiresAt" in found

    open_page(page, console.page("lists"), "Exceptions")
    owner.press(page.get_by_role("button", name=f"Edit {value}"))
    dialog = page.get_by_role("dialog")
    owner.press(dialog.get_by_role("radio", name="Allow", exact=True))
    owner.press(dialog.get_by_role("radio", name="7 days from now"))
    owner.fill(dialog.get_by_label("Note"), CANARY)
    # An allowed address would change past requests, which is shown before it is saved.
    dialog.locator(".note").wait_for()
    owner.press(dialog.get_by_role("button", name="Save exception"))
    wait_for(page, lambda: entry() == ("allow", CANARY, True))
    owner.use("z", page.get_by_role("button", name="Undo").last)
    wait_for(page, lambda: entry() == ("block", "ticket 1", False))
    # The undo is a change like others: it can be taken back too.
    open_page(page, console.page("settings"), "Settings")
    owner.press(page.get_by_role("button", name="Restore changed an exception").first)
    owner.press(page.get_by_role("dialog").get_by_role("button", name="Restore"))
    wait_for(page, lambda: entry() == ("allow", CANARY, True))
    unharmed(page)


def test_an_appeal_becomes_a_label_and_an_exception(
    owner: Hand, console: Console, refused: list[dict[str, Any]]
) -> None:
    page = owner.page
    start = {"mouse": 1, "keyboard": 3}[owner.name]
    first, second = (add_appeal(console, refused[at], at, f"{CANARY} {at}") for at in (start, start + 1))
    open_page(page, console.page("appeals"), "Appeals")
    page.locator("article .quote").wait_for()
    assert page.locator("article .quote").inner_text() == f"{CANARY} {start}"
    page.locator("article .path li").first.wait_for()
    answers = page.locator("article .answers")
    owner.use("h", answers.get_by_role("button", name=re.compile("^Label as human")))
    page.locator("article button[aria-pressed=true]").wait_for()
    owner.fill(page.get_by_label("Reply to the visitor"), CANARY)
    owner.use("a", answers.get_by_role("button", name=re.compile("^Allow")))
    page.get_by_text("Allowed for 1 day").wait_for()
    wait_for(page, lambda: page.locator("article .quote").inner_text() == f"{CANARY} {start + 1}")
    appeal = console.service.operator.get(f"/v1/admin/sites/{SITE}/appeals/{first}").json()["appeal"]
    assert (appeal["state"], appeal["label"], appeal["reply"]) == ("let_in", "human", CANARY)
    assert [each["id"] for each in entries(console) if each["value"] == appeal["visitorId"]] == [appeal["listEntryId"]]
    labels = console.service.operator.get("/v1/admin/labels", params={"siteKey": SITE, "limit": 1000}).json()["items"]
    assert [each["source"] for each in labels if each["decisionId"] == appeal["decisionId"]] == ["appeal"]
    owner.use("r", answers.get_by_role("button", name=re.compile("^Reject")))
    page.get_by_text("No open appeals").wait_for()
    owner.use("z", page.get_by_role("button", name="Undo").last)
    page.get_by_text("Appeal reopened").wait_for()
    path = f"/v1/admin/sites/{SITE}/appeals/{second}"
    assert console.service.operator.get(path).json()["appeal"]["state"] == "waiting"
    # The next hand begins with an empty queue.
    wait_for(page, lambda: page.locator("article .quote").count())
    owner.use("r", answers.get_by_role("button", name=re.compile("^Reject")))
    page.get_by_text("No open appeals").wait_for()
    unharmed(page)


RULES = f"/v1/admin/sites/{SITE}/rules"


def in_editor(hand: Hand, before: str, after: str) -> None:
    """Replace a part of the editor's text, as typing does."""
    editor = hand.page.get_by_role("textbox", name="Rule set")
    text = editor.input_value()
    assert before in text
    hand.fill(editor, text.replace(before, after, 1))


def save_reviewed(hand: Hand) -> None:
    """Look at the difference, and save it."""
    hand.press(hand.page.get_by_role("button", name="Review and save"))
    hand.page.locator("dialog .diff").wait_for()
    hand.press(hand.page.get_by_role("button", name="Save", exact=True))


def test_a_wrong_rule_is_shown_at_its_line_tried_and_blocked_before_it_hurts(owner: Hand, console: Console) -> None:
    page = owner.page
    allowed = console.service.operator.get(
        "/v1/admin/decisions", params={"siteKey": SITE, "limit": 200, "outcome": "allow", "kind": "request"}
    ).json()["items"]
    person = next(each for each in allowed if "wouldDecision" not in each and not each.get("matchedRule"))
    path = f"/v1/admin/decisions/{person['id']}/label"
    assert console.service.operator.put(path, params={"siteKey": SITE}, json={"label": "human"}).status_code == 200

    before = console.service.operator.get(RULES).json()["revision"]
    open_page(page, console.page("rules"), "Rules")
    page.locator(".editor textarea").wait_for()
    in_editor(owner, "rules:\n", "rules:\n  - name: all\n    match: {}\n    action: blok\n")
    page.locator(".note[data-o=block]").wait_for()
    assert "Line 5" in page.locator(".note[data-o=block]").first.inner_text()
    page.reload()
    page.locator(".note[data-o=block]").wait_for()
    in_editor(owner, "action: blok", f'action: block # {CANARY}"')
    in_editor(owner, f'# {CANARY}"', "# everybody")
    page.locator(".dock .dot[data-o=allow]").wait_for()
    save_reviewed(owner)
    page.get_by_text("labeled human").first.wait_for()
    # After this confirmation, the share of all requests needs a second one.
    owner.press(page.get_by_role("button", name="Save anyway"))
    page.get_by_text("of the last 24 hours").wait_for()
    assert console.service.operator.get(RULES).json()["revision"] == before
    owner.press(page.get_by_role("button", name="Continue editing"))
    owner.press(page.get_by_role("button", name="Discard"))
    wait_for(page, lambda: page.locator(".dock").count() == 0)
    unharmed(page)


def test_an_unknown_condition_is_a_warning_that_a_person_confirms(owner: Hand, console: Console) -> None:
    page = owner.page
    before = console.service.operator.get(RULES).json()["revision"]
    open_page(page, console.page("rules"), "Rules")
    page.locator(".editor textarea").wait_for()
    in_editor(owner, "rules:\n", "rules:\n  - name: old\n    match: {all_label: [ua.old]}\n    action: block\n")
    page.locator(".dock .dot[data-o=challenge]").wait_for()
    assert "1 warning" in page.locator(".dock").inner_text()
    save_reviewed(owner)
    page.locator("dialog .note").wait_for()
    assert "Did you mean all_labels?" in page.locator("dialog .note").inner_text()
    assert console.service.operator.get(RULES).json()["revision"] == before
    owner.press(page.get_by_role("button", name="Save anyway"))
    page.get_by_text(f"Saved as revision {before + 1}").wait_for()
    page.get_by_text("They match nothing.").wait_for()
    page.get_by_text("the rule old matches nothing").first.wait_for()
    owner.press(page.get_by_role("button", name="Use the server's rules"))
    owner.fill(page.locator("#confirm-word"), SITE)
    owner.send(page.locator("#confirm-word"))
    page.get_by_text("The site uses the server's rules").first.wait_for()
    unharmed(page)


def test_two_editors_of_the_rules_lose_nothing(owner: Hand, console: Console) -> None:
    page = owner.page
    open_page(page, console.page("rules"), "Rules")
    page.locator(".editor textarea").wait_for()
    in_editor(owner, "name: list-allow", "name: mine")
    before = console.service.operator.get(RULES).json()
    theirs = {**before["ruleSet"], "rules": [{"name": "theirs", "match": {"methods": ["TRACE"]}, "action": "block"}]}
    theirs["rules"] += before["ruleSet"]["rules"]
    saved = console.service.operator.put(RULES, json={"ruleSet": theirs, "revision": before["revision"]})
    assert saved.status_code == 200, saved.text
    page.locator(".dock .dot[data-o=allow]").wait_for()
    save_reviewed(owner)
    page.get_by_text("while you were editing").wait_for()
    owner.press(page.get_by_role("button", name="Merge both"))
    page.get_by_text("Merged. Review the result and save.").wait_for()
    page.locator(".dock .dot[data-o=allow]").wait_for()
    save_reviewed(owner)
    page.get_by_text(f"Saved as revision {before['revision'] + 2}").wait_for()
    rule_set = console.service.operator.get(RULES).json()["ruleSet"]
    assert {"theirs", "mine"} <= {rule.get("name") for rule in rule_set["rules"]}
    owner.press(page.get_by_role("button", name="Use the server's rules"))
    owner.fill(page.locator("#confirm-word"), SITE)
    owner.send(page.locator("#confirm-word"))
    page.get_by_text("The site uses the server's rules").first.wait_for()
    unharmed(page)


def test_an_agent_is_named_and_priced_and_what_it_would_earn_is_shown(owner: Hand, console: Console) -> None:
    page = owner.page
    open_page(page, console.page("agents"), "Agents")
    agent = f"https://{owner.name}.example"
    owner.press(page.get_by_role("button", name="Add an agent"))
    row = page.get_by_label(re.compile(r"Specific agents: Agent \d")).count()
    owner.fill(page.get_by_label(f"Specific agents: Agent {row}"), agent)
    owner.fill(page.get_by_label(f"Specific agents: Name {row}"), CANARY)
    owner.fill(page.get_by_label(f"Specific agents: Price {row}"), "five cents")
    owner.fill(page.locator("#trial"), "USD 0.02")
    page.locator(".fig", has_text="USD").wait_for()
    save_reviewed(owner)
    page.locator("dialog .note[data-o=block]").wait_for()
    owner.press(page.get_by_role("button", name="Continue editing"))
    owner.fill(page.get_by_label(f"Specific agents: Price {row}"), "USD 0.05")
    save_reviewed(owner)
    page.get_by_text("Saved", exact=True).wait_for()
    policy = console.service.operator.get(f"/v1/admin/sites/{SITE}/agent-policy").json()
    assert policy["agents"][agent] == {"decision": "allow", "name": CANARY, "price": "USD 0.05"}
    unharmed(page)


def test_settings_are_changed_with_a_diff_and_their_history_shows_it(owner: Hand, console: Console) -> None:
    page = owner.page
    open_page(page, console.page("settings"), "Settings")
    before = console.service.operator.get(f"/v1/admin/sites/{SITE}").json()
    owner.press(page.get_by_role("switch", name="Allow browsers without JavaScript"))
    owner.press(page.get_by_role("button", name="Add a path"))
    row = len(before["openPaths"]) + 1
    owner.fill(page.get_by_label(f"Allowed paths: Path {row}"), f"/hooks/{owner.name}")
    owner.fill(page.get_by_label(f"Allowed paths: Sender {row}"), "203.0.113.0/24")
    owner.fill(page.get_by_label(f"Allowed paths: Note {row}"), CANARY)
    owner.fill(page.locator("#site-wanted"), "monitors")
    # The page keeps the entered values after a reload.
    page.reload()
    save_reviewed(owner)
    page.get_by_text("Saved", exact=True).wait_for()
    site = console.service.operator.get(f"/v1/admin/sites/{SITE}").json()
    assert site["clearanceWithoutScript"] is not before["clearanceWithoutScript"]
    assert site["wantedPrograms"] == ["uptime"]
    opened = {"path": f"/hooks/{owner.name}", "sender": "203.0.113.0/24", "note": CANARY}
    assert site["openPaths"] == [*before["openPaths"], opened]
    change = page.locator(".list li", has=page.get_by_title("site.update", exact=True))
    change = change.filter(has_text=f"/hooks/{owner.name}").first
    assert "changed settings" in change.inner_text()
    owner.press(change.locator("summary"))
    expect(change.locator(".diff")).to_contain_text(f"/hooks/{owner.name}", use_inner_text=True)
    unharmed(page)


def test_a_secret_is_replaced_with_a_countdown_and_ended_by_its_typed_name(owner: Hand, console: Console) -> None:
    page = owner.page
    made = console.service.operator.post(f"/v1/admin/sites/{SITE}/credentials", json={"name": CANARY}).json()
    open_page(page, console.page("settings"), "Settings")
    owner.press(page.get_by_role("button", name="Rotate").first)
    owner.press(page.get_by_role("dialog").get_by_role("button", name="Rotate"))
    page.locator(".secret code", has_text="ags_").wait_for()
    ending = page.get_by_role("button", name="End the overlap now").first
    ending.wait_for()
    assert "expires" in page.locator(".list .state").first.inner_text()
    owner.press(ending)
    owner.send(page.locator("#confirm-word"))
    alive = console.service.operator.get(f"/v1/admin/sites/{SITE}").json()["credentialList"]
    assert not [each for each in alive if each["id"] == made["credential"]["id"] and "revokedAt" in each]
    owner.fill(page.locator("#confirm-word"), CANARY)
    owner.send(page.locator("#confirm-word"))
    page.get_by_text("Secret revoked", exact=True).wait_for()
    unharmed(page)
