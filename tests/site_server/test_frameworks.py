"""The guards in real applications of Starlette, FastAPI, Flask, Django and plain WSGI, with the real service.

Each application has the same two routes: `/signup` needs a token and returns the received data, `/` needs none.
"""

import asyncio
import io
import json
from typing import Annotated
from unittest import mock
from wsgiref.util import setup_testing_defaults

import fastapi
import flask
import httpx
import pytest
from django import forms
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.http import JsonResponse
from django.test import RequestFactory, override_settings
from django.urls import path
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route as StarletteRoute

from agentgate_client import Route, Verified, wsgi
from agentgate_client import django as agentgate_django
from agentgate_client.flask import agentgate_required, install
from agentgate_client.starlette import AgentGateMiddleware, require_token
from agentgate_client.starlette import install as install_starlette
from tests.site_server.gate import SITE_KEY
from tests.support.django_settings import configure
from tests.support.ports import free_port

PROTECT = [Route("POST", "/signup", action="signup")]
BOUNDARY = "multipart/form-data; boundary=xyz"


def starlette_app(client):
    async def signup(request: Request) -> JSONResponse:
        seen = request.state.agentgate
        body = (await request.body()).decode()
        return JSONResponse({"decision": seen.decision_id, "source": seen.source, "body": body})

    async def home(_request: Request) -> JSONResponse:
        return JSONResponse({"home": True})

    return Starlette(
        routes=[StarletteRoute("/signup", signup, methods=["POST"]), StarletteRoute("/", home)],
        middleware=[Middleware(AgentGateMiddleware, client=client, protect=PROTECT)],
    )


def fastapi_app(client):
    app = fastapi.FastAPI()
    install_starlette(app, client)

    @app.post("/signup")
    async def signup(
        request: fastapi.Request, seen: Annotated[Verified, fastapi.Depends(require_token(action="signup"))]
    ) -> dict[str, str]:
        assert request.state.agentgate is seen
        return {"decision": seen.decision_id, "source": seen.source, "body": (await request.body()).decode()}

    @app.get("/")
    async def home() -> dict[str, bool]:
        return {"home": True}

    return app


def flask_app(client):
    app = flask.Flask("shop")
    install(app, client)

    @app.post("/signup")
    @agentgate_required(action="signup")
    def signup():
        seen = flask.g.agentgate
        body = flask.request.get_data(as_text=True)
        return {"decision": seen.decision_id, "source": seen.source, "body": body}

    @app.get("/")
    def home():
        return {"home": True}

    return app.wsgi_app


def wsgi_app(client):
    def app(environ, start_response):
        if environ["PATH_INFO"] == "/":
            answer = {"home": True}
        else:
            seen = environ["agentgate"]
            length = int(environ.get("CONTENT_LENGTH") or 0)
            body = environ["wsgi.input"].read(length).decode()
            answer = {"decision": seen.decision_id, "source": seen.source, "body": body}
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(answer).encode()]

    return wsgi.AgentGateMiddleware(app, client=client, protect=PROTECT)


async def _call_asgi(app, method, path, **request):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop.example") as client:
        return await client.request(method, path, **request)


def call_asgi(app, method, path, **request):
    return asyncio.run(_call_asgi(app, method, path, **request))


def call_wsgi(app, method, path, **request):
    with httpx.Client(transport=httpx.WSGITransport(app), base_url="http://shop.example") as client:
        return client.request(method, path, **request)


APPLICATIONS = [
    pytest.param(starlette_app, call_asgi, id="starlette"),
    pytest.param(fastapi_app, call_asgi, id="fastapi"),
    pytest.param(flask_app, call_wsgi, id="flask"),
    pytest.param(wsgi_app, call_wsgi, id="wsgi"),
]


@pytest.mark.parametrize(("make", "call"), APPLICATIONS)
def test_a_token_in_the_header_opens_the_route_once(gate, make, call):
    app, token = make(gate.client()), gate.token()

    first = call(app, "POST", "/signup", json={"a": 1}, headers={"X-AgentGate-Token": token})
    second = call(app, "POST", "/signup", json={"a": 1}, headers={"X-AgentGate-Token": token})

    assert first.status_code == 200, first.text
    assert first.json() == {"decision": "dec_0000000000000", "source": "service", "body": '{"a":1}'}
    assert second.status_code == 403
    assert second.json()["error"] == "token_used"
    assert second.json()["message"]


@pytest.mark.parametrize(("make", "call"), APPLICATIONS)
def test_a_token_in_a_form_opens_the_route_and_leaves_the_body_to_it(gate, make, call):
    app, token, other = make(gate.client()), gate.token(), gate.token()
    multipart = f'--xyz\r\nContent-Disposition: form-data; name="agentgate-token"\r\n\r\n{other}\r\n--xyz--\r\n'

    plain = call(app, "POST", "/signup", data={"name": "ann", "agentgate-token": token})
    parts = call(app, "POST", "/signup", content=multipart, headers={"Content-Type": BOUNDARY})

    assert plain.status_code == 200, plain.text
    assert plain.json()["body"] == f"name=ann&agentgate-token={token}"
    assert parts.status_code == 200, parts.text
    assert parts.json()["body"] == multipart


