"""Two gateways of which one has warm caches."""

import random
import re
from inspect import isawaitable
from typing import Any, NamedTuple

import httptools
from msgspec.structs import replace

from agentgate.agents.policy_checker import AgentPolicyChecker
from agentgate.browser_check.tokens.clearance import ClearanceHolder, Clearances
from agentgate.decision.decider import Decider
from agentgate.decision.rates.windows import RateWindows
from agentgate.decision.scoring.models import ModelDirectory
from agentgate.decision.scoring.score import ModelView
from agentgate.decision.visitor import Visitors
from agentgate.events.decision_ids import DecisionIds
from agentgate.events.recorder import Recorder
from agentgate.events.records import Event, Repeated
from agentgate.gateway.block_feed.feed import BlockFeed
from agentgate.gateway.check import GatewayCheck
from agentgate.gateway.decoys.touched import Decoys
from agentgate.gateway.event_log import GatewayEventLog
from agentgate.gateway.receipts import Receipts
from agentgate.gateway.snapshot import Snapshot
from agentgate.http.connection.fast_functions import HotReply, HotRequest, encode_reply
from agentgate.http.request_guard import judge_head
from agentgate.lib.enums import ClearanceLevel, ModelKind
from agentgate.lib.tasks.background import BackgroundTasks
from agentgate.server.application import Application
from agentgate.sites.credentials.uses import CredentialUses
from tests.api.public.request_rules import change_list, new_rules
from tests.support.gateway import ORIGIN, VISITOR, Gate
from tests.support.service import RunningService
from tests.unit.decision.scoring.made_models import forest, parsed

DECISION_ID = re.compile(rb"dec_[0-9a-z]{13}")
NONCE = re.compile(rb'(?<=;nonce=")[\w-]+')

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
    """Bytes that a proxy sends, and the address of the visitor in them."""

    data: bytes
    address: str


class Side:
    """A gate with its own counters and event queue, over the sites, keys and models of the service."""

    def __init__(
        self,
        application: Application,
        models: ModelDirectory,
        policy_checker: AgentPolicyChecker | None = None,
        *,
        rates: RateWindows | None = None,
        worker: int = 1,
    ) -> None:
        refresher, stores = application.refresher, application.stores
        self.recorder = Recorder(stores.events)
        background = BackgroundTasks()
        decider = Decider(
            models=models,
            intel=refresher.intel,
            rates=rates or RateWindows(),
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
                self.recorder,
                DecisionIds(application.clock, worker),
                CredentialUses(stores.store, background),
                suggestions=application.gateway.suggestions,
                block_feed=BlockFeed(stores.shared_cache, application.clock, refresher.intel),
                decoys=Decoys(stores.shared_cache, application.clock),
            ),
            clock=application.clock,
            policy_checker=policy_checker or application.agents.policy_checker,
        )
        self.cached = 0

    async def ask(self, data: bytes, *, cached: bool = True) -> tuple[bytes | None, list[Event]]:
        """Return the bytes of the response and the recorded events: from the caches, or parsed and without caches."""
        gate = self.gate
        decisions = gate._snapshot.decisions
        known = len(decisions)
        # Each request has an event-loop iteration to itself.
        gate.budget.is_refreshed = False
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
        return NONCE.sub(b"", DECISION_ID.sub(b"dec_", written)), events


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
            holder = ClearanceHolder(address, AGENTS[0].encode())
            made = [
                self.side.clearances.issue(
                    site_key=self.gate.site_key, origin=ORIGIN, holder=holder, level=level, now_ms=now_ms
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
