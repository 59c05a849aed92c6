"""The routes that need no session, on the public listener."""

from agentgate import errors
from agentgate.readiness import endpoints as readiness
from agentgate.web import openapi_endpoints as openapi
from agentgate.web.surface import Surface, anyone, get, rows

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
            get("/openapi/", openapi.read_index, media_type="text/html"),
            get("/openapi/style.css", openapi.read_style, media_type="text/css"),
            get("/openapi/public.json", openapi.read_document),
            get("/openapi/public", openapi.read_page, media_type="text/html"),
        ),
    ),
)
