"""Grants: uses of an action that a person allowed an agent beforehand. Each use is taken by one statement."""

from agentgate.lib.clock import HOUR_MS
from agentgate.lib.ids import new_agent_grant_id
from agentgate.lib.limits import AGENT_GRANT_HOURS, AGENT_GRANT_USES
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional_moment
from agentgate.protection.agents.handoff.records import AgentGrant
from agentgate.protection.agents.handoff.repository import GrantStore, StoredGrant, StoredHandoff
from agentgate.protection.agents.identity import Identity
from agentgate.protection.sites.directory import SiteView


class AgentGrants:
    """Keeps grants. They are bound to agent, key, site and action: another key of the same agent has none of them."""

    def __init__(self, store: GrantStore) -> None:
        self._store = store

    async def give(self, handoff: StoredHandoff, *, uses: int, hours: int, now_ms: int) -> StoredGrant:
        """Keep what a person allowed at a handoff."""
        if not (1 <= uses <= AGENT_GRANT_USES and 1 <= hours <= AGENT_GRANT_HOURS):
            raise ValueError(f"a grant has 1 to {AGENT_GRANT_USES} uses within 1 to {AGENT_GRANT_HOURS} hours")
        grant = StoredGrant(
            id=new_agent_grant_id(),
            site=handoff.site,
            agent=handoff.agent,
            keyid=handoff.keyid,
            action=handoff.action,
            handoff_id=handoff.id,
            uses=uses,
            uses_left=uses,
            created_ms=now_ms,
            expires_ms=now_ms + hours * HOUR_MS,
        )
        await self._store.add_grant(grant)
        return grant

    async def use(self, site: SiteView, identity: Identity, *, action: str, now_ms: int) -> str | None:
        """Take one use for a verified agent and return the grant's ID; None when there is nothing to take.

        A policy that no longer lets agents ask a person lets no grant stand either.
        """
        agent, keyid = identity.agent, identity.keyid
        if agent is None or keyid is None or not may_grant(site, action):
            return None
        taken = await self._store.use_grant(site=site.number, agent=agent, keyid=keyid, action=action, now_ms=now_ms)
        return None if taken is None else taken.id

    async def list_of(self, site: int) -> list[AgentGrant]:
        """Return a site's grants, the newest first: those that are over for some weeks yet."""
        return [shown(grant) for grant in await self._store.list_grants(site)]

    async def revoke(self, site: int, grant_id: str, *, now_ms: int) -> bool | None:
        """End a grant; False when it was revoked before, None when the site has no such grant."""
        return await self._store.revoke_grant(site, grant_id, now_ms=now_ms)


def may_grant(site: SiteView, action: str) -> bool:
    """Say whether people may allow agents further uses of an action: where the policy says so in as many words."""
    terms = site.agent_policy.actions.get(action)
    return terms is not None and terms.handoff is True


def shown(grant: StoredGrant) -> AgentGrant:
    """Return a grant as it goes over the wire."""
    return AgentGrant(
        id=grant.id,
        agent=grant.agent,
        key_id=grant.keyid,
        action=grant.action,
        uses=grant.uses,
        uses_left=grant.uses_left,
        created_at=Moment(grant.created_ms),
        expires_at=Moment(grant.expires_ms),
        handoff_id=grant.handoff_id,
        last_used_at=optional_moment(grant.last_used_ms),
        revoked_at=optional_moment(grant.revoked_ms),
    )
