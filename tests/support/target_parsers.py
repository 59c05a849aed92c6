"""How servers and frameworks read a request target: real ones in this process, a node process, models of others.

A parser returns whether it would run the handler of `route` for a target. Parsers whose name ends in "model" follow the
documented normalization of a framework that is not installed here.
"""

import json
import posixpath
import re
import shutil
import subprocess
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from functools import lru_cache
from http.server import SimpleHTTPRequestHandler
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, unquote_to_bytes
from wsgiref.simple_server import WSGIRequestHandler

import httptools
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest
from django.urls import Resolver404, URLResolver, path, re_path
from django.urls.resolvers import RegexPattern
from fastapi import APIRouter
from flask import Flask
from starlette.routing import Match, Route, Router
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map
from werkzeug.serving import WSGIRequestHandler as WerkzeugHandler

from tests.support.django_settings import configure

Parser = Callable[[bytes, str], bool]

configure()


def _view(*_: object, **__: object) -> str:
    return "ok"


# --- real ones ---


def _environ(target: bytes, path_info: str | None = None) -> dict[str, object]:
    """Return what WSGI servers make of a target: its path decoded once, as Latin-1."""
    raw = target.partition(b"?")[0]
    return {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(raw).decode("latin-1") if path_info is None else path_info,
        "QUERY_STRING": target.partition(b"?")[2].decode("latin-1"),
        "SERVER_NAME": "x",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(),
    }


def flask(target: bytes, route: str) -> bool:
    """Flask behind a usual WSGI server."""
    return _werkzeug(_environ(target), route)


def flask_dev_server(target: bytes, route: str) -> bool:
    """Flask behind werkzeug's own server."""
    handler = _handler(WerkzeugHandler, target)
    try:
        return _werkzeug(handler.make_environ(), route)
    except ValueError:
        # A network path with an invalid host: the server returns 500.
        return False


def _handler(kind: type, target: bytes) -> Any:
    """Return a handler that has read the request line."""
    handler = kind.__new__(kind)
    handler.path = target.decode("latin-1")
    # BaseHTTPRequestHandler.parse_request: many slashes at the beginning are one.
    if handler.path.startswith("//"):
        handler.path = "/" + handler.path.lstrip("/")
    handler.command, handler.request_version, handler.client_address = "GET", "HTTP/1.1", ("127.0.0.1", 1)
    handler.headers, handler.rfile, handler.connection = Message(), BytesIO(), None
    handler.server = SimpleNamespace(
        multithread=False, multiprocess=False, ssl_context=None, server_address=("x", 80), base_environ={}
    )
    handler.address_string = lambda: "127.0.0.1"
    return handler


def _werkzeug(environ: dict[str, object], route: str) -> bool:
    try:
        return _flask_map(route).bind_to_environ(environ, server_name="x").match() is not None
    except HTTPException:
        # Not found; or a redirect to the route's own spelling, after which the client asks plainly.
        return False


@lru_cache(4_096)
def _flask_map(route: str) -> Map:
    app = Flask("x")
    app.url_map.strict_slashes = False
    app.add_url_rule(route, "x", _view)
    return app.url_map


def django_path(target: bytes, route: str) -> bool:
    """Django's path() over WSGI."""
    return _django(WSGIRequest(_environ(target)).path_info, _django_path(route))


def django_regex(target: bytes, route: str) -> bool:
    """Django's re_path() with (?i) over WSGI."""
    return _django(WSGIRequest(_environ(target)).path_info, _django_regex(route))


def django_asgi(target: bytes, route: str) -> bool:
    """Django's re_path() over ASGI and httptools."""
    found = _asgi_path(target)
    if found is None:
        return False
    scope = {"type": "http", "method": "GET", "path": found, "headers": [], "query_string": b""}
    return _django(ASGIRequest(scope, BytesIO()).path_info, _django_regex(route))


@lru_cache(4_096)
def _django_path(route: str) -> URLResolver:
    return URLResolver(RegexPattern(r"^/"), [path(route[1:], _view)])


@lru_cache(4_096)
def _django_regex(route: str) -> URLResolver:
    return URLResolver(RegexPattern(r"^/"), [re_path(rf"(?i)^{re.escape(route[1:])}/?$", _view)])


def _django(path_info: str, resolver: URLResolver) -> bool:
    try:
        resolver.resolve(path_info)
    except Resolver404:
        return False
    return True


def _asgi_path(target: bytes) -> str | None:
    """Return the path that uvicorn hands to an application."""
    try:
        raw = httptools.parse_url(target).path
        return None if raw is None else unquote(raw.decode("ascii"))
    except (httptools.HttpParserError, UnicodeDecodeError):
        return None


