"""The customers' routes within one account, under `/v1/console`: for members and for API tokens."""

from agentgate import errors
from agentgate.accounts.endpoints import api_tokens, members, own_account
from agentgate.accounts.guards import member
from agentgate.audit import endpoints as audit
from agentgate.core.enums import ConsolePermission
from agentgate.credentials import endpoints as credentials
from agentgate.sites import endpoints as sites
from agentgate.sites.guards import site_in_path
from agentgate.web.surface import Surface, delete, get, patch, post, rows

PREFIX = "/v1/console"

# One guard for each permission, so that a row names what it needs and nothing else.
SITES_READ = member(ConsolePermission.SITES_READ)
SITES_WRITE = member(ConsolePermission.SITES_WRITE)
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
    rows=rows(
        PREFIX,
        # The permission that fewest have: a row that forgets to name its own lets in owners only.
        ACCOUNT_DELETE,
        (
            # Account
            get("/account", own_account.read_own_account, guard=SITES_READ),
            patch("/account", own_account.change_own_account, guard=ACCOUNT_WRITE, refuses=("mfa_not_enabled",)),
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
            get("/members", members.list_members, guard=MEMBERS_READ),
            post(
                "/members",
                members.invite_member,
                guard=MEMBERS_WRITE,
                status=201,
                refuses=("not_found", "member_limit", "already_member", "rate_limited"),
            ),
            patch("/members/{userId}", members.change_member, guard=MEMBERS_WRITE, refuses=("not_found", "last_owner")),
            # Leaving takes no more than being there; the handler asks `members:write` of whoever removes another.
            delete(
                "/members/{userId}",
                members.remove_member,
                guard=MEMBERS_READ,
                status=204,
                refuses=("not_found", "last_owner"),
            ),
            post(
                "/members/{userId}/resend-invite",
                members.resend_invite,
                guard=MEMBERS_WRITE,
                refuses=("not_found", "already_active", "rate_limited"),
            ),
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
            get("/sites/{siteKey}/changes", audit.list_site_changes, guard=SITES_READ, scope=site_in_path),
            post(
                "/sites/{siteKey}/credentials",
                credentials.create_credential,
                guard=SITES_WRITE,
                scope=site_in_path,
                status=201,
                refuses=("credential_limit",),
            ),
            post(
                "/sites/{siteKey}/credentials/{credId}/rotate",
                credentials.rotate_credential,
                guard=SITES_WRITE,
                scope=site_in_path,
                status=201,
                refuses=("not_found", "credential_limit", "invalid_state"),
            ),
            post(
                "/sites/{siteKey}/credentials/{credId}/revoke",
                credentials.revoke_credential,
                guard=SITES_WRITE,
                scope=site_in_path,
                refuses=("not_found",),
            ),
            # API tokens
            get("/tokens", api_tokens.list_tokens, guard=TOKENS_WRITE),
            post(
                "/tokens", api_tokens.create_token, guard=TOKENS_WRITE, status=201, refuses=("not_found", "token_limit")
            ),
            delete("/tokens/{id}", api_tokens.revoke_token, guard=TOKENS_WRITE, status=204, refuses=("not_found",)),
        ),
    ),
)
