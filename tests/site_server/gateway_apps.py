"""Sites with the gateway middleware before them, on real servers: uvicorn for ASGI, wsgiref for WSGI."""

import asyncio
import contextlib
import json
import socketserver
import threading
import time
from collections.abc import Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import httpx
import uvicorn

from agentgate_client import gateway_asgi, gateway_wsgi


async def asgi_site(scope: Any, receive: Any, send: Any) -> None:
    """Respond with the received request, over HTTP and over WebSockets."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.close"})
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
    seen = {"ran": scope["path"], "method": scope["method"], "headers": headers, "body": body.decode()}
    content = json.dumps(seen).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": content})


def wsgi_site(environ: Any, start_response: Any) -> list[bytes]:
    """Respond with the received request."""
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    headers = {key[5:].lower().replace("_", "-"): value for key, value in environ.items() if key.startswith("HTTP_")}
    seen = {
        "ran": environ["PATH_INFO"],
        "method": environ["REQUEST_METHOD"],
        "headers": headers,
        "body": body.decode(),
    }
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(seen).encode()]


@contextlib.contextmanager
def serving_asgi(app: Any) -> Iterator[str]:
    """Run an ASGI application and return its address."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", log_level="error", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until_s = time.monotonic() + 10
    while not server.started and time.monotonic() < until_s:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


class _Quiet(WSGIRequestHandler):
    def log_message(self, *given: object) -> None:
        pass


class _Threaded(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    block_on_close = False


@contextlib.contextmanager
def serving_wsgi(app: Any) -> Iterator[str]:
    """Run a WSGI application and return its address."""
    server = _Threaded(("127.0.0.1", 0), _Quiet)
    server.set_app(app)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@contextlib.contextmanager
def gated_site(kind: str, **options: Any) -> Iterator[str]:
    """Run a site with the middleware before it: `asgi` or `wsgi`."""
    made: Any
    if kind == "asgi":
        made, serving = gateway_asgi.GatewayMiddleware(asgi_site, **options), serving_asgi
    else:
        made, serving = gateway_wsgi.GatewayMiddleware(wsgi_site, **options), serving_wsgi
    try:
        with serving(made) as url:
            yield url
    finally:
        made.close()


def ask_once(
    kind: str, options: dict[str, Any], method: str = "GET", path: str = "/", **request: Any
) -> httpx.Response:
    """Send one request to a site behind the middleware, in this process: that is faster than a separate server."""
    made: Any
    try:
        if kind == "asgi":
            made = gateway_asgi.GatewayMiddleware(asgi_site, **options)
            return asyncio.run(_ask_asgi(made, method, path, **request))
        made = gateway_wsgi.GatewayMiddleware(wsgi_site, **options)
        with httpx.Client(transport=httpx.WSGITransport(made), base_url="http://site") as client:
            return client.request(method, path, **request)
    finally:
        made.close()


async def _ask_asgi(app: Any, method: str, path: str, **request: Any) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://site") as client:
        return await client.request(method, path, **request)
