"""Caddy and Apache as a site's own servers of files and PHP, protected as the guides describe."""

import dataclasses
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgate_tools.adapters.render import FILES, render
from tests.proxies.fast_cgi import FastCgi
from tests.proxies.running import DEBIAN_MODULES, STARTERS, Started, _end, _program, _wait_for
from tests.proxies.visiting import NAVIGATION, Installed
from tests.support.ports import free_port

OWN_MODULES = ("dir", "alias", "rewrite", "proxy_fcgi", "setenvif", "authz_host")


def caddy_files(texts: dict[str, str], folder: Path, php: int, upstream: int) -> dict[str, str]:
    """Return the printed file with the site's own directives in the place of the upstream."""
    own = f"root * {folder}/www\n\tphp_fastcgi 127.0.0.1:{php}\n\tfile_server"
    text = texts["Caddyfile"].replace(f"reverse_proxy 127.0.0.1:{upstream}", own)
    assert text.count("root *") == 1
    return {"Caddyfile": text}


def apache_files(texts: dict[str, str], folder: Path, php: int, port: int) -> dict[str, str]:
    """Return an existing virtual host that includes the printed part."""
    modules = "".join(f"LoadModule {name}_module {DEBIAN_MODULES}/mod_{name}.so\n" for name in OWN_MODULES)
    (folder / "agentgate-vhost.conf").write_text(
        texts["agentgate-vhost.conf"].replace("/etc/apache2/agentgate.lua", f"{folder}/agentgate.lua")
    )
    host = f"""{modules}Listen 127.0.0.1:{port}
    <VirtualHost 127.0.0.1:{port}>
        ServerName shop.example
        DocumentRoot {folder}/www
        DirectoryIndex index.html index.php
        <Directory {folder}/www>
            Require all granted
            AllowOverride All
        </Directory>
        <FilesMatch "[.]php$">
            SetHandler "proxy:fcgi://127.0.0.1:{php}"
        </FilesMatch>
        Include {folder}/agentgate-vhost.conf
    </VirtualHost>
    """
    return {"agentgate.conf": host, "agentgate.lua": texts["agentgate.lua"]}


@pytest.fixture(scope="module", params=["caddy", "apache"])
def own(request: pytest.FixtureRequest, site: Installed) -> Iterator[Installed]:
    proxy = request.param
    folder = Path(tempfile.mkdtemp(prefix=f"agentgate-own-{proxy}-"))
    folder.chmod(0o755)
    (folder / "www").mkdir()
    for name in ("index.html", "page.html", "cart.php", "login"):
        (folder / "www" / name).write_text(f"the file {name}")
    (folder / "www" / ".htaccess").write_text("RewriteEngine On\nRewriteRule ^old.html$ page.html [L]\n")
    php = FastCgi()
    php.start()
    started = Started(_program(proxy), folder, free_port())
    wanted = dataclasses.replace(site).installation
    texts = {name: render(proxy, wanted, name) for name in FILES[proxy]}
    if proxy == "caddy":
        texts = {"Caddyfile": texts["Caddyfile"].replace("https://shop.example {", f"http://:{started.port} {{")}
        texts = caddy_files(texts, folder, php.port, site.site.port)
    else:
        texts = apache_files(texts, folder, php.port, started.port)
    with started.log.open("ab") as log:
        process = subprocess.Popen(STARTERS[proxy](started, texts), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _wait_for(process, started)
        yield dataclasses.replace(site, proxy=proxy, port=started.port)
    finally:
        _end(process)
        php.listener.close()
        shutil.rmtree(folder, ignore_errors=True)


def test_files_are_served_after_a_check(own: Installed) -> None:
    before = len(own.tap.checks())
    told = own.visit("GET", "/page.html?x=1")

    assert (told.status, told.body) == (200, b"the file page.html")
    assert own.tap.checks()[-1].original[1] == "https://shop.example/page.html?x=1"
    assert len(own.tap.checks()) == before + 1


def test_a_program_gets_the_decisions_id_and_no_secret(own: Installed) -> None:
    given = own.visit("GET", "/cart.php").json

    assert given["HTTP_X_SERVICE_DECISION_ID"].startswith("dec_")
    assert own.secret not in json.dumps(given)
    forged = own.visit("GET", "/cart.php", headers=[("X-Service-Decision-Id", "forged")])
    assert forged.status == 403 or forged.json["HTTP_X_SERVICE_DECISION_ID"].startswith("dec_")


def test_a_protected_route_needs_a_token_and_a_person_gets_the_page(own: Installed) -> None:
    refused = own.visit("POST", "/login", body=b"{}", headers=[("Content-Type", "application/json")])
    page = own.visit("GET", "/members", usual=NAVIGATION)

    assert (refused.status, refused.json["reason"]) == (401, "receipt_required")
    assert (page.status, page.headers.get_content_type()) == (401, "text/html")
    assert own.visit("GET", "/.agentgate/sdk/v1/agentgate.js").headers.get_content_type() == "text/javascript"


def test_a_closed_adapter_serves_nothing_while_the_service_is_unavailable(own: Installed) -> None:
    with own.answering(hangs=True):
        assert own.visit("GET", "/page.html").status == 503
        assert own.visit("GET", "/cart.php").status == 503


def test_rewrites_of_htaccess_keep_working_and_are_checked_once(own: Installed) -> None:
    if own.proxy != "apache":
        pytest.skip("only Apache reads .htaccess")
    before = len(own.tap.checks())

    assert own.visit("GET", "/old.html").body == b"the file page.html"
    assert len(own.tap.checks()) == before + 1


@pytest.mark.parametrize("target", ["/../agentgate.lua", "/%2e%2e/agentgate.lua", "/..%2fagentgate.lua"])
def test_files_with_the_secret_are_not_served(own: Installed, target: str) -> None:
    told = own.visit("GET", target)

    assert b"ags_" not in told.body