@pytest.mark.parametrize(("make", "call"), APPLICATIONS)
@pytest.mark.parametrize("request_", [{}, {"data": {"name": "ann"}}, {"json": {"agentgate-token": "a.b.c"}}])
def test_without_a_token_the_sdk_is_instructed_to_run_the_check(gate, make, call, request_):
    answer = call(make(gate.client()), "POST", "/signup", **request_)

    assert answer.status_code == 401
    assert answer.json()["error"] == "receipt_required"
    assert answer.headers["X-Service-Reason"] == "receipt_required"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(("make", "call"), APPLICATIONS)
def test_other_routes_need_no_token(gate, make, call):
    assert call(make(gate.client()), "GET", "/").json() == {"home": True}


@pytest.mark.parametrize(("make", "call"), APPLICATIONS)
def test_a_token_for_another_action_is_rejected(gate, make, call):
    answer = call(make(gate.client()), "POST", "/signup", headers={"X-AgentGate-Token": gate.token("login")})

    assert (answer.status_code, answer.json()["error"]) == (403, "action_mismatch")


@pytest.mark.parametrize(("make", "call"), APPLICATIONS)
def test_a_service_that_is_unavailable_closes_the_route_by_default(gate, make, call):
    url = f"http://127.0.0.1:{free_port()}"
    headers = {"X-AgentGate-Token": "a.b.c"}

    closed = call(make(gate.client(url, retries=0)), "POST", "/signup", headers=headers)
    opened = call(make(gate.client(url, retries=0, fail_open=True)), "POST", "/signup", headers=headers)

    assert (closed.status_code, closed.json()["error"]) == (503, "unavailable")
    assert closed.headers["Retry-After"] == "5"
    assert opened.json()["source"] == "unchecked"


@pytest.mark.parametrize(("make", "call"), APPLICATIONS)
def test_a_wrong_secret_is_not_the_visitors_fault(gate, make, call):
    app = make(gate.client(secret="ags_wrong", fail_open=True))

    answer = call(app, "POST", "/signup", headers={"X-AgentGate-Token": gate.token()})

    assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")


@pytest.mark.parametrize(("make", "call"), APPLICATIONS)
def test_a_form_that_is_too_large_must_send_the_header(gate, make, call):
    app, token = make(gate.client()), gate.token()
    form = {"text": "x" * 1_100_000}

    assert call(app, "POST", "/signup", data=form).status_code == 413
    opened = call(app, "POST", "/signup", data=form, headers={"X-AgentGate-Token": token})
    assert opened.status_code == 200
    assert len(opened.json()["body"]) > 1_100_000


def test_a_form_that_grows_too_large_on_the_way_is_rejected_as_well(gate):
    async def chunks():
        for _ in range(20):
            yield b"x" * 100_000

    headers = {"Content-Type": "application/x-www-form-urlencoded"}

    assert (
        call_asgi(starlette_app(gate.client()), "POST", "/signup", content=chunks(), headers=headers).status_code == 413
    )


def test_fastapi_reads_form_parameters_next_to_the_token(gate):
    pytest.importorskip("python_multipart")
    app = fastapi.FastAPI()
    install_starlette(app, gate.client())

    @app.post("/signup", dependencies=[fastapi.Depends(require_token(action="signup"))])
    async def signup(name: Annotated[str, fastapi.Form()]) -> dict[str, str]:
        return {"name": name}

    answer = call_asgi(app, "POST", "/signup", data={"name": "ann", "agentgate-token": gate.token()})

    assert answer.json() == {"name": "ann"}


def test_an_application_under_a_prefix_is_protected_too(gate):
    outer = Starlette()
    outer.mount("/shop", starlette_app(gate.client()))

    assert call_asgi(outer, "POST", "/shop/signup").status_code == 401
    opened = call_asgi(outer, "POST", "/shop/signup", headers={"X-AgentGate-Token": gate.token()})
    assert opened.status_code == 200


def test_wsgi_leaves_an_unsound_length_alone():
    def never(_environ, _start_response):
        raise AssertionError("not reached")

    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/signup", "wsgi.input": io.BytesIO(b"x")}
    setup_testing_defaults(environ)
    environ |= {"CONTENT_TYPE": "application/x-www-form-urlencoded", "CONTENT_LENGTH": "-1"}
    statuses = []

    wsgi.AgentGateMiddleware(never, client=None, protect=PROTECT)(environ, lambda status, _: statuses.append(status))

    assert statuses == ["413 Content Too Large"]


# Django keeps its settings for the whole process, so there is one application and the client is exchanged.


