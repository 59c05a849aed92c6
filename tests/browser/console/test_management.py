"""What operators and members do in the consoles, by mouse and by keyboard alone, against the real service."""

import re

from playwright.sync_api import Browser

from tests.browser.console.codes import set_up_second_factor
from tests.browser.console.furniture import sign_in_operator
from tests.browser.console.hands import Hand, hand_like, see_heading
from tests.browser.console.steps import PASSWORD, SITE, Console, open_page, sign_in
from tests.browser.steps import wait_for

NEW = "a few words are better"


def operating(hand: Hand, console: Console, path: str, heading: str) -> None:
    """Sign in as an operator and open a page."""
    sign_in_operator(hand.page, console)
    open_page(hand.page, f"{console.admin_url}/operator/{path}", heading)


def join_by(hand: Hand, browser: Browser, link: str, heading: str) -> None:
    """Accept an invitation in a separate browser profile, with the same input device."""
    context = browser.new_context()
    try:
        person = hand_like(hand, context.new_page())
        person.page.goto(link)
        person.fill(person.page.locator("#password"), NEW)
        person.send(person.page.locator("#password"))
        see_heading(person.page, heading)
    finally:
        context.close()


def test_an_operator_approves_access_and_the_person_joins(hand: Hand, browser: Browser, console: Console) -> None:
    page, company = hand.page, f"<b>Cho Books {hand.name}</b>"
    body = {"email": f"cho-{hand.name}@example.com", "name": "Cho", "company": company, "message": "Two shops."}
    assert console.service.public.post("/v1/account/request-access", json=body).is_success
    operating(hand, console, "service", "Service")
    hand.go("Access requests")
    page.locator(".quote", has_text="Two shops.").wait_for()
    assert page.locator("section h2", has_text=company).is_visible()
    # The navigation has the number of pending requests.
    assert "1" in page.get_by_role("link", name=re.compile("Access requests")).inner_text()
    hand.use("a", page.get_by_role("button", name=re.compile("^Approve")))
    assert console.service.operator.get("/v1/admin/access-requests?status=pending").json()["items"]
    hand.press(page.get_by_role("dialog").get_by_role("button", name="Approve"))
    link = page.locator(".secret code").inner_text()
    assert "/console/invite#" in link
    page.get_by_text("No pending requests.").wait_for()
    join_by(hand, browser, link, f"Welcome, {company}")


def test_an_operator_declines_only_when_it_is_confirmed(hand: Hand, console: Console) -> None:
    page = hand.page
    body = {"email": f"no-{hand.name}@example.com", "name": "Nobody"}
    console.service.public.post("/v1/account/request-access", json=body)
    operating(hand, console, "access-requests", "Access requests")
    hand.use("d", page.get_by_role("button", name="Decline"))
    hand.press(page.get_by_role("button", name="Cancel"))
    assert console.service.operator.get("/v1/admin/access-requests?status=pending").json()["items"]
    hand.press(page.get_by_role("button", name="Decline"))
    hand.press(page.get_by_role("dialog").get_by_role("button", name="Decline"))
    page.get_by_text("No pending requests.").wait_for()


def test_a_lost_second_factor_is_turned_off_by_an_operator(hand: Hand, browser: Browser, console: Console) -> None:
    page, email = hand.page, f"lost-{hand.name}@example.com"
    console.join(console.invite(email, role="member"), PASSWORD)
    sign_in(page, console, email)
    open_page(page, f"{console.url}/console/security", "Security")
    set_up_second_factor(hand)

    operating(hand, console, f"users?q={email}", "Users")
    hand.press(page.get_by_role("button", name=f"Actions for {email}"))
    hand.press(page.locator("[popover]:popover-open").get_by_role("button", name="Turn off two-factor authentication"))
    hand.press(page.get_by_role("dialog").get_by_role("button", name="Turn off two-factor authentication"))
    page.get_by_text(f"Two-factor authentication for {email} turned off").wait_for()

    context = browser.new_context()
    try:
        person = hand_like(hand, context.new_page())
        person.page.goto(f"{console.url}/console/sign-in")
        person.fill(person.page.locator("#email"), email)
        person.fill(person.page.locator("#password"), PASSWORD)
        person.send(person.page.locator("#password"))
        wait_for(person.page, lambda: person.page.url == f"{console.url}/console")
    finally:
        context.close()


def test_a_key_is_rotated_and_the_trail_shows_who_did_it(hand: Hand, console: Console) -> None:
    page = hand.page
    operating(hand, console, "service", "Service")
    key = {"mouse": "Receipts", "keyboard": "Clearance cookies"}[hand.name]
    hand.press(page.get_by_role("button", name=f"Rotate {key}"))
    hand.press(page.get_by_role("dialog").get_by_role("button", name="Rotate"))
    page.get_by_text(f"New key for {key}").wait_for()
    tags = page.get_by_role("region", name=key).locator(".tag")
    wait_for(page, lambda: tags.all_inner_texts() == ["next", "active"])
    hand.go("Audit trail")
    page.locator("tbody tr", has_text="rotated a key").first.wait_for()
    assert "ada" in page.locator("tbody tr").first.inner_text()


