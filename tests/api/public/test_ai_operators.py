"""AI operators at the gateway: verified by their networks, forged from others, and what the site's AI use decides."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgate.decision.threat_data.intel import make_intel
from agentgate.decision.threat_data.search_operators import read_operators
from agentgate_tools.threat_lists.imports import import_folder
from tests.api.public.ai_use import use_for
from tests.api.public.signed_agents import set_policy
from tests.support.gateway import VISITOR, Gate, said
from tests.support.service import RunningService

OURS, ELSEWHERE = "198.51.100.7", "203.0.113.9"
# Eight operators, each with one of its programs.
PROGRAMS = {
    "gptbot": ("Mozilla/5.0 (compatible; GPTBot/1.4; +https://openai.com/gptbot)", "training"),
    "chatgpt-user": ("Mozilla/5.0 (compatible; ChatGPT-User/1.0; +https://openai.com/bot)", "agent"),
    "anthropic": ("Mozilla/5.0 (compatible; ClaudeBot/1.0; +claudebot@anthropic.com)", "training"),
    "perplexitybot": ("Mozilla/5.0 (compatible; PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)", "search"),
    "mistralai-user": ("Mozilla/5.0 (compatible; MistralAI-User/1.0; +https://docs.mistral.ai/robots)", "agent"),
    "google-agent": (
        "Mozilla/5.0 (compatible; Google-Agent; +https://developers.google.com/crawling/docs) Chrome/141.0.0.0",
        "agent",
    ),
    "meta": ("meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)", "training"),
    "duckassistbot": ("DuckAssistBot/1.2; (+http://duckduckgo.com/duckassistbot.html)", "search"),
}
ALL_ALLOWED = {"search": "allow", "agent": "allow", "training": "allow"}


@pytest.fixture
def lists(service: RunningService, tmp_path: Path) -> Iterator[None]:
    """Import a list of each operator, with one network of documentation."""
    for operator in read_operators():
        if operator.is_ai:
            (tmp_path / f"search-{operator.name}.txt").write_text(f"{OURS}/32\n")
    imported, _ = import_folder(tmp_path, now_ms=0)
    intel = service.application.refresher.intel
    before = intel._current
    intel._current = make_intel(imported)
    yield
    intel._current = before


def ask(gate: Gate, user_agent: str, address: str, path: str = "/page", **headers: Any):
    unset = {name.replace("-", "_"): None for name in VISITOR}
    gate.address = address
    return gate.check("GET", path, **{**unset, "user_agent": user_agent, "accept": "*/*", **headers})


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_verified_network_passes_by_purpose_and_another_network_is_blocked(
    service: RunningService, name: str
) -> None:
    gate, (user_agent, purpose) = Gate(service), PROGRAMS[name]

    use_for(gate, **ALL_ALLOWED)
    assert said(ask(gate, user_agent, OURS)) == (204, "allow", "allowed")
    assert said(ask(gate, user_agent, ELSEWHERE))[:2] == (403, "block")
    use_for(gate, **{**ALL_ALLOWED, purpose: "block"})
    assert said(ask(gate, user_agent, OURS))[:2] == (403, "block")
    assert said(ask(gate, user_agent, OURS, "/robots.txt")) == (204, "allow", "allowed")
    use_for(gate, **{**ALL_ALLOWED, purpose: "challenge"})
    assert said(ask(gate, user_agent, OURS))[:2] == (401, "challenge")


@pytest.mark.parametrize("name", ["chatgpt-user", "google-agent", "duckassistbot"])
def test_before_the_list_is_read_a_name_is_not_checked_and_never_forged(service: RunningService, name: str) -> None:
    gate, (user_agent, _) = Gate(service), PROGRAMS[name]
    use_for(gate, **ALL_ALLOWED)

    answer = ask(gate, user_agent, OURS)

    assert said(answer) == (401, "challenge", "agent_unverified")
    assert "not checked yet" in answer.headers["x-service-message"]


@pytest.mark.usefixtures("lists")
def test_a_forged_name_is_blocked_where_unverified_agents_are_allowed(service: RunningService) -> None:
    gate = Gate(service)
    use_for(gate, **ALL_ALLOWED)
    set_policy(gate, unverified="allow")

    assert said(ask(gate, PROGRAMS["gptbot"][0], ELSEWHERE))[:2] == (403, "block")


@pytest.mark.usefixtures("lists")
def test_a_new_site_blocks_training_and_allows_search_and_agents(service: RunningService) -> None:
    gate = Gate(service)

    answers = {purpose: said(ask(gate, text, OURS))[1] for text, purpose in PROGRAMS.values()}

    assert answers == {"search": "allow", "agent": "allow", "training": "block"}


@pytest.mark.usefixtures("lists")
def test_an_entry_of_the_policy_goes_before_the_use(service: RunningService) -> None:
    gate = Gate(service)
    set_policy(gate, agents={"GPTBot": {"decision": "allow"}, "ChatGPT-User": {"decision": "deny"}})

    assert said(ask(gate, PROGRAMS["gptbot"][0], OURS)) == (204, "allow", "allowed")
    assert said(ask(gate, PROGRAMS["chatgpt-user"][0], OURS)) == (403, "block", "agent_denied")
    assert said(ask(gate, PROGRAMS["gptbot"][0], ELSEWHERE))[:2] == (403, "block")


@pytest.mark.usefixtures("lists")
def test_a_priced_use_names_the_price_and_asks_for_a_signature(service: RunningService) -> None:
    gate = Gate(service)
    use_for(gate, training="price", price="USD 0.01")

    answer = ask(gate, PROGRAMS["gptbot"][0], OURS)

    assert said(answer) == (403, "block", "payment_required")
    assert (answer.headers["crawler-price"], answer.headers["crawler-error"]) == ("USD 0.01", "MissingCrawlerPrice")
    assert "accept-signature" in answer.headers
    offered = ask(gate, PROGRAMS["gptbot"][0], OURS, crawler_exact_price="USD 0.01")
    assert offered.headers["crawler-error"] == "StrongAuthRequired"
    assert said(ask(gate, PROGRAMS["perplexitybot"][0], OURS)) == (204, "allow", "allowed")


@pytest.mark.usefixtures("lists")
def test_a_site_that_has_not_decided_asks_operators_for_a_signature(service: RunningService) -> None:
    gate = Gate(service)
    service.run(_forget_use(service, gate.site_key))

    assert said(ask(gate, PROGRAMS["gptbot"][0], OURS)) == (401, "challenge", "agent_unverified")
    assert "aiUse" not in service.operator.get(f"/v1/admin/sites/{gate.site_key}").json()


async def _forget_use(service: RunningService, site_key: str) -> None:
    async def work(stores: Any) -> None:
        site = await stores.sites.get_site(site_key, account_id=None)
        await stores.sites._session.run("UPDATE site SET ai_use = NULL WHERE id = $1", site.id)
        await stores.configuration.bump_site(site.id)

    await service.application.stores.store.change(work)
    service.application.refresher.sites.expect_change()
    await service.application.refresher.sites.await_refresh()


@pytest.mark.parametrize(
    ("use", "named"),
    [
        ({"training": "price"}, "aiUse.price is required"),
        ({"training": "price", "price": "cheap"}, "aiUse.price must be"),
        ({"crawl": "allow"}, "crawl"),
    ],
)
def test_an_invalid_use_returns_the_correction(service: RunningService, use: dict[str, str], named: str) -> None:
    gate = Gate(service)

    answer = service.operator.patch(f"/v1/admin/sites/{gate.site_key}", json={"aiUse": use})

    assert answer.status_code == 400
    assert named in answer.json()["message"]


@pytest.mark.usefixtures("lists")
def test_ai_traffic_is_counted_by_proof_purpose_and_decision(service: RunningService) -> None:
    gate = Gate(service)
    for name in ("gptbot", "chatgpt-user", "perplexitybot"):
        ask(gate, PROGRAMS[name][0], OURS)
    ask(gate, PROGRAMS["gptbot"][0], ELSEWHERE)
    service.clock.advance(ms=1_000)

    found = _counted(service, gate, claimed=4)

    assert found["verification"] == {
        "claimed": 4,
        "verifiedBySignature": 0,
        "verifiedByNetwork": 3,
        "forged": 1,
        "unchecked": 0,
    }
    assert found["uses"] == {"search": 1, "agent": 1, "training": 1}
    assert found["decisions"] == {"allowed": 2, "challenged": 0, "blocked": 1}
    assert [each["name"] for each in found["operators"]] == ["chatgpt_user", "gptbot", "perplexitybot"]


def _counted(service: RunningService, gate: Gate, *, claimed: int) -> dict[str, Any]:
    """Return the AI traffic once all events are stored."""
    for _ in range(250):
        found: dict[str, Any] = service.operator.get(f"/v1/admin/sites/{gate.site_key}/ai-traffic").json()
        if found["verification"]["claimed"] >= claimed:
            break
        time.sleep(0.02)
    return found
