"""The requests of `agentgate agent-sim` behind real proxies: each denial is read as what it is."""

from collections.abc import Iterator

import pytest

from agentgate_tools.agent_simulator.cases import Case, Policy, Writer, page_cases
from agentgate_tools.agent_simulator.sign import AgentSigningKey
from agentgate_tools.agent_simulator.simulator import Answer, SiteDoor, simulate
from tests.proxies.visiting import ORIGIN, Installed
from tests.support.agent_client import SigningAgent

AGENT = SigningAgent()


class ProxyDoor(SiteDoor):
    """The site's proxy, which does not listen at the site's own address here."""

    def __init__(self, installed: Installed) -> None:
        super().__init__(ORIGIN)
        self._installed = installed

    def send(self, case: Case) -> Answer:
        """Send a request with the site's name."""
        usual = [("Host", "shop.example"), ("Accept", "*/*"), ("Accept-Language", "en")]
        headers = list({"user-agent": "agent/1.0", **case.headers}.items())
        told = self._installed.visit(case.method, case.path, usual=usual, headers=headers)
        named = {name.lower(): value for name, value in told.headers.items()}
        return Answer(told.status, named, told.body)


@pytest.fixture
def listed(site: Installed) -> Iterator[None]:
    """A policy that allows the agent, for the length of a test."""
    path = f"/v1/admin/sites/{site.site_key}/agent-policy"
    before = site.service.operator.get(path).json()
    policy = {"agents": {AGENT.url: {"decision": "allow", "jwks": AGENT.jwks}}}
    assert site.service.operator.put(path, json=policy).status_code == 200
    yield
    assert site.service.operator.put(path, json=before).status_code == 200


def test_every_request_is_answered_as_the_policy_says(installed: Installed, listed: None) -> None:
    writer = Writer(
        key=AGENT.key,
        other_key=AgentSigningKey(bytes(range(1, 33))),
        agent=AGENT.url,
        origin=ORIGIN,
        path="/news",
        policy=Policy(),
        now_s=installed.service.clock.now_ms() // 1000,
    )

    results = simulate(page_cases(writer), ProxyDoor(installed))

    assert [result for result in results if not result.is_right] == []
    assert {"no tag", "another tag"} <= {result.name for result in results}
