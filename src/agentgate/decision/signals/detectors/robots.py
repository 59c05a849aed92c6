"""Crawlers that name themselves and request what the site's robots.txt disallows."""

from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.lib.enums import AiUseChoice
from agentgate.sites.rules.labels import slug

DISALLOWED = "robots.disallowed"
CLOSED = frozenset((AiUseChoice.BLOCK, AiUseChoice.CHALLENGE))


def robots_labels(request: SignalInput) -> Labels:
    """Return `robots.disallowed` and the crawler's name. The text of the header decides, so a name is enough."""
    facts, name = request.facts, request.user_agent.claimed_agent
    if name is None or facts.robots is None:
        return ()
    setting = facts.ai_use
    is_closed = setting is not None and any(setting[use] in CLOSED for _, use in request.user_agent.ai)
    if not facts.robots.disallows(name.lower(), is_closed=is_closed):
        return ()
    return DISALLOWED, f"{DISALLOWED}.{slug(name)}"
