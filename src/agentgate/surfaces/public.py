"""The routes that need no session, on the public listener."""

from agentgate import errors
from agentgate.agents.tools import endpoints as tools
from agentgate.feedback import endpoints as feedback
from agentgate.readiness import endpoints as readiness
from agentgate.tokens import endpoints as tokens
from agentgate.web import openapi_endpoints as openapi
from agentgate.web import static
from agentgate.web.surface import Surface, anyone, get, post, rows

PUBLIC = Surface(
    name="public",
    title="AgentGate public API",
    prefix="",
    errors=errors.CONSOLE,
    rows=rows(
        "",
        anyone,
        (
            get("/healthz", readiness.read_health),
            get("/readyz", readiness.read_readiness, other_replies={503: readiness.ReadinessState}),
            post("/v1/docs/feedback", feedback.add_feedback, status=202, refuses=("rate_limited",)),
            get("/sdk/v1/agentgate.js", static.read_file, media_type="text/javascript", any_query=True),
            get("/sdk/v1/worker.js", static.read_file, media_type="text/javascript", any_query=True),
            get("/sdk/v1/{file}", static.read_file, media_type="text/javascript", any_query=True),
            get("/sdk/v1/i18n/{file}", static.read_language, any_query=True),
            get("/.well-known/agentgate-keys.json", tokens.read_keys),
            get("/.well-known/agentgate-tools.json", tools.read_own_tools),
            get("/v1/agent-tools/{siteKey}", tools.read_site_tools, refuses=("site_not_found",)),
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
