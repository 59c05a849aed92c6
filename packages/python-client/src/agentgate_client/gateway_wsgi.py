"""The gateway before any WSGI application, for sites without a proxy that asks it. Every request is checked."""

import io
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Unpack

from agentgate_client.gateway import (
    CLEARED_PREFIXES,
    FORM_BYTES,
    OWN_BYTES,
    OWN_PREFIX,
    Denial,
    Gateway,
    GatewayOptions,
    Header,
    Passage,
    Shown,
    Visit,
    last_hop,
)
from agentgate_client.verify import log
from agentgate_client.wsgi import Application, Environ, StartResponse


class GatewayMiddleware:
    """Passes a request to the application if the service allows it; otherwise returns the service's response."""

    def __init__(
        self,
        app: Application,
        *,
        service: str,
        secret: str,
        origin: str | None = None,
        address_header: str | None = None,
        **options: Unpack[GatewayOptions],
    ) -> None:
        """Take the service's address and the site's secret.

        `origin` is the site's own, for servers that do not know it, such as one behind TLS that ends elsewhere.
        `address_header` names the header in which a proxy in front always writes the visitor's address.
        `timeout_s` and `fail_open` are the gateway's.
        """
        self._app = app
        self._gateway = Gateway(service, secret, **options)
        self._origin = origin.rstrip("/") if origin else None
        self._address_key = _key(address_header) if address_header else "REMOTE_ADDR"

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        visit = self._visit(environ)
        if visit is None:
            return _show(Denial(503, "service_unavailable").plain(), environ, start_response)
        if visit.path.startswith(OWN_PREFIX.encode()):
            body = _body(environ, OWN_BYTES)
            if body is None:
                return _show(Denial(413, "payload_too_large").plain(), environ, start_response)
            shown = self._gateway.pass_on(visit, body, deadline_s=self._gateway.new_deadline_s())
            return _show(shown, environ, start_response)
        answer = self._gateway.check(visit, deadline_s=self._gateway.new_deadline_s())
        if isinstance(answer, Denial):
            body = _body(environ, FORM_BYTES) if answer.has_page and visit.method == "POST" else None
            shown = self._gateway.show(answer, visit, body, deadline_s=self._gateway.new_deadline_s())
            return _show(shown, environ, start_response)
        _tell(environ, answer)
        return self._app(environ, _carrying(start_response, answer) if answer.carried else start_response)

    def close(self) -> None:
        """Close the kept connections."""
        self._gateway.close()

    def _visit(self, environ: Environ) -> Visit | None:
        address = last_hop(environ.get(self._address_key, ""))
        if not address:
            log.error("a request without the visitor's IP address is blocked; set address_header, or serve over TCP")
            return None
        host = environ.get("HTTP_HOST") or f"{environ['SERVER_NAME']}:{environ['SERVER_PORT']}"
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        return Visit(
            method=environ["REQUEST_METHOD"],
            origin=self._origin or f"{environ['wsgi.url_scheme']}://{host}",
            path=path.encode("latin-1") or b"/",
            query=environ.get("QUERY_STRING", ""),
            address=address,
            headers=list(_headers(environ)),
        )


def _key(name: str) -> str:
    return "HTTP_" + name.upper().replace("-", "_")


def _headers(environ: Environ) -> Iterable[Header]:
    for key, value in environ.items():
        if key.startswith("HTTP_"):
            yield key[5:].lower().replace("_", "-"), value
    if environ.get("CONTENT_TYPE"):
        yield "content-type", environ["CONTENT_TYPE"]


def _tell(environ: Environ, passage: Passage) -> None:
    """Remove headers that a visitor must not set, and add the headers from the service."""
    cleared = tuple(_key(prefix) for prefix in CLEARED_PREFIXES)
    for key in [key for key in environ if key.startswith(cleared)]:
        del environ[key]
    environ.update({_key(name): value for name, value in passage.told})


def _carrying(start_response: StartResponse, passage: Passage) -> StartResponse:
    def carry(status: str, headers: list[Header], *rest: Any) -> Any:
        return start_response(status, [*headers, *passage.carried], *rest)

    return carry


def _body(environ: Environ, most_bytes: int) -> bytes | None:
    """Return the body, which stays readable; None when it is too large or of unknown length."""
    length = environ.get("CONTENT_LENGTH") or "0"
    if not length.isdecimal() or int(length) > most_bytes:
        return None
    body: bytes = environ["wsgi.input"].read(int(length))
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def _show(shown: Shown, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    # The connection is the server's business in WSGI.
    kept = [(name, value) for name, value in shown.headers if name.lower() != "connection"]
    start_response(f"{shown.status} {_phrase(shown.status)}", [*kept, ("Content-Length", str(len(shown.body)))])
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [shown.body]


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Refused"
