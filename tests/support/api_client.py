"""An HTTP client that compares each response with the route's declaration: each API test is a contract test."""

import functools
import ssl
from typing import Any

import httpx

from agentgate.http.endpoint import is_record, shape_of
from agentgate.http.openapi import refusals
from agentgate.http.routing import Routes
from agentgate.lib import errors
from agentgate.lib.records import json_decoder
from agentgate.routes import ADMIN_LISTENER, PUBLIC_LISTENER

# Responses that any route may return and that no table needs to name.
FINAL = frozenset(("/v1/gateway/denied",))
_EVERYWHERE = {404, 405, 500}
# The service closes an idle connection after five seconds, as long as httpx keeps one. A request that is sent at that
# moment is lost, and on a busy machine a test needs as long between two requests.
_LIMITS = httpx.Limits(keepalive_expiry=2.0)


class ApiClient(httpx.Client):
    """Checks status, error code and body of each response."""

    def __init__(self, url: str, **options: Any) -> None:
        # Nothing between a test and its service: also no proxy that the machine's environment names.
        super().__init__(base_url=url, timeout=20, verify=_without_tls(), trust_env=False, limits=_LIMITS, **options)
        self._routes = _routes()

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send, then check."""
        response = super().send(request, **options)
        match = self._routes.find(request.method, request.url.raw_path.decode().partition("?")[0])
        if match is not None and match.target is not None:
            _check(response, *match.target)
        return response


# A test creates up to ten clients, and creating these takes longer than most responses.
@functools.cache
def _routes() -> Routes[Any]:
    return Routes(
        (row.method, row.path, (row, surface))
        for surface in (*ADMIN_LISTENER, *PUBLIC_LISTENER)
        for row in surface.rows
        if surface.prefix
    )


@functools.cache
def _without_tls() -> ssl.SSLContext:
    """Return a context that trusts no certificate: reading the machine's certificates takes longer than a whole
    test."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _check_gateway(response: httpx.Response, row: Any) -> None:
    if response.status_code == 405:
        assert response.json()["error"] == "invalid_request"
        return
    if row.path in FINAL:
        # Final responses to a visitor have further statuses, and no decision of a check.
        assert "x-service-reason" in response.headers
        return
    decision, reason = response.headers["x-service-decision"], response.headers["x-service-reason"]
    status = 204 if response.status_code == 200 else response.status_code
    assert errors.GATEWAY.lookup(reason).status_for(decision) == status
    assert status == 204 or response.json() == {"decision": decision, "reason": reason}


def _check(response: httpx.Response, row: Any, surface: Any) -> None:
    shape = shape_of(row.handler)
    if response.status_code == row.status:
        if is_record(shape.reply) and response.request.method != "HEAD":
            # Every field that arrives must be one that the record names: nothing leaks by accident.
            decoded = json_decoder(shape.reply).decode(response.content)
            assert set(response.json()) <= set(decoded.__struct_encode_fields__)
        return
    if response.status_code in row.other_replies:
        return
    if surface.errors is errors.GATEWAY:
        _check_gateway(response, row)
        return
    code = response.json()["error"]
    if response.status_code in _EVERYWHERE and code in {"not_found", "internal_error"}:
        return
    assert code in refusals(row, shape, surface), f"{row.method} {row.path} does not declare {code}"
    assert response.status_code == surface.errors.lookup(code).status
    assert response.json()["message"]
