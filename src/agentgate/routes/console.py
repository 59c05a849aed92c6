"""The customers' routes within one account, under `/v1/console`: for members and for API tokens."""

from agentgate.decision.signals import endpoints as detect
from agentgate.gateway.notices import endpoints as notices
from agentgate.http.surface import Surface, delete, get, patch, post, put
from agentgate.lib import errors
from agentgate.lib.enums import ConsolePermission
from agentgate.people.accounts.endpoints import own_account
from agentgate.people.accounts.guards import member
from agentgate.people.audit import endpoints as audit
from agentgate.routes.sites import (
    AGENT_GRANTS,
    AGENT_POLICY,
    APPEALS,
    HISTORY_AND_CREDENTIALS,
    INSTALLATION,
    LISTS,
    RULES,
    SITES_READ,
    SITES_WRITE,
    SUGGESTIONS,
    TRAFFIC,
    WEBHOOKS,
)
from agentgate.sites import endpoints as sites
from agentgate.sites.guards import site_in_path
from agentgate.sites.rules import endpoints as rules

PREFIX = "/v1/console"

# One guard for each permission, so that a row names only its permission.
MEMBERS_READ = member(ConsolePermission.MEMBERS_READ)
MEMBERS_WRITE = member(ConsolePermission.MEMBERS_WRITE)
TOKENS_WRITE = member(ConsolePermission.TOKENS_WRITE)
ACCOUNT_WRITE = member(ConsolePermission.ACCOUNT_WRITE)
ACCOUNT_DELETE = member(ConsolePermission.ACCOUNT_DELETE)
AUDIT_READ = member(ConsolePermission.AUDIT_READ)

CONSOLE = Surface(
    name="console",
    title="AgentGate console API",
    prefix=PREFIX,
    errors=errors.CONSOLE,
    compressed=True,
    # Default for rows without a permission: one that only owners have.
    guard=ACCOUNT_DELETE,
    table=(
        # Account
        get("/account", own_account.read_own_account, guard=SITES_READ),
        patch(
            "/account",
            own_account.change_own_account,
            guard=ACCOUNT_WRITE,
            refuses=("mfa_not_enabled", "invalid_state"),
        ),
        delete(
            "/account",
            own_account.delete_own_account,
            guard=ACCOUNT_DELETE,
            refuses=("confirm_mismatch", "sites_enforcing", "protected_account", "invalid_state"),
        ),
        post(
            "/account/transfer-ownership",
            own_account.transfer_own_account,
            guard=ACCOUNT_DELETE,
            refuses=("not_found",),
        ),
        # Members
        get("/members", own_account.list_members, guard=MEMBERS_READ),
        post(
            "/members",
            own_account.invite_member,
            guard=MEMBERS_WRITE,
            status=201,
            refuses=("not_found", "member_limit", "already_member", "rate_limited"),
        ),
        patch("/members/{userId}", own_account.change_member, guard=MEMBERS_WRITE, refuses=("not_found", "last_owner")),
        # Every member may leave; the handler requires `members:write` if the caller removes another member.
        delete(
            "/members/{userId}",
            own_account.remove_member,
            guard=MEMBERS_READ,
            status=204,
            refuses=("not_found", "last_owner"),
        ),
        post(
            "/members/{userId}/resend-invite",
            own_account.resend_invite,
            guard=MEMBERS_WRITE,
            refuses=("not_found", "already_active", "rate_limited"),
        ),
        get("/notices", notices.read_notices, guard=SITES_READ),
        put("/notices", notices.replace_notices, guard=SITES_READ),
        get("/audit", audit.list_own_audit, guard=AUDIT_READ),
        # Sites and credentials
        get("/sites", sites.list_sites, guard=SITES_READ),
        post(
            "/sites",
            sites.create_own_site,
            guard=SITES_WRITE,
            status=201,
            refuses=("invalid_site", "origin_limit", "site_limit", "site_key_taken"),
        ),
        get("/sites/{siteKey}", sites.read_site, guard=SITES_READ, scope=site_in_path),
        patch(
            "/sites/{siteKey}",
            sites.change_own_site,
            guard=SITES_WRITE,
            scope=site_in_path,
            refuses=("invalid_site", "origin_limit"),
        ),
        *HISTORY_AND_CREDENTIALS,
        *RULES,
        *LISTS,
        *APPEALS,
        *SUGGESTIONS,
        # Managed groups
        get("/managed-groups", rules.list_managed_groups, guard=SITES_READ),
        *AGENT_POLICY,
        *WEBHOOKS,
        *AGENT_GRANTS,
        # The labels that rules can name
        get("/signal-labels", detect.list_signal_labels, guard=SITES_READ),
        *INSTALLATION,
        *TRAFFIC,
        # API tokens
        get("/tokens", own_account.list_tokens, guard=TOKENS_WRITE),
        post("/tokens", own_account.create_token, guard=TOKENS_WRITE, status=201, refuses=("not_found", "token_limit")),
        delete("/tokens/{id}", own_account.revoke_token, guard=TOKENS_WRITE, status=204, refuses=("not_found",)),
    ),
)