def test_decisions_are_labelled_one_after_the_other(hand: Hand, console: Console) -> None:
    page = hand.page
    operating(hand, console, f"sites/{SITE}/labeling", "Labeling")
    page.locator("aside .path").wait_for()
    first = page.locator("aside header code").inner_text()
    hand.use("b", page.locator("aside footer").get_by_role("button", name=re.compile("^bot")))
    page.get_by_text("Labeled bot").wait_for()
    wait_for(page, lambda: page.locator("aside header code").inner_text() != first)
    labels = console.service.operator.get(f"/v1/admin/labels?siteKey={SITE}").json()["items"]
    assert (first, "bot") in [(each["decisionId"], each["label"]) for each in labels]


def test_a_model_for_which_everyone_is_a_bot_is_acknowledged_and_rolled_back(hand: Hand, console: Console) -> None:
    page, operator = hand.page, console.service.operator
    shipped = operator.get("/v1/admin/models").json()["models"]["bot"]["active"]["version"]
    version = f"everyone-{hand.name}"
    model = {"version": version, "kind": "bot", "type": "logistic", "features": ["ua.old"], "metadata": {}}
    reply = operator.put("/v1/admin/models/bot/candidate", json={**model, "weights": [0.0], "bias": 9.0})
    assert reply.status_code == 200, reply.text
    operating(hand, console, "models", "Models")
    card = page.get_by_role("region", name="Bot model")
    hand.press(card.get_by_role("button", name="Promote"))
    dialog = page.get_by_role("dialog")
    hand.press(dialog.get_by_role("button", name="Promote"))
    dialog.get_by_text("Newly challenged or blocked").wait_for()
    assert "dec_" in dialog.inner_text()
    hand.press(dialog.get_by_role("button", name="Promote anyway"))
    page.get_by_text("The candidate is now active").wait_for()
    assert operator.get("/v1/admin/models").json()["models"]["bot"]["active"]["version"] == version

    hand.press(card.get_by_role("button", name=f"Roll back {shipped}"))
    hand.press(dialog.get_by_role("button", name="Roll back"))
    page.get_by_text("The former model is active again").wait_for()
    assert operator.get("/v1/admin/models").json()["models"]["bot"]["active"]["version"] == shipped


def test_a_candidate_replaced_meanwhile_is_not_promoted(hand: Hand, console: Console) -> None:
    page, operator = hand.page, console.service.operator
    model = {"kind": "agent", "type": "logistic", "features": ["ua.old"], "metadata": {}, "weights": [0.0]}
    operator.put("/v1/admin/models/agent/candidate", json={**model, "version": "one", "bias": 0.0})
    operating(hand, console, "models", "Models")
    card = page.get_by_role("region", name="Agent model")
    hand.press(card.get_by_role("button", name="Promote"))
    operator.put("/v1/admin/models/agent/candidate", json={**model, "version": "one", "bias": 9.0})
    hand.press(page.get_by_role("dialog").get_by_role("button", name="Promote"))
    page.get_by_text("The candidate is not the file that If-Match names").wait_for()
    assert operator.get("/v1/admin/models").json()["models"]["agent"]["active"] is None


def test_a_member_is_invited_and_joins_by_the_link_of_the_outbox(
    owner: Hand, browser: Browser, console: Console
) -> None:
    page, email = owner.page, f"mate-{owner.name}@example.com"
    open_page(page, f"{console.url}/console/members", "Members")
    owner.use("n", page.get_by_role("button", name="Invite").first)
    page.locator("dialog #email:focus").wait_for()
    owner.fill(page.locator("dialog #email"), email)
    owner.send(page.locator("dialog #email"))
    page.get_by_text(f"Invited {email}").wait_for()
    owner.choose(page.get_by_label(f"Role of {email}"), "admin")
    owner.press(page.get_by_role("dialog").get_by_role("button", name="Change the role"))
    page.get_by_text(f"{email} is admin now").wait_for()

    operating(owner, console, "outbox", "Outbox")
    owner.press(page.locator("tbody tr", has_text=email).get_by_role("button", name="View"))
    link = re.search(r"http\S+/console/invite#[\w-]+", page.locator(".code pre").inner_text())
    assert link is not None
    join_by(owner, browser, link[0], "Sites")


