"""`agentgate labels export`: every decision label of a site, from a running service, one JSON object a line."""

import json
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Annotated, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

import typer

from agentgate.lib.limits import LABELS_LIMIT
from agentgate.lib.settings.schema import Settings, read_process_settings
from agentgate.server.cli.options import CommandRefused, ConfigOption

TIMEOUT_S = 30
PAGE_MOST_BYTES = 256 * 1024 * 1024

labels = typer.Typer(
    help="Get decision labels out of a running service.",
    epilog="Example: agentgate labels export --site-key site_shop1 > labels.ndjson",
)


@labels.callback()
def options() -> None:
    # With a callback, a single command keeps its name.
    pass


@labels.command("export", epilog="Example: agentgate labels export --site-key site_shop1 > labels.ndjson")
def export(
    site_key: Annotated[str, typer.Option("--site-key", help="The site whose labels to export.")],
    url: Annotated[
        str | None, typer.Option("--url", help="Address of the admin listener; without it, that of the settings.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Print every decision label of a site, oldest update first, for `agentgate train`."""
    settings = read_process_settings(config)
    count = 0
    for item in _items(_address(settings, url), _key(settings), site_key):
        print(json.dumps(item, separators=(",", ":")))
        count += 1
    typer.secho(f"{count} labels", err=True)


class _NoRedirect(HTTPRedirectHandler):
    """The operator credential goes to the address that was given, and nowhere else."""

    def redirect_request(self, *given: Any) -> None:
        del given


def _items(address: str, key: str, site_key: str) -> Iterator[Any]:
    # The admin listener is private, so no proxy of the environment stands before it.
    opener = build_opener(ProxyHandler({}), _NoRedirect())
    cursor: str | None = None
    while True:
        query = {"siteKey": site_key, "limit": str(LABELS_LIMIT.most)} | ({"cursor": cursor} if cursor else {})
        page = _page(opener, Request(f"{address}/v1/admin/labels?{urlencode(query)}", headers={"X-Admin-Key": key}))  # noqa: S310 - `_address` lets http and https through only
        yield from page["items"]
        before, cursor = cursor, page.get("nextCursor")
        if cursor is None:
            return
        if cursor == before:
            raise CommandRefused("the service answered the same page twice; nothing more was exported")


def _page(opener: OpenerDirector, request: Request) -> dict[str, Any]:
    try:
        with opener.open(request, timeout=TIMEOUT_S) as answer:
            page = json.loads(answer.read(PAGE_MOST_BYTES))
    except HTTPError as error:
        raise CommandRefused(f"the service answered {error.code}: {_message(error)}") from None
    except (URLError, HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        raise CommandRefused(f"{request.host} cannot be reached ({reason}); is --url the admin listener?") from None
    except ValueError:
        raise CommandRefused(f"{request.host} did not answer with JSON; is --url the admin listener?") from None
    if not isinstance(page, dict) or not isinstance(page.get("items"), list):
        raise CommandRefused(f"{request.host} did not answer with labels; is --url the admin listener?")
    return page


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
