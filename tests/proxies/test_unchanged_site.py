"""A site's own headers, error pages and PHP output behind nginx: in monitor mode each response stays as it was."""

import contextlib
import dataclasses
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgate_tools.adapters.render import INCLUDES, render
from tests.browser.wordpress.blog import fpm_program
from tests.proxies.running import Started
from tests.proxies.running import _end as end
from tests.proxies.running import _program as program_of
from tests.proxies.running import _wait_for as wait_for
from tests.proxies.visiting import NAVIGATION, Installed, new_address
from tests.support.ports import free_port

# The site's own parameters are at the level of the server, where an include must not replace them.
SERVER = """
add_header Strict-Transport-Security "max-age=31536000" always;
add_header X-Frame-Options DENY;
error_page 404 /errors/404.html;
error_page 500 502 503 504 /errors/50x.html;
index index.html index.php;
fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
fastcgi_param QUERY_STRING $query_string;
fastcgi_param REQUEST_METHOD $request_method;
fastcgi_param CONTENT_TYPE $content_type;
fastcgi_param CONTENT_LENGTH $content_length;
fastcgi_param REQUEST_URI $request_uri;
fastcgi_param REMOTE_ADDR $remote_addr;
location / { try_files $uri $uri/ =404; }
location ~ \\.php$ { fastcgi_pass unix:%(php)s; }
location /front/ { try_files $uri /page.php?from=front; }
location /old { return 301 /page.html; }
location /teapot { return 418 "short and stout"; }
location /down { return 503; }
location /own/ { add_header X-Own own; error_page 404 = /errors/own.html; try_files $uri =404; }
location /api/ { proxy_pass http://127.0.0.1:%(site)d; proxy_set_header X-Forwarded-For $remote_addr; }
location /gone/ { proxy_pass http://127.0.0.1:%(closed)d; }
location /private/ { auth_basic "members"; auth_basic_user_file %(users)s; }
"""
PAGE = """<?php
if (isset($_GET['status'])) { http_response_code((int) $_GET['status']); }
header('X-Page: from PHP');
setcookie('seen', 'yes');
ksort($_SERVER);
foreach ($_SERVER as $name => $value) {
    if (preg_match('/^(HTTP_|REQUEST_METHOD|REQUEST_URI|QUERY|REMOTE_ADDR|CONTENT|SCRIPT)/', $name)) {
        echo "$name=$value\\n";
    }
}
echo file_get_contents('php://input');
"""
FILES = {
    "page.html": "<p>a page</p>",
    "index.html": "home",
    "folder/index.php": PAGE,
    "page.php": PAGE,
    "errors/404.html": "the site's own 404",
    "errors/50x.html": "the site's own 50x",
    "errors/own.html": "another 404",
    "private/secret.html": "for members",
}
REQUESTS = [
    *(("GET", target) for target in ("/page.html", "/", "/folder/", "/folder", "/page.html?x=1", "/%70age.html")),
    *(("GET", target) for target in ("/missing", "/missing.html?x=1", "/own/missing", "/old", "/teapot", "/down")),
    *(("GET", target) for target in ("/page.php", "/page.php?x=1&y=a%20b", "/missing.php", "/front/a?x=1")),
    *(("GET", f"/page.php?status={status}") for status in (201, 302, 401, 403, 404, 429, 500, 503)),
    *(("GET", target) for target in ("/api/a?x=1", "/gone/a", "/private/secret.html", "/errors/404.html")),
    *(("HEAD", target) for target in ("/page.html", "/missing", "/page.php", "/api/a")),
    *(("POST", target) for target in ("/page.php", "/page.html", "/missing", "/api/a", "/front/a")),
    *(("OPTIONS", "/page.html"), ("DELETE", "/page.php"), ("PUT", "/api/a")),
]


# nginx handles `return` and asks for a password before it queries AgentGate.
BEFORE_THE_CHECK = {"/old", "/teapot", "/down", "/private/secret.html"}


@contextlib.contextmanager
def php(folder: Path) -> Iterator[Path]:
    """Run PHP-FPM on a Unix socket."""
    program = fpm_program()
    if program is None:
        pytest.skip("PHP-FPM is not installed; Debian's package is php-fpm")
    listens, conf = folder / "php.sock", folder / "php.conf"
    user = "user = www-data\ngroup = www-data\n" if os.geteuid() == 0 else ""
    conf.write_text(
        f"[global]\nerror_log = {folder}/php.log\ndaemonize = no\n"
        f"[www]\nlisten = {listens}\nlisten.mode = 0666\n{user}pm = static\npm.max_children = 2\n"
    )
    with subprocess.Popen([program, "-F", "-y", str(conf)], stderr=subprocess.DEVNULL) as process:
        try:
            deadline_s = time.monotonic() + 10
            while not listens.exists() and time.monotonic() < deadline_s:
                time.sleep(0.02)
            yield listens
        finally:
            end(process)


