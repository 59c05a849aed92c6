"""`agentgate mcp` with a real service: as the protocol words it, and with a real client library where there is one."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentgate.lib.settings.schema import Settings, read_settings
from tests.cli.commands import command, environment
from tests.support.cast import Cast, cast
from tests.support.service import ADMIN_KEY, RunningService

RULES = {
    "version": "1",
    "rules": [{"name": "no-tor", "match": {"any_labels": ["net.tor"]}, "action": "block"}],
    "default_action": "allow",
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return settings for one store: the tests of the console API run on both."""
    return read_settings(
        {
            "AGENTGATE_DATA_DIR": str(tmp_path / "data"),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
        }
    )


@pytest.fixture
def people(service: RunningService) -> Cast:
    return cast(service)


@pytest.fixture
def site(people: Cast) -> str:
    """Return the key of a site of Alice's."""
    made = people.alice.post("/v1/console/sites", json={"name": "Shop", "allowedOrigins": ["https://a.example"]})
    assert made.status_code == 201, made.text
    return str(made.json()["siteKey"])


@pytest.fixture
def start(people: Cast, service: RunningService, tmp_path: Path) -> Any:
    """Return command and environment of a server with a token that may change rules."""
    scopes = ["sites:read", "sites:write", "analytics:read"]
    secret = people.alice.post("/v1/console/tokens", json={"name": "MCP", "scopes": scopes}).json()["secret"]
    return command("mcp", "--url", service.public_url), environment(tmp_path, AGENTGATE_API_TOKEN=secret)


class Session:
    """A client that writes lines and reads lines."""

    def __init__(self, process: subprocess.Popen[str], *, can_ask: bool) -> None:
        self._process = process
        self._number = 0
        capabilities: dict[str, Any] = {"elicitation": {}} if can_ask else {}
        self.opened = self.call("initialize", protocolVersion="2025-06-18", capabilities=capabilities)
        self.write({"method": "notifications/initialized"})

    def write(self, message: dict[str, Any]) -> None:
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def read(self) -> dict[str, Any]:
        return json.loads(self._process.stdout.readline())

    def begin(self, method: str, **params: Any) -> None:
        self._number += 1
        self.write({"id": self._number, "method": method, "params": params})

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.begin(method, **params)
        return self.read()

    def tool(self, name: str, **arguments: Any) -> Any:
        result = self.call("tools/call", name=name, arguments=arguments)["result"]
        [content] = result["content"]
        return content["text"] if result["isError"] else json.loads(content["text"])


