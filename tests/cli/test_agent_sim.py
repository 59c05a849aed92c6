"""`agentgate agent-sim` against a running service and sites with policies, right ones and wrong ones."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from tests.cli.commands import agentgate
from tests.support.browser_client import create_site
from tests.support.service import ADMIN_KEY, running_service

PAGE = "https://shop.example/news"


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    environ = {
        "AGENTGATE_DATA_DIR": str(tmp_path_factory.mktemp("data")),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
    }
    with running_service(read_settings(environ), SystemClock()) as running:
        yield running


class Site:
    """A site with a policy, and the simulator in a separate folder."""

    def __init__(self, running, folder, policy, *, mode="enforce", listed=True):
        self.running = running
        self.folder = folder
        self.key = create_site(
            running,
            mode=mode,
            actions={"contact": {"browserRequired": False}, "read": {"browserRequired": False}},
            routes=[{"method": "GET", "path": "/news", "action": "read"}],
        )
        admin = running.operator
        made = admin.post(f"/v1/admin/sites/{self.key}/credentials", json={"name": "sim"})
        (folder / "secret").write_text(made.json()["secret"] + "\n")
        # A first run generates the key and prints the required policy.
        first = agentgate(folder, "agent-sim", running.public_url, "--submit", f"{self.key}/contact", "--json")
        agents = json.loads(first.stdout)["policy"]["agents"] if listed else {}
        for entry in agents.values():
            entry.update(policy.pop("entry", {}))
        policy = {**policy, "agents": agents}
        reply = admin.put(f"/v1/admin/sites/{self.key}/agent-policy", json=policy)
        assert reply.status_code == 200, reply.text
        (folder / "policy.json").write_text(json.dumps(policy))
        running.run(running.application.refresher.refresh())

    def simulate(self, *arguments):
        result = agentgate(self.folder, "agent-sim", self.running.public_url, *arguments, "--json")
        assert result.returncode in {0, 1}, result.stderr
        told = json.loads(result.stdout)["results"]
        assert result.returncode == (0 if all(row["is_right"] for row in told) else 1)
        return {row["name"]: row for row in told}

    def submit(self):
        return self.simulate("--submit", f"{self.key}/contact", "--policy", "policy.json")

    def ask_gateway(self):
        return self.simulate("--site", f"{PAGE}#read", "--secret-file", "secret", "--policy", "policy.json")


def wrong(told):
    return [row for row in told.values() if not row["is_right"]]


PRICED = {"actions": {"contact": {"price": "USD 0.05"}, "read": {"price": "USD 0.01"}}}
POLICIES = {
    "allowed": ({}, True),
    "denied": ({"entry": {"decision": "deny"}}, True),
    "challenged": ({"entry": {"actions": {"contact": "challenge", "read": "challenge"}}}, True),
    "priced": (PRICED, True),
    "priced for it alone": ({"entry": {"price": "EUR 1.00"}}, True),
    "not listed": ({}, False),
    "not listed, block": ({"unverified": "block"}, False),
    "not listed, allow": ({"unverified": "allow"}, False),
}


@pytest.mark.parametrize("name", ["allowed", "denied", "priced", "not listed"])
def test_submissions_are_handled_as_in_the_policy(running, tmp_path, name):
    policy, listed = POLICIES[name]
    site = Site(running, tmp_path, dict(policy), listed=listed)

    told = site.submit()

    assert wrong(told) == []
    assert len(told) >= 11
    assert (told["submits, signed"]["answered"] == "accepted") is (name in {"allowed", "priced"})


@pytest.mark.parametrize("name", POLICIES)
def test_the_gateway_responds_as_in_the_policy(running, tmp_path, name):
    policy, listed = POLICIES[name]
    site = Site(running, tmp_path, dict(policy), listed=listed)

    told = site.ask_gateway()

    assert wrong(told) == []
    assert len(told) >= 25
    assert told["signs the digest of another body"]["expected"] != "accepted"


def test_in_monitor_mode_it_is_shown_what_would_have_been(running, tmp_path):
    site = Site(running, tmp_path, {}, mode="monitor")

    told = site.ask_gateway()

    assert wrong(told) == []
    assert {row["status"] for row in told.values()} == {204}
    assert told["expired an hour ago"]["answered"] == "would block"


def test_another_policy_than_was_reported_is_noticed(running, tmp_path):
    site = Site(running, tmp_path, {"entry": {"decision": "deny"}})

    assert next(row["name"] for row in wrong(site.simulate("--submit", f"{site.key}/contact"))) == "submits, signed"


@pytest.fixture
def open_door():
    """Start a site that allows every request, and record the requests."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.command, self.path, dict(self.headers)))
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        do_POST = do_GET  # noqa: N815 - the name the library looks for

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/page?a=b", seen
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_site_that_allows_everything_fails_every_bad_request(tmp_path, open_door):
    url, seen = open_door

    result = agentgate(tmp_path, "agent-sim", url)

    assert result.returncode == 1
    rows = [line.split()[0] for line in result.stdout.splitlines() if line.split()[:1] in (["right"], ["WRONG"])]
    # Only the cases that should be allowed are right: five good signatures and two of another kind.
    assert rows.count("right") == 7
    assert rows.count("WRONG") == len(rows) - 7 >= 15
    assert {path for _, path, _ in seen} == {"/page?a=b"}
    assert "with an unexpected response" in result.stdout
    assert '"jwks": {"keys": [{"kty": "OKP"' in result.stdout


def test_the_key_stays_the_same_and_is_for_its_owner_only(tmp_path, open_door):
    url, _ = open_door

    keys = [json.loads(agentgate(tmp_path, "agent-sim", url, "--json").stdout)["keyid"] for _ in range(2)]

    assert keys[0] == keys[1]
    assert (tmp_path / "agent-sim.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shop.example"], "is not the address of a page; give one such as https://shop.example/news"),
        (["http://127.0.0.1:9", "--submit", "site_demo1"], "--submit takes a site key and an action"),
        (["http://127.0.0.1:9", "--secret-file", "missing"], "give the page to simulate"),
        (["http://127.0.0.1:9", "--secret-file", "missing", "--site", PAGE], "missing cannot be read"),
        (["http://127.0.0.1:9/", "--policy", "missing"], "missing cannot be read"),
        (["http://127.0.0.1:9/", "--policy", "wrong"], "give the response of GET .../agent-policy"),
        (["http://127.0.0.1:9/"], "does not respond"),
    ],
)
def test_what_cannot_be_done_is_shown(tmp_path, arguments, message):
    (tmp_path / "wrong").write_text('{"no-such": 1}')

    result = agentgate(tmp_path, "agent-sim", *arguments)

    assert result.returncode == 2
    assert message in result.stderr


def test_a_wrong_secret_is_reported(running, tmp_path):
    (tmp_path / "secret").write_text("ags_" + "x" * 40)

    result = agentgate(tmp_path, "agent-sim", running.public_url, "--site", PAGE, "--secret-file", "secret")

    assert result.returncode == 2
    assert "check the secret and --site" in result.stderr
