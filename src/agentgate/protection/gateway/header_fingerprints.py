"""Heads: what the signals made of a visitor's headers, remembered: most requests have the head of an earlier one.

The key holds everything that a signal may look at: all names in their order, the values in READ, method, what is known
of the address, the step of each rate, the state of token and clearance, and what a signature proved. A claim that DNS
is asked about is observed anew each time.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

from msgspec import Struct

from agentgate.protection.gateway.route_protection import OVERRIDES
from agentgate.protection.signals.detectors.address import view_address
from agentgate.protection.signals.detectors.agent_claim import PURPOSES
from agentgate.protection.signals.detectors.rate import NETWORK_EXTREME, NETWORK_HIGH, VISITOR_EXTREME, VISITOR_HIGH
from agentgate.protection.signals.detectors.user_agent import view_user_agent
from agentgate.protection.signals.facts import AgentFacts, Observation, Rates, RequestFacts
from agentgate.protection.signals.observe import observe
from agentgate.protection.threat_data.intel import Intel, IntelDirectory

# The adapter's own headers, which say nothing about the visitor.
ADAPTERS = (b"x-original-", b"x-agentgate-", b"x-forwarded-", b"authorization", b"x-service-")
# Headers whose values signals read; of all others the names are enough. Cookies are counted anew.
READ = frozenset(
    (
        b"accept",
        b"accept-language",
        b"connection",
        b"sec-ch-ua",
        b"sec-ch-ua-mobile",
        b"sec-ch-ua-platform",
        b"sec-fetch-dest",
        b"sec-fetch-mode",
        b"sec-fetch-site",
        b"user-agent",
    )
)
# Who sends one of these is an agent, or wants to be taken for one.
SIGNED = frozenset((b"signature-input", b"signature", b"crawler-max-price", b"crawler-exact-price"))

# Bounds of what is remembered: visitors choose their headers.
MOST_SHAPES = 512
MOST_HEADS = 8_192
LONGEST_HEAD = 2_048

VISITOR_STEPS = (VISITOR_HIGH, VISITOR_EXTREME)
NETWORK_STEPS = (NETWORK_HIGH, NETWORK_EXTREME)

Headers = Mapping[bytes, bytes]


class Shape:
    """Headers with these names in this order, and what the names alone say."""

    __slots__ = ("found", "has_override", "is_signed", "pick")

    def __init__(self, names: tuple[bytes, ...]) -> None:
        read = [name for name in names if name in READ]
        # Two names at least, or it would not return a tuple.
        self.pick: Callable[[Headers], tuple[bytes, ...]] | None = itemgetter(*read) if len(read) > 1 else None
        self.found: dict[Any, Observation] = {}
        self.is_signed = not SIGNED.isdisjoint(names)
        self.has_override = not set(OVERRIDES).isdisjoint(names)


class Glimpse(Struct, frozen=True, gc=False):
    """A request before anything was made of it."""

    now_ms: int
    method: str
    target: str
    address: str
    headers: Headers
    route: str
    action: str | None
    rates: Rates
    receipt: tuple[str, ...]
    # What the names of the headers say.
    shape: Shape
    agent: AgentFacts | None = None

    def with_agent(self, agent: AgentFacts) -> "Glimpse":
        """Return the same request of a known agent. By position, which takes a third of the time of `replace`."""
        return Glimpse(
            self.now_ms,
            self.method,
            self.target,
            self.address,
            self.headers,
            self.route,
            self.action,
            self.rates,
            self.receipt,
            self.shape,
            agent,
        )

    def facts(self) -> RequestFacts:
        """Return it as signals read it."""
        headers = self.headers
        return RequestFacts(
            now_ms=self.now_ms,
            method=self.method,
            target=self.target,
            address=self.address,
            headers=tuple(
                (name.decode("latin-1"), value.decode("latin-1"))
                for name, value in headers.items()
                if not name.startswith(ADAPTERS)
            ),
            route=self.route,
            action=self.action,
            rates=self.rates,
            agent=self.agent,
            receipt=self.receipt,
            ja4=headers[b"x-ja4"].decode("latin-1") if b"x-ja4" in headers else None,
        )


class Heads:
    """Observes requests."""

    def __init__(self, intel: IntelDirectory) -> None:
        self._directory = intel
        self._intel: Intel = intel.current
        self._shapes: dict[tuple[bytes, ...], Shape] = {}
        self._count = 0

    def shape_of(self, headers: Headers) -> Shape:
        """Return what the names say."""
        names = tuple(headers)
        shape = self._shapes.get(names)
        if shape is None:
            if len(self._shapes) >= MOST_SHAPES:
                self._shapes, self._count = {}, 0
            shape = self._shapes[names] = Shape(names)
        return shape

    def observe(self, glimpse: Glimpse) -> Observation:
        """Return labels and figures, from memory where an earlier request was the same in all that matters."""
        intel, shape = self._directory.current, glimpse.shape
        if intel is not self._intel or self._count > MOST_HEADS:
            # The shape in hand is none of those remembered any more; nobody will ask it again.
            self._intel, self._shapes, self._count = intel, {}, 0
            shape = self.shape_of(glimpse.headers)
        headers, rates, agent = glimpse.headers, glimpse.rates, glimpse.agent
        if shape.pick is None:
            return observe(glimpse.facts(), intel)
        key = (
            shape.pick(headers),
            glimpse.method,
            (intel.addresses.get(glimpse.address) or view_address(glimpse.address, intel)).labels,
            glimpse.receipt,
            bisect_right(VISITOR_STEPS, rates.visitor),
            bisect_right(NETWORK_STEPS, rates.network),
            None if agent is None else (agent.verdict, PURPOSES.intersection(agent.purposes)),
        )
        known = shape.found.get(key)
        if known is None:
            return self._new(glimpse, shape, key)
        cookies = headers.get(b"cookie")
        numbers = {
            **known.numbers,
            "cookie_count": cookies.count(b";") + 1 if cookies else 0,
            "target_length": len(glimpse.target),
            "rate_visitor": rates.visitor,
            "rate_network": rates.network,
        }
        # By position: finding fields by their names takes as long as filling them.
        return Observation(known.labels, numbers, known.claimed_agent)

    def _new(self, glimpse: Glimpse, shape: Shape, key: tuple[Any, ...]) -> Observation:
        facts = glimpse.facts()
        observation = observe(facts, self._intel)
        agent = glimpse.headers.get(b"user-agent")
        claims = view_user_agent(None if agent is None else agent.decode("latin-1"), self._intel).search
        # Whether a claimed search crawler is one is found out meanwhile.
        if not claims and sum(map(len, key[0])) <= LONGEST_HEAD:
            shape.found[key] = observation
            self._count += 1
        return observation
