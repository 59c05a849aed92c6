"""What makes an owner trust the console: it shows what happened, explains it, and takes changes back."""

import re

from tests.browser.console.hands import Hand
from tests.browser.console.steps import EMAIL, PASSWORD, SITE, Console, open_page
from tests.browser.steps import wait_for

HEBREW = "\u05e9\u05dc\u05d5\u05dd"


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
    chosen = "?range=7d&kind=request&rule=automation-http-library&label=ua.http_library"
    open_page(page, console.page("decisions") + chosen, "Decisions")
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


def test_an_arrow_key_on_the_list_of_roles_does_not_promote(owner: Hand, console: Console) -> None:
    page = owner.page
    console.join(console.invite(f"pia-{owner.name}@example.com", role="member"), "a few words are better")
    open_page(page, f"{console.url}/console/members", "Members")
    role = page.get_by_label(f"Role of pia-{owner.name}@example.com")
    owner.choose(role, "Admin")
    dialog = page.get_by_role("dialog")
    assert "Admins can change every site" in dialog.inner_text()
    owner.press(dialog.get_by_role("button", name="Cancel"))
    wait_for(page, lambda: role.input_value() == "member")
    owner.choose(role, "Admin")
    owner.press(dialog.get_by_role("button", name="Change the role"))
    wait_for(page, lambda: role.input_value() == "admin" and not dialog.is_visible())


def test_a_page_that_cannot_be_loaded_recovers_without_a_reload(owner: Hand, console: Console) -> None:
    page = owner.page
    open_page(page, console.page("overview"), "Overview")
    page.evaluate("window.marker = 1")
    page.route("**/assets/rules-*.js", lambda route: route.abort())
    owner.go("Rules")
    page.get_by_role("heading", name="This page could not be loaded").first.wait_for()
    page.unroute("**/assets/rules-*.js")
    owner.press(page.get_by_role("button", name="Try again"))
    wait_for(page, lambda: page.locator(".editor textarea").count() == 1)
    assert page.evaluate("window.marker") == 1


def test_the_end_of_a_session_is_explained_and_the_draft_survives(owner: Hand, console: Console) -> None:
    page = owner.page
    open_page(page, console.page("settings"), "Settings")
    owner.fill(page.locator("#site-name"), "Half a name")
    token = page.request.get(f"{console.url}/v1/account/session").json()["csrfToken"]
    headers = {"X-CSRF-Token": token, "Origin": console.url}
    assert page.request.post(f"{console.url}/v1/account/logout", headers=headers).ok
    owner.go("Decisions")
    page.get_by_text("Your session has ended").wait_for()
    owner.fill(page.locator("#email"), EMAIL)
    owner.fill(page.locator("#password"), PASSWORD)
    owner.send(page.locator("#password"))
    wait_for(page, lambda: "/decisions" in page.url and "sign-in" not in page.url)
    open_page(page, console.page("settings"), "Settings")
    assert page.locator("#site-name").input_value() == "Half a name"


def test_every_page_links_the_documentation(owner: Hand, console: Console) -> None:
    page = owner.page
    open_page(page, console.page("rules"), "Rules")
    link = page.get_by_role("link", name="Learn more")
    assert link.get_attribute("href") == "/docs/write-rules"
    assert page.request.get(f"{console.url}/docs/write-rules").status == 200


def test_a_member_chooses_notices_by_mail(owner: Hand, console: Console) -> None:
    page = owner.page
    open_page(page, f"{console.url}/console/account", "Account")
    card = page.locator(".card", has_text="Email notices")
    card.get_by_text("Mail is not set up").wait_for()
    switch = card.get_by_role("switch", name="Weekly summary")
    before = switch.is_checked()
    owner.press(switch)
    page.get_by_text(f"Turned {'off' if before else 'on'}: Weekly summary").wait_for()
    page.reload()
    wait_for(page, lambda: switch.count() == 1 and switch.is_checked() is not before)


