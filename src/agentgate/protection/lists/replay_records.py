"""Stored decisions as lists look at them."""

from msgspec import Struct

from agentgate.lib.enums import Outcome


class ClientEvent(Struct, frozen=True, gc=False):
    """Whom a stored decision was about, and what made it."""

    id: int
    visitor: int | None
    # What enforce mode did, or would have done.
    recorded: Outcome
    agent: str | None
    # Whether a signature proved the agent.
    is_verified: bool
    rule: str | None
    # Whether rules decided, as opposed to a missing token, a bad signature, a price.
    ruled: bool
    reasons: frozenset[str]
