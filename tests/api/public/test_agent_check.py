"""`GET /v1/agent-check`: the verdict on the request itself, with what AgentGate computed and read."""

from pathlib import Path
from typing import Any

import httpx

from agentgate.agents.signature_check import PER_SOURCE
from tests.api.public.captured_agents import CapturedAgent, directories
from tests.support.service import RunningService


def ask(service: RunningService, agent: CapturedAgent, **how: Any) -> httpx.Response:
    url = f"{service.public_url}/v1/agent-check"
    created = service.clock.now_ms() // 1000
    cover = ("@authority", "@path", "signature-agent")
    headers = agent.agent.headers("GET", url, created=created, cover=cover, **agent.how, **how)
    return service.public.get(url, headers=headers)


def test_a_right_signature_is_verified_with_its_base_and_key_set(service: RunningService, tmp_path: Path) -> None:
    agent = CapturedAgent("chatgpt-agent")

    with directories(service, tmp_path, agent):
        found = ask(service, agent).json()

    [signature] = found["signatures"]
    assert (found["verdict"], found["agent"], found["keyId"]) == ("verified", agent.agent.url, agent.agent.keyid)
    assert signature["covered"] == ['"@authority"', '"@path"', '"signature-agent"']
    assert signature["keySet"].startswith("https://chatgpt.com/.well-known/")
    assert signature["keys"] == [agent.agent.keyid]
    assert '"@path": /v1/agent-check\n' in signature["base"]


def test_a_wrong_signature_has_its_reason(service: RunningService, tmp_path: Path) -> None:
    agent, other = CapturedAgent("chatgpt-agent"), CapturedAgent("chatgpt-agent", seed=bytes([8] * 32))

    with directories(service, tmp_path, agent):
        unlisted = ask(service, other).json()
        wrong = ask(service, other, keyid=agent.agent.keyid).json()

    assert (unlisted["verdict"], "does not list the key" in unlisted["reason"]) == ("unverified", True)
    assert (wrong["verdict"], "does not match" in wrong["reason"]) == ("invalid", True)


def test_a_request_without_a_signature_and_one_that_cannot_be_read_are_explained(service: RunningService) -> None:
    plain = service.public.get("/v1/agent-check").json()
    odd = {"signature-input": 'sig1=("@authority";tag="web-bot-auth"', "signature": "sig1=::"}
    unreadable = service.public.get("/v1/agent-check", headers=odd).json()

    assert (plain["verdict"], plain["signatures"]) == ("unsigned", [])
    assert (unreadable["verdict"], unreadable["signatures"]) == ("invalid", [])


def test_the_rate_of_an_address_is_limited(service: RunningService) -> None:
    codes = [service.public.get("/v1/agent-check").status_code for _ in range(PER_SOURCE.most + 1)]

    assert codes == [200] * PER_SOURCE.most + [429]
