"""RequestFacts: all that a decision may look at, built once at the edge and never changed."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from msgspec import Struct

from agentgate.lib.enums import AgentVerdict, AiPurpose, AiUseChoice, Assistants
from agentgate.sites.rules.patterns.robots_rules import RobotsVerdict


class AgentFacts(Struct, frozen=True, kw_only=True, gc=False):
    """Verification status of a signed or claimed agent, known before the decision."""

    verdict: AgentVerdict
    # The agent's identity by its verified key; None unless verified.
    agent: str | None = None
    # Its stated purpose, such as `search` or `training`; of a fixed list.
    purposes: tuple[str, ...] = ()
    # The site's agent policy has an entry for it, which goes before the site's AI use.
    is_named: bool = False


class PartState(IntEnum):
    """How a request was counted. From `PAID` on it is a subresource."""

    # As a page, form or call.
    COUNTED = 0
    # As a page, and within the budget that all clients of a program's name share.
    NAMED = 1
    # A part of an allowed page; a file without a page; beyond a ceiling.
    PAID = 2
    ORPHAN = 3
    OVER = 4


# Without a clearance a visitor is an address, perhaps of many people; past VISITOR_HIGH each browser is
# challenged once.
VISITOR_HIGH, VISITOR_EXTREME = 180, 600
# A /24 or /64 may be a school or a company.
NETWORK_HIGH, NETWORK_EXTREME = 1_500, 6_000


class Rates(Struct, frozen=True, gc=False):
    """How much was done within the present minute, this request included, and how it was counted itself."""

    visitor: int = 1
    # The same /24 of IPv4 or /64 of IPv6.
    network: int = 1
    # A PartState.
    parts: int = 0


class RequestFacts(Struct, frozen=True, kw_only=True):
    """One request, or one challenge."""

    now_ms: int
    method: str
    # As received: undecoded, with its query.
    target: str
    # The client's address in its canonical text form.
    address: str
    # Names in lower case, in the order of arrival, duplicates included.
    headers: tuple[tuple[str, str], ...]
    # The site's route as configured (`/login`, `/api/*`), `*` when none matched, and its action.
    route: str = "*"
    action: str | None = None
    rates: Rates = Rates()
    agent: AgentFacts | None = None
    # State of token and clearance: `receipt.*` labels without their first part, such as `valid` or `clearance`.
    receipt: tuple[str, ...] = ()
    # Evidence from the browser SDK, decoded; None when no browser check took part.
    evidence: "Mapping[str, Any] | None" = None
    # Text that an agent submits. Signals read it; it is never stored.
    content: str | None = None
    # The site-scoped pseudonym of the address, by which lists name visitors.
    visitor: int | None = None
    # The client requested the origin without TLS.
    is_plain: bool = False
    # The proxy routes by a host that the site does not have.
    is_foreign_host: bool = False
    # `path.*` labels of method and target, with the site's feeds.
    path: tuple[str, ...] = ()
    # `site.*` labels of the site's present load.
    load: tuple[str, ...] = ()
    # Programs and classes of programs that the site's settings name as wanted.
    wanted: frozenset[str] = frozenset()
    # What AI operators and agents may use the site for; None where it has not decided.
    ai_use: Mapping[AiPurpose, AiUseChoice] | None = None
    assistants: Assistants = Assistants.BLOCK
    # The verdict of the site's robots.txt on the target; None if the site publishes none.
    robots: RobotsVerdict | None = None
    # The client opened a link of the site that no person sees.
    has_opened_decoy: bool = False
    # The TLS handshake's JA4 fingerprint as the proxy saw it.
    ja4: str | None = None


class Observation(Struct, frozen=True, gc=False):
    """The result of all signals: sorted labels, and the numeric features that models use in addition to them."""

    labels: tuple[str, ...]
    numbers: Mapping[str, float]
    # The name of the crawler or AI agent that the User-Agent claims, as our list writes it.
    claimed_agent: str | None = None
    # The listed program that asks, as one part of a label; a site may name it as wanted.
    program: str | None = None
