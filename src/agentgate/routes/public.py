"""The routes that need no session, on the public listener."""

from agentgate.http import static_files
from agentgate.http.openapi import endpoints as openapi
from agentgate.http.readiness import endpoints as readiness
from agentgate.http.surface import Surface, anyone, get, post, rows
from agentgate.lib import errors
from agentgate.people.feedback import endpoints as feedback
from agentgate.protection.agents import endpoints as agents
from agentgate.protection.tokens import endpoints as tokens

PUBLIC = Surface(
    name="public",
    title="AgentGate public API",
    prefix="",
    errors=errors.CONSOLE,
    compressed=True,
    rows=rows(
        "",
        anyone,
        (
            get("/healthz", readiness.read_health),
            get("/readyz", readiness.read_readiness, other_replies={503: readiness.ReadinessState}),
            post("/v1/docs/feedback", feedback.add_feedback, status=202, refuses=("rate_limited",)),
            get("/sdk/v1/agentgate.js", static_files.read_sdk, media_type="text/javascript", any_query=True),
            get("/sdk/v1/worker.js", static_files.read_file, media_type="text/javascript", any_query=True),
            get(
                "/sdk/v1/{file}",
                static_files.read_file,
                media_type="text/javascript",
                any_query=True,
                refuses=("not_found",),
            ),
            get("/sdk/v1/i18n/{file}", static_files.read_language, any_query=True, refuses=("not_found",)),
            get("/.well-known/agentgate-keys.json", tokens.read_keys),
            get("/.well-known/agentgate-tools.json", agents.read_own_tools),
            get("/v1/agent-tools/{siteKey}", agents.read_site_tools, refuses=("site_not_found",)),
            get("/openapi/", openapi.read_index, media_type="text/html"),
            get("/openapi/style.css", openapi.read_style, media_type="text/css"),
            get("/openapi/public.json", openapi.read_document),
            get("/openapi/public", openapi.read_page, media_type="text/html"),
            get("/openapi/account.json", openapi.read_document),
            get("/openapi/account", openapi.read_page, media_type="text/html"),
            get("/openapi/console.json", openapi.read_document),
            get("/openapi/console", openapi.read_page, media_type="text/html"),
        ),
    ),
)
