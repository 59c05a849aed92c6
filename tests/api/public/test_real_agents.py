"""Agents as they come: published header sets of ChatGPT and Google-Agent, signed, at a site with default rules."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.api.public.captured_agents import PARTS, CapturedAgent, directories
from tests.api.public.signed_agents import set_policy
from tests.support.gateway import ORIGIN, VISITOR, Gate, said
from tests.support.service import RunningService

CAPTURES = ("chatgpt-agent", "google-agent-desktop")
PAGES = 20


def browse(agent: CapturedAgent, gate: Gate) -> Counter[tuple[int, str, str]]:
    """Load 20 pages in a minute, each with its 60 subresources; return the responses."""
    answers: Counter[tuple[int, str, str]] = Counter()
    for page in range(PAGES):
        answers[said(agent.load(gate, f"/page/{page}"))] += 1
        for destination, accept, path in PARTS:
            answers[said(agent.load(gate, path, destination, accept))] += 1
        gate.service.clock.advance(ms=2_900)
    return answers


@pytest.mark.parametrize("whole_site", [False, True])
@pytest.mark.parametrize("name", CAPTURES)
def test_a_verified_agent_browses_a_new_site_with_all_subresources(
    service: RunningService, tmp_path: Path, name: str, *, whole_site: bool
) -> None:
    gate, agent = Gate(service), CapturedAgent(name)
    service.operator.patch(f"/v1/admin/sites/{gate.site_key}", json={"wholeSite": whole_site})

    with directories(service, tmp_path, agent) as place:
        answers = browse(agent, gate)

    assert len(place.peers) == 1

    assert answers == {(204, "allow", "allowed"): PAGES * (1 + len(PARTS))}


@pytest.mark.parametrize("name", CAPTURES)
def test_the_same_headers_with_a_key_that_the_directory_does_not_list_are_challenged_or_blocked(
    service: RunningService, tmp_path: Path, name: str
) -> None:
    gate, agent, other = Gate(service), CapturedAgent(name), CapturedAgent(name, seed=bytes([8] * 32))

    with directories(service, tmp_path, agent):
        assert said(other.load(gate, "/")) == (401, "challenge", "agent_unverified")
        other.how["keyid"] = agent.agent.keyid
        assert said(other.load(gate, "/")) == (403, "block", "agent_signature_invalid")


def test_a_site_reads_the_key_set_of_an_agent_that_it_names(service: RunningService, tmp_path: Path) -> None:
    gate, elsewhere, agent = Gate(service), Gate(service), CapturedAgent("chatgpt-agent")
    agent.agent.url = "https://agent.example"
    set_policy(gate, default="allow", agents={}, agentDirectories=["agent.example"])

    with directories(service, tmp_path, agent):
        assert said(agent.load(elsewhere, "/")) == (401, "challenge", "agent_unverified")
        assert said(agent.load(gate, "/")) == (204, "allow", "allowed")
        assert said(agent.load(elsewhere, "/")) == (401, "challenge", "agent_unverified")


@pytest.mark.parametrize("name", CAPTURES)
def test_the_same_headers_with_another_key_are_blocked(service: RunningService, name: str) -> None:
    gate, agent, other = Gate(service), CapturedAgent(name), CapturedAgent(name, seed=bytes([8] * 32))
    set_policy(gate, default="allow", agents={agent.agent.url: {"decision": "allow", "jwks": agent.agent.jwks}})

    assert said(other.load(gate, "/")) == (401, "challenge", "agent_unverified")
    other.how["keyid"] = agent.agent.keyid
    assert said(other.load(gate, "/")) == (403, "block", "agent_signature_invalid")


def test_an_agent_that_calls_pages_pictures_uses_up_its_quota(service: RunningService) -> None:
    gate, agent = Gate(service), CapturedAgent("chatgpt-agent")
    set_policy(gate, quotaPerMinute=30, agents={agent.agent.url: {"decision": "allow", "jwks": agent.agent.jwks}})

    answers: Counter[tuple[int, str, str]] = Counter()
    for number in range(12):
        gate.address = f"198.51.100.{number}"
        for page in range(5):
            answers[said(agent.load(gate, f"/article/{number}/{page}", "image", "image/webp"))] += 1

    assert answers[204, "allow", "allowed"] == 30
    assert answers[403, "block", "rate_limited"] == 30


def test_files_without_a_page_use_up_the_quota_too(service: RunningService) -> None:
    gate, agent = Gate(service), CapturedAgent("chatgpt-agent")
    set_policy(gate, quotaPerMinute=10, agents={agent.agent.url: {"decision": "allow", "jwks": agent.agent.jwks}})

    answers = [said(agent.load(gate, f"/{number}.png", "image", "image/webp")) for number in range(12)]

    assert answers[9:] == [(204, "allow", "allowed"), *[(403, "block", "rate_limited")] * 2]


def test_a_signed_read_costs_no_write_and_cannot_be_repeated(service: RunningService) -> None:
    gate, agent = Gate(service), CapturedAgent("chatgpt-agent")
    set_policy(gate, agents={agent.agent.url: {"decision": "allow", "jwks": agent.agent.jwks}})
    created = service.clock.now_ms() // 1000
    sent = _signed(agent, created=created, nonce="once")
    unset = {name.replace("-", "_"): None for name in VISITOR}
    given = {**unset, **{name.replace("-", "_"): value for name, value in sent.items()}}

    assert said(gate.check("GET", "/page", **given)) == (204, "allow", "allowed")
    assert said(gate.check("GET", "/page", **given)) == (403, "block", "agent_signature_invalid")
    assert said(gate.check("POST", "/page", **given)) == (403, "block", "agent_signature_invalid")
    assert service.run(_stored_signatures(service)) == 0

    paid = {
        **given,
        **{name.replace("-", "_"): value for name, value in _signed(agent, created=created, nonce="twice").items()},
    }
    set_policy(gate, agents={agent.agent.url: {"decision": "allow", "jwks": agent.agent.jwks, "price": "USD 0.01"}})
    gate.check("GET", "/page", **paid)
    assert service.run(_stored_signatures(service)) == 1


def _signed(agent: CapturedAgent, **how: Any) -> dict[str, str]:
    cover = ("@authority", "signature-agent")
    return agent.agent.headers("GET", f"{ORIGIN}/page", headers=agent.headers, cover=cover, **how, **agent.how)


async def _stored_signatures(service: RunningService) -> int:
    row = await service.application.stores.agent_replays._database.one("SELECT count(*) FROM agent_replay")
    return int(row[0])
