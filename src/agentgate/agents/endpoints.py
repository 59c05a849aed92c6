"""Agents over HTTP: policy, charges, submissions, tools manifests, and handoffs with their page and grants.

Operators and customers differ in guard only.
"""

import hashlib
from typing import Any, cast

import msgspec
from msgspec import UnsetType

from agentgate.agents.handoff.approval import Approvals, HandoffView
from agentgate.agents.handoff.page import HEADERS, choose_language, handoff_page, message_page
from agentgate.agents.handoff.repository import (
    AgentGrant,
    AgentGrantList,
    ChoiceInput,
    GrantStore,
    HandoffAnswer,
)
from agentgate.agents.ledger import (
    COLUMNS,
    ChargeStatement,
    StatementQuery,
    make_statement,
    month_of,
    range_of,
    write_table,
)
from agentgate.agents.signature_check import AgentCheckResult, SignatureExplainer
from agentgate.agents.signing.key_sets import read_key
from agentgate.agents.submission_repository import SubmissionStore
from agentgate.agents.submit.submissions import SubmissionAnswer, SubmissionInput, Submissions, charged_in
from agentgate.agents.tools import PublishedManifest, ToolsManifest, ToolsManifests
from agentgate.http.call import Call, SiteCall
from agentgate.http.cors import OPEN_TO_ALL
from agentgate.http.replies import Reply, Text
from agentgate.http.static_files import StaticFiles, read_file
from agentgate.lib.database import Store
from agentgate.lib.enums import HandoffStatus
from agentgate.lib.errors import Refused
from agentgate.lib.limits import AGENT_TOOLS_MAX_AGE_S
from agentgate.lib.records import to_builtins, to_json, to_wire
from agentgate.lib.tasks.off_loop import off_loop
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, diff, record
from agentgate.sites.agent_policy import DEFAULT_POLICY, AgentPolicy, find_problem, read_policy
from agentgate.sites.editing import locked_site
from agentgate.sites.records import Site
from agentgate.sites.repository import SiteStores


async def read_agent_policy(call: SiteCall, store: Store[SiteStores]) -> Reply[AgentPolicy]:
    """Read a site's agent policy. Default: the default policy.

    `ETag` is the version. With `If-Match`, a change succeeds only if this version is still current.
    """
    return _shown_policy(await _read_policy(call, store))


async def replace_agent_policy(call: SiteCall, body: AgentPolicy, stores: SiteStores) -> Reply[AgentPolicy]:
    """Replace a site's agent policy. Omitted members get their defaults.

    With `If-Match`, only that version is replaced; otherwise the response is 409 `revision_conflict`.
    """
    site = await locked_site(stores, call)
    check_policy(body, site)
    before, expected = stored_policy(site), call.request.header("if-match")
    if expected is not None and expected != tag_of(before):
        raise Refused(
            "revision_conflict", "The agent policy has changed since you loaded it. Load it again, then save."
        )
    # An unchanged policy gets no audit entry.
    if before != body or isinstance(site.agent_policy, UnsetType):
        await stores.sites.save_agent_policy(call.site_id, to_builtins(body), call.now)
        await stores.configuration.bump_site(call.site_id)
        subject = Subject(account_id=call.account_id, site_id=call.site_id, target=call.site_key)
        await record(stores, call, Action.AGENT_POLICY_UPDATE, subject, policy_diff(before, body))
    return _shown_policy(body)


async def _read_policy(call: SiteCall, store: Store[SiteStores]) -> AgentPolicy:
    site = await store.read.sites.get_site(call.site_key, account_id=call.actor.account_id)
    return stored_policy(site)


def _shown_policy(policy: AgentPolicy) -> Reply[AgentPolicy]:
    return Reply(body=policy, headers=(("etag", tag_of(policy)),))


# The description in the API documents.
TEXTS = {"text/csv": f"A header row, then one row per charge: {', '.join(COLUMNS)}"}


async def read_agent_charges(
    call: SiteCall, query: StatementQuery, store: Store[SiteStores], charges: SubmissionStore
) -> ChargeStatement:
    """Read the charges of agents at a site in a month (UTC), with totals per agent and currency."""
    return await _statement(call, query, store, charges)


