"""Quota: how many requests an agent may make at a site in a minute, in all and for one action."""

import functools
from hashlib import sha256

from msgspec import UnsetType

from agentgate.agents.policy.stance import AgentPolicy
from agentgate.core.clock import MINUTE_MS
from agentgate.core.limiter import Limiter, Window
from agentgate.sites.directory import SiteView


class Quotas:
    """Counts the requests of verified agents. All workers share the counts as far as they share the fast store."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    @property
    def is_local(self) -> bool:
        """Say whether counting never waits."""
        return self._limiter.is_local

    async def is_within(self, site: SiteView, agent: str, action: str | None) -> bool:
        """Count one more request of an agent and say whether it is within what the site's policy lets it have."""
        policy = site.agent_policy
        # The agent chooses its URL, and keys are to be short.
        subject = f"{site.number}:{_short(agent)}"
        if not await self._limiter.count(Window("agent", _per_agent(policy, agent), MINUTE_MS), subject):
            return False
        per_action = _per_action(policy, action)
        if per_action is None:
            return True
        return await self._limiter.count(Window("agent-action", per_action, MINUTE_MS), f"{subject}:{action}")


# The same few agents come again and again.
@functools.lru_cache(maxsize=1_024)
def _short(agent: str) -> str:
    return sha256(agent.encode()).hexdigest()[:32]


def _per_agent(policy: AgentPolicy, agent: str) -> int:
    entry = policy.entry_for(agent)
    if entry is None or isinstance(entry.quota_per_minute, UnsetType):
        return policy.quota_per_minute
    return entry.quota_per_minute


def _per_action(policy: AgentPolicy, action: str | None) -> int | None:
    terms = None if action is None else policy.actions.get(action)
    return None if terms is None or isinstance(terms.quota_per_minute, UnsetType) else terms.quota_per_minute
