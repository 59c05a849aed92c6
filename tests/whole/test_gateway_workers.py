"""Mode, rules, routes, credentials and agent policy: what one worker changes, every other obeys within a second."""

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgate.decision.rates.windows import FREE_PARTS_PER_MINUTE
from agentgate.server.worker_channel import TIMEOUT_S
from agentgate_tools.agent_simulator.sign import COVERED
from tests.population.visitors import Request, population
from tests.support.agent_client import SigningAgent
from tests.support.processes import AdminConnection, Answer, ServeProcess, serving
from tests.support.servers import empty_database
from tests.whole.two_workers import ROOT_SECRET, one_connection_each, two_workers, worker_of

PAGE = "https://shop.example/login"
# The kernel deals out connections; that all of so many go to one of two workers does not happen.
CONNECTIONS = 16
OBEYED_S = 1.0
BLOCK_ALL = {"version": "1", "rules": [], "default_action": "block"}
AGENT = SigningAgent()


class Servers:
    """Two workers or two servers, and connections to both."""

    def __init__(self, processes: tuple[ServeProcess, ...], stack: contextlib.ExitStack) -> None:
        self.processes = processes
        self.operator = stack.enter_context(processes[0].admin())
        self.gates = [
            stack.enter_context(AdminConnection(processes[number % len(processes)].public_url, {}))
            for number in range(CONNECTIONS)
        ]

    def call(self, method: str, path: str, status: int, body: Any = None) -> Any:
        answer = self.operator.call(method, path, body)
        assert answer.status == status, answer.body
        return answer.body


class Site:
    """A site of these servers, and the proxy in front of it."""

    def __init__(self, servers: Servers, key: str, routes: list[dict[str, str]]) -> None:
        self.servers, self.path = servers, f"/v1/admin/sites/{key}"
        site = {
            "name": "Shop",
            "siteKey": key,
            "mode": "enforce",
            "allowedOrigins": ["https://shop.example"],
            "actions": {"login": {"browserRequired": True}},
            "routes": routes,
        }
        servers.call("POST", "/v1/admin/sites", 201, site)
        made = servers.call("POST", f"{self.path}/credentials", 201, {"name": "gate"})
        self.credential = made["credential"]["id"]
        self._headers = {
            "Authorization": f"Bearer {made['secret']}",
            "X-Original-Method": "GET",
            "X-Original-URL": PAGE,
            "X-Original-Address": "203.0.113.20",
        }

    def set_policy(self, **agent: Any) -> None:
        usual = {"decision": "allow", "jwks": AGENT.jwks, "quotaPerMinute": 100_000}
        policy = {"agents": {AGENT.url: {**usual, **agent}}}
        self.servers.call("PUT", f"{self.path}/agent-policy", 200, policy)

    def wait_until(self, expected: Callable[[Answer], bool], *, sign: dict[str, str] | None = None) -> None:
        """Wait until every worker responds so, at most the time of a change; `sign`: for an agent with this
        signature."""
        changed_s = time.monotonic()
        for gate in self.servers.gates:
            while not expected(answer := self._ask(gate, sign)):
                late = f"{answer.status} {answer.headers.items()} a second after the change"
                assert time.monotonic() - changed_s < OBEYED_S, late
                time.sleep(0.02)

    def statuses(self, address: str, request: Request, times: int) -> list[int]:
        """Return the statuses for a visitor's request over one connection after the other."""
        left_out = {"host", "connection", "te", "content-length"}
        sent = {name: value for name, value in request.headers if name.lower() not in left_out}
        own = {**self._headers, "X-Original-URL": request.url, "X-Original-Address": address}
        gates = itertools.islice(itertools.cycle(self.servers.gates), times)
        return [gate.call("GET", "/v1/gateway/check", **sent, **own).status for gate in gates]

    def signed(self, method: str, times: int, **how: Any) -> list[Answer]:
        """Return the responses to one signed request, sent over one connection after the other."""
        sent = AGENT.headers(method, PAGE, headers={"User-Agent": "agent/1.0"}, **how)
        own = {**self._headers, "X-Original-Method": method}
        gates = itertools.islice(itertools.cycle(self.servers.gates), times)
        return [gate.call("GET", "/v1/gateway/check", **own, **sent) for gate in gates]

    def _ask(self, gate: AdminConnection, sign: dict[str, str] | None) -> Answer:
        signed = {} if sign is None else AGENT.headers("GET", PAGE, headers={"User-Agent": "agent/1.0", **sign})
        return gate.call("GET", "/v1/gateway/check", **self._headers, **signed)


