"""Endpoints of the specification that no surface has yet, in its order. The list may only shrink."""

NOT_BUILT_YET = (
    # Admin API: sites and credentials
    # Admin API: traffic
    # Admin API: labels, feature capture, models
    # Admin API: accounts
    # Customer console API (`/v1/console`)
    # Public endpoints (no session)
    "POST /agent/submit",
    "GET /.well-known/agentgate-tools.json",
    "GET /v1/agent-tools/{siteKey}",
    "GET /v1/handoff/{id}",
)
