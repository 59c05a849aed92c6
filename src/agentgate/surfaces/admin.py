"""The operators' routes, under `/v1/admin` on the private listener."""

from agentgate import errors
from agentgate.audit import endpoints as audit
from agentgate.credentials import endpoints as credentials
from agentgate.customers.endpoints import access_requests, customers, members, users
from agentgate.customers.guards import customer_in_path
from agentgate.feedback import endpoints as feedback
from agentgate.identity import endpoints as identity
from agentgate.identity.guards import not_cross_origin, operator
from agentgate.outbox import endpoints as outbox
from agentgate.sites import endpoints as sites
from agentgate.sites.guards import site_in_path
from agentgate.web.surface import Surface, delete, get, patch, post, rows

PREFIX = "/v1/admin"

ADMIN = Surface(
    name="admin",
    title="AgentGate admin API",
    prefix=PREFIX,
    errors=errors.CONSOLE,
    rows=rows(
        PREFIX,
        operator,
        (
            # Session
            post("/login", identity.log_in, guard=not_cross_origin, refuses=("unauthorized", "rate_limited")),
            post("/logout", identity.log_out, status=204),
            get("/session", identity.read_session),
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
            post(
                "/sites/{siteKey}/move",
                sites.move_site,
                scope=site_in_path,
                refuses=("not_found", "protected_account", "invalid_state"),
            ),
            # Accounts
            get("/access-requests", access_requests.list_access_requests),
            post(
                "/access-requests/{id}/approve",
                access_requests.approve_access_request,
                refuses=("not_found", "already_active", "invalid_state"),
            ),
            post(
                "/access-requests/{id}/decline",
                access_requests.decline_access_request,
                refuses=("not_found", "invalid_state"),
            ),
            get("/accounts", users.list_accounts),
            post(
                "/accounts",
                users.invite_account,
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
                refuses=("invalid_state",),
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
                members.add_customer_member,
                scope=customer_in_path,
                status=201,
                refuses=("member_limit", "already_member", "invalid_state"),
            ),
            patch(
                "/customers/{id}/members/{userId}",
                members.change_customer_member,
                scope=customer_in_path,
                refuses=("last_owner",),
            ),
            delete(
                "/customers/{id}/members/{userId}",
                members.remove_customer_member,
                scope=customer_in_path,
                status=204,
                refuses=("last_owner",),
            ),
            post(
                "/customers/{id}/members/{userId}/resend-invite",
                members.resend_customer_invite,
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
            post("/users/{userId}/suspend", users.suspend_user, refuses=("not_found", "invalid_state")),
            post("/users/{userId}/reactivate", users.reactivate_user, refuses=("not_found", "invalid_state")),
            post("/users/{userId}/reset-link", users.create_reset_link, refuses=("not_found", "invalid_state")),
            post("/users/{userId}/mfa/reset", users.reset_mfa, refuses=("not_found", "mfa_not_enabled")),
            get("/outbox", outbox.list_messages),
            get("/docs-feedback", feedback.read_report),
        ),
    ),
)
