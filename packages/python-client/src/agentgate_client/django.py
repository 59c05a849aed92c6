"""Django: a middleware, a decorator for views, and a form field.

Settings: `AGENTGATE = {"BASE_URL": ..., "SECRET": ..., "SITE_KEY": ..., "PROTECT": [("POST", "/signup", "signup")]}`;
further keys in lower case (`timeout_s`, `retries`, `fail_open`, `offline`) go to the client.
"""

from collections.abc import Callable
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any, TypeVar

from django import forms  # type: ignore[import-untyped]  # Django has no types
from django.conf import settings  # type: ignore[import-untyped]
from django.core.exceptions import ValidationError  # type: ignore[import-untyped]
from django.http import HttpRequest, HttpResponse  # type: ignore[import-untyped]
from django.utils.html import format_html  # type: ignore[import-untyped]

from agentgate_client.guarding import NO_TOKEN, TOKEN_FIELD, Refusal, find_token, refusal_of, visitor_address
from agentgate_client.results import AgentGateError, Verified
from agentgate_client.routes import Route, find_route
from agentgate_client.verify import Client

View = TypeVar("View", bound=Callable[..., Any])
# Of the current request, for fields of forms: Django gives them no request.
_address: ContextVar[str | None] = ContextVar("agentgate_address", default=None)


@cache
def shared_client() -> Client:
    """Return the client that the settings describe; one for the process."""
    options = {name: value for name, value in settings.AGENTGATE.items() if name.islower()}
    return Client(settings.AGENTGATE["BASE_URL"], settings.AGENTGATE["SECRET"], **options)


class AgentGateMiddleware:
    """Lets a request to a path of `PROTECT` through once its token was redeemed; the result is `request.agentgate`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._routes = tuple(Route(*row) for row in settings.AGENTGATE.get("PROTECT", ()))

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Serve one request."""
        route = find_route(self._routes, request.method, request.path_info)
        refusal = _check(request, route.action) if route is not None else None
        if refusal is not None:
            return _response(refusal)
        noted = _address.set(request.META.get("REMOTE_ADDR"))
        try:
            return self._get_response(request)
        finally:
            _address.reset(noted)


def agentgate_required(*, action: str) -> Callable[[View], View]:
    """Let a view run only once the request's token was redeemed; the result is `request.agentgate`."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *arguments: Any, **named: Any) -> Any:
            refusal = _check(request, action)
            return _response(refusal) if refusal is not None else view(request, *arguments, **named)

        return guarded  # type: ignore[return-value]  # a view takes what its route gives, which has no type

    return decorate


class AgentGateWidget(forms.Widget):  # type: ignore[misc]  # Django has no types
    """The element that the SDK turns into the check. `form.media` loads the SDK."""

    def __init__(self, action: str) -> None:
        super().__init__()
        self._action = action

    @property
    def media(self) -> Any:
        """Return the SDK's script, for `{{ form.media }}` in the page's head."""
        return forms.Media(js=[_Script(settings.AGENTGATE.get("PUBLIC_URL", settings.AGENTGATE["BASE_URL"]))])

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> Any:
        """Return the element; the SDK adds the field with the token."""
        del name, value, attrs, renderer
        site_key = settings.AGENTGATE["SITE_KEY"]
        return format_html('<div class="agentgate" data-sitekey="{}" data-action="{}"></div>', site_key, self._action)

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        """Return the token, whatever the field is called in the form."""
        del files, name
        return data.get(TOKEN_FIELD)


class _Script(str):
    """The tag of the SDK from an address of the service; Django prints one for all fields of a page."""

    __slots__ = ()

    def __html__(self) -> str:
        return format_html('<script src="{}/sdk/v1/agentgate.js" crossorigin async defer></script>', self.rstrip("/"))  # type: ignore[no-any-return]


class AgentGateField(forms.Field):  # type: ignore[misc]  # Django has no types
    """A field whose token is redeemed when the form is cleaned; the cleaned value is a `Verified`."""

    def __init__(self, *, action: str, expected_origin: str | None = None, **options: Any) -> None:
        self._action = action
        self._expected_origin = expected_origin
        options.setdefault("label", "")
        super().__init__(widget=AgentGateWidget(action), **options)

    def clean(self, value: Any) -> Verified:
        """Redeem the token."""
        if not value:
            raise ValidationError(NO_TOKEN.message, code=NO_TOKEN.error)
        try:
            return shared_client().verify(
                str(value),
                expected_action=self._action,
                expected_origin=self._expected_origin,
                remote_address=visitor_address(_address.get()),
            )
        except AgentGateError as problem:
            # The message is for the visitor.
            refusal = refusal_of(problem)
            raise ValidationError(refusal.message, code=refusal.error) from None


def _check(request: HttpRequest, action: str) -> Refusal | None:
    token = find_token({"x-agentgate-token": request.headers.get("X-AgentGate-Token", "")})
    # Django bounds what it reads of a form, and keeps it for the view.
    token = token or request.POST.get(TOKEN_FIELD, "").strip()
    if not token:
        return NO_TOKEN
    try:
        request.agentgate = shared_client().verify(
            token,
            expected_action=action,
            expected_origin=settings.AGENTGATE.get("EXPECTED_ORIGIN"),
            remote_address=visitor_address(request.META.get("REMOTE_ADDR")),
        )
    except AgentGateError as problem:
        return refusal_of(problem)
    return None


def _response(refusal: Refusal) -> HttpResponse:
    return HttpResponse(refusal.body(), status=refusal.status, headers=refusal.headers())