@contextmanager
def session(start: Any, *, can_ask: bool = False) -> Iterator[Session]:
    line, variables = start
    with subprocess.Popen(line, env=variables, stdin=-1, stdout=-1, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Session(process, can_ask=can_ask)
        finally:
            process.stdin.close()
            process.wait(30)


def revision(people: Cast, site: str) -> int:
    return people.alice.get(f"/v1/console/sites/{site}/rules").json()["revision"]


def test_a_client_reads_drafts_and_tries_and_nothing_changes(start: Any, site: str, people: Cast) -> None:
    before = revision(people, site)
    with session(start) as client:
        tools = {tool["name"]: tool for tool in client.call("tools/list")["result"]["tools"]}
        sites = client.tool("list_sites")
        analytics = client.tool("read_analytics", siteKey=site)
        decisions = client.tool("list_decisions", siteKey=site, outcome="block")
        checked = client.tool("check_rules", siteKey=site, ruleSet=RULES)
        tried = client.tool("backtest_rules", siteKey=site, ruleSet=RULES)

    assert client.opened["result"]["protocolVersion"] == "2025-06-18"
    assert [name for name, tool in tools.items() if not tool["annotations"]["readOnlyHint"]] == ["push_rules"]
    assert site in json.dumps(sites)
    assert "gateway" in analytics
    assert decisions["items"] == []
    assert checked["valid"] is True
    assert tried["changed"] == 0
    assert revision(people, site) == before


@pytest.mark.parametrize(
    "answer",
    [
        {"result": {"action": "decline"}},
        {"result": {"action": "cancel"}},
        {"result": {"action": "accept", "content": {"yes": False}}},
        {"result": {"action": "accept", "content": {"yes": "true"}}},
        {"result": {"action": "accept"}},
        {"error": {"code": -1, "message": "no"}},
    ],
)
def test_without_a_clear_yes_nothing_changes(start: Any, site: str, people: Cast, answer: dict[str, Any]) -> None:
    before = revision(people, site)
    with session(start, can_ask=True) as client:
        client.begin("tools/call", name="push_rules", arguments={"siteKey": site, "ruleSet": RULES, "reason": "Tor"})
        asked = client.read()
        client.write({"id": asked["id"], **answer})
        told = json.loads(client.read()["result"]["content"][0]["text"])

    assert asked["method"] == "elicitation/create"
    assert site in asked["params"]["message"]
    assert told == {"changed": False, "why": "The user declined."}
    assert revision(people, site) == before


@pytest.mark.parametrize(("second", "is_saved"), [(True, True), (False, False)])
def test_rules_with_a_warning_need_a_second_yes(
    start: Any, site: str, people: Cast, second: bool, is_saved: bool
) -> None:
    before = revision(people, site)
    rules = {**RULES, "rules": [{"name": "old", "match": {"rate": 5}, "action": "block"}]}
    with session(start, can_ask=True) as client:
        client.begin("tools/call", name="push_rules", arguments={"siteKey": site, "ruleSet": rules})
        questions = []
        for answer in (True, second):
            asked = client.read()
            questions.append(asked["params"]["message"])
            client.write({"id": asked["id"], "result": {"action": "accept", "content": {"yes": answer}}})
        told = json.loads(client.read()["result"]["content"][0]["text"])

    assert "rate is not a condition" in questions[1]
    assert told["changed"] is is_saved
    assert revision(people, site) == before + is_saved


def test_a_yes_puts_the_rules_active_and_other_calls_wait_in_between(start: Any, site: str, people: Cast) -> None:
    with session(start, can_ask=True) as client:
        client.begin("tools/call", name="push_rules", arguments={"siteKey": site, "ruleSet": RULES})
        asked = client.read()
        client.begin("ping")
        client.write({"id": asked["id"], "result": {"action": "accept", "content": {"yes": True}}})
        told = json.loads(client.read()["result"]["content"][0]["text"])
        pong = client.read()

    assert told == {"changed": True, "revision": revision(people, site)}
    assert pong["result"] == {}
    assert people.alice.get(f"/v1/console/sites/{site}/rules").json()["ruleSet"]["rules"][0]["name"] == "no-tor"


def test_a_client_that_cannot_ask_changes_nothing_and_is_reported_the_command(
    start: Any, site: str, people: Cast
) -> None:
    before = revision(people, site)
    with session(start) as client:
        told = client.tool("push_rules", siteKey=site, ruleSet=RULES)
        wrong = client.tool("push_rules", siteKey=site)
        foreign = client.tool("read_rules", siteKey="site_unknown")
        gone = client.call("tools/call", name="delete_site", arguments={})

    assert "agentgate rules push" in told
    assert wrong.startswith("Missing: ruleSet")
    assert foreign.startswith("404 site_not_found")
    assert gone["error"]["code"] == -32602
    assert revision(people, site) == before


def test_the_client_library_of_the_protocol_works_with_it(start: Any, site: str, people: Cast) -> None:
    library = pytest.importorskip("mcp")
    types = pytest.importorskip("mcp.types")
    line, variables = start
    questions: list[str] = []

    async def answer(context: Any, asked: Any) -> Any:
        questions.append(asked.message)
        return types.ElicitResult(action="accept", content={"yes": True})

    async def work() -> tuple[list[str], Any, Any]:
        server = library.StdioServerParameters(command=line[0], args=line[1:], env=variables)
        async with (
            library.stdio_client(server) as (read, write),
            library.ClientSession(read, write, elicitation_callback=answer) as client,
        ):
            await client.initialize()
            tools = await client.list_tools()
            sites = await client.call_tool("list_sites", {})
            pushed = await client.call_tool("push_rules", {"siteKey": site, "ruleSet": RULES})
            return [tool.name for tool in tools.tools], sites, pushed

    names, sites, pushed = asyncio.run(work())

    assert "explain_decision" in names
    assert site in sites.content[0].text
    assert json.loads(pushed.content[0].text)["changed"] is True
    assert len(questions) == 1
