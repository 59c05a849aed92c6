"""The customers' routes within one account, under `/v1/console`: for members and for API tokens."""

from agentgate.events.queries import endpoints as traffic
from agentgate.events.queries import export_endpoints as export
from agentgate.events.webhooks import endpoints as webhooks
from agentgate.http.surface import Surface, delete, get, patch, post, put, rows
from agentgate.lib import errors, limits
from agentgate.lib.enums import ConsolePermission
from agentgate.people.accounts.endpoints import api_tokens, members, own_account
from agentgate.people.accounts.guards import member
from agentgate.people.audit import endpoints as audit
from agentgate.protection.agents import endpoints as agents
from agentgate.protection.appeals import endpoints as appeals
from agentgate.protection.credentials import endpoints as credentials
from agentgate.protection.lists import endpoints as lists
from agentgate.protection.rules import decision_endpoints as decisions
from agentgate.protection.rules import endpoints as rules
from agentgate.protection.signals import endpoints as detect
from agentgate.protection.sites import endpoints as sites
from agentgate.protection.sites.guards import site_in_path, site_in_query

PREFIX = "/v1/console"

# One guard for each permission, so that a row names what it needs and nothing else.
SITES_READ = member(ConsolePermission.SITES_READ)
SITES_WRITE = member(ConsolePermission.SITES_WRITE)
ANALYTICS_READ = member(ConsolePermission.ANALYTICS_READ)
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
            # Rules
            get("/sites/{siteKey}/rules", rules.read_rules, guard=SITES_READ, scope=site_in_path),
            put(
                "/sites/{siteKey}/rules",
                rules.replace_rules,
                guard=SITES_WRITE,
                scope=site_in_path,
                body_limit=limits.RULES_BODY_BYTES,
                refuses=("revision_conflict", "backtest_refused", "rate_limited"),
                other_replies=rules.INVALID,
            ),
            post(
                "/sites/{siteKey}/rules/validate",
                rules.validate_rules,
                guard=SITES_READ,
                scope=site_in_path,
                body_limit=limits.RULES_BODY_BYTES,
            ),
            post(
                "/sites/{siteKey}/rules/test",
                rules.test_rules,
                guard=SITES_READ,
                scope=site_in_path,
                body_limit=limits.RULES_BODY_BYTES,
                other_replies=rules.INVALID,
            ),
            post(
                "/sites/{siteKey}/rules/backtest",
                rules.backtest_rules,
                guard=ANALYTICS_READ,
                scope=site_in_path,
                body_limit=limits.RULES_BODY_BYTES,
                refuses=("invalid_range", "rate_limited"),
                other_replies=rules.INVALID,
            ),
            # Lists
            get("/sites/{siteKey}/list-entries", lists.list_list_entries, guard=SITES_READ, scope=site_in_path),
            post(
                "/sites/{siteKey}/list-entries",
                lists.create_list_entry,
                guard=SITES_WRITE,
                scope=site_in_path,
                status=201,
                refuses=("invalid_state",),
            ),
            post(
                "/sites/{siteKey}/list-entries/backtest",
                lists.backtest_list_entry,
                guard=ANALYTICS_READ,
                scope=site_in_path,
                refuses=("invalid_range", "rate_limited"),
            ),
            delete(
                "/sites/{siteKey}/list-entries/{entryId}",
                lists.end_list_entry,
                guard=SITES_WRITE,
                scope=site_in_path,
                status=204,
                refuses=("not_found",),
            ),
            # Appeals
            get("/sites/{siteKey}/appeals", appeals.list_appeals, guard=ANALYTICS_READ, scope=site_in_path),
            get(
                "/sites/{siteKey}/appeals/{appealId}",
                appeals.read_appeal,
                guard=ANALYTICS_READ,
                scope=site_in_path,
                refuses=("not_found",),
            ),
            post(
                "/sites/{siteKey}/appeals/{appealId}/answer",
                appeals.answer_appeal,
                guard=SITES_WRITE,
                scope=site_in_path,
                refuses=("not_found", "invalid_state"),
            ),
            delete(
                "/sites/{siteKey}/appeals/{appealId}/answer",
                appeals.reopen_appeal,
                guard=SITES_WRITE,
                scope=site_in_path,
                refuses=("not_found", "invalid_state"),
            ),
            put(
                "/sites/{siteKey}/appeals/{appealId}/label",
                appeals.label_appeal,
                guard=SITES_WRITE,
                scope=site_in_path,
                refuses=("not_found", "invalid_state"),
            ),
            # Managed groups
            get("/managed-groups", rules.list_managed_groups, guard=SITES_READ),
            # Agents
            get(
                "/sites/{siteKey}/agent-policy",
                agents.read_agent_policy,
                guard=SITES_READ,
                scope=site_in_path,
            ),
            put(
                "/sites/{siteKey}/agent-policy",
                agents.replace_agent_policy,
                guard=SITES_WRITE,
                scope=site_in_path,
                refuses=("revision_conflict",),
            ),
            get(
                "/sites/{siteKey}/agent-charges",
                agents.read_agent_charges,
                guard=ANALYTICS_READ,
                scope=site_in_path,
            ),
            get(
                "/sites/{siteKey}/agent-charges.csv",
                agents.export_agent_charges,
                guard=ANALYTICS_READ,
                scope=site_in_path,
                media_type="text/csv",
                texts=agents.TEXTS,
            ),
            # Webhooks
            get("/sites/{siteKey}/webhooks", webhooks.list_webhooks, guard=SITES_READ, scope=site_in_path),
            post(
                "/sites/{siteKey}/webhooks",
                webhooks.create_webhook,
                guard=SITES_WRITE,
                scope=site_in_path,
                status=201,
                refuses=("invalid_state",),
            ),
            patch(
                "/sites/{siteKey}/webhooks/{webhookId}",
                webhooks.change_webhook,
                guard=SITES_WRITE,
                scope=site_in_path,
                refuses=("not_found",),
            ),
            delete(
                "/sites/{siteKey}/webhooks/{webhookId}",
                webhooks.delete_webhook,
                guard=SITES_WRITE,
                scope=site_in_path,
                status=204,
                refuses=("not_found",),
            ),
            post(
                "/sites/{siteKey}/webhooks/{webhookId}/rotate",
                webhooks.rotate_webhook,
                guard=SITES_WRITE,
                scope=site_in_path,
                status=201,
                refuses=("not_found",),
            ),
            post(
                "/sites/{siteKey}/webhooks/{webhookId}/test",
                webhooks.test_webhook,
                guard=SITES_WRITE,
                scope=site_in_path,
                refuses=("not_found", "rate_limited"),
            ),
            get(
                "/sites/{siteKey}/webhooks/{webhookId}/deliveries",
                webhooks.list_deliveries,
                guard=SITES_READ,
                scope=site_in_path,
                refuses=("not_found",),
            ),
            # What people allowed agents beforehand
            get(
                "/sites/{siteKey}/agent-grants",
                agents.list_agent_grants,
                guard=SITES_READ,
                scope=site_in_path,
            ),
            delete(
                "/sites/{siteKey}/agent-grants/{grantId}",
                agents.revoke_agent_grant,
                guard=SITES_WRITE,
                scope=site_in_path,
                status=204,
                refuses=("not_found",),
            ),
            # The labels that rules can name
            get("/signal-labels", detect.list_signal_labels, guard=SITES_READ),
            get("/sites/{siteKey}/install", sites.read_install, guard=SITES_READ, scope=site_in_path),
            get("/sites/{siteKey}/health", sites.read_health, guard=SITES_READ, scope=site_in_path),
            get("/sites/{siteKey}/analytics", traffic.read_analytics, guard=ANALYTICS_READ, scope=site_in_path),
            get(
                "/sites/{siteKey}/agent-prompt",
                sites.read_agent_prompt,
                guard=SITES_READ,
                scope=site_in_path,
                media_type="text/markdown",
                texts=sites.PROMPT_TEXTS,
            ),
            get(
                "/sites/{siteKey}/adapters/{proxy}",
                sites.read_adapter,
                guard=SITES_READ,
                scope=site_in_path,
                refuses=("not_found", "invalid_filter"),
            ),
            # Traffic
            get("/metrics", traffic.read_metrics, guard=ANALYTICS_READ, scope=site_in_query),
            get("/visitors", traffic.list_visitors, guard=ANALYTICS_READ, scope=site_in_query),
            get(
                "/visitors/{visitorId}",
                traffic.read_visitor_detail,
                guard=ANALYTICS_READ,
                scope=site_in_query,
                refuses=("not_found",),
            ),
            get("/decisions", traffic.list_decisions, guard=ANALYTICS_READ, scope=site_in_query),
            get(
                "/decisions/export",
                export.export_decisions,
                guard=ANALYTICS_READ,
                scope=site_in_query,
                media_type="application/x-ndjson",
                texts=export.TEXTS,
            ),
            get(
                "/decisions/{decisionId}",
                decisions.read_decision,
                guard=ANALYTICS_READ,
                scope=site_in_query,
                refuses=("not_found",),
                tag="traffic",
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
