"""nginx as a site's own server of files and PHP-FPM, with the three parts included; TLS from a proxy to the service."""

import contextlib
import dataclasses
import http.client
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from agentgate_tools.adapters.render import INCLUDES, AdapterRefused, Installation, render
from tests.proxies.fast_cgi import FastCgi
from tests.proxies.running import STARTERS, Started, running_proxy
from tests.proxies.running import _end as end
from tests.proxies.running import _program as program_of
from tests.proxies.running import _wait_for as wait_for
from tests.proxies.visiting import NAVIGATION, Installed, new_address
from tests.support.http_receiver import Answering, Received, make_certificate, receiver
from tests.support.ports import free_port


@pytest.fixture(scope="module")
def own(site: Installed) -> Iterator[Installed]:
    """A proxy that serves files and a FastCGI program itself, both protected, and a folder that is not protected."""
    folder = Path(tempfile.mkdtemp(prefix="agentgate-own-"))
    folder.chmod(0o755)
    for name in ("www/page.html", "www/open/free.html", "www/login"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the file {name}")
    php = FastCgi()
    php.start()
    started = Started(program_of("nginx"), folder, free_port())
    parts = {name: started.write(name, render("nginx", site.installation, name)) for name in INCLUDES["nginx"]}
    http_part, server_part = (parts[name] for name in INCLUDES["nginx"])
    main = started.write(
        "nginx.conf",
        f"""daemon off; master_process off; pid {folder}/pid; error_log stderr warn;
        events {{ worker_connections 256; }}
        http {{
          access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
          uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
          include {http_part};
          server {{
            listen 127.0.0.1:{started.port}; server_name shop.example; root {folder}/www; client_max_body_size 1m;
            include {server_part};
            location / {{ try_files $uri $uri/ =404; }}
            location /open/ {{ auth_request off; }}
            add_header Strict-Transport-Security max-age=1 always;
            error_page 404 /404.html;
            location ~ \\.php$ {{
              fastcgi_param REQUEST_METHOD $request_method;
              fastcgi_param HTTP_X_SERVICE_DECISION_ID $agentgate_id;
              fastcgi_pass 127.0.0.1:{php.port};
            }}
          }}
        }}""",
    )
    with started.log.open("ab") as log:
        process = subprocess.Popen(
            [started.program, "-p", str(folder), "-c", str(main), "-e", "stderr"], stdout=log, stderr=log
        )
    try:
        # The proxy is ready when `/` does not return 404, so `/` needs a file.
        (folder / "www" / "index.html").write_text("home")
        wait_for(process, started)
        yield dataclasses.replace(site, proxy="nginx", port=started.port)
    finally:
        end(process)
        php.listener.close()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_file_is_served_to_whom_the_service_allows_and_the_question_is_challenged_once(own: Installed) -> None:
    address = new_address()
    before = len(own.tap.checks())

    told = own.visit("GET", "/page.html?x=1", address=address)

    assert (told.status, told.body) == (200, b"the file www/page.html")
    assert own.tap.checks()[-1].original == ("GET", "https://shop.example/page.html?x=1", address)
    assert len(own.tap.checks()) == before + 1


def test_a_program_gets_the_decisions_id_and_no_secret(own: Installed) -> None:
    given = own.visit("GET", "/cart.php").json

    assert given["HTTP_X_SERVICE_DECISION_ID"].startswith("dec_")
    assert own.secret not in json.dumps(given)
    assert own.visit("GET", "/cart.php", headers=[("X-Service-Decision", "allow")]).status == 403


def test_the_servers_own_headers_remain(own: Installed) -> None:
    assert own.visit("GET", "/page.html").headers["strict-transport-security"] == "max-age=1"
    assert own.visit("GET", "/missing").headers["strict-transport-security"] == "max-age=1"


def test_a_protected_route_is_blocked_and_a_person_gets_the_page(own: Installed) -> None:
    refused = own.visit("POST", "/login", body=b"{}", headers=[("Content-Type", "application/json")])
    page = own.visit("GET", "/members", usual=NAVIGATION)

    assert (refused.status, refused.json["reason"]) == (401, "receipt_required")
    assert (page.status, page.headers.get_content_type()) == (401, "text/html")
    assert own.visit("GET", "/.agentgate/check").status == 404
    assert own.visit("GET", "/.agentgate/sdk/v1/agentgate.js").headers.get_content_type() == "text/javascript"


def test_no_one_gets_in_while_the_service_is_unavailable_but_if_nothing_is_included(own: Installed) -> None:
    with own.answering(hangs=True):
        assert own.visit("GET", "/page.html").status == 503
        assert own.visit("GET", "/cart.php").status == 503
        assert own.visit("GET", "/open/free.html").status == 200
    assert own.visit("GET", "/page.html", usual=[("Host", "shop.example/x")]).status == 400


@pytest.fixture(scope="module")
def behind_tls(site: Installed) -> Iterator[tuple[int, Path]]:
    """The service with a certificate of an authority of the test's own; its port, and the authority's file."""
    folder = Path(tempfile.mkdtemp(prefix="agentgate-tls-"))
    folder.chmod(0o755)
    authority, certificate = make_certificate(folder, "localhost")
    service = urlsplit(site.service.public_url)

    def handed_on(request: Received) -> Answering:
        connection = http.client.HTTPConnection(str(service.hostname), service.port, timeout=10)
        with contextlib.closing(connection):
            connection.request(request.method, request.path, request.body or None, request.headers)
            reply = connection.getresponse()
            hop = {"connection", "content-length", "transfer-encoding", "date", "server"}
            kept = tuple((name, value) for name, value in reply.getheaders() if name.lower() not in hop)
            return Answering(reply.status, kept, reply.read())

    with receiver(certificate) as state:
        state.answer = handed_on
        yield state.port, authority
    shutil.rmtree(folder, ignore_errors=True)


def over_tls(installation: Installation, port: int, authority: Path) -> Installation:
    """Return the installation with the service at an address with TLS."""
    return msgspec.structs.replace(installation, service=f"https://localhost:{port}", service_ca=str(authority))


@pytest.mark.parametrize("proxy", STARTERS)
def test_a_proxy_asks_over_tls_and_only_whom_the_authority_vouches_for(
    site: Installed, behind_tls: tuple[int, Path], proxy: str
) -> None:
    port, authority = behind_tls
    other = Path(tempfile.mkdtemp(prefix="agentgate-tls-"))
    other.chmod(0o755)
    unknown, _ = make_certificate(other, "localhost")
    try:
        with running_proxy(proxy, over_tls(site.installation, port, authority)) as listening:
            through = dataclasses.replace(site, proxy=proxy, port=listening)
            told = through.visit("GET", "/page")
            page = through.visit("GET", "/members", usual=NAVIGATION)
        with running_proxy(proxy, over_tls(site.installation, port, unknown)) as listening:
            refused = dataclasses.replace(site, proxy=proxy, port=listening).visit("GET", "/page")
    finally:
        shutil.rmtree(other)

    assert told.asked.one("x-service-decision") == "allow"
    assert (page.status, page.headers.get_content_type()) == (401, "text/html")
    assert refused.status in {500, 502, 503}


def test_authorities_are_the_path_of_a_file() -> None:
    with pytest.raises(AdapterRefused, match=r"--service-ca"):
        render("nginx", Installation(service="https://gate.example", service_ca="ca.pem; evil"))
