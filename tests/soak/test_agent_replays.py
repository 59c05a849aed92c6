"""Signed requests, each sent 64 times at once to two workers of the service: one of each is accepted."""

import json
import time

import pytest

from tests.support.agent_client import SigningAgent
from tests.support.agent_replays import REPLAYS, send_at_once
from tests.support.processes import serving

pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]

SITE_KEY = "site_replays"
REQUESTS = 20


@pytest.fixture(params=["sqlite", "postgres"])
def database(request):
    """The settings of a store."""
    return {} if request.param == "sqlite" else {"AGENTGATE_DATABASE_URL": request.getfixturevalue("postgres_url")}


def test_of_64_parallel_replays_on_two_workers_one_is_accepted(tmp_path, database):
    agent = SigningAgent()
    with serving(tmp_path, AGENTGATE_WORKERS="2", AGENTGATE_DRAIN_SECONDS="0", **database) as process:
        with process.admin() as admin:
            site = {"name": "Replays", "siteKey": SITE_KEY, "actions": {"contact": {"browserRequired": False}}}
            assert admin.call("POST", "/v1/admin/sites", site).status == 201
            policy = {"agents": {agent.url: {"decision": "allow", "jwks": agent.jwks}}}
            assert admin.call("PUT", f"/v1/admin/sites/{SITE_KEY}/agent-policy", policy).status == 200
        # Both workers have read the site by then.
        time.sleep(1.5)
        url = f"{process.public_url}/agent/submit"
        for number in range(REQUESTS):
            content = {"siteKey": SITE_KEY, "action": "contact", "id": f"number-{number}", "content": "Hello."}
            body = json.dumps(content).encode()
            signed = agent.headers("POST", url, body=body, headers={"content-type": "application/json"})
            assert send_at_once(url, signed, body) == {200: 1, 401: REPLAYS - 1}
