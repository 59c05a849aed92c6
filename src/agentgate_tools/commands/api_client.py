"""The HTTP APIs of a running service, for commands. Every failure becomes one line that gives the reason."""

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Annotated, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import BaseHandler, HTTPRedirectHandler, ProxyHandler, Request, build_opener

from agentgate.lib.settings.schema import Settings, read_process_settings
from agentgate_tools.commands.command import PROVIDERS, CommandRefused, ConfigOption
from agentgate_tools.commands.parameters import Argument, Option

TIMEOUT_S = 60
MOST_BYTES = 256 * 1024 * 1024

UrlOption = Annotated[str | None, Option("--url", help="Address of the admin listener. Default: from the settings.")]
SiteArgument = Annotated[str, Argument(help="Site key, such as site_shop1.")]


class NoRedirect(HTTPRedirectHandler):
    """Rejects redirects, so that the credential is sent only to the given address."""

    def redirect_request(self, *given: Any) -> None:
        del given


class NotThere(CommandRefused):
    """The service knows no such thing."""


class ConfirmationRequired(CommandRefused):
    """The service saves this only if a person acknowledges its warning."""


class HttpApi:
    """The routes of a running service below one address."""

    # The message for an error response (status, the service's text), and hints for a missing response and for a
    # response that is not from AgentGate.
    refused, unreachable, other = "{} {}", "", "is it AgentGate?"

    def __init__(self, base: str, headers: Mapping[str, str], *handlers: BaseHandler) -> None:
        self._base = base
        self._headers = {"Accept": "application/json", **headers}
        self._opener = build_opener(NoRedirect(), *handlers)

    def get(self, path: str, **query: Any) -> Any:
        """Send a GET request. Parameters that are None are omitted from the query."""
        given = {name: str(value) for name, value in query.items() if value is not None}
        return self.call("GET", f"{path}?{urlencode(given)}" if given else path)

    def items(self, path: str, **query: str | None) -> Iterator[Any]:
        """Read every page of a list."""
        cursor: str | None = None
        while True:
            page = self.get(path, **query, cursor=cursor)
            if not isinstance(page, dict) or not isinstance(page.get("items"), list):
                raise CommandRefused(f"{self._base} did not return a list; {self.other}")
            yield from page["items"]
            before, cursor = cursor, page.get("nextCursor")
            if cursor is None:
                return
            if cursor == before:
                raise CommandRefused("AgentGate returned the same page twice; the remaining pages were not read")

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Call a route; return None for a response without a body."""
        content = None if body is None else json.dumps(body).encode()
        headers = self._headers | ({} if content is None else {"Content-Type": "application/json"})
        request = Request(self._base + path, content, headers, method=method)  # noqa: S310 - whoever makes it checks
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                text = answer.read(MOST_BYTES)
            return json.loads(text) if text else None
        except HTTPError as error:
            code, message = _refusal(error)
            if code == "confirmation_required":
                raise ConfirmationRequired(message) from None
            kind = NotThere if error.code == HTTPStatus.NOT_FOUND else CommandRefused
            raise kind(self.refused.format(error.code, f"{code}: {message}" if code else message)) from None
        except (URLError, HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            raise CommandRefused(f"{request.host} cannot be reached ({reason}){self.unreachable}") from None
        except ValueError:
            raise CommandRefused(f"{request.host} did not return JSON; {self.other}") from None


class AdminApi(HttpApi):
    """The admin API, with the operator credential."""

    refused, other = "the service answered {}: {}", "is --url the admin listener?"
    unreachable = "; start it with `agentgate serve`, or give the address of its admin listener with --url"

    def __init__(self, address: str, key: str) -> None:
        # The admin listener is private, so the proxy settings of the environment do not apply.
        super().__init__(f"{address}/v1/admin", {"X-Admin-Key": key}, ProxyHandler({}))


def only_account(api: AdminApi) -> dict[str, str]:
    """Return the field that puts a new site into the only account; empty if there are none or several."""
    found = [each for each in api.items("/customers") if each["status"] == "active" and not each.get("protected")]
    return {"customerId": found[0]["id"]} if len(found) == 1 else {}


def open_api(url: UrlOption = None, config: ConfigOption = None) -> AdminApi:
    """Return the service that settings and options name."""
    settings = read_process_settings(config)
    return AdminApi(_address(settings, url), _key(settings))


PROVIDERS[AdminApi] = open_api


def _address(settings: Settings, url: str | None) -> str:
    """Return the address of the admin listener: http or https, with only a host and a port."""
    address = (url or f"http://{settings.admin_listen}").rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.path or parts.query:
        raise CommandRefused(f"{address} is not the address of a listener; give one such as http://127.0.0.1:8081")
    return address


def _key(settings: Settings) -> str:
    """Return the operator credential."""
    if settings.admin_key:
        return settings.admin_key
    path: Path = settings.admin_key_path
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise CommandRefused(
            f"there is no operator credential in {path}; run this in AgentGate's folder, or set AGENTGATE_DATA_DIR"
        ) from None


def site_path(site: str, *more: str) -> str:
    """Return the path of a site, and of what is below it."""
    return "/".join(["/sites", *(quote(part, safe="") for part in (site, *more))])


def _refusal(error: HTTPError) -> tuple[str, str]:
    """Return the code of an error response, empty if it has none, and the service's text."""
    with error:
        try:
            body = json.loads(error.read(64 * 1024))
            return str(body["error"]), str(body.get("message", ""))
        except (ValueError, KeyError, TypeError, AttributeError, OSError):
            return "", str(error.reason)
