"""The console API of a running service, with an API token. What it refuses is told in its own words."""

import json
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, build_opener

from agentgate.server.cli.options import CommandRefused
from agentgate.server.cli.remote.admin_api import NoRedirect

TIMEOUT_S = 60
MOST_BYTES = 16 * 1024 * 1024


class ApiRefused(Exception):  # noqa: N818 - an answer to be passed on, not a fault
    """The service refused, or did not answer. The message is for whoever asked."""


class ConsoleApi:
    """The console API at an address."""

    def __init__(self, address: str, token: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query:
            raise CommandRefused(f"{address} is not the address of AgentGate; give one such as https://gate.example")
        if not token.startswith("agt_"):
            raise CommandRefused("AGENTGATE_API_TOKEN has no API token; make one in the console, it begins with agt_")
        self._address = address.rstrip("/")
        self._token = token
        self._opener = build_opener(NoRedirect())

    def get(self, path: str, **query: Any) -> Any:
        """Read something. What is None is left out of the query."""
        given = {name: str(value) for name, value in query.items() if value is not None}
        return self.call("GET", f"{path}?{urlencode(given)}" if given else path)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Call a route below `/v1/console`."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        headers |= {} if content is None else {"Content-Type": "application/json"}
        request = Request(f"{self._address}/v1/console{path}", content, headers, method=method)  # noqa: S310 - checked above
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                text = answer.read(MOST_BYTES)
            return json.loads(text) if text else None
        except HTTPError as error:
            raise ApiRefused(_told(error)) from None
        except (URLError, OSError) as error:
            raise ApiRefused(f"{request.host} cannot be reached: {getattr(error, 'reason', error)}") from None
        except ValueError:
            raise ApiRefused(f"{request.host} did not answer with JSON; is it AgentGate?") from None


def site_path(site_key: str, *more: str) -> str:
    """Return the path of a site, and of what is below it."""
    return "/".join(["/sites", *(quote(part, safe="") for part in (site_key, *more))])


def _told(error: HTTPError) -> str:
    with error:
        try:
            body = json.loads(error.read(64 * 1024))
            return f"{error.code} {body['error']}: {body.get('message', '')}"
        except (ValueError, KeyError, TypeError, OSError):
            return f"{error.code} {error.reason}"
