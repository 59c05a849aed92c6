"""Flask: a decorator for single views. A guard for many paths at once is the middleware in `wsgi`."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from flask import Flask, Response, current_app, g, request

from agentgate_client.guarding import (
    FORM_BYTES,
    NO_TOKEN,
    TOKEN_FIELD,
    TOO_LARGE,
    Refusal,
    find_token,
    is_form,
    refusal_of,
    visitor_address,
)
from agentgate_client.results import AgentGateError
from agentgate_client.verify import Client
from agentgate_client.wsgi import AgentGateMiddleware

__all__ = ["AgentGateMiddleware", "agentgate_required", "install"]

View = TypeVar("View", bound=Callable[..., Any])


def install(app: Flask, client: Client) -> None:
    """Give an application its client."""
    app.extensions["agentgate"] = client


def agentgate_required(*, action: str, expected_origin: str | None = None) -> Callable[[View], View]:
    """Let a view run only once the request's token was redeemed; the result is `flask.g.agentgate`."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(*arguments: Any, **named: Any) -> Any:
            refusal = _check(action, expected_origin)
            if refusal is not None:
                return Response(refusal.body(), refusal.status, headers=refusal.headers())
            return current_app.ensure_sync(view)(*arguments, **named)

        return guarded  # type: ignore[return-value]  # a view takes what its route gives, which has no type

    return decorate


def _check(action: str, expected_origin: str | None) -> Refusal | None:
    token = find_token({"x-agentgate-token": request.headers.get("X-AgentGate-Token", "")})
    if not token and is_form(request.content_type or ""):
        if request.content_length is None or request.content_length > FORM_BYTES:
            return TOO_LARGE
        # Keeping the bytes first leaves them to a view that wants them and not the form.
        request.get_data(cache=True)
        token = request.form.get(TOKEN_FIELD, "").strip()
    if not token:
        return NO_TOKEN
    client: Client = current_app.extensions["agentgate"]
    try:
        g.agentgate = client.verify(
            token,
            expected_action=action,
            expected_origin=expected_origin,
            remote_address=visitor_address(request.remote_addr),
        )
    except AgentGateError as problem:
        return refusal_of(problem)
    return None