def test_a_rule_is_built_without_yaml_and_counted_on_the_last_day(owner: Hand, console: Console) -> None:
    page, operator = owner.page, console.service.operator
    rules = f"/v1/admin/sites/{SITE}/rules"
    name = f"libraries-{owner.name}"
    try:
        open_page(page, console.page("rules"), "Rules")
        owner.press(page.get_by_role("radio", name="Builder"))
        builder = page.locator("[data-part=builder]")
        owner.press(builder.get_by_role("button", name="New rule"))
        owner.fill(builder.get_by_label("Name", exact=True), name)
        owner.press(builder.get_by_role("button", name="Add a condition"))
        owner.fill(builder.get_by_label("Condition 1: values"), "ua.http_library")
        builder.get_by_text(re.compile(r"In the last 24 hours, [1-9]\d* of [\d,]+ requests matched")).wait_for()
        # What events do not store is not counted.
        owner.press(builder.get_by_role("button", name="Add a condition"))
        owner.choose(builder.get_by_label("Condition 2", exact=True), "path matches")
        owner.fill(builder.get_by_label("Condition 2: values"), "/api/*")
        builder.get_by_text("Cannot be evaluated on past traffic: path matches").wait_for()
        owner.press(builder.get_by_text("Rate, schedule and weight"))
        owner.choose(builder.get_by_label("Rate limit by"), "visitor")
        owner.fill(builder.get_by_label("Within (seconds)"), "60")
        owner.fill(builder.get_by_label("Until"), "2031-01-01T00:00:00Z")
        owner.press(builder.get_by_label("sat"))
        owner.press(builder.get_by_label("sun"))
        owner.fill(builder.get_by_label("Add to the weight"), "5")
        owner.fill(builder.get_by_label("Weight thresholds"), "10 block")
        builder.get_by_text("ends 2031-01-01T00:00:00Z").wait_for()
        owner.press(page.get_by_role("radio", name="YAML"))
        assert "any_labels: [ua.http_library]" in page.locator(".editor textarea").input_value()
        review = page.get_by_role("button", name="Review and save")
        wait_for(page, lambda: review.get_attribute("aria-disabled") != "true")
        owner.press(review)
        owner.press(page.get_by_role("dialog").get_by_role("button", name="Save"))
        wait_for(page, lambda: operator.get(rules).json()["source"] == "site")
        saved = operator.get(rules).json()["ruleSet"]
        assert saved["rules"][0] == {
            "name": name,
            "match": {"any_labels": ["ua.http_library"], "paths": ["/api/*"]},
            "action": "count",
            "rate": {"by": "visitor", "more_than": 30, "within": 60},
            "until": "2031-01-01T00:00:00Z",
            "weekdays": ["sat", "sun"],
            "add": 5,
        }
        assert saved["thresholds"] == [{"at_least": 10, "action": "block"}]
    finally:
        operator.put(rules, json={"revision": operator.get(rules).json()["revision"]})


def test_settings_show_the_effect_of_enforce_mode_before_it_is_saved(owner: Hand, console: Console) -> None:
    page = owner.page
    open_page(page, console.page("settings"), "Settings")
    effect = page.get_by_text(re.compile(r"Enforce mode would block or challenge|would be blocked or challenged"))
    assert effect.count() == 0
    owner.press(page.get_by_role("radio", name="enforce"))
    effect.wait_for()
    owner.press(page.get_by_role("radio", name="monitor"))
    wait_for(page, lambda: effect.count() == 0)
    assert console.service.operator.get(f"/v1/admin/sites/{SITE}").json()["mode"] == "monitor"


def test_a_right_to_left_name_does_not_move_the_words_around_it(owner: Hand, console: Console) -> None:
    page, site = owner.page, f"/v1/admin/sites/{SITE}"
    before = console.service.operator.get(site).json()["name"]
    console.service.operator.patch(site, json={"name": HEBREW})
    try:
        page.goto(console.page("install"))
        page.get_by_role("heading", name=f"Protect \u2068{HEBREW}\u2069").wait_for()
        open_page(page, f"{console.url}/console/sites", "Sites")
        name = page.locator("tbody a", has_text=HEBREW).first
        assert name.evaluate("(link) => getComputedStyle(link).unicodeBidi") == "isolate"
    finally:
        console.service.operator.patch(site, json={"name": before})
