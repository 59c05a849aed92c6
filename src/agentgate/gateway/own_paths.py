"""`/.agentgate/...`: what visitors' browsers request of the service on the site's own origin.

An adapter passes the whole prefix on unchanged. The service has the list of paths, so no proxy needs one. The visitor
owns the query here: nothing in it selects how the request is described.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agentgate.decision.engine import Ruling
from agentgate.gateway.answers import Answers
from agentgate.gateway.request.described_request import (
    BY_LINE,
    HOST,
    OWN_PREFIX,
    REQUEST_HEADER,
    describe,
    origin_at,
)
from agentgate.gateway.request.fleet_requests import URL, read_fleet_request
from agentgate.gateway.request.original_request import Malformed, read_original
from agentgate.http.bearer_secret import SECRET_HEADER
from agentgate.http.connection.fast_functions import HotReply, json_reply
from agentgate.lib.clock import Clock
from agentgate.lib.enums import Outcome
from agentgate.sites.directory import SiteDirectory, SiteView

# Paths below the prefix. They are compared as they came: an encoded or longer spelling is not one of them.
OF_PAGE = frozenset(f"/v1/gateway/{name}" for name in ("challenge", "pass", "replay", "appeal"))
OF_BROWSER = frozenset(f"/v1/browser/{name}" for name in ("challenge", "instrument", "verify", "private-token"))
_SDK = re.compile(r"/sdk/(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)*[A-Za-z0-9_-][A-Za-z0-9_.-]*\Z")
# Traefik sends these of every request, over the visitor's.
_FORWARDED = (b"x-forwarded-proto", b"x-forwarded-host", b"x-forwarded-for")

Scope = dict[str, Any]
Asgi = Callable[[Scope, Any, Any], Awaitable[None]]


class OwnPaths:
    """An ASGI application that serves the prefix with the routes of another."""

    def __init__(self, app: Asgi, sites: SiteDirectory, clock: Clock) -> None:
        self._app = app
        self._sites = sites
        self._clock = clock
        self._answers = Answers()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Respond to one request."""
        if scope["type"] != "http" or not scope["path"].startswith(OWN_PREFIX):
            await self._app(scope, receive, send)
            return
        path = scope["path"][len(OWN_PREFIX) - 1 :]
        if _SDK.match(path):
            await self._app({**scope, "path": path}, receive, send)
        elif path in OF_PAGE or path in OF_BROWSER:
            await self._serve(path, scope, receive, send)
        else:
            await _send(send, json_reply(404, "not_found", message="Path not found."))

    async def _serve(self, path: str, scope: Scope, receive: Any, send: Any) -> None:
        await self._sites.await_refresh_if_possible()
        headers = _joined(scope["headers"])
        secret = headers.get(SECRET_HEADER)
        caller = None if secret is None else self._sites.find_caller(secret, now_ms=self._clock.now_ms())
        fleet = None if secret is None or caller is not None else self._sites.fleets.find_caller(secret)
        if caller is None and fleet is None:
            await _send(send, self._answers.write(Ruling(Outcome.BLOCK, "invalid_credential"), None))
            return
        try:
            kept = _headers_of(scope, headers)
            if fleet is not None:
                asked = read_fleet_request(self._sites, fleet, kept.get(URL))
                caller, kept = asked.caller, asked.rewrite(kept)
            assert caller is not None, "a fleet has a site, or it raises"
            described = _described(kept, caller.site)
        except Malformed as problem:
            ruling = Ruling(Outcome.BLOCK, "invalid_request", hint=str(problem))
            await _send(send, self._answers.write(ruling, None))
            return
        await self._app({**scope, **described, "path": path}, receive, send)


def _headers_of(scope: Scope, headers: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the headers with the request that the adapter describes."""
    if REQUEST_HEADER not in headers:
        # Traefik clears it. All other adapters overwrite it.
        headers = {**headers, REQUEST_HEADER: _line_of(scope, headers)}
    return describe(headers, BY_LINE)


def _described(kept: dict[bytes, bytes], site: SiteView) -> Scope:
    """Return the parts of the scope that the adapter's description replaces."""
    original = read_original(kept)
    if HOST in kept:
        origin, _ = origin_at(site.origins, original.origin, kept[HOST])
        kept[b"x-original-url"] = f"{origin}{original.target}".encode("latin-1")
    sent = [(name, value) for name, value in kept.items() if not name.startswith((b":", b"x-forwarded-"))]
    scheme = kept[b"x-original-url"].partition(b":")[0].decode().lower()
    return {"headers": sent, "client": (original.address, 0), "scheme": scheme}


def _line_of(scope: Scope, headers: Mapping[bytes, bytes]) -> bytes:
    scheme, host, addresses = (headers.get(name, b"") for name in _FORWARDED)
    address = addresses.rpartition(b",")[2].strip()
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    url = b"%b://%b%b%b" % (scheme, host, scope["path"].encode("latin-1"), query)
    return b" ".join((scope["method"].encode(), address, b"host=" + host, url))


def _joined(headers: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    joined: dict[bytes, bytes] = {}
    for name, value in headers:
        joined[name] = joined[name] + b", " + value if name in joined else value
    return joined


async def _send(send: Callable[[dict[str, Any]], Awaitable[None]], reply: HotReply) -> None:
    headers = [*reply.headers, (b"content-length", b"%d" % len(reply.body))]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
