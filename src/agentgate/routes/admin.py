"""The operators' routes, under `/v1/admin` on the private listener."""

from agentgate.browser_check.probes import endpoints as probes
from agentgate.decision.scoring import endpoints as scoring
from agentgate.decision.scoring import insight_endpoints as insight
from agentgate.decision.scoring import model_endpoints as models
from agentgate.decision.signals import endpoints as detect
from agentgate.events.labels import endpoints as labels
from agentgate.http.surface import Surface, delete, get, patch, post, put
from agentgate.lib import errors, limits
from agentgate.people.accounts.endpoints import setup
from agentgate.people.audit import endpoints as audit
from agentgate.people.feedback import endpoints as feedback
from agentgate.people.identity import endpoints as identity
from agentgate.people.identity.guards import not_cross_origin, operator
from agentgate.people.installation import endpoints as installation
from agentgate.people.outbox import endpoints as outbox
from agentgate.routes.sites import (
    AGENT_GRANTS,
    AGENT_POLICY,
    APPEALS,
    HISTORY_AND_CREDENTIALS,
    INSTALLATION,
    LISTS,
    RULES,
    SUGGESTIONS,
    TRAFFIC,
    WEBHOOKS,
    operators_rows,
    scoped,
)
from agentgate.sites import endpoints as sites
from agentgate.sites.customers import endpoints as customers
from agentgate.sites.customers import fleet_endpoints as fleet
from agentgate.sites.customers.guards import customer_in_path
from agentgate.sites.guards import site_by_id_or_key, site_in_path, site_in_query
from agentgate.sites.rules import endpoints as rules

PREFIX = "/v1/admin"

ADMIN = Surface(
    name="admin",
    title="AgentGate admin API",
    prefix=PREFIX,
    errors=errors.CONSOLE,
    compressed=True,
    guard=operator,
    table=(
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
        *operators_rows(HISTORY_AND_CREDENTIALS, INSTALLATION),
        post(
            "/sites/{siteKey}/move",
            sites.move_site,
            scope=site_in_path,
            refuses=("not_found", "protected_account", "invalid_state"),
        ),
        *operators_rows(RULES, LISTS, APPEALS, SUGGESTIONS),
        # Managed groups
        get("/managed-groups", rules.list_managed_groups),
        *operators_rows(TRAFFIC),
        # Labels, feature capture, models
        put("/decisions/{decisionId}/label", labels.label_decision, scope=site_in_query, refuses=("not_found",)),
        delete("/decisions/{decisionId}/label", labels.end_decision_label, scope=site_in_query, refuses=("not_found",)),
        get("/labels", labels.list_labels, scope=site_in_query),
        get("/labels/review", insight.review_labels, scope=site_in_query),
        get("/labels/queue", insight.list_label_queue, scope=site_in_query),
        get(
            "/decisions/{decisionId}/contributions",
            insight.read_contributions,
            scope=site_in_query,
            refuses=("not_found",),
        ),
        post("/labels", labels.create_label, scope=site_in_query, status=201, refuses=("not_found",)),
        get("/sites/{site}/feature-capture", scoring.read_feature_capture, scope=site_by_id_or_key),
        put("/sites/{site}/feature-capture", scoring.change_feature_capture, scope=site_by_id_or_key),
        get("/models", models.list_models),
        get("/models/{kind}/{role}", models.read_model, refuses=("not_found",)),
        put("/models/{kind}/{role}", models.install_model, body_limit=limits.MODEL_BODY_BYTES, refuses=("not_found",)),
        delete("/models/{kind}/{role}", models.clear_model, refuses=("invalid_request", "not_found")),
        get("/models/{kind}/compare", models.compare_models, refuses=("invalid_request", "not_found")),
        post(
            "/models/{kind}/promote",
            models.promote_model,
            refuses=("invalid_request", "not_found", "revision_conflict", "confirmation_required"),
        ),
        get("/models/{kind}/drift", models.read_model_drift, refuses=("not_found",)),
        get("/models/{kind}/versions", models.list_model_versions, refuses=("not_found",)),
        post("/models/{kind}/rollback", models.roll_back_model, refuses=("invalid_request", "not_found")),
        *operators_rows(AGENT_POLICY, AGENT_GRANTS, WEBHOOKS),
        # Accounts
        get("/access-requests", customers.list_access_requests),
        post(
            "/access-requests/{id}/approve",
            customers.approve_access_request,
            refuses=("not_found", "already_active", "invalid_state"),
        ),
        post("/access-requests/{id}/decline", customers.decline_access_request, refuses=("not_found", "invalid_state")),
        post("/setup-link", setup.create_setup_link, status=201, refuses=("invalid_state",)),
        get("/accounts", customers.list_accounts),
        post(
            "/accounts",
            customers.invite_account,
            status=201,
            refuses=("member_limit", "already_member", "already_active", "invalid_state"),
        ),
        get("/customers", customers.list_customers),
        *scoped(
            "/customers/{id}",
            customer_in_path,
            get("", customers.read_customer),
            patch("", customers.change_customer),
            delete(
                "",
                customers.delete_customer,
                refuses=("confirm_mismatch", "sites_enforcing", "protected_account", "invalid_state"),
            ),
            post("/suspend", customers.suspend_customer, refuses=("protected_account", "invalid_state")),
            post("/reactivate", customers.reactivate_customer, refuses=("invalid_state",)),
            post(
                "/sites",
                customers.create_customer_site,
                status=201,
                refuses=("invalid_site", "site_key_taken", "invalid_state"),
            ),
            post(
                "/members",
                customers.add_customer_member,
                status=201,
                refuses=("member_limit", "already_member", "invalid_state"),
            ),
            patch("/members/{userId}", customers.change_customer_member, refuses=("last_owner",)),
            delete("/members/{userId}", customers.remove_customer_member, status=204, refuses=("last_owner",)),
            post(
                "/members/{userId}/resend-invite",
                customers.resend_customer_invite,
                refuses=("already_active", "invalid_state"),
            ),
            get("/fleet-credentials", fleet.list_fleet_credentials),
            post(
                "/fleet-credentials",
                fleet.create_fleet_credential,
                status=201,
                refuses=("credential_limit", "invalid_state"),
                holds_secret=True,
            ),
            delete("/fleet-credentials/{fleetId}", fleet.revoke_fleet_credential, refuses=("not_found",)),
            get("/audit", customers.list_customer_audit),
            delete("/tokens/{tokenId}", customers.revoke_customer_token, status=204),
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
        # Probes
        get("/probes", probes.read_probes),
    ),
)