@pytest.fixture
def shop(gate):
    configure()
    settings = {
        "BASE_URL": gate.url,
        "SECRET": gate.secret,
        "SITE_KEY": SITE_KEY,
        "PROTECT": [("POST", "/signup", "signup")],
        "retries": 0,
    }
    agentgate_django.shared_client.cache_clear()
    with override_settings(AGENTGATE=settings):
        yield RequestFactory()
        agentgate_django.shared_client().close()
    agentgate_django.shared_client.cache_clear()


def view(request):
    seen = getattr(request, "agentgate", None)
    return JsonResponse({"decision": seen and seen.decision_id, "name": request.POST.get("name")})


@pytest.mark.parametrize(
    "guarded",
    [
        lambda: agentgate_django.AgentGateMiddleware(view),
        lambda: agentgate_django.agentgate_required(action="signup")(view),
    ],
)
def test_django_guards_a_view_by_middleware_and_by_decorator(gate, shop, guarded):
    app, token = guarded(), gate.token()

    def post(data, **headers):
        answer = app(shop.post("/signup", data, headers=headers))
        return answer.status_code, json.loads(answer.content)

    assert post({"name": "ann", "agentgate-token": token}) == (200, {"decision": "dec_0000000000000", "name": "ann"})
    assert post({"agentgate-token": token})[0] == 403
    assert post({})[1]["error"] == "receipt_required"
    assert post({}, **{"X-AgentGate-Token": gate.token()})[0] == 200
    assert post({"agentgate-token": gate.token("login")})[1]["error"] == "action_mismatch"


def test_the_django_middleware_leaves_other_paths_alone(shop):
    answer = agentgate_django.AgentGateMiddleware(view)(shop.get("/signup"))

    assert json.loads(answer.content)["decision"] is None


def test_a_django_form_redeems_its_token_when_it_is_cleaned(gate, shop):
    class SignUp(forms.Form):
        name = forms.CharField()
        check = agentgate_django.AgentGateField(action="signup")

    good = SignUp({"name": "ann", "agentgate-token": gate.token()})
    empty = SignUp({"name": "ann"})
    wrong = SignUp({"name": "ann", "agentgate-token": gate.token("login")})

    assert good.is_valid(), good.errors
    assert good.cleaned_data["check"].decision_id == "dec_0000000000000"
    assert empty.errors.as_data()["check"][0].code == "receipt_required"
    assert wrong.errors.as_data()["check"][0].code == "action_mismatch"
    assert f'<div class="agentgate" data-sitekey="{SITE_KEY}" data-action="signup">' in str(SignUp()["check"])


class _SignUp(forms.Form):
    check = agentgate_django.AgentGateField(action="signup")


def _form_view(request):
    form = _SignUp(request.POST)
    return JsonResponse({"valid": form.is_valid()})


@pytest.mark.parametrize(
    ("address", "sent"),
    [("81.2.69.160", "81.2.69.160"), ("10.0.0.7", None), (None, None)],
    ids=["visitor", "proxy", "unix"],
)
@pytest.mark.parametrize("protocol", ["wsgi", "asgi"])
def test_a_django_field_sends_the_address_of_the_connection(
    gate, shop, protocol: str, address: str | None, sent: str | None
) -> None:
    client = agentgate_django.shared_client()
    body = f"agentgate-token={gate.token()}".encode()
    project = {
        "ROOT_URLCONF": (path("form", _form_view),),
        "MIDDLEWARE": ["agentgate_client.django.AgentGateMiddleware"],
        "ALLOWED_HOSTS": ["*"],
    }
    with override_settings(**project), mock.patch.object(client, "verify", wraps=client.verify) as verify:
        answer = _post_by_wsgi(body, address) if protocol == "wsgi" else asyncio.run(_post_by_asgi(body, address))
        assert _SignUp({"agentgate-token": "x" * 40}).is_valid() is False

    assert json.loads(answer) == {"valid": True}
    # Outside a request there is no address.
    assert [each.kwargs["remote_address"] for each in verify.call_args_list] == [sent, None]


def _post_by_wsgi(body: bytes, address: str | None) -> bytes:
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/form",
        "SERVER_NAME": "shop.example",
        "SERVER_PORT": "443",
        "CONTENT_TYPE": "application/x-www-form-urlencoded",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        **({} if address is None else {"REMOTE_ADDR": address}),
    }
    return b"".join(WSGIHandler()(environ, lambda *_: None))


async def _post_by_asgi(body: bytes, address: str | None) -> bytes:
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/form",
        "query_string": b"",
        "headers": [(b"host", b"shop.example"), (b"content-type", b"application/x-www-form-urlencoded")],
        "client": None if address is None else (address, 40_000),
    }
    received = iter([{"type": "http.request", "body": body, "more_body": False}])
    sent: list[dict] = []

    async def receive():
        if (message := next(received, None)) is None:
            await asyncio.Event().wait()
        return message

    async def send(message):
        sent.append(message)

    await ASGIHandler()(scope, receive, send)
    return b"".join(each.get("body", b"") for each in sent)