@contextlib.contextmanager
def served(site: Installed, folder: Path, server: str, http: str = "") -> Iterator[Installed]:
    """Run nginx with the site's own server."""
    part = Path(tempfile.mkdtemp(prefix="nginx-", dir=folder))
    part.chmod(0o755)
    started = Started(program_of("nginx"), part, free_port())
    temporary = "".join(f"{name}_temp_path {part}/{name};" for name in ("client_body", "proxy", "fastcgi"))
    main = started.write(
        "nginx.conf",
        f"daemon off; master_process off; pid {part}/pid; error_log stderr warn; events {{ worker_connections 256; }}"
        f"http {{ types {{ text/html html; }} access_log off; {temporary} uwsgi_temp_path {part}/u; {http}"
        f"scgi_temp_path {part}/s; server {{ listen 127.0.0.1:{started.port}; server_name shop.example;"
        f"root {folder}/www; {server} }} }}",
    )
    with started.log.open("ab") as log:
        process = subprocess.Popen(
            [started.program, "-p", str(part), "-c", str(main), "-e", "stderr"], stdout=log, stderr=log
        )
    try:
        wait_for(process, started)
        yield dataclasses.replace(site, proxy="nginx", port=started.port)
    finally:
        end(process)


@pytest.fixture(scope="module")
def both(site: Installed) -> Iterator[tuple[Installed, Installed]]:
    """The site without AgentGate, and with the two includes as they are printed for monitor mode."""
    folder = Path(tempfile.mkdtemp(prefix="agentgate-unchanged-"))
    folder.chmod(0o755)
    for name, text in FILES.items():
        (folder / "www" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "www" / name).write_text(text)
    (folder / "users").write_text("ada:{PLAIN}word\n")
    installation = dataclasses.replace(site, mode="monitor").installation
    parts = {name: folder / name for name in INCLUDES["nginx"]}
    for name, path in parts.items():
        path.write_text(render("nginx", installation, name))
    http_part, server_part = (f"include {path};" for path in parts.values())
    site.change(mode="monitor")
    try:
        with php(folder) as listens:
            own = SERVER % {"php": listens, "site": site.site.port, "closed": free_port(), "users": folder / "users"}
            with served(site, folder, own) as bare, served(site, folder, f"{server_part}\n{own}", http_part) as gated:
                yield bare, gated
    finally:
        site.change(mode="enforce")
        shutil.rmtree(folder, ignore_errors=True)


def response(installed: Installed, method: str, target: str, address: str, headers: list[tuple[str, str]]) -> object:
    body = b"user=a" if method in {"POST", "PUT"} else b""
    sent = [*headers, ("Content-Type", "application/x-www-form-urlencoded")] if body else headers
    told = installed.visit(method, target, address=address, usual=NAVIGATION, headers=sent, body=body)
    kept = [(name, value) for name, value in told.headers.items() if name != "Date"]
    return told.status, [(name, value.replace(str(installed.port), "PORT")) for name, value in kept], told.body


@pytest.mark.parametrize(("method", "target"), REQUESTS)
def test_a_response_stays_as_it_was(both: tuple[Installed, Installed], method: str, target: str) -> None:
    bare, gated = both
    address, before = new_address(), len(gated.tap.checks())

    expected = response(bare, method, target, address, [])

    assert response(gated, method, target, address, []) == expected
    assert len(gated.tap.checks()) > before or target in BEFORE_THE_CHECK


@pytest.mark.parametrize(
    "header", [("Range", "bytes=2-5"), ("If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT"), ("X-Any_Name", "x")]
)
def test_a_response_to_a_header_stays_as_it_was(both: tuple[Installed, Installed], header: tuple[str, str]) -> None:
    bare, gated = both
    address = new_address()

    for target in ("/page.html", "/page.php"):
        assert response(gated, "GET", target, address, [header]) == response(bare, "GET", target, address, [header])


def test_members_get_what_the_site_shows_them(both: tuple[Installed, Installed]) -> None:
    bare, gated = both
    address, header = new_address(), ("Authorization", "Basic YWRhOndvcmQ=")

    expected = response(bare, "GET", "/private/secret.html", address, [header])

    assert b"for members" in expected[2]
    assert response(gated, "GET", "/private/secret.html", address, [header]) == expected
