"""The operators' routes, under `/v1/admin` on the private listener."""

from agentgate.events.queries import endpoints as traffic
from agentgate.events.queries import export_endpoints as export
from agentgate.events.webhooks import endpoints as webhooks
from agentgate.http.surface import Surface, delete, get, patch, post, put, rows
from agentgate.lib import errors, limits
from agentgate.people.audit import endpoints as audit
from agentgate.people.feedback import endpoints as feedback
from agentgate.people.identity import endpoints as identity
from agentgate.people.identity.guards import not_cross_origin, operator
from agentgate.people.installation import endpoints as installation
from agentgate.people.outbox import endpoints as outbox
from agentgate.protection.agents import endpoints as agents
from agentgate.protection.appeals import endpoints as appeals
from agentgate.protection.browser_check.probes import endpoints as probes
from agentgate.protection.credentials import endpoints as credentials
from agentgate.protection.customers import endpoints as customers
from agentgate.protection.customers.guards import customer_in_path
from agentgate.protection.lists import endpoints as lists
from agentgate.protection.rules import decision_endpoints as decisions
from agentgate.protection.rules import endpoints as rules
from agentgate.protection.scoring import endpoints as scoring
from agentgate.protection.signals import endpoints as detect
from agentgate.protection.sites import endpoints as sites
from agentgate.protection.sites.guards import site_by_id_or_key, site_in_path, site_in_query

PREFIX = "/v1/admin"