def starlette(target: bytes, route: str) -> bool:
    """Starlette, which also redirects to the path with or without its closing slash."""
    return _starlette(_starlette_router(route), target)


@lru_cache(4_096)
def _starlette_router(route: str) -> Router:
    return Router([Route(route, _view)])


def fastapi(target: bytes, route: str) -> bool:
    """FastAPI likewise."""
    return _starlette(_fastapi_router(route), target)


@lru_cache(4_096)
def _fastapi_router(route: str) -> APIRouter:
    router = APIRouter()
    router.add_api_route(route, lambda: "ok")
    return router


def _starlette(router: Router, target: bytes) -> bool:
    found = _asgi_path(target)
    if found is None:
        return False
    scope = {"type": "http", "method": "GET", "root_path": "", "headers": []}
    spellings = {found, found.rstrip("/"), found + "/"}
    return any(each.matches({**scope, "path": text})[0] == Match.FULL for each in router.routes for text in spellings)


def wsgiref(target: bytes, route: str) -> bool:
    """wsgiref's own server with an application that compares PATH_INFO."""
    return _same(_handler(WSGIRequestHandler, target).get_environ()["PATH_INFO"], route)


def file_server(target: bytes, route: str) -> bool:
    """http.server, which serves files."""
    handler = SimpleHTTPRequestHandler.__new__(SimpleHTTPRequestHandler)
    handler.directory = "/srv"
    return handler.translate_path(target.decode("latin-1")) == "/srv" + route


REAL: tuple[Parser, ...] = (
    *(flask, flask_dev_server, django_path, django_regex, django_asgi),
    *(starlette, fastapi, wsgiref, file_server),
)


# --- node: its own parsers, and whatwg-url where it is installed ---

_NODE = r"""
const path = require('node:path'), qs = require('node:querystring'), legacy = require('node:url');
let standard; try { standard = require('whatwg-url').URL } catch { standard = URL }
const tryTo = (f) => { try { return f() } catch { return null } };
const decode = (text) => tryTo(() => decodeURIComponent(text));
function readings(target) {
  const found = [];
  for (const read of [
    () => new URL(target, 'http://h').pathname,
    () => new standard(target, 'http://h').pathname,
    () => new URL('http://h' + target).pathname,
    () => legacy.parse(target).pathname,
    () => legacy.parse(target, false, true).pathname,
    () => target.split('?')[0],
  ]) {
    const name = tryTo(read);
    if (!name) continue;
    for (const text of [name, decode(name), qs.unescape(name)]) {
      if (text === null) continue;
      found.push(text, path.posix.normalize(text), path.win32.normalize(text).replaceAll('\\', '/'));
    }
  }
  return found;
}
let rest = '';
process.stdin.on('data', (data) => {
  rest += data;
  const lines = rest.split('\n');
  rest = lines.pop();
  for (const line of lines) {
    const answers = JSON.parse(line).map(([target, route]) => {
      const pattern = new RegExp('^' + route + '\\/?$', 'iu');
      return readings(target).some((text) => pattern.test(text));
    });
    process.stdout.write(JSON.stringify(answers) + '\n');
  }
});
"""