def test_a_user_with_a_password_accepts_an_invitation_and_gets_no_second_password(
    owner: Hand, browser: Browser, console: Console
) -> None:
    page, email = owner.page, f"known-{owner.name}@example.com"
    body = {"email": email, "customerName": f"Known {owner.name}"}
    made = console.service.operator.post("/v1/admin/accounts", json=body).json()
    console.join(made["inviteUrl"].rpartition("#")[2], NEW)
    open_page(page, f"{console.url}/console/members", "Members")
    owner.use("n", page.get_by_role("button", name="Invite").first)
    page.locator("dialog #email:focus").wait_for()
    owner.fill(page.locator("dialog #email"), email)
    owner.send(page.locator("dialog #email"))
    page.get_by_text(f"Invited {email}").wait_for()
    messages = console.service.operator.get("/v1/admin/outbox").json()["items"]
    text = next(each["body"] for each in messages if each["to"] == email and each["body"])
    link = re.search(r"http\S+/console/invite#[\w-]+", text)
    assert link is not None

    context = browser.new_context()
    try:
        person = hand_like(owner, context.new_page())
        person.page.goto(link[0])
        person.page.get_by_text("You already have a password").wait_for()
        assert not person.page.locator("#password").is_visible()
        person.page.goto(f"{console.url}/console/sign-in")
        person.fill(person.page.locator("#email"), email)
        person.fill(person.page.locator("#password"), NEW)
        person.send(person.page.locator("#password"))
        person.press(person.page.get_by_role("button", name=re.compile("^Join ")))
        see_heading(person.page, "Sites")
        assert SITE in person.page.content()
    finally:
        context.close()


def test_a_token_is_shown_once_and_revoked(owner: Hand, console: Console) -> None:
    page, name = owner.page, f"Reports {owner.name}"
    open_page(page, f"{console.url}/console/tokens", "API tokens")
    owner.press(page.get_by_role("button", name="New token").first)
    owner.fill(page.locator("dialog #name"), name)
    owner.send(page.locator("dialog #name"))
    secret = page.locator(".secret code").inner_text()
    answer = console.service.public.get("/v1/console/sites", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 200
    page.reload()
    page.locator("tbody tr", has_text=name).wait_for()
    assert secret not in page.content()
    owner.press(page.get_by_role("button", name=f"Revoke {name}"))
    owner.press(page.get_by_role("dialog").get_by_role("button", name="Revoke"))
    page.get_by_text(f"Revoked {name}").wait_for()
    answer = console.service.public.get("/v1/console/sites", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 401


def test_a_fleet_credential_is_shown_once_and_revoked(hand: Hand, console: Console) -> None:
    page, name = hand.page, f"Hosting {hand.name} Ltd"
    body = {"email": f"hosting-{hand.name}@example.com", "customerName": name}
    made = console.service.operator.post("/v1/admin/accounts", json=body).json()
    operating(hand, console, f"customers/{made['customerId']}", name)
    hand.press(page.get_by_role("button", name="New fleet credential"))
    hand.fill(page.locator("dialog #name"), "web 1")
    page.locator("dialog #unknownHosts").select_option("block")
    hand.send(page.locator("dialog #name"))
    secret = page.locator(".secret code").inner_text()
    path = f"/v1/admin/customers/{made['customerId']}/fleet-credentials"
    [listed] = console.service.operator.get(path).json()["items"]
    assert (listed["name"], listed["unknownHosts"]) == ("web 1", "block")
    page.reload()
    hand.press(page.get_by_role("button", name="Revoke web 1"))
    assert secret not in page.content()
    hand.press(page.get_by_role("dialog").get_by_role("button", name="Revoke"))
    page.get_by_text("Revoked web 1").wait_for()
    [listed] = console.service.operator.get(path).json()["items"]
    assert "revokedAt" in listed


def test_a_customer_is_deleted_only_with_its_name_typed(hand: Hand, console: Console) -> None:
    page, name = hand.page, f"Gone {hand.name} Ltd"
    body = {"email": f"gone-{hand.name}@example.com", "customerName": name}
    made = console.service.operator.post("/v1/admin/accounts", json=body).json()
    operating(hand, console, f"customers/{made['customerId']}", name)
    hand.press(page.get_by_role("button", name="Delete…"))
    hand.fill(page.locator("#confirm-word"), "gone")
    hand.send(page.locator("#confirm-word"))
    assert page.get_by_role("dialog").is_visible()
    hand.fill(page.locator("#confirm-word"), name)
    hand.send(page.locator("#confirm-word"))
    page.get_by_text(f"Deleted {name}").wait_for()
    hand.press(page.get_by_role("button", name="Reactivate"))
    page.get_by_text(f"Reactivated {name}").wait_for()


def test_a_webhook_is_made_tested_and_deleted(owner: Hand, console: Console) -> None:
    page = owner.page
    open_page(page, console.page("webhooks"), "Webhooks")
    owner.press(page.get_by_role("button", name="New webhook").first)
    url = page.locator("dialog #url")
    owner.fill(url, "not an address")
    owner.send(url)
    page.get_by_role("dialog").get_by_role("alert").wait_for()
    owner.fill(url, "https://hooks.invalid/agentgate")
    owner.send(url)
    assert page.locator(".secret code").inner_text()
    owner.press(page.get_by_role("button", name="Send test event"))
    page.get_by_text("Test not delivered").wait_for()
    owner.press(page.get_by_role("button", name="Deliveries"))
    page.locator("tbody tr", has_text="test").first.wait_for()
    owner.press(page.get_by_role("button", name="Delete"))
    owner.press(page.get_by_role("dialog").get_by_role("button", name="Delete"))
    page.get_by_text("No webhooks configured.").wait_for()
