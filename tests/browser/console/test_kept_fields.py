"""Pages that edit something: each saves one change, and keeps every other field, shown or not."""

from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace
from playwright.sync_api import Page, expect

from tests.browser.console.furniture import sign_in_operator
from tests.browser.console.steps import SITE, Console, open_page
from tests.support.agent_client import SigningAgent
from tests.support.private_tokens import TRUSTED

AT = f"/v1/admin/sites/{SITE}"
AGENT = SigningAgent()


def read(console: Console, path: str) -> dict[str, Any]:
    found: dict[str, Any] = console.service.operator.get(path).json()
    return found


def save(page: Page) -> None:
    page.get_by_role("button", name="Review and save").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved", exact=True).wait_for()


@pytest.fixture
def policy(console: Console) -> dict[str, Any]:
    """An agent policy with every field."""
    action = next(iter(read(console, AT)["actions"]))
    terms = {"price": "USD 0.01", "quotaPerMinute": 7, "handoff": False}
    given = {
        "default": "challenge",
        "unverified": "block",
        "quotaPerMinute": 30,
        "agents": {
            AGENT.url: {
                "decision": "allow",
                "name": "Example",
                "jwks": AGENT.jwks,
                "actions": {action: "challenge"},
                "quotaPerMinute": 20,
                "price": "USD 0.02",
            },
            "GPTBot": {"decision": "deny"},
        },
        "actions": {action: terms},
        "agentDirectories": ["agent.example"],
        "tools": [{"name": "search", "inputSchema": {"type": "object"}}],
    }
    reply = console.service.operator.put(f"{AT}/agent-policy", json=given)
    assert reply.status_code == 200, reply.text
    return read(console, f"{AT}/agent-policy")


def test_the_agents_page_keeps_keys_tools_and_an_explicit_no(
    signed_in: Page, console: Console, policy: dict[str, Any]
) -> None:
    open_page(signed_in, console.page("agents"), "Agents")
    expect(signed_in.get_by_label("Terms by action: May ask a person 1")).to_have_value("never")
    signed_in.locator("#quota").fill("77")
    save(signed_in)

    assert read(console, f"{AT}/agent-policy") == {**policy, "quotaPerMinute": 77}


def test_an_agent_whose_address_is_corrected_keeps_its_keys(
    signed_in: Page, console: Console, policy: dict[str, Any]
) -> None:
    open_page(signed_in, console.page("agents"), "Agents")
    signed_in.get_by_label("Specific agents: Agent 1").fill("https://www.agent.example")
    save(signed_in)

    agents = read(console, f"{AT}/agent-policy")["agents"]
    assert agents == {"https://www.agent.example": policy["agents"][AGENT.url], "GPTBot": {"decision": "deny"}}


def test_handoff_has_three_choices(signed_in: Page, console: Console, policy: dict[str, Any]) -> None:
    action = next(iter(policy["actions"]))
    for choice, expected in (("always", {"handoff": True}), ("", {})):
        open_page(signed_in, console.page("agents"), "Agents")
        signed_in.get_by_label("Terms by action: May ask a person 1").select_option(choice)
        save(signed_in)

        terms = read(console, f"{AT}/agent-policy")["actions"][action]
        assert terms == {"price": "USD 0.01", "quotaPerMinute": 7, **expected}


def test_an_absent_default_is_shown_as_what_the_server_does(signed_in: Page, console: Console) -> None:
    assert console.service.operator.put(f"{AT}/agent-policy", json={}).status_code == 200
    open_page(signed_in, console.page("agents"), "Agents")

    group = signed_in.get_by_role("group", name="Other signed agents")
    expect(group.get_by_role("radio", name="allow")).to_be_checked()
    expect(signed_in.get_by_label("Terms by action: May ask a person 1")).to_have_value("")


def test_the_settings_page_keeps_what_it_does_not_show(signed_in: Page, console: Console) -> None:
    action = next(iter(read(console, AT)["actions"]))
    change = {
        "tokenBinding": "strict",
        "machineTokensPerHour": 900,
        "assistants": "allow",
        "formMethodOverride": True,
        "routes": [
            {"method": "POST", "path": "/a", "action": action},
            {"method": "*", "pathPrefix": "/b/", "action": action},
        ],
        "openPaths": [{"path": "/hooks/a", "sender": "programs", "perMinute": 9, "note": "A"}],
        "wantedPrograms": ["uptime"],
        "feeds": ["/news"],
        "privateTokenIssuers": [{"name": "keys.example"}, *TRUSTED],
    }
    reply = console.service.operator.patch(AT, json=change)
    assert reply.status_code == 200, reply.text
    before = read(console, AT)
    open_page(signed_in, console.page("settings"), "Settings")
    signed_in.locator("#site-origins").fill("\n".join([*before["allowedOrigins"], "https://more.example"]))
    save(signed_in)

    after = read(console, AT)
    assert after["allowedOrigins"] == [*before["allowedOrigins"], "https://more.example"]
    assert {name for name in before if after.get(name) != before[name]} == {"allowedOrigins", "updatedAt", "changes"}


