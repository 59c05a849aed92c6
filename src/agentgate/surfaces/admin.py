"""The operators' routes, under `/v1/admin` on the private listener."""

from agentgate import errors
from agentgate.audit import endpoints as audit
from agentgate.credentials import endpoints as credentials
from agentgate.identity import endpoints as identity
from agentgate.identity.guards import not_cross_origin, operator
from agentgate.sites import endpoints as sites
from agentgate.sites.guards import site_in_path
from agentgate.web.surface import Surface, get, patch, post, rows

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
        ),
    ),
)
