"""A small shop that shows AgentGate at work: four things a visitor does, each protected in another way.

`agentgate serve --demo` starts it. It is a plain ASGI application, so that nothing hides how the client is used.
"""

# ruff: noqa: INP001 - a program with its pages, not a package

import argparse
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import uvicorn
from pages import Place, Seen, render, static_file

from agentgate_client import AgentGateError, AsyncClient, Route, Unavailable, VerificationFailed, Verified
from agentgate_client.asgi import AgentGateMiddleware

FORM_BYTES = 64 * 1024
REMEMBERED = 12

Form = dict[str, str]
Handler = Callable[["Shop", Form], Awaitable[tuple[str, Verified]]]


# The three forms. Each redeems the token from the page's form field, for the form's action.


async def sign_up(shop: "Shop", form: Form) -> tuple[str, Verified]:
    token = form.get("agentgate-token", "")
    verified = await shop.agentgate.verify(token, expected_action="signup")
    return f"Welcome, {form.get('name') or 'friend'}. Your account is ready.", verified


async def log_in(shop: "Shop", form: Form) -> tuple[str, Verified]:
    token = form.get("agentgate-token", "")
    verified = await shop.agentgate.verify(token, expected_action="login")
    return f"You are logged in as {form.get('email') or 'somebody'}.", verified


async def comment(shop: "Shop", form: Form) -> tuple[str, Verified]:
    token = form.get("agentgate-token", "")
    verified = await shop.agentgate.verify(token, expected_action="comment")
    return "Thank you. Your comment was posted.", verified


# The API has no form. A guard protects it: without a token it returns 401 `receipt_required`, and `agentgate.fetch()`
# in the page runs the challenge and repeats the request by itself.


def guarded(shop: "Shop") -> AgentGateMiddleware:
    return AgentGateMiddleware(
        shop,
        client=shop.agentgate,
        protect=[Route("POST", "/api/stock", action="api")],
    )


@dataclass
class Shop:
    """The application. It remembers the last few checks, to show them."""

    agentgate: AsyncClient
    place: Place
    seen: deque[Seen] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        method, path = scope["method"], scope["path"]
        if method == "POST" and path == "/api/stock":
            await self._stock(scope["state"]["agentgate"], send)
        elif method == "POST" and path in FORMS:
            await self._submit(path, await _read_form(receive), send)
        elif method in {"GET", "HEAD"} and path in PAGES:
            await self._show(path, send)
        elif method in {"GET", "HEAD"} and path.startswith("/static/"):
            found = static_file(path.removeprefix("/static/"))
            await _answer(send, *(found or (404, "text/plain", b"File not found.")))
        else:
            await _answer(send, 404, "text/plain", b"There is no such page.")

    async def _submit(self, path: str, form: Form, send: Any) -> None:
        started_s = time.perf_counter()
        try:
            message, verified = await FORMS[path](self, form)
            seen = Seen.accepted(path, verified)
        except AgentGateError as problem:
            message, seen = _explain(problem), Seen.refused(path, problem)
        seen = seen.taking(time.perf_counter() - started_s)
        self.seen.appendleft(seen)
        await self._show(path, send, message=message, now=seen)

    async def _stock(self, verified: Verified, send: Any) -> None:
        seen = Seen.accepted("/api", verified)
        self.seen.appendleft(seen)
        await _answer(send, 200, "application/json", seen.to_json({"kettle": 12, "teapot": 3, "cup": 40}))

    async def _show(self, path: str, send: Any, *, message: str = "", now: Seen | None = None) -> None:
        status = 200 if now is None or now.is_accepted else 403
        handler = FORMS.get(path, guarded)
        page = render(PAGES[path], self.place, handler=handler, message=message, now=now, earlier=list(self.seen))
        await _answer(send, status, "text/html; charset=utf-8", page, self.place.security_headers())


FORMS: dict[str, Handler] = {"/signup": sign_up, "/login": log_in, "/comment": comment}
PAGES = {"/": "home", "/signup": "signup", "/login": "login", "/comment": "comment", "/api": "api"}


def _explain(problem: AgentGateError) -> str:
    if isinstance(problem, VerificationFailed):
        return f"Not accepted ({problem.code}). {problem.message}"
    assert isinstance(problem, Unavailable), "there is no third kind"
    return "AgentGate cannot be reached, so nothing was accepted. Try again in a moment."


async def _read_form(receive: Any) -> Form:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body") or len(body) > FORM_BYTES:
            return dict(parse_qsl(body[:FORM_BYTES].decode("utf-8", "replace"), keep_blank_values=True))


async def _answer(
    send: Any, status: int, media_type: str, body: bytes, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> None:
    fields = [
        (b"content-type", media_type.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-cache"),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    """Serve until the one who started this closes our standard input, or Ctrl-C."""
    parser = argparse.ArgumentParser(description="The demo shop. `agentgate serve --demo` starts it.")
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--fd", type=int, help="a socket that listens already")
    arguments = parser.parse_args()
    place = Place.from_environment(os.environ)
    shop = Shop(AsyncClient(place.gate_url, os.environ["GATE_SECRET"]), place)
    listening = {"fd": arguments.fd} if arguments.fd is not None else {"port": arguments.port}
    server = uvicorn.Server(
        uvicorn.Config(guarded(shop), log_level="warning", access_log=False, lifespan="off", **listening)
    )
    if arguments.fd is not None:

        def watch() -> None:
            # It ends with the service, however that ends.
            sys.stdin.buffer.read()
            server.should_exit = True

        threading.Thread(target=watch, daemon=True).start()
    server.run()


if __name__ == "__main__":
    main()
