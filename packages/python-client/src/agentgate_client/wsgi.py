"""A guard before any WSGI application: Flask, Django, Bottle. It needs none of them."""

import io
from collections.abc import Callable, Iterable
from typing import Any

from agentgate_client.guarding import (
    FORM_BYTES,
    NO_TOKEN,
    TOO_LARGE,
    Refusal,
    find_field,
    find_token,
    is_form,
    refusal_of,
    visitor_address,
)
from agentgate_client.results import AgentGateError
from agentgate_client.routes import Route, find_route
from agentgate_client.verify import Client

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

_PHRASES = {401: "Unauthorized", 403: "Forbidden", 413: "Content Too Large", 503: "Service Unavailable"}


class AgentGateMiddleware:
    """Lets a protected request through once its token was redeemed; the result is `environ["agentgate"]`."""

    def __init__(
        self,
        app: Application,
        *,
        client: Client,
        protect: Iterable[Route],
        expected_origin: str | None = None,
        form_bytes: int = FORM_BYTES,
    ) -> None:
        self._app = app
        self._client = client
        self._routes = tuple(protect)
        self._expected_origin = expected_origin
        self._form_bytes = form_bytes

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        route = find_route(self._routes, environ["REQUEST_METHOD"], environ.get("PATH_INFO", "/"))
        if route is None:
            return self._app(environ, start_response)
        token = _token(environ, self._form_bytes)
        if isinstance(token, Refusal):
            return _refuse(token, start_response)
        try:
            environ["agentgate"] = self._client.verify(
                token,
                expected_action=route.action,
                expected_origin=self._expected_origin,
                remote_address=visitor_address(environ.get("REMOTE_ADDR")),
            )
        except AgentGateError as problem:
            return _refuse(refusal_of(problem), start_response)
        return self._app(environ, start_response)


def _token(environ: Environ, form_bytes: int) -> str | Refusal:
    if token := find_token({"x-agentgate-token": environ.get("HTTP_X_AGENTGATE_TOKEN", "")}):
        return token
    content_type = environ.get("CONTENT_TYPE", "")
    length = environ.get("CONTENT_LENGTH") or "0"
    if not is_form(content_type):
        return NO_TOKEN
    if not length.isdecimal() or int(length) > form_bytes:
        return TOO_LARGE
    body = environ["wsgi.input"].read(int(length))
    environ["wsgi.input"] = io.BytesIO(body)
    return find_field(body, content_type) or NO_TOKEN


def _refuse(refusal: Refusal, start_response: StartResponse) -> Iterable[bytes]:
    body = refusal.body()
    headers = {**refusal.headers(), "Content-Length": str(len(body))}
    start_response(f"{refusal.status} {_PHRASES[refusal.status]}", list(headers.items()))
    return [body]
