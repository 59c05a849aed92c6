"""Starlette and FastAPI: the middleware, and a dependency for single routes."""

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from agentgate_client.asgi import AgentGateMiddleware
from agentgate_client.guarding import (
    FORM_BYTES,
    NO_TOKEN,
    TOKEN_FIELD,
    TOO_LARGE,
    Refusal,
    find_field,
    find_token,
    is_form,
    refusal_of,
    visitor_address,
)
from agentgate_client.results import AgentGateError, Verified
from agentgate_client.verify import Client
from agentgate_client.verify_async import AsyncClient

__all__ = ["AgentGateMiddleware", "TokenRefused", "install", "require_token"]


class TokenRefused(HTTPException):
    """A request is rejected; `install` makes its response the same as the middleware's."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.status, detail=refusal.message, headers=refusal.headers())
        self.refusal = refusal


def install(app: Starlette, client: AsyncClient | Client) -> None:
    """Give an application its client, and handle rejections of `require_token`."""
    app.state.agentgate = AsyncClient.around(client) if isinstance(client, Client) else client
    app.add_exception_handler(TokenRefused, _answer)


def require_token(*, action: str, expected_origin: str | None = None) -> Callable[[Request], Awaitable[Verified]]:
    """Return a dependency that redeems the request's token: `Depends(require_token(action="signup"))`."""

    async def dependency(request: Request) -> Verified:
        token = await _token(request)
        try:
            verified: Verified = await request.app.state.agentgate.verify(
                token,
                expected_action=action,
                expected_origin=expected_origin,
                remote_address=visitor_address(request.client.host if request.client else None),
            )
        except AgentGateError as problem:
            raise TokenRefused(refusal_of(problem)) from None
        request.state.agentgate = verified
        return verified

    return dependency


async def _token(request: Request) -> str:
    if token := find_token(request.headers):
        return token
    content_type = request.headers.get("content-type", "")
    if not is_form(content_type):
        raise TokenRefused(NO_TOKEN)
    if int(request.headers.get("content-length", FORM_BYTES + 1)) > FORM_BYTES:
        raise TokenRefused(TOO_LARGE)
    try:
        # Reading it as bytes first keeps it for code that reads the form afterwards.
        token = find_field(await request.body(), content_type)
    except RuntimeError:
        # FastAPI has read the form for the route's parameters; it is kept with the request.
        found = (await request.form()).get(TOKEN_FIELD)
        token = found.strip() if isinstance(found, str) else ""
    if not token:
        raise TokenRefused(NO_TOKEN)
    return token


async def _answer(_request: Request, problem: Exception) -> Response:
    assert isinstance(problem, TokenRefused), "registered for nothing else"
    return Response(problem.refusal.body(), problem.refusal.status, headers=problem.refusal.headers())
