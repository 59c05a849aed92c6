"""AgentPolicy: a site's terms for agents, as stored and shown. `agents` applies it.

Everything is bounded: every worker reads all policies again at each change of the configuration.
"""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from agentgate.lib.enums import AgentPolicyAction, AgentPolicyDecision, AgentPolicyDefault
from agentgate.lib.limits import (
    AGENT_POLICY_ACTIONS,
    AGENT_POLICY_AGENTS,
    AGENT_POLICY_DIRECTORIES,
    AGENT_POLICY_TOOLS,
    AGENT_QUOTA_DEFAULT_PER_MINUTE,
    AGENT_QUOTA_MOST_PER_MINUTE,
    DIRECTORY_KEYS,
)
from agentgate.lib.records import ACTION_PATTERN, Input
from agentgate.sites.price import Price, read_price

# Path of an agent's key set if the agent's name is only an origin.
WELL_KNOWN = "/.well-known/http-message-signatures-directory"
AGENT_CHARACTERS = 256
AGENT_NAME_CHARACTERS = 100

ActionName = Annotated[str, Meta(pattern=ACTION_PATTERN)]
PerMinute = Annotated[int, Meta(ge=1, le=AGENT_QUOTA_MOST_PER_MINUTE)]
PriceText = Annotated[str, Meta(max_length=17)]
HostName = Annotated[
    str, Meta(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+\Z", max_length=253)
]
AgentKey = Annotated[str, Meta(min_length=1, max_length=AGENT_CHARACTERS)]


class InlineKeys(Input, frozen=True, kw_only=True):
    """A JSON Web Key Set that needs no fetch. Each key is an Ed25519 public key (`kty`, `crv`, `x`)."""

    keys: Annotated[list[dict[str, Any]], Meta(min_length=1, max_length=DIRECTORY_KEYS)]


class AgentEntry(Input, frozen=True, kw_only=True):
    """A policy's entry for one agent."""

    decision: AgentPolicyDecision
    # The name that people are shown instead of the URL.
    name: Annotated[str, Meta(min_length=1, max_length=AGENT_NAME_CHARACTERS)] | UnsetType = UNSET
    jwks: InlineKeys | UnsetType = UNSET
    actions: dict[ActionName, AgentPolicyAction] | UnsetType = UNSET
    quota_per_minute: PerMinute | UnsetType = UNSET
    # For everything that this agent asks for; instead of the actions' prices.
    price: PriceText | UnsetType = UNSET


class AgentActionTerms(Input, frozen=True, kw_only=True):
    """A policy's requirements for every agent and one action."""

    price: PriceText | UnsetType = UNSET
    # In addition to the agent's own quota.
    quota_per_minute: PerMinute | UnsetType = UNSET
    # Whether a challenged agent may ask a person; absent means yes.
    handoff: bool | UnsetType = UNSET


class AgentPolicy(Input, frozen=True, kw_only=True):
    """A site's agent policy. Omitted members have their defaults."""

    # Of verified agents that `agents` does not name. `allow` leaves them to the rules.
    default: AgentPolicyDefault = AgentPolicyDefault.ALLOW
    # For requests whose User-Agent claims an agent, and for signatures that cannot be verified.
    unverified: AgentPolicyDefault = AgentPolicyDefault.CHALLENGE
    quota_per_minute: PerMinute = AGENT_QUOTA_DEFAULT_PER_MINUTE
    # By origin (`https://agent.example`), key-set URL, or the name that an unsigned User-Agent claims.
    agents: dict[AgentKey, AgentEntry] = field(default_factory=dict)
    actions: dict[ActionName, AgentActionTerms] = field(default_factory=dict)
    tools: list[dict[str, Any]] | UnsetType = UNSET
    # Hosts whose key sets are fetched for this site, in addition to the service's hosts.
    agent_directories: Annotated[list[HostName], Meta(max_length=AGENT_POLICY_DIRECTORIES)] | UnsetType = UNSET

    def entry_for(self, agent: str) -> AgentEntry | None:
        """Return the entry for a verified agent, by its origin or key-set URL."""
        return self.agents.get(agent) if is_address(agent) else None

    def entry_named(self, name: str) -> AgentEntry | None:
        """Return the entry for a name that an unsigned request claims; case does not matter."""
        folded = name.casefold()
        return next((entry for key, entry in self.agents.items() if key.casefold() == folded), None)

    def price_for(self, agent: str | None, action: str | None) -> Price | None:
        """Return the price of a request; None if it is free. An agent's own price goes before an action's."""
        entry = None if agent is None else self.entry_for(agent)
        if entry is not None and isinstance(entry.price, str):
            return asked(entry.price)
        terms = None if action is None else self.actions.get(action)
        return asked(terms.price) if terms is not None and isinstance(terms.price, str) else None

    @property
    def has_prices(self) -> bool:
        """Whether any request can cost something."""
        found = [entry.price for entry in self.agents.values()] + [terms.price for terms in self.actions.values()]
        return any(isinstance(price, str) and asked(price) is not None for price in found)

    def allows_handoff(self, action: str) -> bool:
        """Return whether a challenged agent may ask a person to confirm this action."""
        terms = self.actions.get(action)
        return terms is None or terms.handoff is not False


DEFAULT_POLICY = AgentPolicy()


def is_address(agent: str) -> bool:
    """Return whether a policy's key is an origin or a URL, as opposed to a name."""
    return agent.startswith("https://")


def read_policy(stored: Mapping[str, Any] | UnsetType) -> AgentPolicy:
    """Return the policy that is stored with a site; the default where there is none. ValueError when it is none."""
    if isinstance(stored, UnsetType):
        return DEFAULT_POLICY
    try:
        policy = msgspec.convert(stored, AgentPolicy)
    except msgspec.ValidationError as problem:
        raise ValueError(f"not an agent policy: {problem}") from None
    problem_found = find_problem(policy)
    if problem_found is not None:
        raise ValueError(f"not an agent policy: {problem_found}")
    return policy


def find_problem(policy: AgentPolicy) -> str | None:
    """Return the problem with a policy beyond its shape, and how to correct it, or None."""
    for what, count, most in (
        ("agents", len(policy.agents), AGENT_POLICY_AGENTS),
        ("actions", len(policy.actions), AGENT_POLICY_ACTIONS),
        ("tools", 0 if isinstance(policy.tools, UnsetType) else len(policy.tools), AGENT_POLICY_TOOLS),
    ):
        if count > most:
            return f"{what} may have at most {most} entries."
    for key, entry in policy.agents.items():
        found = _entry_problem(key, entry)
        if found is not None:
            return found
    for action, terms in policy.actions.items():
        if isinstance(terms.price, str) and read_price(terms.price) is None:
            return _price_problem(f"actions.{action}.price")
    return None


def canonical_agent(key: str) -> str | None:
    """Return the canonical form of an agent's address or name; None for an invalid one."""
    if "://" not in key:
        return key if key.strip() == key and key.isprintable() else None
    try:
        parts = urlsplit(key)
        port = parts.port
    except ValueError:
        return None
    host = parts.hostname
    if parts.scheme != "https" or not host or not key.isascii() or not key.isprintable() or " " in key:
        return None
    if parts.query or parts.fragment or "?" in key or "#" in key or "@" in parts.netloc or "\\" in key:
        return None
    shown = f"[{host}]" if ":" in host else host
    origin = f"https://{shown}" if port in {None, 443} else f"https://{shown}:{port}"
    return origin if parts.path in {"", "/", WELL_KNOWN} else origin + parts.path


def _entry_problem(key: str, entry: AgentEntry) -> str | None:
    canonical = canonical_agent(key)
    if canonical is None:
        return (
            f"agents.{key} is neither an https origin such as https://agent.example, nor the https URL of a key set "
            "without user, query and fragment, nor an agent name."
        )
    if canonical != key:
        return f"agents.{key} must be written {canonical}."
    if not is_address(key) and not isinstance(entry.jwks, UnsetType):
        return f"agents.{key}.jwks: keys need an origin or a key-set URL. An agent name cannot be verified."
    if isinstance(entry.price, str) and read_price(entry.price) is None:
        return _price_problem(f"agents.{key}.price")
    if not isinstance(entry.actions, UnsetType) and len(entry.actions) > AGENT_POLICY_ACTIONS:
        return f"agents.{key}.actions may have at most {AGENT_POLICY_ACTIONS} entries."
    return None


def _price_problem(where: str) -> str:
    return f"{where} must be a currency, whole units and two decimals, such as USD 0.05."


def asked(text: str | UnsetType) -> Price | None:
    """Return the price of a text; None for an invalid one, and for nothing."""
    price = None if isinstance(text, UnsetType) else read_price(text)
    return price if price is not None and price.minor_units else None