def _said(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.headers["x-service-reason"]


@pytest.fixture(scope="module", params=["two workers, embedded", "two servers"])
def servers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("workers")
    with contextlib.ExitStack() as stack:
        if request.param == "two workers, embedded":
            processes = stack.enter_context(two_workers(folder))
        else:
            postgres, redis = request.getfixturevalue("postgres"), request.getfixturevalue("redis")
            redis.flush()
            common = {
                "AGENTGATE_ROOT_SECRET": ROOT_SECRET,
                "AGENTGATE_DRAIN_SECONDS": "0",
                "AGENTGATE_DATABASE_URL": stack.enter_context(empty_database(postgres)),
                "AGENTGATE_REDIS_URL": redis.url,
            }
            processes = tuple(stack.enter_context(serving(folder / name, **common)) for name in ("one", "two"))
        yield Servers(processes, stack)


def test_every_worker_obeys_a_change_within_a_second(servers: Servers) -> None:
    site = Site(servers, "site_shop", [{"method": "GET", "path": "/login", "action": "login"}])
    site.wait_until(lambda answer: _said(answer) == (401, "receipt_required"))
    servers.call("PATCH", site.path, 200, {"mode": "monitor"})
    site.wait_until(lambda answer: _said(answer) == (204, "monitor"))
    servers.call("PATCH", site.path, 200, {"mode": "enforce", "routes": []})
    # Enforcing again, the rules decide about a client that sends no headers itself.
    site.wait_until(lambda answer: _said(answer)[1] not in {"monitor", "receipt_required"})
    servers.call("PUT", f"{site.path}/rules", 200, {"ruleSet": BLOCK_ALL, "revision": 0})
    site.wait_until(lambda answer: _said(answer) == (403, "policy"))
    servers.call("POST", f"{site.path}/credentials/{site.credential}/revoke", 200)
    site.wait_until(lambda answer: _said(answer) == (403, "invalid_credential"))


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_signature_is_accepted_once_by_all_workers_and_a_read_once_by_each_server(
    servers: Servers, method: str
) -> None:
    machines = len(servers.processes) if method == "GET" else 1
    site = Site(servers, f"site_nonce_{method.lower()}", [])
    site.set_policy()
    site.wait_until(lambda answer: _said(answer) == (204, "allowed"), sign={})

    for _ in range(3):
        answers = site.signed(method, times=CONNECTIONS)
        assert [answer.status for answer in answers].count(204) == machines
        assert {_said(answer) for answer in answers[machines:]} == {(403, "agent_signature_invalid")}


def test_a_read_without_its_method_in_the_signature_is_accepted_once_by_all_servers(servers: Servers) -> None:
    site = Site(servers, "site_no_method", [])
    site.set_policy()
    site.wait_until(lambda answer: _said(answer) == (204, "allowed"), sign={})

    answers = site.signed("GET", times=CONNECTIONS, cover=[name for name in COVERED if name != "@method"])

    assert [answer.status for answer in answers].count(204) == 1


REVOCATIONS = 15


def revoke_and_ask(site: Site, servers: Servers) -> tuple[float, list[tuple[int, str]]]:
    """Revoke a secret; return how long that took, and the result on every connection right after it."""
    made = servers.call("POST", f"{site.path}/credentials", 201, {"name": "other"})
    # Both workers know it.
    site._headers["Authorization"] = f"Bearer {made['secret']}"
    site.wait_until(lambda answer: _said(answer) == (401, "receipt_required"))
    started_s = time.monotonic()
    servers.call("POST", f"{site.path}/credentials/{made['credential']['id']}/revoke", 200)
    took_s = time.monotonic() - started_s
    return took_s, [_said(site._ask(gate, None)) for gate in servers.gates]


def test_once_a_revocation_is_handled_no_worker_of_the_machine_accepts_the_secret(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        (process,) = stack.enter_context(two_workers(tmp_path))
        servers = Servers((process,), stack)
        site = Site(servers, "site_shop", [{"method": "GET", "path": "/login", "action": "login"}])

        told = [said for _ in range(REVOCATIONS) for said in revoke_and_ask(site, servers)[1]]

        assert set(told) == {(403, "invalid_credential")}


def test_a_revocation_hangs_neither_on_a_hung_nor_on_a_dead_worker(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        (process,) = stack.enter_context(two_workers(tmp_path))
        with one_connection_each(process) as (first, second):
            first.call("POST", "/v1/admin/sites", {"name": "Shop", "siteKey": "site_shop"})
            made = [first.call("POST", "/v1/admin/sites/site_shop/credentials").body for _ in range(2)]
            started = {event["worker"]: event["pid"] for event in process.wait_for_events("worker started", 2)}
            other = started[int(worker_of(second).removeprefix("worker-"))]
            paths = [f"/v1/admin/sites/site_shop/credentials/{each['credential']['id']}/revoke" for each in made]
            os.kill(other, signal.SIGSTOP)
            try:
                hung_s, hung = timed(lambda: first.call("POST", paths[0]).status)
            finally:
                os.kill(other, signal.SIGKILL)
            dead_s, dead = timed(lambda: first.call("POST", paths[1]).status)

        assert (hung, dead) == (200, 200)
        assert hung_s < TIMEOUT_S + 2
        assert dead_s < hung_s


def timed(call: Callable[[], int]) -> tuple[float, int]:
    started_s = time.monotonic()
    status = call()
    return time.monotonic() - started_s, status


def test_every_worker_obeys_a_changed_agent_policy_within_a_second(servers: Servers) -> None:
    site = Site(servers, "site_agents", [])
    site.set_policy()
    site.wait_until(lambda answer: _said(answer) == (204, "allowed"), sign={})
    site.set_policy(decision="deny")
    site.wait_until(lambda answer: _said(answer) == (403, "agent_denied"), sign={})
    for price in ("USD 0.05", "USD 0.07"):
        site.set_policy(price=price)
        site.wait_until(lambda answer, price=price: answer.headers["crawler-price"] == price, sign={})
    offer = {"crawler-max-price": "USD 0.10"}
    site.wait_until(lambda answer: answer.headers["crawler-charged"] == "USD 0.07", sign=offer)
    # More than one came from this agent within the minute.
    site.set_policy(quotaPerMinute=1)
    site.wait_until(lambda answer: _said(answer) == (403, "rate_limited"), sign={})
    site.set_policy()
    site.wait_until(lambda answer: _said(answer) == (204, "allowed"), sign={})


def test_parts_without_a_page_are_few_over_all_workers_and_a_page_pays_at_each(tmp_path: Path) -> None:
    person = next(iter(population(31, 1, pages=1, mix=(("Chrome", "Windows", 1.0),))))
    picture = person.part("image", "/picture/1")
    with contextlib.ExitStack() as stack:
        (process,) = stack.enter_context(two_workers(tmp_path))
        site = Site(Servers((process,), stack), "site_parts", [])

        without = site.statuses("81.2.69.1", picture, 60)
        page = site.statuses("81.2.69.2", person.first_navigation(), 1)
        with_page = site.statuses("81.2.69.2", picture, 100)

    # Each worker allows as many.
    assert FREE_PARTS_PER_MINUTE <= without.count(204) <= 2 * FREE_PARTS_PER_MINUTE
    assert (page, set(with_page)) == ([204], {204})


RATE_RULE = {
    "name": "slow",
    "match": {"paths": ["/slow"]},
    "action": "block",
    "rate": {"by": "visitor", "more_than": 100, "within": 300},
}


def test_the_rate_of_a_rule_holds_for_all_workers_together(servers: Servers) -> None:
    site = Site(servers, "site_slow", [])
    rule_set = {"version": "1", "rules": [RATE_RULE], "default_action": "allow"}
    servers.call("PUT", f"{site.path}/rules", 200, {"ruleSet": rule_set, "revision": 0})
    site.wait_until(lambda answer: _said(answer) == (204, "allowed"))
    headers = site._headers | {"X-Original-URL": "https://shop.example/slow", "X-Original-Address": "203.0.113.99"}
    started_s, statuses = time.monotonic(), []
    for number, gate in enumerate(itertools.islice(itertools.cycle(servers.gates), 150)):
        time.sleep(max(0.0, started_s + number * 0.08 - time.monotonic()))
        statuses.append(gate.call("GET", "/v1/gateway/check", **headers).status)

    assert 100 <= statuses.count(204) <= 105
    assert set(statuses) == {204, 403}
