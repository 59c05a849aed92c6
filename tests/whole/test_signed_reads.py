"""A signed read is accepted once on a machine: by several workers with Redis, after a restart, and after a crash."""

import contextlib
from pathlib import Path

import pytest

from tests.support.agent_client import SigningAgent
from tests.support.processes import AdminConnection, ServeProcess, serving
from tests.support.servers import RedisServer

PAGE = "https://shop.example/"
SITE = "/v1/admin/sites/site_shop"
AGENT = SigningAgent()
REJECTED = "agent_signature_invalid"
# The kernel deals out connections; that all of so many go to one of two workers does not happen.
CONNECTIONS = 16


def credential(process: ServeProcess) -> str:
    """Create a site that knows the agent's key; return the secret of its proxy."""
    with process.admin() as operator:
        site = {"name": "Shop", "siteKey": "site_shop", "mode": "enforce"}
        assert operator.call("POST", "/v1/admin/sites", site).status == 201
        policy = {"agents": {AGENT.url: {"decision": "allow", "jwks": AGENT.jwks}}}
        assert operator.call("PUT", f"{SITE}/agent-policy", policy).status == 200
        secret: str = operator.call("POST", f"{SITE}/credentials", {"name": "gate"}).body["secret"]
    return secret


def read(signed: dict[str, str]) -> dict[str, str]:
    original = {"X-Original-Method": "GET", "X-Original-URL": PAGE, "X-Original-Address": "203.0.113.20"}
    return {**original, **signed}


def reasons(process: ServeProcess, secret: str, signed: dict[str, str], times: int = 1) -> list[str]:
    """Send a signed read on so many connections; return the reason of each response."""
    with contextlib.ExitStack() as stack:
        headers = {"Authorization": f"Bearer {secret}"}
        gates = [stack.enter_context(AdminConnection(process.public_url, headers)) for _ in range(times)]
        answers = [gate.call("GET", "/v1/gateway/check", **read(signed)) for gate in gates]
    return [answer.headers["x-service-reason"] for answer in answers]


def signed_read() -> dict[str, str]:
    return AGENT.headers("GET", PAGE, headers={"User-Agent": "agent/1.0"})


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("crashes", [False, True])
def test_a_signed_read_is_not_accepted_again_after_a_restart(tmp_path: Path, workers: str, crashes: bool) -> None:
    settings = {"AGENTGATE_WORKERS": workers, "AGENTGATE_DRAIN_SECONDS": "0"}
    signed = [signed_read() for _ in range(4)]
    with serving(tmp_path, **settings) as before:
        secret = credential(before)
        assert [reasons(before, secret, each) for each in signed] == [["allowed"]] * 4
        if crashes:
            before.kill()
        else:
            before.stop()

    with serving(tmp_path, **settings) as after:
        assert reasons(after, secret, signed_read()) == ["allowed"]
        assert [reasons(after, secret, each) for each in signed] == [[REJECTED]] * 4


def test_a_signed_read_is_accepted_once_by_several_workers_with_redis(tmp_path: Path, redis: RedisServer) -> None:
    redis.flush()
    settings = {"AGENTGATE_WORKERS": "2", "AGENTGATE_DRAIN_SECONDS": "0", "AGENTGATE_REDIS_URL": redis.url}
    with serving(tmp_path, **settings) as process:
        secret = credential(process)
        for _ in range(3):
            found = reasons(process, secret, signed_read(), times=CONNECTIONS)
            assert (found.count("allowed"), found.count(REJECTED)) == (1, CONNECTIONS - 1)
