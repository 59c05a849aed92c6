"""Replacing a site's agent policy: checked, with an audit entry and word to every worker, or not at all."""

import hashlib
from typing import Any

from msgspec import UnsetType

from agentgate.http.call import SiteCall
from agentgate.lib.errors import Refused
from agentgate.lib.records import to_builtins, to_json
from agentgate.people.audit.actions import Action
from agentgate.people.audit.diff import diff
from agentgate.people.audit.trail import Subject, record
from agentgate.protection.agents.signing.key_sets import read_key
from agentgate.protection.sites.agent_policy import DEFAULT_POLICY, AgentPolicy, find_problem, read_policy
from agentgate.protection.sites.editing import locked_site
from agentgate.protection.sites.records import Site
from agentgate.protection.sites.repository import SiteStores

# More than this and reading all sites would take longer for everybody.
MOST_BYTES = 128 * 1024
FIELDS = ("default", "unverified", "quota_per_minute", "actions", "tools")


def tag_of(policy: AgentPolicy) -> str:
    """Return the ETag of a policy: whoever sends it with `If-Match` replaces this one and no other."""
    return f'"{hashlib.sha256(to_json(policy)).hexdigest()[:16]}"'


def stored_policy(site: Site) -> AgentPolicy:
    """Return the policy of a site; the default for one that was damaged in the store, so that it can be replaced."""
    try:
        return read_policy(site.agent_policy)
    except ValueError:
        return DEFAULT_POLICY


def check_policy(policy: AgentPolicy, site: Site) -> None:
    """Refuse a policy that says what cannot be."""
    problem = find_problem(policy) or _unknown_action(policy, site) or _unusable_key(policy)
    if problem is not None:
        raise Refused("invalid_request", problem)
    if len(to_json(policy)) > MOST_BYTES:
        raise Refused("invalid_request", f"The policy is too long; at most {MOST_BYTES // 1024} KiB are kept.")


async def replace_policy(stores: SiteStores, call: SiteCall, policy: AgentPolicy, *, expected: str | None) -> None:
    """Store a policy in place of the present one. One that is the same leaves no trace."""
    site = await locked_site(stores, call)
    check_policy(policy, site)
    before = stored_policy(site)
    if expected is not None and expected != tag_of(before):
        raise Refused("revision_conflict", "The agent policy changed since it was loaded. Load it again, then save.")
    if before == policy and not isinstance(site.agent_policy, UnsetType):
        return
    await stores.sites.save_agent_policy(call.site_id, to_builtins(policy), call.now)
    await stores.configuration.bump()
    subject = Subject(account_id=call.account_id, site_id=call.site_id, target=call.site_key)
    await record(stores, call, Action.AGENT_POLICY_UPDATE, subject, policy_diff(before, policy))


def policy_diff(before: AgentPolicy, after: AgentPolicy) -> dict[str, Any]:
    """Return what changed. Of agents only which ones: their keys would fill the trail."""
    old, new = before.agents, after.agents
    agents = {
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and new[name] != old[name]],
    }
    detail: dict[str, Any] = dict(diff(before, after, FIELDS))
    return detail | ({"agents": agents} if any(agents.values()) else {})


def _unknown_action(policy: AgentPolicy, site: Site) -> str | None:
    named = [(f"actions.{action}", action) for action in policy.actions]
    for key, entry in policy.agents.items():
        if not isinstance(entry.actions, UnsetType):
            named += [(f"agents.{key}.actions.{action}", action) for action in entry.actions]
    unknown = next((where for where, action in named if action not in site.actions), None)
    known = ", ".join(site.actions)
    return None if unknown is None else f"{unknown}: the site has no such action; it has {known}."


def _unusable_key(policy: AgentPolicy) -> str | None:
    for agent, entry in policy.agents.items():
        if isinstance(entry.jwks, UnsetType):
            continue
        for number, jwk in enumerate(entry.jwks.keys):
            if read_key(jwk) is None:
                return (
                    f"agents.{agent}.jwks.keys[{number}] is no Ed25519 public key for signatures; "
                    'send {"kty": "OKP", "crv": "Ed25519", "x": "<43 characters>"}.'
                )
    return None
