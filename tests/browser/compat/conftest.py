"""A site, and pages that hold bundled applications."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route

from tests.browser.chromium import node_path
from tests.browser.site import ProtectedSite, protected_site

ROOT = Path(__file__).parents[3]
APPS = Path(__file__).parent / "apps"
ESBUILD = ROOT / "node_modules" / ".bin" / "esbuild"

# Records the callbacks of a page, in order: [["success", token], ...].
TOLD = "window.heard = []; window.told = (...what) => { window.heard.push(what); };"

Bundle = Callable[[str], str]


# The source files of our packages, which are not installed here.
OWN_PACKAGES = {
    "@agentgate/sdk": "sdk/loader.js",
    "@agentgate/react": "packages/react/index.js",
    "@agentgate/vue": "packages/vue/index.js",
}


def bundled(source: Path, made: Path, *options: str) -> Path:
    """Bundle a file with what it imports."""
    always = ("--bundle", "--minify", "--jsx=automatic", '--define:process.env.NODE_ENV="production"')
    own = (f"--alias:{name}={ROOT / path}" for name, path in OWN_PACKAGES.items())
    command = [str(ESBUILD), str(source), *always, *own, *options, f"--outfile={made}"]
    subprocess.run(command, check=True, capture_output=True, timeout=60, cwd=ROOT)
    return made


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Return what bundles an application with the packages from node_modules, once each."""
    node_path()
    folder = tmp_path_factory.mktemp("bundles")

    def make(name: str) -> str:
        made = folder / f"{name}.js"
        return (made if made.exists() else bundled(APPS / name, made)).read_text()

    return make


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProtectedSite]:
    """A site in monitor mode, so that what is tested is the way to the token and not what Chromium looks like."""
    actions = {name: {"browserRequired": True} for name in ("submit", "sign_up")}
    with protected_site(tmp_path_factory.mktemp("shop"), mode="monitor", actions=actions) as protected:
        yield protected


def open_application(page: Page, shop: ProtectedSite, script: str, head: str = "", **settings: Any) -> None:
    """Open a page that runs a bundled application."""
    shop.pages.serve("/app.js", script, Content_Type="text/javascript")
    given = json.dumps({"sitekey": shop.site_key, "gate": shop.gate, **settings})
    page.goto(
        shop.serve(
            f"<!doctype html><html lang=en><title>Shop</title>{head}<div id=root></div>"
            f"<script>{TOLD} window.settings = {given};</script><script src=/app.js></script>",
            path="/app",
        )
    )


def stand_in(page: Page, shop: ProtectedSite, service: str, address: str) -> list[str]:
    """Serve a script that loads ours at the URL of another service's script; return the requested URLs."""
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        source = f"{shop.gate}/sdk/v1/agentgate.js?compat={service}&{urlsplit(route.request.url).query}"
        body = f'{{ const own = document.createElement("script"); own.src = "{source}"; document.head.append(own); }}'
        route.fulfill(content_type="text/javascript", headers={"Access-Control-Allow-Origin": "*"}, body=body)

    page.route(address, answer)
    return asked


def first(page: Page, event: str) -> Any:
    """Wait for the first callback of this name, and return its value."""
    page.wait_for_function("event => window.heard.some(([name]) => name === event)", arg=event)
    return page.evaluate("event => window.heard.find(([name]) => name === event)[1]", event)


def redeem(shop: ProtectedSite, path: str, token: str, **fields: str) -> Any:
    """Call a compat route as the site's server does, with a form."""
    reply = shop.service.public.post(path, data={"secret": shop.secret, "response": token, **fields})
    assert reply.status_code == 200
    return reply.json()
