"""Cached or not, as it arrived or parsed: a check is answered and recorded the same, whatever changed meanwhile."""

import random
import re
from inspect import isawaitable
from pathlib import Path
from typing import Any, NamedTuple

import httptools
import pytest
from msgspec.structs import replace

from agentgate.events.recorder import Recorder
from agentgate.events.records import Event, Repeated
from agentgate.http.connection.fast_functions import HotReply, HotRequest, encode_reply
from agentgate.http.request_guard import judge_head
from agentgate.lib.decision_ids import DecisionIds
from agentgate.lib.enums import ClearanceLevel, ModelKind
from agentgate.lib.keyring import load_keys, rotate_key
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE
from agentgate.lib.tasks.background import BackgroundTasks
from agentgate.lib.visitor_ids import write_visitor
from agentgate.protection.agents.policy_checker import AgentPolicyChecker
from agentgate.protection.decision.decider import Decider
from agentgate.protection.decision.visitor import Visitors
from agentgate.protection.gateway.check import GatewayCheck
from agentgate.protection.gateway.event_log import GatewayEventLog
from agentgate.protection.gateway.receipts import Receipts
from agentgate.protection.gateway.snapshot import Snapshot
from agentgate.protection.scoring.models import ModelDirectory
from agentgate.protection.scoring.score import ModelView
from agentgate.protection.signals.rates import RateWindows
from agentgate.protection.threat_data.imports import import_folder
from agentgate.protection.threat_data.intel_file import FILE_NAME, write_set
from agentgate.protection.tokens.clearance import Clearances
from agentgate.protection.tokens.uses import CredentialUses
from agentgate.server.application import Application
from tests.api.public.request_rules import change_list, new_rules
from tests.api.public.test_gateway import ORIGIN, VISITOR, Gate
from tests.support.service import RunningService
from tests.unit.protection.scoring.made_models import forest, parsed

DECISION_ID = re.compile(rb"dec_[0-9a-z]{13}")
OTHER_ORIGIN = "https://other.example"
PATHS = ("/", "/api/x", "/find", "/login", "/LOGIN", "/api/%2e%2e/login", "/a?b=c", "/" + "x" * 200, "/%zz", "/upload")
URLS = [ORIGIN + path for path in PATHS] + [f"{OTHER_ORIGIN}/login", f"{ORIGIN}/a b", "no url", f"{ORIGIN}/login\x7f"]
AGENTS = (
    VISITOR["User-Agent"],
    "curl/8.5.0",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)",
)
ADDRESSES = [f"203.0.113.{number}" for number in range(3)] + ["2001:db8::7"]
# So many that their lines are among those that change.
MANY_AGENTS = [f"curl/8.{number}" for number in range(40)] + [f"Chrome/{number}" for number in range(40)]
MANY_METHODS = [f"M{number}" for number in range(70)]
MORE = ("X-HTTP-Method-Override: POST", "Signature: x", "X-AgentGate-Token: nonsense")
ROUNDS, REQUESTS = 14, 280


def models_of(*kinds: str) -> ModelDirectory:
    """Return models that look at a figure and a label, or at a label alone."""
    models = ModelDirectory()
    features = ["target_length", "ua.browser"] if "figures" in kinds else ["ua.browser"]
    stumps = [
        {
            "feature": [place, -1, -1],
            "threshold": [threshold, 0, 0],
            "left": [1, -1, -1],
            "right": [2, -1, -1],
            "value": [0, 0.3, -0.4],
        }
        for place, threshold in enumerate((6.5, 0.5) if len(features) > 1 else (0.5,))
    ]
    models._view = ModelView({ModelKind.BOT: parsed(forest(features=features, trees=stumps))}, {})
    return models


class Sent(NamedTuple):
    """What a proxy sends, and whose address is in it."""

    data: bytes
    address: str


