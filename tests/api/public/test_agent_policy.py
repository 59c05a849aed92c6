"""The agent policy over HTTP: read, replaced whole, checked, recorded, obeyed at once. And what agents were charged."""

import csv
import io

import pytest

from tests.api.console.steps import run_sql
from tests.support.agent_client import SigningAgent
from tests.support.agent_steps import AgentShop, allowed
from tests.support.cast import cast
from tests.support.service import RunningService

AGENT = SigningAgent()


@pytest.fixture
def shop(shared_service: RunningService) -> AgentShop:
    return AgentShop(shared_service)


def path(shop: AgentShop, what: str = "agent-policy") -> str:
    return f"/v1/admin/sites/{shop.site_key}/{what}"


def test_a_new_site_has_the_default_policy(shop: AgentShop) -> None:
    reply = shop.service.operator.get(path(shop))

    assert reply.json() == {
        "default": "allow",
        "unverified": "challenge",
        "quotaPerMinute": 600,
        "agents": {},
        "actions": {},
    }
    assert reply.headers["etag"].startswith('"')


def test_a_policy_is_replaced_whole_and_shown_with_the_site(shop: AgentShop) -> None:
    shop.set_policy(default="block", actions={"submit": {"price": "USD 0.05", "handoff": True}})
    replaced = shop.set_policy(agents=allowed(AGENT), quotaPerMinute=5)

    assert replaced.json()["default"] == "allow"
    assert replaced.json()["actions"] == {}
    assert shop.service.operator.get(path(shop)).json() == replaced.json()
    assert shop.service.operator.get(f"/v1/admin/sites/{shop.site_key}").json()["agentPolicy"] == replaced.json()


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"extra": 1}, "extra"),
        ({"default": "deny"}, "default"),
        ({"quotaPerMinute": 0}, "quotaPerMinute"),
        ({"agents": {AGENT.url: {}}}, "decision"),
        ({"agents": {AGENT.url: {"decision": "allow", "key": 1}}}, "key"),
        ({"agents": {"http://agent.example": {"decision": "allow"}}}, "https origin"),
        ({"agents": {"https://Agent.example": {"decision": "allow"}}}, "must be written https://agent.example"),
        ({"agents": {AGENT.url: {"decision": "allow", "jwks": {"keys": [{"kty": "RSA"}]}}}}, "Ed25519"),
        ({"agents": {AGENT.url: {"decision": "allow", "actions": {"fly": "allow"}}}}, "Its actions are submit, search"),
        ({"actions": {"fly": {}}}, "actions.fly"),
        ({"actions": {"submit": {"price": "0.05 USD"}}}, "USD 0.05"),
        ({"tools": [{"name": "x" * 131_072}]}, "128 KiB"),
        ({"agentDirectories": [f"a{number}.example" for number in range(11)]}, "agentDirectories"),
        ({"agentDirectories": ["https://agent.example"]}, "agentDirectories"),
        ({"agentDirectories": ["*"]}, "agentDirectories"),
        ({"agentDirectories": ["localhost"]}, "agentDirectories"),
    ],
)
def test_a_policy_that_cannot_be_is_rejected_with_what_would_be_right(shop: AgentShop, policy, words) -> None:
    reply = shop.service.operator.put(path(shop), json=policy)

    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_request")
    assert words in reply.json()["message"]
    assert shop.service.operator.get(path(shop)).json()["agents"] == {}


def test_who_edited_an_older_version_is_reported(shop: AgentShop) -> None:
    tag = shop.service.operator.get(path(shop)).headers["etag"]
    match = {"If-Match": tag}

    first = shop.service.operator.put(path(shop), json={"default": "block"}, headers=match)
    second = shop.service.operator.put(path(shop), json={"default": "allow"}, headers=match)

    assert first.status_code == 200
    assert (second.status_code, second.json()["error"]) == (409, "revision_conflict")
    assert shop.service.operator.get(path(shop)).json()["default"] == "block"


def test_a_change_leaves_a_trace_and_the_same_again_none(shop: AgentShop) -> None:
    for _ in range(2):
        shop.set_policy(agents=allowed(AGENT), default="challenge")

    changes = shop.service.operator.get(path(shop, "changes")).json()["items"]
    updates = [change for change in changes if change["kind"] == "agent_policy.update"]
    assert len(updates) == 1
    assert updates[0]["detail"]["default"] == {"from": "allow", "to": "challenge"}
    assert (updates[0]["detail"]["agents"]["from"], list(updates[0]["detail"]["agents"]["to"])) == ({}, [AGENT.url])


