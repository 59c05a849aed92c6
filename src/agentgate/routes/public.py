"""Public endpoints of both listeners: probes, files, OpenAPI pages, documentation; metrics on the private listener."""

from agentgate.agents import endpoints as agents
from agentgate.browser_check.tokens import endpoints as tokens
from agentgate.http import static_files
from agentgate.http.readiness import endpoints as readiness
from agentgate.http.surface import Surface, get, post
from agentgate.lib import errors
from agentgate.pages import sdk_endpoints
from agentgate.pages.documentation import endpoints as documentation
from agentgate.pages.reference import endpoints as openapi
from agentgate.people.feedback import endpoints as feedback
from agentgate.sites import ai_terms_endpoints as ai_terms

SITE = "/v1/sites/{siteKey}"

PUBLIC = Surface(
    name="public",
    title="AgentGate public API",
    prefix="",
    errors=errors.CONSOLE,
    compressed=True,
    table=(
        get("/healthz", readiness.read_health),
        get("/readyz", readiness.read_readiness, other_replies={503: readiness.ReadinessState}),
        post("/v1/docs/feedback", feedback.add_feedback, status=202, refuses=("rate_limited",)),
        get("/sdk/v1/agentgate.js", sdk_endpoints.read_sdk, media_type="text/javascript", any_query=True),
        get("/sdk/v1/worker.js", static_files.read_file, media_type="text/javascript", any_query=True),
        get(
            "/sdk/v1/{file}",
            static_files.read_file,
            media_type="text/javascript",
            any_query=True,
            refuses=("not_found",),
        ),
        get("/sdk/v1/i18n/{file}", sdk_endpoints.read_language, any_query=True, refuses=("not_found",)),
        get("/.well-known/agentgate-keys.json", tokens.read_keys),
        get("/.well-known/agentgate-tools.json", agents.read_own_tools),
        get("/v1/agent-check", agents.check_agent, any_query=True, refuses=("rate_limited", "invalid_request")),
        get(f"{SITE}/robots.txt", ai_terms.read_robots, media_type="text/plain", refuses=("site_not_found",)),
        get(f"{SITE}/license.xml", ai_terms.read_license, media_type="application/xml", refuses=("site_not_found",)),
        get(f"{SITE}/ai-headers", ai_terms.read_ai_headers, refuses=("site_not_found",)),
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
)


OPERATIONS = Surface(
    name="operations",
    title="AgentGate operations",
    prefix="",
    errors=errors.CONSOLE,
    compressed=True,
    table=(
        get("/healthz", readiness.read_health),
        get("/readyz", readiness.read_readiness_report, other_replies={503: readiness.ReadinessReport}),
        get("/metrics", readiness.read_metrics, media_type="text/plain"),
        get("/openapi/", openapi.read_index, media_type="text/html"),
        get("/openapi/style.css", openapi.read_style, media_type="text/css"),
        get("/openapi/admin.json", openapi.read_document),
        get("/openapi/admin", openapi.read_page, media_type="text/html"),
    ),
)


HTML = "text/html"

DOCUMENTATION = Surface(
    name="documentation",
    title="AgentGate documentation",
    prefix="",
    errors=errors.CONSOLE,
    table=(
        get("/llms.txt", documentation.read_llms, media_type="text/plain", any_query=True),
        get("/docs", documentation.read_start, status=308, any_query=True),
        get("/docs/", documentation.read_page, media_type=HTML, any_query=True),
        get("/docs/search", documentation.read_search, media_type=HTML, any_query=True),
        get("/docs/{page}", documentation.read_page, media_type=HTML, any_query=True),
        get("/docs/{folder}/{page}", documentation.read_page, media_type=HTML, any_query=True),
    ),
)