async def export_agent_charges(
    call: SiteCall, query: StatementQuery, store: Store[SiteStores], charges: SubmissionStore
) -> Reply[Text]:
    """Export the charges of agents at a site in a month (UTC) as CSV."""
    statement = await _statement(call, query, store, charges)
    name = f"agent-charges-{call.site_key}-{statement.month}.csv"
    headers = (("content-disposition", f'attachment; filename="{name}"'),)
    return Reply(body=Text(write_table(statement), "text/csv; charset=utf-8"), headers=headers)


async def _statement(
    call: SiteCall, query: StatementQuery, store: Store[SiteStores], charges: SubmissionStore
) -> ChargeStatement:
    site = await store.read.sites.get_site(call.site_key, account_id=call.actor.account_id)
    month = month_of(call.now) if isinstance(query.month, UnsetType) else query.month
    span = range_of(month)
    sums = await charges.sum_charges(call.site_id, from_ms=span.from_ms, to_ms=span.to_ms)
    policy = stored_policy(site)
    return await off_loop(len(sums), lambda: make_statement(call.site_key, month, sums, policy=policy))


async def submit(
    call: Call, body: SubmissionInput, content: bytes, submissions: Submissions
) -> Reply[SubmissionAnswer]:
    """Submit content as an agent and get a receipt for the site.

    The request is signed (RFC 9421, `tag="web-bot-auth"`) and the signature covers `Content-Digest`. The agent
    chooses `id`. A repeated `id` with the same content gets the same response and is charged once.
    """
    answer = await submissions.submit(call, body, content)
    charged = charged_in(answer)
    headers = () if charged is None else (("crawler-charged", charged),)
    # The stored bytes: a repeated submission gets exactly the first response.
    return Reply(body=cast("SubmissionAnswer", msgspec.Raw(answer)), headers=headers)


async def check_agent(call: Call, explainer: SignatureExplainer) -> AgentCheckResult:
    """Check the signatures of this request, and explain the result to the developer of an agent.

    The response has the verdict, the reason, and for each signature the computed signature base and the key set.
    It does not show whether a site allows the agent.
    """
    return await explainer.explain(call)


async def read_site_tools(call: Call, manifests: ToolsManifests) -> Reply[ToolsManifest | None]:
    """Read the tools that a site offers to agents.

    Each tool is an MCP Tool object. A site may serve this as its own `/.well-known/agentgate-tools.json`.
    """
    found = await manifests.of_site(call.params["siteKey"])
    if found is None:
        raise Refused("site_not_found")
    return _reply(call, found)


async def read_own_tools(call: Call, manifests: ToolsManifests) -> Reply[ToolsManifest | None]:
    """Read AgentGate's own tools and the location of sites' tools, without any customer."""
    return _reply(call, await manifests.own())


def _reply(call: Call, found: PublishedManifest) -> Reply[ToolsManifest | None]:
    headers = (("cache-control", f"public, max-age={AGENT_TOOLS_MAX_AGE_S}"), ("etag", found.etag), *OPEN_TO_ALL)
    if _is_known(call.request.header("if-none-match"), found.etag):
        return Reply(body=None, status=304, headers=headers)
    return Reply(body=cast("ToolsManifest", msgspec.Raw(found.content)), headers=headers)


def _is_known(sent: str | None, etag: str) -> bool:
    if sent is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in sent.split(",")]
    return "*" in tags or etag in tags


HTML = "text/html; charset=utf-8"


async def poll_handoff(call: Call, approvals: Approvals) -> Reply[HandoffAnswer]:
    """Poll the state of a handoff.

    The agent that received the handoff signs each request with a new signature; other callers get 404. The receipt of
    an approved handoff does not change until it is redeemed.
    """
    answer = await approvals.poll(call, call.params["id"])
    wait = (("retry-after", str(answer.interval)),) if answer.status is HandoffStatus.PENDING else ()
    return Reply(body=answer, headers=wait)


async def read_handoff_page(call: Call, approvals: Approvals) -> Reply[Text]:
    """Read the page on which a person decides about an agent's request."""
    return _page(call, await approvals.show(call, call.params["id"]))


async def decide_handoff(call: Call, body: ChoiceInput, approvals: Approvals) -> Reply[Text]:
    """Approve or decline an agent's request.

    The page's own form sends it, with the token of the browser check on that page.
    """
    return _page(call, await approvals.decide(call, call.params["id"], body))