def test_a_change_is_obeyed_by_the_next_submission(shop: AgentShop) -> None:
    shop.set_policy(agents=allowed(AGENT))
    assert shop.submit(id="one").status_code == 200

    shop.set_policy(agents=allowed(AGENT, decision="deny"))

    assert shop.submit(id="two").status_code == 403


def test_changing_the_site_keeps_its_policy(shop: AgentShop) -> None:
    shop.set_policy(default="block")

    shop.service.operator.patch(f"/v1/admin/sites/{shop.site_key}", json={"name": "Renamed"})

    assert shop.service.operator.get(path(shop)).json()["default"] == "block"


def test_members_read_it_and_users_who_may_write_sites_change_it(shared_service: RunningService) -> None:
    people = cast(shared_service)
    site = people.alice.post("/v1/console/sites", json={"name": "Shop"}).json()["siteKey"]
    mine = f"/v1/console/sites/{site}/agent-policy"

    assert people.alice.put(mine, json={"default": "block"}).status_code == 200
    assert people.rita.get(mine).json()["default"] == "block"
    assert people.rita.put(mine, json={}).status_code == 403
    assert people.carol.get(mine).status_code == 404
    assert people.carol.put(mine, json={}).status_code == 404
    assert people.rita.get(f"/v1/console/sites/{site}/agent-charges").json()["totals"] == []
    assert people.carol.get(f"/v1/console/sites/{site}/agent-charges").status_code == 404


def test_a_statement_shows_who_owes_what_for_which_month(shop: AgentShop) -> None:
    shop.set_policy(actions={"submit": {"price": "USD 0.05"}, "search": {"price": "EUR 2.00"}})
    for number in range(3):
        assert shop.pay("USD 0.05", id=f"s{number}").status_code == 200
    assert shop.pay("EUR 2.00", action="search", id="search").status_code == 200

    statement = shop.statement(month="2026-11")

    assert [(total["currency"], total["requests"], total["amount"]) for total in statement["totals"]] == [
        ("EUR", 1, "2.00"),
        ("USD", 3, "0.15"),
    ]
    assert statement["totals"][0]["name"] == "Shopping Agent"
    assert (statement["from"], statement["to"]) == ("2026-11-01T00:00:00.000Z", "2026-12-01T00:00:00.000Z")
    assert shop.statement()["month"] == "2026-11"
    assert shop.statement(month="2026-10")["items"] == []


def test_a_statement_is_also_a_table(shop: AgentShop) -> None:
    shop.set_policy(actions={"submit": {"price": "USD 0.05"}})
    shop.pay("USD 0.05")

    reply = shop.service.operator.get(path(shop, "agent-charges.csv"), params={"month": "2026-11"})

    assert reply.headers["content-type"].startswith("text/csv")
    assert "agent-charges-" in reply.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(reply.text)))
    assert [(row["agent"], row["source"], row["amount"]) for row in rows] == [(AGENT.url, "submit", "0.05")]


@pytest.mark.parametrize("month", ["2026", "2026-13", "2026-00", "26-11", "2026-11-01", "next"])
def test_what_is_not_a_month_is_rejected(shop: AgentShop, month) -> None:
    reply = shop.service.operator.get(path(shop, "agent-charges"), params={"month": month})

    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_filter")


def test_a_policy_that_was_damaged_in_the_store_breaks_only_itself(shop: AgentShop) -> None:
    shop.set_policy(default="block")
    run_sql(shop.service, "UPDATE site SET agent_policy = $2 WHERE site_key = $1", shop.site_key, '{"default": 7}')

    assert shop.service.operator.get(path(shop)).json()["default"] == "allow"
    shop.service.operator.patch(f"/v1/admin/sites/{shop.site_key}", json={"name": "Changed"})
    # The site's last valid policy remains active.
    assert shop.service.application.refresher.sites.find(shop.site_key).agent_policy.default == "block"
    assert shop.set_policy(default="challenge").json()["default"] == "challenge"
