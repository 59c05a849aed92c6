"""A site's agent policy over HTTP. Operators and customers differ in guard only."""

from agentgate.http.call import SiteCall
from agentgate.http.replies import Reply
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.protection.agents.policy import editing as policy_editing
from agentgate.protection.agents.policy.decision import AgentPolicy
from agentgate.protection.sites.repositories import SiteStores


async def read_agent_policy(call: SiteCall, store: Store[SiteStores]) -> Reply[AgentPolicy]:
    """Read what a site wants of agents; the defaults when nothing was ever set.

    `ETag` names this version. Sent back with `If-Match`, a change replaces this version or is refused.
    """
    return _shown(await _read(call, store))


async def replace_agent_policy(call: SiteCall, body: AgentPolicy, store: Store[SiteStores]) -> Reply[AgentPolicy]:
    """Replace what a site wants of agents. What is left out has its default.

    With `If-Match`, only the version that it names is replaced; otherwise the answer is 409 `revision_conflict`.
    """
    expected = call.request.header("if-match")
    await store.change(lambda stores: policy_editing.replace_policy(stores, call, body, expected=expected))
    return _shown(await _read(call, store))


async def _read(call: SiteCall, store: Store[SiteStores]) -> AgentPolicy:
    site = await store.read.sites.find_site(call.site_key, account_id=call.actor.account_id)
    if site is None:
        # Moved or purged between the scope and here.
        raise Refused("site_not_found")
    return policy_editing.stored_policy(site)


def _shown(policy: AgentPolicy) -> Reply[AgentPolicy]:
    return Reply(body=policy, headers=(("etag", policy_editing.tag_of(policy)),))