@contextmanager
def node_parser() -> Iterator[Callable[[list[tuple[bytes, str]]], list[bool]] | None]:
    """Start node; give a parser of many targets that asks its URL parsers, with a router that ignores case.

    None without node.
    """
    program = shutil.which("node")
    if program is None:
        yield None
        return
    process = subprocess.Popen(
        [program, "--no-deprecation", "-e", _NODE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"NODE_PATH": str(Path(__file__).parents[2] / "node_modules")},
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def read_all(pairs: list[tuple[bytes, str]]) -> list[bool]:
        # node's HTTP parser gives Latin-1.
        line = json.dumps([(target.decode("latin-1"), route) for target, route in pairs])
        process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    try:
        yield read_all
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


# --- models ---


def _same(text: str, route: str) -> bool:
    return text.rstrip("/").casefold() == route.rstrip("/")


def _resolve(text: str) -> str:
    """Remove dot segments (RFC 3986, 5.2.4)."""
    kept: list[str] = []
    for segment in text.split("/")[1:]:
        if segment == "..":
            kept = kept[:-1]
        elif segment != ".":
            kept.append(segment)
    return "/" + "/".join(kept)


def _text(raw: bytes) -> str:
    return unquote_to_bytes(raw).decode("utf-8", "replace")


def express_model(target: bytes, route: str) -> bool:
    """Express 4 and 5: parseurl, then a pattern without case and with an optional slash, on the path as it came."""
    return _same(target.partition(b"?")[0].decode("latin-1"), route)


def fastify_4_model(target: bytes, route: str) -> bool:
    """Fastify 4: `;` ends the path like `?`; decoded once, `%25` and separators kept; case and slashes as set."""
    raw = re.split(rb"[?;#]", target)[0]
    text = unquote(raw.replace(b"%25", b"%2525").decode("latin-1"))
    return _same(re.sub("/{2,}", "/", text), route)


def php_model(target: bytes, route: str) -> bool:
    """A PHP front controller: parse_url() of REQUEST_URI or the text before `?`, urldecode(), trim()."""
    paths = [target.partition(b"?")[0]]
    network = re.match(rb"//[^/?#]*([^?#]*)", target)
    if network:
        paths.append(network[1])
    texts = [_text(raw.replace(b"+", b" ")).strip("/ \t\r\n\0\x0b") for raw in paths]
    return any(_same("/" + text, route) for text in texts)


def rails_model(target: bytes, route: str) -> bool:
    """Rails' Journey: slashes squeezed, the last taken off, escapes of unreserved characters decoded."""
    text = re.sub(rb"/{2,}", b"/", target.partition(b"?")[0]).rstrip(b"/")
    return _text(text) == route


def sinatra_model(target: bytes, route: str) -> bool:
    """Sinatra with Rack::Protection::PathTraversal: unescaped, backslashes turned, dots resolved."""
    text = _text(target.partition(b"?")[0]).replace("\\", "/")
    return _same(_resolve(re.sub("/{2,}", "/", text)), route)


def go_model(target: bytes, route: str) -> bool:
    """Go's ServeMux: url.Parse, then path.Clean; a target with a bad escape is rejected."""
    raw = target.partition(b"?")[0]
    if re.search(rb"%(?![0-9A-Fa-f]{2})", raw):
        return False
    paths = [raw] if not raw.startswith(b"//") else [raw, b"/" + raw[2:].partition(b"/")[2]]
    return any(posixpath.normpath("/" + _text(each).lstrip("/")) == route for each in paths)


def tomcat_model(target: bytes, route: str) -> bool:
    """Tomcat: parameters taken off each segment, decoded, backslashes turned, slashes merged, dots resolved."""
    raw = re.sub(rb";[^/]*", b"", target.partition(b"?")[0])
    return _resolve(re.sub("/{2,}", "/", _text(raw).replace("\\", "/"))) == route


def decoding_twice_model(target: bytes, route: str) -> bool:
    """A proxy and a server that both decode, with merged slashes and resolved dots between."""
    first = _resolve(re.sub("/{2,}", "/", _text(target.partition(b"?")[0])))
    return _same(_resolve(_text(first.encode()).partition("?")[0]), route)


def iis_model(target: bytes, route: str) -> bool:
    """Old IIS: %uXXXX and overlong UTF-8 are decoded, dots and blanks at the end of a name fall off, no case."""
    raw = re.sub(rb"%[uU]([0-9A-Fa-f]{4})", lambda each: chr(int(each[1], 16)).encode("utf-8", "ignore"), target)
    raw = unquote_to_bytes(raw.partition(b"?")[0])
    raw = re.sub(rb"[\xc0\xc1][\x80-\xbf]", lambda each: bytes([(each[0][0] & 1) << 6 | each[0][1] & 0x3F]), raw)
    raw = re.sub(rb"\xe0[\x80\x81][\x80-\xbf]", lambda each: bytes([(each[0][1] & 1) << 6 | each[0][2] & 0x3F]), raw)
    text = _resolve(re.sub("/{2,}", "/", raw.decode("utf-8", "replace").replace("\\", "/")))
    return _same("/".join(segment.rstrip(". ") for segment in text.split("/")), route)


def c_string_model(target: bytes, route: str) -> bool:
    """A program whose strings end at NUL, or that drops controls, or bytes that are no UTF-8."""
    raw = unquote_to_bytes(target.partition(b"?")[0])
    texts = [raw.partition(b"\0")[0].decode("utf-8", "ignore"), raw.decode("utf-8", "ignore")]
    return any(_same(re.sub("[\x00-\x1f\x7f]", "", text), route) for text in texts)


def normalising_model(target: bytes, route: str) -> bool:
    """An application that compares NFKC_Casefold: compatibility forms folded, ignorable characters dropped."""
    text = unicodedata.normalize("NFKC", _text(target.partition(b"?")[0])).casefold()
    return _same(
        re.sub("[\xad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]", "", text), route
    )


MODELS: tuple[Parser, ...] = (
    *(express_model, fastify_4_model, php_model, rails_model, sinatra_model, go_model),
    *(tomcat_model, decoding_twice_model, iis_model, c_string_model, normalising_model),
)