def test_a_site_without_ai_use_takes_the_suggestion(signed_in: Page, console: Console) -> None:
    async def forget(stores: Any) -> None:
        stored = await stores.sites.get_site(SITE, account_id=None)
        await stores.sites.save_site(replace(stored, ai_use=UNSET))

    console.service.change(forget)
    assert "aiUse" not in read(console, AT)
    open_page(signed_in, console.page("agents") + "?tab=use", "Agents")
    signed_in.get_by_role("button", name="Use this setting").click()
    signed_in.get_by_text("Saved", exact=True).wait_for()

    assert read(console, AT)["aiUse"] == {"search": "allow", "agent": "allow", "training": "block"}


def test_the_ai_use_changes_alone(signed_in: Page, console: Console) -> None:
    stored = {"search": "allow", "agent": "challenge", "training": "price", "price": "USD 0.02"}
    assert console.service.operator.patch(AT, json={"aiUse": stored, "robotsTxt": "User-agent: a"}).is_success
    before = read(console, AT)
    open_page(signed_in, console.page("agents") + "?tab=use", "Agents")
    group = signed_in.get_by_role("group", name="AI use: Search")
    expect(group.get_by_role("radio", name="allow")).to_be_checked()
    group.get_by_role("radio", name="block").check()
    signed_in.locator("#robots").fill("User-agent: b")
    save(signed_in)

    after = read(console, AT)
    assert (after["aiUse"], after["robotsTxt"]) == ({**stored, "search": "block"}, "User-agent: b")
    changed = {name for name in before if after.get(name) != before[name]}
    assert changed == {"aiUse", "robotsTxt", "updatedAt", "changes"}


def test_the_rules_page_keeps_rules_and_overrides(signed_in: Page, console: Console) -> None:
    before = read(console, f"{AT}/rules")
    match = {"any_labels": ["ua.empty"], "methods": ["GET"], "networks": ["198.51.100.0/24"], "headers": {"x-a": ["b"]}}
    own = {"name": "own", "match": match, "action": "block", "routes": ["/a"]}
    rule_set = {**before["ruleSet"], "rules": [own, *before["ruleSet"]["rules"]]}
    given = {"ruleSet": rule_set, "overrides": {"impersonation-signature": "challenge"}, "revision": before["revision"]}
    reply = console.service.operator.put(f"{AT}/rules", json=given)
    assert reply.status_code == 200, reply.text
    before = read(console, f"{AT}/rules")
    open_page(signed_in, console.page("rules"), "Rules")
    signed_in.get_by_label("Action of impersonation-tls").select_option("count")
    save_rules(signed_in, before["revision"] + 1)

    after = read(console, f"{AT}/rules")
    assert after["ruleSet"] == before["ruleSet"]
    assert after["overrides"] == {**before["overrides"], "impersonation-tls": "count"}


def save_rules(page: Page, revision: int) -> None:
    page.locator(".dock .dot[data-o=allow]").wait_for()
    page.get_by_role("button", name="Review and save").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text(f"Saved as revision {revision}").wait_for()


def test_the_form_of_a_webhook_keeps_the_kinds_of_its_filter(signed_in: Page, console: Console) -> None:
    hook = {
        "url": "https://hooks.example.com/one",
        "events": ["decisions"],
        "format": "ndjson",
        "filter": {"outcomes": ["block"], "kinds": ["request"]},
        "enabled": False,
    }
    reply = console.service.operator.post(f"{AT}/webhooks", json=hook)
    assert reply.status_code == 201, reply.text
    open_page(signed_in, console.page("webhooks"), "Webhooks")
    signed_in.get_by_role("button", name="Edit", exact=True).click()
    signed_in.locator("dialog #url").fill("https://hooks.example.com/two")
    signed_in.get_by_role("dialog").get_by_role("button", name="Save").click()
    signed_in.get_by_text("hooks.example.com/two").wait_for()

    found = read(console, f"{AT}/webhooks")["items"][0]
    assert {name: found[name] for name in hook} == {**hook, "url": "https://hooks.example.com/two"}


def test_the_terms_of_an_account_keep_their_limits(page: Page, console: Console) -> None:
    account = read(console, AT)["customerId"]
    limits = {"sites": 7, "members": 8, "tokens": 9, "credentialsPerSite": 5, "originsPerSite": 6}
    path = f"/v1/admin/customers/{account}"
    reply = console.service.operator.patch(path, json={"limits": limits})
    assert reply.status_code == 200, reply.text
    before = read(console, path)
    sign_in_operator(page, console)
    open_page(page, f"{console.admin_url}/operator/customers/{account}?tab=terms", before["name"])
    page.locator("#c-name").fill("Another name")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved").first.wait_for()

    after = read(console, path)
    assert after["limits"] == limits
    assert {name for name in before if after.get(name) != before[name]} <= {"name", "audit"}
