"""Traffic for the demo site: a day and a half of made-up visits, each decided by the real engine and recorded."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from agentgate.events.records import Event
from agentgate.lib.clock import HOUR_MS, MINUTE_MS, Clock
from agentgate.lib.decision_ids import DecisionIds
from agentgate.lib.enums import AgentVerdict, ChallengeStage, DecisionKind, Outcome, SolveType
from agentgate.protection.decision.decider import Decider
from agentgate.protection.decision.engine import EngineDecision
from agentgate.protection.decision.event import Answered, make_event
from agentgate.protection.signals.facts import AgentFacts, Rates, RequestFacts
from agentgate.protection.sites.directory import SiteView

SPAN_MS = 36 * HOUR_MS
VISITS = 2_400
# Fixed, so that every demo looks the same.
SEED = 20_261_115

Headers = tuple[tuple[str, str], ...]


class Client(NamedTuple):
    """A kind of client: how often it comes, from where, with which headers, and what it asks for."""

    weight: int
    network: str
    headers: Headers
    requests: tuple[tuple[str, str], ...]
    agent: AgentFacts | None = None
    requests_per_minute: int = 2
    solves: bool = False


_CHROME_AGENT = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
)
_CHROME = (
    ("host", "shop.example"),
    ("sec-ch-ua", '"Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"'),
    ("sec-ch-ua-mobile", "?0"),
    ("sec-ch-ua-platform", '"Windows"'),
    ("upgrade-insecure-requests", "1"),
    ("user-agent", _CHROME_AGENT),
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"),
    ("sec-fetch-site", "same-origin"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-user", "?1"),
    ("sec-fetch-dest", "document"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("accept-language", "en-GB,en;q=0.9,de;q=0.8"),
)
_FIREFOX = (
    ("host", "shop.example"),
    ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"),
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("accept-language", "de,en-US;q=0.7,en;q=0.3"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("upgrade-insecure-requests", "1"),
    ("sec-fetch-dest", "document"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-site", "same-origin"),
    ("priority", "u=0, i"),
)


def _with_agent(user_agent: str, *more: tuple[str, str]) -> Headers:
    return (("host", "shop.example"), ("user-agent", user_agent), ("accept", "*/*"), *more)


_PEOPLE = (("GET", "/search?q=lamp"), ("GET", "/"), ("POST", "/login"), ("POST", "/checkout/pay"))
_PAGES = (("GET", "/"), ("GET", "/search?q=all"))
CLIENTS = (
    Client(30, "203.0.113", _CHROME, _PEOPLE, solves=True),
    Client(18, "198.51.100", _FIREFOX, _PEOPLE, solves=True),
    Client(
        6, "192.0.2", _with_agent("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"), _PAGES
    ),
    Client(
        7,
        "192.0.2",
        _with_agent(
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"
        ),
        _PAGES,
        agent=AgentFacts(verdict=AgentVerdict.UNSIGNED),
    ),
    Client(
        4,
        "192.0.2",
        _with_agent("ExampleShopper/1.0", ("accept-encoding", "gzip")),
        (("GET", "/search?q=price"), ("POST", "/checkout/pay")),
        agent=AgentFacts(verdict=AgentVerdict.VERIFIED, agent="https://shopper.example"),
    ),
    Client(
        9,
        "203.0.113",
        _with_agent("python-requests/2.32.5", ("accept-encoding", "gzip, deflate")),
        (("POST", "/login"),),
        requests_per_minute=240,
    ),
    Client(6, "198.51.100", _with_agent("curl/8.14.1"), _PAGES),
    Client(
        8,
        "203.0.113",
        tuple(
            (name, value.replace("Chrome/142", "HeadlessChrome/142")) for name, value in _CHROME if name[:4] != "sec-"
        ),
        (("GET", "/search?q=stock"), ("POST", "/checkout/pay")),
        requests_per_minute=90,
    ),
    Client(3, "192.0.2", _with_agent("UptimeRobot/2.0; http://www.uptimerobot.com/"), (("GET", "/"),)),
    Client(2, "192.0.2", (("host", "shop.example"),), (("GET", "/wp-login.php"), ("GET", "/.env"))),
)


class Traffic:
    """Makes the demo's events."""

    def __init__(self, decider: Decider, site: SiteView, clock: Clock, *, worker: int) -> None:
        self._decider = decider
        self._site = site
        self._end_ms = clock.now_ms()
        self._clock = _PastClock()
        self._ids = DecisionIds(self._clock, worker)
        self._random = random.Random(SEED)  # noqa: S311 - made-up traffic, no secret

    def events(self) -> Iterator[Event]:
        """Return the events in the order of time."""
        moments = sorted(self._random.randrange(SPAN_MS) for _ in range(VISITS))
        weights = [client.weight for client in CLIENTS]
        for moment in moments:
            client = self._random.choices(CLIENTS, weights)[0]
            yield from self._visit(client, self._end_ms - SPAN_MS + moment)

    def _visit(self, client: Client, start_ms: int) -> Iterator[Event]:
        address = f"{client.network}.{self._random.randrange(1, 255)}"
        visitor = self._decider.visitors.find(self._site.site_key, address)
        now_ms = start_ms
        for _ in range(self._random.randrange(1, 4)):
            method, target = self._random.choice(client.requests)
            facts = self._facts(client, address, now_ms, (method, target))
            decision = self._decider.decide(facts, self._site)
            # A visit that began a moment ago may not reach into the future.
            self._clock.now = min(now_ms, self._end_ms)
            yield self._event(facts, decision, visitor)
            asked = Outcome.CHALLENGE in (decision.outcome, decision.would) or (client.solves and method == "POST")
            if asked:
                yield from self._challenge(client, facts, decision, visitor)
            now_ms += self._random.randrange(MINUTE_MS)

    def _facts(self, client: Client, address: str, now_ms: int, request: tuple[str, str]) -> RequestFacts:
        method, target = request
        matched = self._site.routes.find(method, target)
        rate = max(1, client.requests_per_minute + self._random.randrange(-1, 2))
        return RequestFacts(
            now_ms=now_ms,
            method=method,
            target=target,
            address=address,
            headers=client.headers,
            route=matched.route,
            action=matched.action,
            rates=Rates(visitor=rate, network=rate * 2),
            agent=client.agent,
        )

    def _event(self, facts: RequestFacts, decision: EngineDecision, visitor: int) -> Event:
        status = {Outcome.ALLOW: 204, Outcome.CHALLENGE: 401}.get(decision.outcome, 403)
        return make_event(facts, self._site, decision, Answered(id=self._ids.next(), visitor=visitor, status=status))

    def _challenge(
        self, client: Client, facts: RequestFacts, decision: EngineDecision, visitor: int
    ) -> Iterator[Event]:
        stages = [ChallengeStage.ISSUED]
        if self._random.random() < 0.9:
            solved = client.solves and self._random.random() < 0.97
            stages.append(ChallengeStage.PASSED if solved else ChallengeStage.FAILED)
        for stage in stages:
            passed = stage is ChallengeStage.PASSED
            answered = Answered(
                id=self._ids.next(),
                visitor=visitor,
                status=403 if stage is ChallengeStage.FAILED else 200,
                kind=DecisionKind.CHALLENGE,
                stage=stage,
                solve_type=self._random.choice((SolveType.INVISIBLE, SolveType.MANAGED)) if passed else None,
                solve_ms=self._random.randrange(300, 4_000) if passed else None,
            )
            yield make_event(facts, self._site, decision, answered)


class _PastClock:
    """A clock that shows what it is told."""

    now = 0

    def now_ms(self) -> int:
        return self.now
