"""Agents with published headers behind a real nginx: 20 pages a minute with all parts, and none with another key."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.api.public.captured_agents import PARTS, CapturedAgent, directories
from tests.proxies.running import running_proxy
from tests.proxies.visiting import ORIGIN, Installed, new_address

PAGES = 20


@pytest.fixture
def behind_nginx(site: Installed) -> Iterator[Installed]:
    with running_proxy("nginx", site.installation) as port:
        yield dataclasses.replace(site, proxy="nginx", port=port)


def load(site: Installed, agent: CapturedAgent, path: str, *, address: str, part: tuple[str, str] | None = None) -> int:
    destination, accept = part or ("document", None)
    created = site.service.clock.now_ms() // 1000
    sent = agent.signed(ORIGIN + path, destination, accept, created=created, nonce=uuid4().hex)
    usual = [("Host", "shop.example"), *sent.items()]
    return site.visit("GET", path, usual=usual, address=address).status


@pytest.mark.parametrize("name", ["chatgpt-agent", "google-agent-desktop"])
def test_twenty_pages_with_all_parts_pass_and_another_key_does_not(
    behind_nginx: Installed, tmp_path: Path, name: str
) -> None:
    agent, forger = CapturedAgent(name), CapturedAgent(name, seed=bytes([8] * 32))
    forger.how["keyid"] = agent.agent.keyid
    address, answers = new_address(), Counter[int]()

    with directories(behind_nginx.service, tmp_path, agent):
        for page in range(PAGES):
            answers[load(behind_nginx, agent, f"/news/{page}", address=address)] += 1
            for destination, accept, path in PARTS:
                part = (destination, accept)
                answers[load(behind_nginx, agent, path, address=address, part=part)] += 1
        forged = load(behind_nginx, forger, "/news/1", address=new_address())

    assert answers == {200: PAGES * (1 + len(PARTS))}
    assert forged == 403
