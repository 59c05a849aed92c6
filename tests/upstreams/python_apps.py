"""Flask, Django, FastAPI and aiohttp, each on a separate port: `python -m tests.upstreams.python_apps`.

Prints the ports as JSON, and the reason where one is missing; ends with its standard input.
"""

import asyncio
import json
import re
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import uvicorn
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.urls import path, re_path
from fastapi import FastAPI, Response
from flask import Flask
from werkzeug.serving import make_server as make_werkzeug_server

from tests.support.django_settings import configure
from tests.upstreams.handlers import HANDLERS

HOST = "127.0.0.1"
HEADER = "X-Handler"
# Tasks without a reference may be garbage-collected.
SERVING: list[asyncio.Task[None]] = []


def flask_app() -> Flask:
    """Flask, with and without a closing slash."""
    app = Flask("shop")
    app.url_map.strict_slashes = False
    for each in HANDLERS:
        headers = {HEADER: each.name}
        app.add_url_rule(each.path, each.name, lambda h=headers: ("ok", 200, h), methods=[each.method])
    return app


def _django_view(by_method: dict[str, str]) -> Callable[..., HttpResponse]:
    def view(request: Any) -> HttpResponse:
        method = "GET" if request.method == "HEAD" else request.method
        name = by_method.get(method)
        return HttpResponse("ok", headers={HEADER: name}) if name else HttpResponse(status=405)

    # The gate is on trial, not Django's protection of forms.
    view.csrf_exempt = True  # type: ignore[attr-defined]
    return view


def set_up_django() -> None:
    """Django: path() for each handler, then re_path() without case."""
    configure()
    from django.conf import settings

    by_path: dict[str, dict[str, str]] = {}
    for each in HANDLERS:
        by_path.setdefault(each.path, {})[each.method] = each.name
    views = {route: _django_view(by_method) for route, by_method in by_path.items()}
    settings.ROOT_URLCONF.urlpatterns = [
        *(path(route[1:], view) for route, view in views.items()),
        *(re_path(rf"(?i)^{re.escape(route[1:])}/?$", view) for route, view in views.items()),
    ]


def fastapi_app() -> FastAPI:
    """Create a FastAPI application, which handles HEAD only where its methods list it."""
    app = FastAPI()
    for each in HANDLERS:
        methods = [each.method, "HEAD"] if each.method == "GET" else [each.method]
        app.add_api_route(each.path, lambda h={HEADER: each.name}: Response("ok", headers=h), methods=methods)
    return app


class _Threading(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class has it so
        pass


def _serve_wsgi(app: Any) -> int:
    server = make_server(HOST, 0, app, server_class=_Threading, handler_class=_Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_port)


def _serve_werkzeug(app: Any) -> int:
    server = make_werkzeug_server(HOST, 0, app, threaded=True, request_handler=_quiet_werkzeug())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_port)


def _quiet_werkzeug() -> type:
    from werkzeug.serving import WSGIRequestHandler as Handler

    return type("Quiet", (Handler,), {"log": lambda *_: None})


async def _serve_asgi(app: Any) -> int:
    server = uvicorn.Server(uvicorn.Config(app, host=HOST, port=0, log_level="critical", lifespan="off"))
    SERVING.append(asyncio.create_task(server.serve()))
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    return int(server.servers[0].sockets[0].getsockname()[1])


async def _serve_aiohttp() -> int:
    from aiohttp import web

    def handler(name: str) -> Any:
        async def handle(_: web.Request) -> web.Response:
            return web.Response(text="ok", headers={HEADER: name})

        return handle

    app = web.Application()
    for each in HANDLERS:
        app.router.add_route(each.method, each.path, handler(each.name))
        if each.method == "GET":
            app.router.add_route("HEAD", each.path, handler(each.name))
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, HOST, 0).start()
    return int(runner.addresses[0][1])


async def _main() -> None:
    set_up_django()
    ports: dict[str, int | str] = {
        "flask": _serve_werkzeug(flask_app()),
        "flask-wsgiref": _serve_wsgi(flask_app()),
        "django": _serve_wsgi(WSGIHandler()),
        "django-asgi": await _serve_asgi(ASGIHandler()),
        "fastapi": await _serve_asgi(fastapi_app()),
    }
    if find_spec("aiohttp"):
        ports["aiohttp"] = await _serve_aiohttp()
    else:
        ports["aiohttp"] = "the package aiohttp is not installed"
    sys.stdout.write(json.dumps(ports) + "\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main())
