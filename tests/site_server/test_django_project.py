"""A Django project, as `django-admin startproject` makes it, with a form whose check the SDK runs."""

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.site_server.gate import SITE_KEY
from tests.support.ports import free_port

VIEWS = """
from agentgate_client.django import AgentGateField
from django import forms
from django.http import HttpResponse
from django.shortcuts import render


class SignUp(forms.Form):
    name = forms.CharField()
    check = AgentGateField(action="signup")


def sign_up(request):
    form = SignUp(request.POST or None)
    if request.method == "POST" and form.is_valid():
        return HttpResponse("welcome " + form.cleaned_data["name"])
    return render(request, "sign_up.html", {"form": form})
"""
URLS = """
from django.urls import path
from shop.views import sign_up

urlpatterns = [path("signup", sign_up)]
"""
TEMPLATE = """<!doctype html><head>{{ form.media }}</head>
<form method="post">{% csrf_token %}{{ form }}<button>Sign up</button></form>"""


@pytest.fixture(scope="module")
def project(gate, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the project's own server."""
    folder = tmp_path_factory.mktemp("django")
    subprocess.run([sys.executable, "-m", "django", "startproject", "shop", str(folder)], check=True, timeout=60)
    (folder / "shop" / "views.py").write_text(VIEWS)
    (folder / "shop" / "urls.py").write_text(URLS)
    (folder / "templates").mkdir()
    (folder / "templates" / "sign_up.html").write_text(TEMPLATE)
    settings = folder / "shop" / "settings.py"
    given = {"BASE_URL": gate.url, "SECRET": gate.secret, "SITE_KEY": SITE_KEY, "PUBLIC_URL": "https://gate.example/"}
    text = (
        settings.read_text()
        .replace('"DIRS": []', '"DIRS": [BASE_DIR / "templates"]')
        .replace("'DIRS': []", "'DIRS': [BASE_DIR / 'templates']")
    )
    settings.write_text(f"{text}\nALLOWED_HOSTS = ['*']\nAGENTGATE = {given!r}\n")
    port = free_port()
    log = (folder / "log").open("wb")
    command = [sys.executable, "manage.py", "runserver", "--noreload", f"127.0.0.1:{port}"]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=environ)
    try:
        wait_for(f"http://127.0.0.1:{port}/signup", process, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)
        log.close()


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            httpx.get(url)
            return
        time.sleep(0.05)
    pytest.fail(log.read_text())


def post(client: httpx.Client, **fields: str) -> str:
    token = client.cookies["csrftoken"]
    return client.post("/signup", data={"name": "ann", "csrfmiddlewaretoken": token, **fields}).text


def test_the_page_loads_the_sdk_and_has_its_element(project: str) -> None:
    page = httpx.get(f"{project}/signup").text

    scripts = re.findall(r"<script[^>]*></script>", page)
    assert scripts == ['<script src="https://gate.example/sdk/v1/agentgate.js" crossorigin async defer></script>']
    assert f'<div class="agentgate" data-sitekey="{SITE_KEY}" data-action="signup"></div>' in page


def test_a_form_with_its_token_is_accepted_once(project: str, gate) -> None:
    token = gate.token()
    with httpx.Client(base_url=project) as client:
        client.get("/signup")
        first = post(client, **{"agentgate-token": token})
        second = post(client, **{"agentgate-token": token})

    assert first == "welcome ann"
    assert "This form was already sent. Reload the page to send it again." in second


def test_a_visitor_without_a_token_gets_a_message_for_people(project: str) -> None:
    with httpx.Client(base_url=project) as client:
        client.get("/signup")
        page = post(client)

    assert "The browser check is missing. Enable JavaScript, reload the page and try again." in page
    assert "X-AgentGate-Token" not in page


def test_a_token_of_another_action_is_rejected_without_details(project: str, gate) -> None:
    with httpx.Client(base_url=project) as client:
        client.get("/signup")
        page = post(client, **{"agentgate-token": gate.token("login")})

    assert "The browser check was not accepted. Reload the page and try again." in page
    assert "action" not in re.sub(r"data-action", "", page.partition("errorlist")[2].partition("</ul>")[0])
