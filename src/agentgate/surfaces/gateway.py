"""The gateway: what the proxy in front of a protected site calls for each request."""

from agentgate import errors
from agentgate.gateway import endpoints as gateway
from agentgate.web.surface import Surface, anyone, get, rows

GATEWAY = Surface(
    name="gateway",
    title="AgentGate gateway",
    prefix="/v1/gateway",
    errors=errors.GATEWAY,
    unavailable="service_unavailable",
    wrong_query="invalid_request",
    refusal_record=gateway.Denial,
    document="public",
    rows=rows(
        "/v1/gateway",
        anyone,
        (
            get(
                "/check",
                gateway.check_request,
                status=204,
                any_query=True,
                success="Let through",
                refuses=tuple(code for code, row in errors.GATEWAY.rows.items() if row.status != 204),
            ),
        ),
    ),
)