class Side:
    """A gate with counters and a queue of events of its own, over the sites, keys and models of the service."""

    def __init__(
        self, application: Application, models: ModelDirectory, policy_checker: AgentPolicyChecker | None = None
    ) -> None:
        refresher, stores = application.refresher, application.stores
        self.recorder = Recorder(stores.events)
        background = BackgroundTasks()
        decider = Decider(
            models=models,
            intel=refresher.intel,
            rates=RateWindows(),
            visitors=Visitors(application.keyring),
        )
        self.visitors = decider.visitors
        self.clearances = Clearances(application.keyring, 3600, issuer="https://gate.example")
        self.gate = GatewayCheck(
            refresher.sites,
            decider=decider,
            receipts=Receipts(
                application.signing_keys, self.clearances, stores.redemptions, keyring=application.keyring
            ),
            event_log=GatewayEventLog(
                self.recorder, DecisionIds(application.clock, 1), CredentialUses(stores.store, background)
            ),
            clock=application.clock,
            policy_checker=policy_checker or application.data_plane.agent_policy_checker,
        )
        self.cached = 0

    async def ask(self, data: bytes, *, cached: bool = True) -> tuple[bytes | None, list[Event]]:
        """Return the bytes of the answer, and what was recorded: from the caches, or parsed and with nothing cached."""
        gate = self.gate
        decisions = gate._snapshot.decisions
        known = len(decisions)
        if cached:
            answer: Any = gate.take(data)
        else:
            gate._take(Snapshot(gate._snapshot.intel, gate._snapshot.models, gate._receipts.keyring))
            answer = None
        if answer is None:
            fields = parsed_fields(data)
            if fields is None:
                return None, []
            _, _, query = data[4 : data.index(b" ", 4)].partition(b"?")
            answer = gate(HotRequest(b"GET", b"/v1/gateway/check", query, fields, None))
        reply = await answer if isawaitable(answer) else answer
        if isinstance(reply, tuple):
            self.cached += gate._snapshot.decisions is decisions and known == len(decisions)
            written = b"date: now\r\n".join(reply)
        else:
            assert isinstance(reply, HotReply)
            written = encode_reply(reply, b"date: now\r\n", with_body=True, keep_alive=True)
        recorded = [event.whole() if isinstance(event, Repeated) else event for event in self.recorder._queue]
        events = [replace(event, id=0, duration_us=0) for event in recorded]
        self.recorder._queue.clear()
        return DECISION_ID.sub(b"dec_", written), events


def parsed_fields(data: bytes) -> dict[bytes, bytes] | None:
    """Return the headers as the parser and the guard would pass them on; None where they would not."""
    fields: dict[bytes, bytes] = {}

    class Target:
        def on_header(self, name: bytes, value: bytes) -> None:
            name = name.lower()
            fields[name] = fields[name] + b", " + value if name in fields else value

    try:
        httptools.HttpRequestParser(Target()).feed_data(data)
    except httptools.HttpParserError:
        return None
    return None if judge_head(b"GET", b"/", version="1.1", fields=fields, repeated=()) else fields


