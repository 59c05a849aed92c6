"""Traffic for the demo site: two weeks of made-up visits, each decided by the real engine and recorded.

People follow the hours of the day and rest at weekends; programs do not. An attack on sign-in and a crawl stand out.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from agentgate.decision.decider import Decider
from agentgate.decision.engine import EngineDecision
from agentgate.decision.event import Answered, make_event
from agentgate.decision.signals.facts import AgentFacts, Rates, RequestFacts
from agentgate.events.decision_ids import DecisionIds
from agentgate.events.records import Event
from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS, Clock
from agentgate.lib.enums import AgentVerdict, ChallengeStage, DecisionKind, Outcome, SolveType
from agentgate.sites.directory import SiteView

SPAN_MS = 15 * DAY_MS
VISITS = 2_600
PROGRAMS_AT_FORMS = 0.2
# Share of people's visits by hour of the day, and on Saturdays and Sundays.
HOURS = (2, 1, 1, 1, 1, 2, 4, 6, 8, 9, 10, 10, 9, 9, 9, 9, 9, 10, 12, 13, 13, 11, 7, 4)
WEEKEND = 0.6
# Monday, 5 January 1970, the first of a whole number of weeks.
_FIRST_MONDAY_MS = 4 * DAY_MS
# Fixed, so that every demo looks the same.
SEED = 20_261_115

Headers = tuple[tuple[str, str], ...]


class Client(Struct, frozen=True):
    """A kind of client: how often it comes, from where, with which headers, and what it asks for."""

    weight: float
    network: str
    headers: Headers
    requests: tuple[tuple[str, str], ...]
    agent: AgentFacts | None = None
    requests_per_minute: int = 2
    solves: bool = False


# An agent that signs what it asks for. All others are of the tests' population (`python -m tests.population.demo`).
_SHOPPER = Client(
    weight=4,
    network="192.0.2",
    headers=(
        *(("host", "shop.example"), ("user-agent", "ExampleShopper/1.0")),
        *(("accept", "*/*"), ("accept-encoding", "gzip")),
    ),
    requests=(("GET", "/search?q=price"), ("POST", "/checkout/pay")),
    agent=AgentFacts(verdict=AgentVerdict.VERIFIED, agent="https://shopper.example"),
)
_FILE = Path(__file__).with_name("clients.json")


class Burst(Struct, frozen=True):
    """Many visits of one client in a short time: when it began before the end, how long it took."""

    program: str
    path: str
    ago_ms: int
    took_ms: int
    visits: int
    network: str


# Passwords are tried on sign-in, within the default range of the console; and a crawler reads all pages of a week ago.
BURSTS = (
    Burst("Go-http-client/1.1", "/login", 9 * HOUR_MS, 40 * MINUTE_MS, 150, "198.51.100"),
    Burst("meta-externalagent", "/stories/", 6 * DAY_MS, 10 * HOUR_MS, 250, "203.0.113"),
)

CLIENTS = (*msgspec.json.decode(_FILE.read_bytes(), type=tuple[Client, ...]), _SHOPPER)


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
        for start_ms, client in sorted(self._visits(), key=lambda visit: visit[0]):
            yield from self._visit(client, start_ms)

    def _visits(self) -> Iterator[tuple[int, Client]]:
        weights = [client.weight for client in CLIENTS]
        for _ in range(VISITS):
            client = self._random.choices(CLIENTS, weights)[0]
            start_ms = self._moment()
            while client.solves and self._random.random() > activity(start_ms):
                start_ms = self._moment()
            yield start_ms, client
        for burst in BURSTS:
            found = next(client for client in CLIENTS if burst.program in str(client.headers) and asks(client, burst))
            client = structs.replace(found, network=burst.network)
            for _ in range(burst.visits):
                yield self._end_ms - burst.ago_ms + self._random.randrange(burst.took_ms), client

    def _moment(self) -> int:
        return self._end_ms - self._random.randrange(1, SPAN_MS)

    def _visit(self, client: Client, start_ms: int) -> Iterator[Event]:
        # People and programs share networks, but no address: a visitor is one or the other.
        first = 1 if client.solves else 128
        address = f"{client.network}.{self._random.randrange(first, first + 127)}"
        visitor = self._decider.visitors.find(self._site.site_key, address)
        now_ms = start_ms
        for _ in range(self._random.randrange(1, 4)):
            method, target = self._random.choice(client.requests)
            facts = self._facts(client, address, now_ms, (method, target))
            decision = self._decider.decide(facts, self._site)
            # A visit that began a moment ago may not reach into the future.
            self._clock.now = min(now_ms, self._end_ms)
            yield self._event(facts, decision, visitor)
            # In monitor mode only the site's own forms have a browser check, and few programs run it.
            runs = client.solves or self._random.random() < PROGRAMS_AT_FORMS
            if decision.outcome is Outcome.CHALLENGE or (method == "POST" and facts.action and runs):
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


def activity(time_ms: int) -> float:
    """Return how active people are at a moment, at most 1."""
    is_weekend = (time_ms - _FIRST_MONDAY_MS) // DAY_MS % 7 >= 5
    return HOURS[time_ms // HOUR_MS % 24] / max(HOURS) * (WEEKEND if is_weekend else 1)


def asks(client: Client, burst: Burst) -> bool:
    """Return whether a client asks for the paths of a burst."""
    return any(target.startswith(burst.path) for _, target in client.requests)


class _PastClock:
    """A clock that shows the time it is set to."""

    now = 0

    def now_ms(self) -> int:
        return self.now