ADMIN = Surface(
    name="admin",
    title="AgentGate admin API",
    prefix=PREFIX,
    errors=errors.CONSOLE,
    compressed=True,
    rows=rows(
        PREFIX,
        operator,
        (
            # Session
            post("/login", identity.log_in, guard=not_cross_origin, refuses=("unauthorized", "rate_limited")),
            post("/logout", identity.log_out, status=204),
            get("/session", identity.read_session, holds_secret=True),
            get("/sessions", identity.list_sessions),
            delete("/sessions/{id}", identity.end_session, status=204, refuses=("not_found",)),
            post("/sessions/revoke-others", identity.end_other_sessions, status=204),
            # Sites and credentials
            get("/sites", sites.list_sites),
            post("/sites", sites.create_site, status=201, refuses=("invalid_site", "site_key_taken")),
            get("/sites/{siteKey}", sites.read_site, scope=site_in_path),
            patch("/sites/{siteKey}", sites.change_site, scope=site_in_path, refuses=("invalid_site",)),
            get("/sites/{siteKey}/changes", audit.list_site_changes, scope=site_in_path),
            post(
                "/sites/{siteKey}/credentials",
                credentials.create_credential,
                scope=site_in_path,
                status=201,
                refuses=("credential_limit",),
            ),
            post(
                "/sites/{siteKey}/credentials/{credId}/rotate",
                credentials.rotate_credential,
                scope=site_in_path,
                status=201,
                refuses=("not_found", "credential_limit", "invalid_state"),
            ),
            post(
                "/sites/{siteKey}/credentials/{credId}/revoke",
                credentials.revoke_credential,
                scope=site_in_path,
                refuses=("not_found",),
            ),
            get("/sites/{siteKey}/install", sites.read_install, scope=site_in_path),
            get("/sites/{siteKey}/health", sites.read_health, scope=site_in_path),
            get("/sites/{siteKey}/analytics", traffic.read_analytics, scope=site_in_path),
            get(
                "/sites/{siteKey}/agent-prompt",
                sites.read_agent_prompt,
                scope=site_in_path,
                media_type="text/markdown",
                texts=sites.PROMPT_TEXTS,
            ),
            get(
                "/sites/{siteKey}/adapters/{proxy}",
                sites.read_adapter,
                scope=site_in_path,
                refuses=("not_found", "invalid_filter"),
            ),
            post(
                "/sites/{siteKey}/move",
                sites.move_site,
                scope=site_in_path,
                refuses=("not_found", "protected_account", "invalid_state"),
            ),
            # Rules
            get("/sites/{siteKey}/rules", rules.read_rules, scope=site_in_path),
            put(
                "/sites/{siteKey}/rules",
                rules.replace_rules,
                scope=site_in_path,
                body_limit=limits.RULES_BODY_BYTES,
                refuses=("revision_conflict", "backtest_refused", "rate_limited"),
                other_replies=rules.INVALID,
            ),
            post(
                "/sites/{siteKey}/rules/validate",
                rules.validate_rules,
                scope=site_in_path,
                body_limit=limits.RULES_BODY_BYTES,
            ),
            post(
                "/sites/{siteKey}/rules/test",
                rules.test_rules,
                scope=site_in_path,
                body_limit=limits.RULES_BODY_BYTES,
                other_replies=rules.INVALID,
            ),
            post(
                "/sites/{siteKey}/rules/backtest",
                rules.backtest_rules,
                scope=site_in_path,
                body_limit=limits.RULES_BODY_BYTES,
                refuses=("invalid_range", "rate_limited"),
                other_replies=rules.INVALID,
            ),
            # Lists
            get("/sites/{siteKey}/list-entries", lists.list_list_entries, scope=site_in_path),
            post(
                "/sites/{siteKey}/list-entries",
                lists.create_list_entry,
                scope=site_in_path,
                status=201,
                refuses=("invalid_state",),
            ),
            post(
                "/sites/{siteKey}/list-entries/backtest",
                lists.backtest_list_entry,
                scope=site_in_path,
                refuses=("invalid_range", "rate_limited"),
            ),
            delete(
                "/sites/{siteKey}/list-entries/{entryId}",
                lists.end_list_entry,
                scope=site_in_path,
                status=204,
                refuses=("not_found",),
            ),
            # Appeals
            get("/sites/{siteKey}/appeals", appeals.list_appeals, scope=site_in_path),
            get(
                "/sites/{siteKey}/appeals/{appealId}",
                appeals.read_appeal,
                scope=site_in_path,
                refuses=("not_found",),
            ),
            post(
                "/sites/{siteKey}/appeals/{appealId}/answer",
                appeals.answer_appeal,
                scope=site_in_path,
                refuses=("not_found", "invalid_state"),
            ),
            delete(
                "/sites/{siteKey}/appeals/{appealId}/answer",
                appeals.reopen_appeal,
                scope=site_in_path,
                refuses=("not_found", "invalid_state"),
            ),
            put(
                "/sites/{siteKey}/appeals/{appealId}/label",
                appeals.label_appeal,
                scope=site_in_path,
                refuses=("not_found", "invalid_state"),
            ),
            # Managed groups
            get("/managed-groups", rules.list_managed_groups),
            # Traffic
            get("/metrics", traffic.read_metrics, scope=site_in_query),
            get("/visitors", traffic.list_visitors, scope=site_in_query),
            get("/visitors/{visitorId}", traffic.read_visitor_detail, scope=site_in_query, refuses=("not_found",)),
            get("/decisions", traffic.list_decisions, scope=site_in_query),
            get(
                "/decisions/export",
                export.export_decisions,
                scope=site_in_query,
                media_type="application/x-ndjson",
                texts=export.TEXTS,
            ),
            get(
                "/decisions/{decisionId}",
                decisions.read_decision,
                scope=site_in_query,
                refuses=("not_found",),
                tag="traffic",
            ),
            # Labels, feature capture, models
            put(
                "/decisions/{decisionId}/label",
                scoring.label_decision,
                scope=site_in_query,
                refuses=("not_found",),
            ),
            get("/labels", scoring.list_labels, scope=site_in_query),
            post("/labels", scoring.create_label, scope=site_in_query, status=201, refuses=("not_found",)),
            get("/sites/{site}/feature-capture", scoring.read_feature_capture, scope=site_by_id_or_key),
            put("/sites/{site}/feature-capture", scoring.change_feature_capture, scope=site_by_id_or_key),
            get("/models", scoring.list_models),
            get("/models/{kind}/{role}", scoring.read_model, refuses=("not_found",)),
            put(
                "/models/{kind}/{role}",
                scoring.install_model,
                body_limit=limits.MODEL_BODY_BYTES,
                refuses=("not_found",),
            ),
            delete("/models/{kind}/{role}", scoring.clear_model, refuses=("invalid_request", "not_found")),
            get("/models/{kind}/compare", scoring.compare_models, refuses=("invalid_request", "not_found")),
            post("/models/{kind}/promote", scoring.promote_model, refuses=("invalid_request", "not_found")),
            post("/models/{kind}/rollback", scoring.roll_back_model, refuses=("invalid_request", "not_found")),
            # Agents
            get(
                "/sites/{siteKey}/agent-policy",
                agents.read_agent_policy,
                scope=site_in_path,
            ),
            put(
                "/sites/{siteKey}/agent-policy",
                agents.replace_agent_policy,
                scope=site_in_path,
                refuses=("revision_conflict",),
            ),
            get(
                "/sites/{siteKey}/agent-charges",
                agents.read_agent_charges,
                scope=site_in_path,
            ),
            get(
                "/sites/{siteKey}/agent-charges.csv",
                agents.export_agent_charges,
                scope=site_in_path,
                media_type="text/csv",
                texts=agents.TEXTS,
            ),
            get("/sites/{siteKey}/agent-grants", agents.list_agent_grants, scope=site_in_path),
            delete(
                "/sites/{siteKey}/agent-grants/{grantId}",
                agents.revoke_agent_grant,
                scope=site_in_path,
                status=204,
                refuses=("not_found",),
            ),
            # Webhooks
            get("/sites/{siteKey}/webhooks", webhooks.list_webhooks, scope=site_in_path),
            post(
                "/sites/{siteKey}/webhooks",
                webhooks.create_webhook,
                scope=site_in_path,
                status=201,
                refuses=("invalid_state",),
            ),
            patch(
                "/sites/{siteKey}/webhooks/{webhookId}",
                webhooks.change_webhook,
                scope=site_in_path,
                refuses=("not_found",),
            ),
            delete(
                "/sites/{siteKey}/webhooks/{webhookId}",
                webhooks.delete_webhook,
                scope=site_in_path,
                status=204,
                refuses=("not_found",),
            ),
            post(
                "/sites/{siteKey}/webhooks/{webhookId}/rotate",
                webhooks.rotate_webhook,
                scope=site_in_path,
                status=201,
                refuses=("not_found",),
            ),
            post(
                "/sites/{siteKey}/webhooks/{webhookId}/test",
                webhooks.test_webhook,
                scope=site_in_path,
                refuses=("not_found", "rate_limited"),
            ),
            get(
                "/sites/{siteKey}/webhooks/{webhookId}/deliveries",
                webhooks.list_deliveries,
                scope=site_in_path,
                refuses=("not_found",),
            ),
            # Accounts
            get("/access-requests", customers.list_access_requests),
            post(
                "/access-requests/{id}/approve",
                customers.approve_access_request,
                refuses=("not_found", "already_active", "invalid_state"),
            ),
            post(
                "/access-requests/{id}/decline",
                customers.decline_access_request,
                refuses=("not_found", "invalid_state"),
            ),
            get("/accounts", customers.list_accounts),
            post(
                "/accounts",
                customers.invite_account,
                status=201,
                refuses=("member_limit", "already_member", "already_active", "invalid_state"),
            ),
            get("/customers", customers.list_customers),
            get("/customers/{id}", customers.read_customer, scope=customer_in_path),
            patch("/customers/{id}", customers.change_customer, scope=customer_in_path),
            delete(
                "/customers/{id}",
                customers.delete_customer,
                scope=customer_in_path,
                refuses=("confirm_mismatch", "sites_enforcing", "protected_account", "invalid_state"),
            ),
            post(
                "/customers/{id}/suspend",
                customers.suspend_customer,
                scope=customer_in_path,
                refuses=("protected_account", "invalid_state"),
            ),
            post(
                "/customers/{id}/reactivate",
                customers.reactivate_customer,
                scope=customer_in_path,
                refuses=("invalid_state",),
            ),
            post(
                "/customers/{id}/sites",
                customers.create_customer_site,
                scope=customer_in_path,
                status=201,
                refuses=("invalid_site", "site_key_taken", "invalid_state"),
            ),
            post(
                "/customers/{id}/members",
                customers.add_customer_member,
                scope=customer_in_path,
                status=201,
                refuses=("member_limit", "already_member", "invalid_state"),
            ),
            patch(
                "/customers/{id}/members/{userId}",
                customers.change_customer_member,
                scope=customer_in_path,
                refuses=("last_owner",),
            ),
            delete(
                "/customers/{id}/members/{userId}",
                customers.remove_customer_member,
                scope=customer_in_path,
                status=204,
                refuses=("last_owner",),
            ),
            post(
                "/customers/{id}/members/{userId}/resend-invite",
                customers.resend_customer_invite,
                scope=customer_in_path,
                refuses=("already_active", "invalid_state"),
            ),
            get("/customers/{id}/audit", customers.list_customer_audit, scope=customer_in_path),
            delete(
                "/customers/{id}/tokens/{tokenId}",
                customers.revoke_customer_token,
                scope=customer_in_path,
                status=204,
            ),
            post("/users/{userId}/suspend", customers.suspend_user, refuses=("not_found", "invalid_state")),
            post("/users/{userId}/reactivate", customers.reactivate_user, refuses=("not_found", "invalid_state")),
            post("/users/{userId}/reset-link", customers.create_reset_link, refuses=("not_found", "invalid_state")),
            post("/users/{userId}/mfa/reset", customers.reset_mfa, refuses=("not_found", "mfa_not_enabled")),
            get("/outbox", outbox.list_messages, holds_secret=True),
            get("/docs-feedback", feedback.read_report),
            # The installation
            get("/service", installation.read_installation),
            get("/settings", installation.read_settings),
            post("/keys/{purpose}/rotate", installation.rotate_key, status=201, refuses=("not_found", "invalid_state")),
            get("/audit", audit.list_operator_audit),
            # The labels that rules can name
            get("/signal-labels", detect.list_signal_labels),
            # What browsers are asked that only a real engine can answer
            get("/probes", probes.read_probes),
        ),
    ),
)