class Proxy:
    """Makes requests that differ in one thing or another."""

    def __init__(self, gate: Gate, side: Side, seed: int) -> None:
        self.chance = random.Random(seed)
        self.gate = gate
        self.side = side
        self.secrets = [gate.secret, gate.secret, gate.secret, "ags_" + "x" * 40]
        self.cookies: dict[str, list[str]] = {}

    def clear(self, now_ms: int) -> None:
        """Give each address its clearances, as they are made now."""
        for address in ADDRESSES:
            visitor = write_visitor(self.side.visitors.find(self.gate.site_key, address))
            made = [
                self.side.clearances.issue(
                    site_key=self.gate.site_key, origin=ORIGIN, visitor=visitor, level=level, now_ms=now_ms
                )
                for level in (ClearanceLevel.CHECKED, ClearanceLevel.LOW)
            ]
            self.cookies[address] = ["", "a=b", *(f"a=b; {each.name}={each.value}; c=d" for each in made)]

    def request(self) -> Sent:
        """Return a request; most are like one that was sent before."""
        chance = self.chance
        address = chance.choice(ADDRESSES)
        whose = address if chance.random() < 0.95 else chance.choice(ADDRESSES)
        agent = AGENTS[0] if chance.random() < 0.7 else chance.choice((*AGENTS, chance.choice(MANY_AGENTS)))
        method = chance.choice(("GET", "POST")) if chance.random() < 0.95 else chance.choice(MANY_METHODS)
        cookie = chance.choice(self.cookies[whose])
        lines = [
            f"GET /v1/gateway/check{chance.choice(('', '', '?ok=200'))} HTTP/1.1",
            f"Authorization: Bearer {chance.choice(self.secrets)}",
            f"X-Original-Method: {method}",
            f"X-Original-URL: {chance.choice(URLS)}",
            f"X-Original-Address: {address}",
            "Host: gate.example",
            *(f"{name}: {value}" for name, value in {**VISITOR, "User-Agent": agent}.items()),
            *([f"Cookie: {cookie}"] if cookie else []),
            f"Referer: {ORIGIN}/{'x' if chance.random() < 0.9 else chr(0x7F)}",
            *([chance.choice(MORE)] if chance.random() < 0.25 else []),
            *([f"X-Probe: {chance.choice(('abc', 'b'))}"] if chance.random() < 0.2 else []),
        ]
        return Sent(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"), address)


@pytest.fixture
def gate(service: RunningService) -> Gate:
    return Gate(service)


def change_something(service: RunningService, gate: Gate, chance: random.Random) -> None:
    """Change the mode, the routes' actions, the rules or the credential, and wait until it is obeyed."""
    site = f"/v1/admin/sites/{gate.site_key}"
    what = chance.randrange(5)
    if what == 0:
        done = service.operator.patch(site, json={"mode": chance.choice(("monitor", "enforce"))})
    elif what == 1:
        actions = {
            "login": {"browserRequired": chance.random() < 0.7, "clearance": chance.random() < 0.7},
            "search": {"browserRequired": chance.random() < 0.3, "clearance": True},
            "upload": {"browserRequired": True},
        }
        routes = [
            {"method": "POST", "path": "/login", "action": "login"},
            {"method": "GET", "pathPrefix": "/api/", "action": "search"},
            {"method": "GET", "path": "/find", "action": "search"},
        ]
        done = service.operator.patch(site, json={"actions": actions, "routes": routes})
    elif what == 2:
        change_list(service, gate.site_key, ADDRESSES, chance)
        return
    else:
        revision = service.operator.get(f"{site}/rules").json()["revision"]
        label = chance.choice(("receipt.clearance", "ua.browser", "ua.http_library", "rate.visitor.high", "list.block"))
        action = chance.choice(("block", "challenge", "allow"))
        rules = [{"name": "r", "match": {"all_labels": [label]}, "action": action}]
        if what == 3:
            rules = [*new_rules(chance), *rules]
        rule_set = {"version": "1", "default_action": "allow", "rules": rules}
        done = service.operator.put(f"{site}/rules", json={"ruleSet": rule_set, "revision": revision})
    assert done.status_code == 200, done.text
    service.run(service.application.refresher.sites.await_refresh())


def test_a_cached_check_is_answered_as_one_that_nothing_is_cached_for(
    service: RunningService, gate: Gate, tmp_path_factory: pytest.TempPathFactory
) -> None:
    application, clock = service.application, service.clock
    # One of the addresses is not like the others.
    block_addresses(application, tmp_path_factory.mktemp("lists"), f"{ADDRESSES[0]}/32")
    models = ModelDirectory()
    views = [models.view, models_of().view, models_of("figures").view]
    known, strange = Side(application, models), Side(application, models)
    proxy = Proxy(gate, known, 1)
    answers = set()

    async def compare() -> None:
        for _ in range(REQUESTS):
            sent = proxy.request()
            found = await known.ask(sent.data)
            expected = await strange.ask(sent.data, cached=False)
            assert found == expected, sent.data
            answers.add(found[0])
            clock.advance(ms=proxy.chance.choice((1, 5, 300)))
            is_late = proxy.chance.random() < 0.03
            for side in (known, strange):
                side.gate.budget._end()
                side.gate.budget.is_refusing = is_late

    for _ in range(ROUNDS):
        # They expire after an hour, in half of the rounds.
        proxy.clear(clock.now_ms())
        change_something(service, gate, proxy.chance)
        models._view = proxy.chance.choice(views)
        service.run(compare())
        clock.advance(seconds=proxy.chance.choice((1, 3_700)))
        service.run(compare())

    assert known.cached > ROUNDS * REQUESTS // 8
    assert len(answers) > 8


def plain_request(gate: Gate, cookie: str, path: str = "/login") -> bytes:
    """Return the check of a visitor who wants to log in."""
    lines = [
        "GET /v1/gateway/check HTTP/1.1",
        f"Authorization: Bearer {gate.secret}",
        "X-Original-Method: POST",
        f"X-Original-URL: {ORIGIN}{path}",
        f"X-Original-Address: {ADDRESSES[0]}",
        "Host: gate.example",
        *(f"{name}: {value}" for name, value in VISITOR.items()),
        f"Cookie: {cookie}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def test_a_cached_decision_does_not_outlive_the_rate_limit(service: RunningService, gate: Gate) -> None:
    side = Side(service.application, models_of())
    answers = []

    async def ask_often() -> None:
        for _ in range(GATEWAY_REQUESTS_PER_MINUTE + 2):
            answers.append((await side.ask(plain_request(gate, "a=b", "/")))[0])
            side.gate.budget._end()

    service.run(ask_often())

    assert side.cached > GATEWAY_REQUESTS_PER_MINUTE - 5
    limited = [b"x-service-reason: rate_limited" in answer for answer in answers]
    assert limited == [False] * GATEWAY_REQUESTS_PER_MINUTE + [True] * 2


@pytest.mark.parametrize("mode", ["enforce", "monitor"])
def test_whatever_goes_wrong_enforce_mode_fails_closed_and_monitor_mode_lets_through(
    service: RunningService, gate: Gate, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    service.operator.patch(f"/v1/admin/sites/{gate.site_key}", json={"mode": mode})
    service.run(service.application.refresher.sites.await_refresh())
    side = Side(service.application, models_of())

    def break_down(*_: object) -> None:
        raise RuntimeError("nobody is shown this")

    monkeypatch.setattr(side.gate._pages, "read", break_down)
    answer = service.run(side.ask(plain_request(gate, "a=b", "/another")))[0] or b""
    assert answer.startswith(b"HTTP/1.1 204" if mode == "monitor" else b"HTTP/1.1 503")
    assert b"nobody is shown this" not in answer
    assert "a check could not be decided" in service.log.getvalue()


@pytest.mark.parametrize("purpose", ["visitor", "clearance"])
def test_nothing_that_was_cached_outlives_a_rotated_key(service: RunningService, gate: Gate, purpose: str) -> None:
    side, application = Side(service.application, models_of()), service.application
    proxy = Proxy(gate, side, 3)
    proxy.clear(service.clock.now_ms())
    data = plain_request(gate, proxy.cookies[ADDRESSES[0]][2])

    async def ask() -> bytes:
        return (await side.ask(data))[0] or b""

    async def read_keys() -> None:
        application.keyring.replace(
            await load_keys(application.stores.store, application.sealer, service.clock.now_ms()),
            service.clock.now_ms(),
        )

    for _ in range(4):
        assert b"x-service-decision: allow" in service.run(ask())
    # The same keys, read anew.
    service.run(read_keys())
    assert b"x-service-decision: allow" in service.run(ask())
    seen = side.cached
    assert seen == 4

    service.run(rotate_key(application.stores.store, application.sealer, purpose, service.clock.now_ms()))
    service.clock.advance(seconds=600)
    service.run(read_keys())

    answer = service.run(ask())
    assert side.cached == seen
    assert answer == service.run(Side(application, models_of()).ask(data, cached=False))[0]
    # Of a clearance the old key is good for a while; a visitor is somebody else at once.
    assert (b"x-service-decision: allow" in answer) is (purpose == "clearance")


def block_addresses(application: Application, folder: Path, network: str = "203.0.113.0/24") -> None:
    """Let the threat data say from now on that addresses are blocked."""
    (folder / "block.txt").write_text(f"{network}\n")
    intel = application.refresher.intel
    assert intel._folder is not None
    intel._folder.mkdir(exist_ok=True)
    write_set(intel._folder / FILE_NAME, import_folder(folder, now_ms=1)[0])
    assert intel.refresh()


def test_nothing_that_was_cached_outlives_the_threat_data(
    service: RunningService, gate: Gate, tmp_path_factory: pytest.TempPathFactory
) -> None:
    side = Side(service.application, models_of())

    def labels() -> tuple[str, ...]:
        side.gate.budget._end()
        return service.run(side.ask(plain_request(gate, "a=b", "/")))[1][0].labels

    assert all("list.block" not in labels() for _ in range(4))
    seen = side.cached
    assert seen > 0

    block_addresses(service.application, tmp_path_factory.mktemp("lists"))

    assert "list.block" in labels()
    assert side.cached == seen
