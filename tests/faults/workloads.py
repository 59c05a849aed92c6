"""Clients that run during a fault: their actions, the responses, and the comparison afterwards."""

import collections
import itertools
import json
import random
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from agentgate.events.decision_ids import read_id
from agentgate.lib.clock import SystemClock
from tests.faults import checkers
from tests.faults.checkers import Check, Spend, Told
from tests.faults.console_writes import ConsoleWrites
from tests.faults.place import GONE, Node, Place
from tests.support.agent_client import SigningAgent
from tests.support.gateway import VISITOR
from tests.support.processes import AdminConnection, Answer
from tests.support.tokens import ORIGIN, mint

CLIENTS = 2
# As the installation issues them.
TOKEN_S = 3600
TOKENS_AT_ONCE = 20
PAUSE_S = 0.02
MOST_REPEATS = 60
SITEVERIFY, CHECK = "/v1/siteverify", "/v1/gateway/check"
PRICE = "USD 0.05"


class Workload(Protocol):
    """One kind of client: creates its data, works until it is stopped, and reports problems afterwards."""

    def __init__(self, place: Place) -> None: ...

    def step(self, node: Node, draw: random.Random) -> None:
        """Do one thing at a node and note the response. It may raise GONE."""

    def problems(self) -> list[str]:
        """Compare the responses with the current state."""

    def release(self) -> None:
        """Close the connections of this thread."""

    @property
    def acknowledged(self) -> int:
        """The number of acknowledged actions; a run with none has tested nothing."""


class Site:
    """A site that enforces, and a credential for it."""

    def __init__(self, place: Place, name: str, **more: Any) -> None:
        self.key = f"site_{name}"
        body = {
            "name": name,
            "siteKey": self.key,
            "mode": "enforce",
            "allowedOrigins": [ORIGIN],
            "actions": {"login": {"browserRequired": True}, "submit": {"browserRequired": False}},
            "routes": [{"method": "GET", "path": "/login", "action": "login"}],
            **more,
        }
        with place.nodes[0].admin() as admin:
            made = admin.call("POST", "/v1/admin/sites", body)
            assert made.status == 201, made
            self.id = made.body["id"]
            self.secret = self.new_secret(admin)

    def new_secret(self, admin: AdminConnection, *, revoke: bool = False) -> str:
        """Return the secret of a new credential, which works, or does so no more."""
        made = admin.call("POST", f"/v1/admin/sites/{self.key}/credentials", {"name": "gate"}).body
        if revoke:
            path = f"/v1/admin/sites/{self.key}/credentials/{made['credential']['id']}/revoke"
            assert admin.call("POST", path).status == 200
        return str(made["secret"])


