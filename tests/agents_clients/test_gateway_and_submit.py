"""Real clients at a running service: the gateway lets their requests pass, `/agent/submit` accepts what they send."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from agentgate_tools.agent_simulator.sign import AgentSigningKey
from tests.agents_clients.clients import (
    COVERING_BODY,
    SEED,
    STRANGERS,
    WELCOME,
    ClientRequest,
    Wanted,
    sign_with_every_client,
)
from tests.support.agent_steps import AgentShop
from tests.support.browser_client import create_site
from tests.support.service import ADMIN_KEY, RunningService, running_service
from tests.unit.agents.verifying import AGENT

# The clients read the machine's clock, so the service does too.
SITE = "https://shop.example"
POLICY = {"agents": {AGENT: {"decision": "allow", "jwks": AgentSigningKey(SEED).jwks}}}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder: Path = tmp_path_factory.mktemp("service")
    settings = read_settings(
        {
            "AGENTGATE_DATA_DIR": str(folder),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
            "AGENTGATE_CONFIRM_CRAWLERS": "off",
        }
    )
    with running_service(settings, SystemClock()) as running:
        yield running


@pytest.fixture(scope="module")
def shop(service: RunningService) -> AgentShop:
    shop = AgentShop(service)
    shop.set_policy(**POLICY)
    return shop


@pytest.fixture(scope="module")
def submissions(shop: AgentShop) -> dict[str, ClientRequest]:
    """One submission, signed by every client; each must get the same response as the first."""
    return sign_with_every_client(Wanted("POST", f"{shop.service.public_url}/agent/submit", body=shop.body()))


def submit(shop: AgentShop, request: ClientRequest) -> tuple[int, dict[str, object]]:
    headers = {**request.headers, "content-type": "application/json"}
    reply = shop.service.public.post("/agent/submit", content=request.body, headers=headers)
    return reply.status_code, json.loads(reply.content)


@pytest.mark.parametrize("client", COVERING_BODY)
def test_a_submission_signed_by_a_client_is_accepted(
    client: str, shop: AgentShop, submissions: dict[str, ClientRequest]
) -> None:
    status, answer = submit(shop, submissions[client])
    assert (status, answer.get("status")) == (200, "accepted"), answer
    assert answer["agent"] == {"id": AGENT, "keyId": AgentSigningKey(SEED).keyid}


@pytest.mark.parametrize("client", sorted(set(WELCOME) - set(COVERING_BODY)))
def test_a_submission_of_a_client_that_signs_no_body_is_blocked(
    client: str, shop: AgentShop, submissions: dict[str, ClientRequest]
) -> None:
    status, answer = submit(shop, submissions[client])
    assert (status, answer["error"]) == (401, "agent_signature_invalid")


@pytest.mark.parametrize("client", STRANGERS)
def test_a_submission_signed_without_the_tag_is_blocked(
    client: str, shop: AgentShop, submissions: dict[str, ClientRequest]
) -> None:
    status, answer = submit(shop, submissions[client])
    assert (status, answer["error"]) == (401, "agent_unverified")


class Gate:
    """The proxy of a site whose list needs a browser token, unless a known agent asks for it."""

    def __init__(self, service: RunningService) -> None:
        self.service = service
        site_key = create_site(
            service,
            mode="enforce",
            actions={"list": {"browserRequired": True}},
            routes=[{"method": "GET", "pathPrefix": "/list", "action": "list"}],
        )
        credential = service.operator.post(f"/v1/admin/sites/{site_key}/credentials", json={"name": "gate"})
        self.secret = credential.json()["secret"]
        stored = service.operator.put(f"/v1/admin/sites/{site_key}/agent-policy", json=POLICY)
        assert stored.status_code == 200, stored.text

    def check(self, request: ClientRequest) -> int:
        headers = {
            **request.headers,
            "x-agentgate-secret": self.secret,
            "x-original-method": request.method,
            "x-original-url": request.url,
            "x-original-address": "203.0.113.20",
        }
        return self.service.public.get("/v1/gateway/check", headers=headers).status_code


@pytest.fixture(scope="module")
def gate(service: RunningService) -> Gate:
    return Gate(service)


@pytest.fixture(scope="module")
def fetches() -> dict[str, ClientRequest]:
    return sign_with_every_client(Wanted("GET", f"{SITE}/list?page=2"))


@pytest.mark.parametrize("client", WELCOME)
def test_the_gateway_lets_a_fetch_signed_by_a_client_pass(
    client: str, gate: Gate, fetches: dict[str, ClientRequest]
) -> None:
    assert gate.check(fetches[client]) == 204


@pytest.mark.parametrize("client", STRANGERS)
def test_the_gateway_takes_no_one_without_the_tag_for_a_known_agent(
    client: str, gate: Gate, fetches: dict[str, ClientRequest]
) -> None:
    assert gate.check(fetches[client]) == 401
