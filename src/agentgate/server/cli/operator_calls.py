"""OperatorCalls: what a command asks a running service over its admin listener, with the operator credential."""

import json
from http.client import HTTPException
from pathlib import Path
from typing import Annotated, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

import typer

from agentgate.lib.settings.schema import Settings
from agentgate.server.cli.options import CommandRefused

TIMEOUT_S = 30
MOST_BYTES = 256 * 1024 * 1024

UrlOption = Annotated[
    str | None, typer.Option("--url", help="Address of the admin listener; without it, that of the settings.")
]


class _NoRedirect(HTTPRedirectHandler):
    """The operator credential goes to the address that was given, and nowhere else."""

    def redirect_request(self, *given: Any) -> None:
        del given


class OperatorCalls:
    """A running service."""

    def __init__(self, settings: Settings, url: str | None) -> None:
        self._address = _address(settings, url)
        self._key = _key(settings)
        # The admin listener is private, so no proxy of the environment stands before it.
        self._opener = build_opener(ProxyHandler({}), _NoRedirect())
        self.host = urlsplit(self._address).netloc

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer, or refuse with what the service said."""
        headers = {"X-Admin-Key": self._key}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        request = Request(self._address + path, data=data, headers=headers, method=method)  # noqa: S310 - `_address` lets http and https through only
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                return json.loads(answer.read(MOST_BYTES))
        except HTTPError as error:
            raise CommandRefused(f"the service answered {error.code}: {_message(error)}") from None
        except (URLError, HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            raise CommandRefused(f"{self.host} cannot be reached ({reason}); is --url the admin listener?") from None
        except ValueError:
            raise CommandRefused(f"{self.host} did not answer with JSON; is --url the admin listener?") from None


def _message(error: HTTPError) -> str:
    with error:
        try:
            body = json.loads(error.read(64 * 1024))
            return f"{body['error']}: {body.get('message', '')}"
        except (ValueError, KeyError, TypeError, AttributeError, OSError):
            return str(error.reason)


def _address(settings: Settings, url: str | None) -> str:
    address = (url or f"http://{settings.admin_listen}").rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.path or parts.query:
        raise CommandRefused(f"{address} is not the address of a listener; give one such as http://127.0.0.1:8081")
    return address


def _key(settings: Settings) -> str:
    if settings.admin_key:
        return settings.admin_key
    path: Path = settings.admin_key_path
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise CommandRefused(
            f"there is no operator credential in {path}; set AGENTGATE_ADMIN_KEY or AGENTGATE_DATA_DIR"
        ) from None
