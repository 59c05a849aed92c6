"""Quota: how many requests an agent may make at a site in a minute, in all and for one action."""

from hashlib import sha256
from typing import NamedTuple

from msgspec import UnsetType

from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.limiter import Limiter, Window
from agentgate.protection.agents.policy.decision import AgentPolicy
from agentgate.protection.sites.directory import SiteView

# The same few agents come again and again; actions are the site's own.
MOST_REMEMBERED = 1_024


class _QuotaCount(NamedTuple):
    """Where an agent's requests for one action are counted, under the policy that says so."""

    policy: AgentPolicy
    windows: tuple[tuple[Window, str], ...]


class Quotas:
    """Counts the requests of verified agents. All workers share the counts as far as they share the shared cache."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._counted: dict[tuple[int, str, str | None], _QuotaCount] = {}

    @property
    def is_local(self) -> bool:
        """Say whether counting never waits."""
        return self._limiter.is_local

    async def is_within(self, site: SiteView, agent: str, action: str | None) -> bool:
        """Count one more request of an agent and say whether it is within what the site's policy lets it have."""
        for window, subject in self._windows(site, agent, action):
            if not await self._limiter.count(window, subject):
                return False
        return True

    def is_within_now(self, site: SiteView, agent: str, action: str | None) -> bool:
        """Count and say as `is_within` does, where counting never waits."""
        # Not `all`, which takes twice as long: there are two windows at most.
        for window, subject in self._windows(site, agent, action):  # noqa: SIM110
            if not self._limiter.count_now(window, subject):
                return False
        return True

    def _windows(self, site: SiteView, agent: str, action: str | None) -> tuple[tuple[Window, str], ...]:
        key = (site.number, agent, action)
        counted = self._counted.get(key)
        if counted is None or counted.policy is not site.agent_policy:
            if len(self._counted) >= MOST_REMEMBERED:
                self._counted.clear()
            counted = self._counted[key] = _QuotaCount(site.agent_policy, _windows(*key, policy=site.agent_policy))
        return counted.windows


def _windows(site: int, agent: str, action: str | None, *, policy: AgentPolicy) -> tuple[tuple[Window, str], ...]:
    # The agent chooses its URL, and keys are to be short.
    subject = f"{site}:{sha256(agent.encode()).hexdigest()[:32]}"
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
