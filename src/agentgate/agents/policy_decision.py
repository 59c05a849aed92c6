"""A site's agent policy for one agent's request: the decision, the quota, and whether its offer is sufficient.

An offer counts only when the agent's verified signature covers it. Prices are compared in minor units. The policy
itself is stored with the site.
"""

from collections.abc import Mapping
from hashlib import sha256

from msgspec import Struct, UnsetType

from agentgate.agents.identity import Identity
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.enums import AgentPolicyAction, AgentPolicyDecision, AgentPolicyDefault, AgentVerdict
from agentgate.lib.errors import CrawlerError
from agentgate.lib.limiter import Limiter, Window
from agentgate.sites.agent_policy import AgentEntry, AgentPolicy
from agentgate.sites.directory import SiteView
from agentgate.sites.price import Price, read_price

_DEFAULTS = {
    AgentPolicyDefault.ALLOW: AgentPolicyAction.ALLOW,
    AgentPolicyDefault.CHALLENGE: AgentPolicyAction.CHALLENGE,
    AgentPolicyDefault.BLOCK: AgentPolicyAction.DENY,
}


def policy_action(policy: AgentPolicy, agent: str, action: str | None) -> AgentPolicyAction:
    """Return the policy's decision on a verified agent. An entry for the action goes before the general one.

    A denied agent is denied for every action: an operator who writes `deny` expects no exception further down.
    """
    entry = policy.entry_for(agent)
    return _DEFAULTS[policy.default] if entry is None else decision_of(entry, action)


def decision_of(entry: AgentEntry, action: str | None) -> AgentPolicyAction:
    if entry.decision is AgentPolicyDecision.DENY:
        return AgentPolicyAction.DENY
    if action is not None and not isinstance(entry.actions, UnsetType):
        return entry.actions.get(action, AgentPolicyAction.ALLOW)
    return AgentPolicyAction.ALLOW


class Quotas:
    """Counts the requests of verified agents. All workers share the counts as far as they share the shared cache."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    @property
    def is_local(self) -> bool:
        """Return whether counting is always immediate."""
        return self._limiter.is_local

    async def is_within(self, site: SiteView, agent: str, action: str | None) -> bool:
        """Count a request of an agent and return whether it is within its quotas."""
        for window, subject in _windows(site, agent, action):
            if not await self._limiter.count(window, subject):
                return False
        return True

    def is_within_now(self, site: SiteView, agent: str, action: str | None) -> bool:
        """Count like `is_within`, at once: for a local cache only."""
        return all(self._limiter.count_now(window, subject) for window, subject in _windows(site, agent, action))


def _windows(site: SiteView, agent: str, action: str | None) -> tuple[tuple[Window, str], ...]:
    policy = site.agent_policy
    # Hashed: the agent chooses its URL, and keys must be short.
    subject = f"{site.number}:{sha256(agent.encode()).hexdigest()[:32]}"
    in_all = Window("agent", _per_agent(policy, agent), MINUTE_MS), subject
    per_action = _per_action(policy, action)
    if per_action is None:
        return (in_all,)
    return in_all, (Window("agent-action", per_action, MINUTE_MS), f"{subject}:{action}")


def _per_agent(policy: AgentPolicy, agent: str) -> int:
    entry = policy.entry_for(agent)
    if entry is None or isinstance(entry.quota_per_minute, UnsetType):
        return policy.quota_per_minute
    return entry.quota_per_minute


def _per_action(policy: AgentPolicy, action: str | None) -> int | None:
    terms = None if action is None else policy.actions.get(action)
    return None if terms is None or isinstance(terms.quota_per_minute, UnsetType) else terms.quota_per_minute


EXACT = "crawler-exact-price"
MOST = "crawler-max-price"
# Files that tell crawlers the rules are free.
FREE_PATHS = frozenset(
    ("/robots.txt", "/sitemap.xml", "/security.txt", "/.well-known/security.txt", "/crawlers.json"),
)
READING = frozenset(("GET", "HEAD"))

# Error codes of a rejected offer at submit, and the gateway's reasons for it.
REQUIRED, INVALID = "payment_required", "payment_invalid"

Headers = Mapping[bytes, bytes]


class PriceOffer(Struct, frozen=True, gc=False):
    """Result of an offer: a price to charge, or the problem with the offer."""

    # The price; None for a free request.
    price: Price | None = None
    error: CrawlerError | None = None
    # `payment_required` or `payment_invalid`; None for a sufficient offer.
    reason: str | None = None

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """Headers for a rejected offer: the price and the problem."""
        if self.price is None or self.error is None:
            return []
        return [(b"crawler-price", self.price.text().encode()), (b"crawler-error", self.error.value.encode())]


FREE = PriceOffer()


def is_free(method: str, path: str) -> bool:
    """Return whether a request is for one of the files that never cost anything."""
    return path in FREE_PATHS and method in READING


def read_offer(price: Price | None, headers: Headers, identity: Identity) -> PriceOffer:
    """Return the result of a request's offer at this price. For a free request no offer is read."""
    if price is None:
        return FREE
    exact, most = headers.get(EXACT.encode()), headers.get(MOST.encode())
    if exact is not None and most is not None:
        return PriceOffer(price, CrawlerError.CONFLICTING_PRICE_HEADERS, INVALID)
    if exact is None and most is None:
        return PriceOffer(price, CrawlerError.MISSING_CRAWLER_PRICE, REQUIRED)
    name, sent = (EXACT, exact) if exact is not None else (MOST, most or b"")
    # A repeated header arrives joined, which is no valid price.
    offer = read_price(sent.decode("latin-1").strip(" \t"))
    if offer is None:
        return PriceOffer(price, CrawlerError.INVALID_CRAWLER_PRICE_VALUE, INVALID)
    if name not in identity.covered or identity.verdict is not AgentVerdict.VERIFIED:
        is_verified = identity.verdict is AgentVerdict.VERIFIED
        return PriceOffer(price, CrawlerError.STRONG_AUTH_REQUIRED, INVALID if is_verified else REQUIRED)
    error = _shortfall(name, offer, price)
    return PriceOffer(price) if error is None else PriceOffer(price, error, REQUIRED)


def _shortfall(name: str, offer: Price, price: Price) -> CrawlerError | None:
    if name == EXACT:
        return None if offer == price else CrawlerError.INVALID_CRAWLER_EXACT_PRICE
    is_enough = offer.currency == price.currency and offer.minor_units >= price.minor_units
    return None if is_enough else CrawlerError.INVALID_CRAWLER_MAX_PRICE