async def read_handoff_style(call: Call, static: StaticFiles) -> Reply[Text | None]:
    """Read the page's style sheet."""
    return await read_file(call, static)


async def list_agent_grants(call: SiteCall, store: Store[SiteStores], grants: GrantStore) -> AgentGrantList:
    """List the pre-approvals of agents on this site, newest first."""
    number = await store.read.sites.find_number(call.site_id)
    return AgentGrantList(
        items=[to_wire(grant, AgentGrant, key_id=grant.keyid) for grant in await grants.list_grants(number)]
    )


async def revoke_agent_grant(call: SiteCall, store: Store[SiteStores], grants: GrantStore) -> None:
    """Revoke a pre-approval now.

    The agent's next request is challenged again. Revoking it twice has no further effect.
    """
    number = await store.read.sites.find_number(call.site_id)
    grant_id = call.params["grantId"]
    revoked = await grants.revoke_grant(number, grant_id, now_ms=call.now)
    if revoked is None:
        raise Refused("not_found", "The site has no pre-approval with this ID. List its pre-approvals for their IDs.")
    if revoked:
        subject = Subject(account_id=call.account_id, site_id=call.site_id, target=grant_id)
        await store.change(lambda stores: record(stores, call, Action.AGENT_GRANT_REVOKE, subject))


def write_refusal(_code: str, message: str) -> Text:
    """Return an error as a page for people."""
    return Text(message_page(message).encode(), HTML)


def _page(call: Call, view: HandoffView) -> Reply[Text]:
    language = choose_language(call.request.header("accept-language"))
    headers = (*HEADERS, ("content-language", language))
    return Reply(body=Text(handoff_page(view, language).encode(), HTML), status=view.phase.status, headers=headers)


# Larger policies would slow down the reading of all sites.
MOST_BYTES = 128 * 1024
FIELDS = ("default", "unverified", "quota_per_minute", "actions", "tools", "agent_directories")


def tag_of(policy: AgentPolicy) -> str:
    """Return the ETag of a policy: a change with it in `If-Match` replaces this version and no other."""
    return f'"{hashlib.sha256(to_json(policy)).hexdigest()[:16]}"'


def stored_policy(site: Site) -> AgentPolicy:
    """Return the policy of a site; the default for one that was damaged in the store, so that it can be replaced."""
    try:
        return read_policy(site.agent_policy)
    except ValueError:
        return DEFAULT_POLICY


def check_policy(policy: AgentPolicy, site: Site) -> None:
    """Reject an invalid policy."""
    problem = find_problem(policy) or _unknown_action(policy, site) or _unusable_key(policy)
    if problem is not None:
        raise Refused("invalid_request", problem)
    if len(to_json(policy)) > MOST_BYTES:
        raise Refused("invalid_request", f"The policy is too large. Send at most {MOST_BYTES // 1024} KiB.")


def policy_diff(before: AgentPolicy, after: AgentPolicy) -> dict[str, Any]:
    """Return the changes, so that each can be taken back. Agents that stayed the same would fill the trail."""
    old, new = to_builtins(before.agents), to_builtins(after.agents)
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    detail: dict[str, Any] = dict(diff(before, after, FIELDS))
    if names:
        detail["agents"] = {
            "from": {name: old[name] for name in names if name in old},
            "to": {name: new[name] for name in names if name in new},
        }
    return detail


def _unknown_action(policy: AgentPolicy, site: Site) -> str | None:
    named = [(f"actions.{action}", action) for action in policy.actions]
    for key, entry in policy.agents.items():
        if not isinstance(entry.actions, UnsetType):
            named += [(f"agents.{key}.actions.{action}", action) for action in entry.actions]
    unknown = next((where for where, action in named if action not in site.actions), None)
    known = ", ".join(site.actions)
    return None if unknown is None else f"{unknown}: the site does not have this action. Its actions are {known}."


def _unusable_key(policy: AgentPolicy) -> str | None:
    for agent, entry in policy.agents.items():
        if isinstance(entry.jwks, UnsetType):
            continue
        for number, jwk in enumerate(entry.jwks.keys):
            if read_key(jwk) is None:
                return (
                    f"agents.{agent}.jwks.keys[{number}] is not an Ed25519 public key for signatures. "
                    'Send {"kty": "OKP", "crv": "Ed25519", "x": "<43 characters>"}.'
                )
    return None