class _Clients(threading.local):
    """The connections of a client thread, one for each node."""

    def __init__(self) -> None:
        self.open: dict[str, AdminConnection] = {}

    def reset(self) -> None:
        """Use connections of before no more: the fault, or the time without a question, has ended them."""
        for connection in self.open.values():
            connection.__exit__()
        self.open.clear()

    def ask(self, url: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request on the connection to this address; a connection that failed is not used again."""
        connection = self.open.setdefault(url, AdminConnection(url, {}))
        try:
            return connection.call(method, path, body, **headers)
        except BaseException:
            connection.__exit__()
            self.open.pop(url)
            raise


_numbers = itertools.count(1)


def _address() -> str:
    """Return an unused address: one visitor alone would soon be too fast for the rules.

    It is in a network of people's connections: browsers in data centers are challenged, with or without a fault.
    """
    number = next(_numbers)
    return f"86.{number % 250}.{number // 250 % 250}.{number // 62_500 % 250}"


class Gate:
    """A proxy that asks about requests of a site."""

    def __init__(self) -> None:
        self._clients = _Clients()
        self.reset = self._clients.reset

    def check(self, node: Node, secret: str, path: str = "/", **headers: str) -> Answer:
        """Ask about a request."""
        sent = {
            **VISITOR,
            "Authorization": f"Bearer {secret}",
            "X-Original-Method": "GET",
            "X-Original-URL": f"{ORIGIN}{path}",
            "X-Original-Address": _address(),
            **headers,
        }
        return self._clients.ask(node.public_url, "GET", CHECK, **sent)

    def redeem(self, node: Node, secret: str, token: str, request_id: str) -> tuple[int, bytes]:
        """Redeem a token; return status and body."""
        body = {"token": token, "expectedAction": "login", "secret": secret, "requestId": request_id}
        answer = self._clients.ask(node.public_url, "POST", SITEVERIFY, body)
        return answer.status, json.dumps(answer.body, sort_keys=True).encode()


class Checks:
    """Gateway checks, most of which must be blocked, whatever is broken."""

    def __init__(self, place: Place) -> None:
        self._place, self._gate, self._site = place, Gate(), Site(place, "checks")
        with place.nodes[0].admin() as admin:
            revoked = self._site.new_secret(admin, revoke=True)
        secret, token = self._site.secret, _token(place, self._site)
        # Every worker of every node has read the site by then.
        _until(lambda: all(self._gate.check(node, secret).status == 204 for node in place.nodes for _ in range(8)))
        assert self._gate.check(place.nodes[0], secret, "/login", **{"X-AgentGate-Token": token}).status == 204
        self._cases: dict[str, tuple[str, str, dict[str, str]]] = {
            "open page": (secret, "/", {}),
            "login without a token": (secret, "/login", {}),
            "forged token": (secret, "/login", {"X-AgentGate-Token": f"{token[:-9]}AAAAAAAAA"}),
            "spent token": (secret, "/login", {"X-AgentGate-Token": token}),
            "revoked secret": (revoked, "/", {}),
        }
        self.checks: list[Check] = []

    def step(self, node: Node, draw: random.Random) -> None:
        case = draw.choice(sorted(self._cases))
        others = [each for each in self._place.nodes if each is not node]
        for each in (node, *others):
            # As a proxy does: a check without a response from one node is sent to the next.
            try:
                self.checks.append(self._ask(each, case))
            except GONE:
                continue
            return
        raise ConnectionError("no node answers")

    def release(self) -> None:
        self._gate.reset()

    @property
    def acknowledged(self) -> int:
        return len(self.checks)

    def problems(self) -> list[str]:
        self._gate.reset()
        after = [self._ask(node, case) for node in self._place.nodes for case in self._cases]
        back = [] if self._place.is_put_back else checkers.is_back(after)
        return [*checkers.failed_open([*self.checks, *after]), *back]

    def _ask(self, node: Node, case: str) -> Check:
        secret, path, headers = self._cases[case]
        answer = self._gate.check(node, secret, path, **headers)
        reason = answer.headers["x-service-reason"] or ""
        return Check(case=case, must_refuse=case != "open page", status=answer.status, reason=reason)


class Spends:
    """Tokens that several callers try to spend at the same time: by siteverify, and by opening the gateway."""

    CALLERS = ("one", "other", "gateway")

    def __init__(self, place: Place) -> None:
        self._place, self._gate, self._site = place, Gate(), Site(place, "spends")
        self._keys = place.keys()
        self._lock = threading.Lock()
        self._left: collections.deque[tuple[str, str]] = collections.deque()
        self._draw = place.plan.draw("spends")
        self.spends: list[Spend] = []
        # Before a fault all workers must know the site: an unknown secret would be rejected.
        secret = self._site.secret
        _until(lambda: all(self._gate.check(node, secret).status == 204 for node in place.nodes for _ in range(8)))

    def step(self, node: Node, draw: random.Random) -> None:
        token, caller = self._next()
        self.spends.append(self._spend(node, token, caller))
        if draw.random() < 0.2:
            # As a site's server does after a lost response.
            self.spends.append(self._spend(node, token, caller))

    def release(self) -> None:
        self._gate.reset()

    @property
    def acknowledged(self) -> int:
        return sum(bool(spend.won) for spend in self.spends)

    def problems(self) -> list[str]:
        won = {spend.token: spend.caller for spend in self.spends if spend.won}
        tried = {spend.token for spend in self.spends}
        node, after = self._place.nodes[-1], []
        self._gate.reset()
        for token in tried:
            caller = won.get(token, "one")
            # A gateway's question has no name to repeat it under.
            callers = [*([caller] if caller != "gateway" else []), "late"]
            after += [self._spend_until_known(node, token, each) for each in callers]
        lost = [] if self._place.is_put_back else checkers.lost_spends(self.spends, after)
        return [*checkers.double_spends([*self.spends, *after]), *lost]

    def _next(self) -> tuple[str, str]:
        with self._lock:
            if not self._left:
                now_ms = SystemClock().now_ms()
                tokens = [
                    mint(self._keys, self._site.key, now_ms=now_ms, lifetime_s=TOKEN_S) for _ in range(TOKENS_AT_ONCE)
                ]
                attempts = [(token, caller) for token in tokens for caller in self.CALLERS]
                self._draw.shuffle(attempts)
                self._left.extend(attempts)
            return self._left.popleft()

    def _spend_until_known(self, node: Node, token: str, caller: str) -> Spend:
        for _ in range(MOST_REPEATS):
            spend = self._spend(node, token, caller)
            if spend.won is not None:
                return spend
            time.sleep(0.1)
        raise AssertionError("nobody knows what became of a token though the fault is over")

    def _spend(self, node: Node, token: str, caller: str) -> Spend:
        try:
            if caller == "gateway":
                answer = self._gate.check(node, self._site.secret, "/login", **{"X-AgentGate-Token": token})
                known, body = {204: True, 401: False}, b""
                status = answer.status
                if answer.headers["x-service-reason"] not in {"allowed", "token_used", "expired_token"}:
                    status = 0
            else:
                known = {200: True, 409: False, 400: False}
                status, body = self._gate.redeem(node, self._site.secret, token, caller)
        except GONE:
            return Spend(token=token, caller=caller, won=None)
        won = known.get(status)
        return Spend(token=token, caller=caller, won=won, body=body if won else b"")


class Charges:
    """Submissions of an agent that cost something, each repeated under its ID until a response arrives."""

    def __init__(self, place: Place) -> None:
        self._place, self._clients, self._agent = place, _Clients(), SigningAgent()
        self._site = Site(place, "charges")
        policy = {
            "agents": {self._agent.url: {"decision": "allow", "jwks": self._agent.jwks}},
            "actions": {"submit": {"price": PRICE}},
            "quotaPerMinute": 1_000_000,
        }
        with place.nodes[0].admin() as admin:
            made = admin.call("PUT", f"/v1/admin/sites/{self._site.key}/agent-policy", policy)
            assert made.status == 200, made
        self._names = itertools.count(1)
        self.charged: set[str] = set()
        self.doubtful: set[str] = set()
        _until(lambda: all(self._submit(node, "first") == 200 for node in place.nodes for _ in range(4)))
        self.charged.add("first")

    def step(self, node: Node, draw: random.Random) -> None:
        name = f"submission-{next(self._names)}"
        # Repeat some submissions once more than needed: the same submission costs once.
        for _ in range(2 if draw.random() < 0.2 else 1):
            try:
                status = self._submit(node, name)
            except GONE:
                status = 0
            if status == 200:
                self.charged.add(name)
            elif status == 0 or status >= 500:
                self.doubtful.add(name)

    def release(self) -> None:
        self._clients.reset()

    @property
    def acknowledged(self) -> int:
        return len(self.charged)

    def problems(self) -> list[str]:
        if self._place.is_put_back:
            return []
        path = f"/v1/admin/sites/{self._site.key}/agent-charges"
        with self._place.nodes[0].admin() as admin:
            statement = admin.call("GET", path).body
        charged = sum(total["requests"] for total in statement["totals"])
        return checkers.ledger_problems(self.charged, self.doubtful - self.charged, charged)

    def _submit(self, node: Node, name: str) -> int:
        body = {"siteKey": self._site.key, "action": "submit", "id": name, "content": {"message": "Hello."}}
        content = json.dumps(body).encode()
        headers = {"content-type": "application/json", "crawler-exact-price": PRICE}
        signed = self._agent.headers("POST", f"{node.public_url}/agent/submit", body=content, headers=headers)
        # The connection names the type itself.
        del signed["content-type"]
        return self._clients.ask(node.public_url, "POST", "/agent/submit", body, **signed).status


class Events:
    """Decisions whose events must be stored and counted."""

    def __init__(self, place: Place) -> None:
        self._place, self._gate, self._site = place, Gate(), Site(place, "events")
        self.told: list[Told] = []
        secret = self._site.secret
        _until(lambda: all(self._gate.check(node, secret).status == 204 for node in place.nodes for _ in range(8)))

    def step(self, node: Node, draw: random.Random) -> None:
        asked_ms = _now_ms()
        answer = self._gate.check(node, self._site.secret, draw.choice(("/", "/login", "/shop")))
        event_id = read_id(answer.headers["x-service-decision-id"] or "")
        if event_id is not None:
            self.told.append(Told(event_id=event_id, asked_ms=asked_ms, told_ms=_now_ms()))

    def release(self) -> None:
        self._gate.reset()

    @property
    def acknowledged(self) -> int:
        return len(self.told)

    def problems(self) -> list[str]:
        if self._place.is_put_back:
            return []
        [(number,)] = self._place.rows(f"SELECT number FROM site WHERE id = '{self._site.id}'")
        stored = [row[0] for row in self._place.rows(f"SELECT id FROM event WHERE site = {number}", of="events")]
        day_ms = 86_400_000
        now_ms = _now_ms()
        span = f"siteKey={self._site.key}&from={now_ms - day_ms}&to={now_ms + day_ms}"
        with self._place.nodes[0].admin() as admin:
            totals = admin.call("GET", f"/v1/admin/metrics?{span}").body["totals"]
        shown = totals["requests"]
        found = checkers.event_problems(self.told, stored, self._place.kills_ms, shown=shown)
        return [*found, *checkers.count_problems(self._place.counts())]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _token(place: Place, site: Site) -> str:
    return mint(place.keys(), site.key, now_ms=SystemClock().now_ms(), lifetime_s=TOKEN_S)


def _until(holds: Callable[[], bool], within_s: float = 15.0) -> None:
    deadline_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline_s, "the installation does not know a new site"
        time.sleep(0.1)


WORKLOADS: dict[str, type[Workload]] = {
    "checks": Checks,
    "spends": Spends,
    "console": ConsoleWrites,
    "charges": Charges,
    "events": Events,
}
