"""What the private listener has beside the admin API: probes, metrics, its OpenAPI document."""

from agentgate.http.openapi import endpoints as openapi
from agentgate.http.readiness import endpoints as readiness
from agentgate.http.surface import Surface, anyone, get, rows
from agentgate.lib import errors

OPERATIONS = Surface(
    name="operations",
    title="AgentGate operations",
    prefix="",
    errors=errors.CONSOLE,
    compressed=True,
    rows=rows(
        "",
        anyone,
        (
            get("/healthz", readiness.read_health),
            get("/readyz", readiness.read_readiness_report, other_replies={503: readiness.ReadinessReport}),
            get("/metrics", readiness.read_metrics, media_type="text/plain"),
            get("/openapi/", openapi.read_index, media_type="text/html"),
            get("/openapi/style.css", openapi.read_style, media_type="text/css"),
            get("/openapi/admin.json", openapi.read_document),
            get("/openapi/admin", openapi.read_page, media_type="text/html"),
        ),
    ),
)
