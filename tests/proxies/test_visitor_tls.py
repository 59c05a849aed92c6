"""TLS for visitors: nginx, HAProxy and Apache with a certificate, as they are printed for an https origin."""

import dataclasses
import http.client
import shutil
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from agentgate_tools.adapters.render import FILES, WITH_CERTIFICATE, AdapterRefused, Installation, render
from agentgate_tools.adapters.visitor_tls import Certificate, find_certificate
from tests.proxies.running import STARTERS, Started, _end, _program, _wait_for
from tests.proxies.visiting import NAVIGATION, Installed, new_address, read_answer
from tests.support.http_receiver import make_certificate
from tests.support.ports import free_port

SEEN_BY_ALL = 0o755


@dataclasses.dataclass
class Secured:
    """A proxy with TLS in front of the site: its port for TLS, its port for HTTP, and the authority."""

    installed: Installed
    plain_port: int
    authority: Path

    def visit(self, target: str, **sent: object) -> http.client.HTTPResponse:
        """Send a request over TLS, as the site's own name."""
        context = ssl.create_default_context(cafile=str(self.authority))
        with (
            self.installed.connect(new_address()) as connection,
            context.wrap_socket(connection, server_hostname="shop.example") as secured,
        ):
            self.installed.send(secured, "GET", target, **sent)
            return read_answer(secured, "GET")

    def visit_plain(self, target: str) -> tuple[int, str]:
        """Send a request over HTTP, and return status and target of the redirect."""
        with socket.create_connection(("127.0.0.1", self.plain_port), timeout=10) as connection:
            self.installed.send(connection, "GET", target)
            answer = read_answer(connection, "GET")
            return answer.status, answer.headers["location"] or ""


def with_ports(text: str, plain: int, secured: int) -> str:
    """Return a file with other ports than 80 and 443, which need root; Debian's Apache listens on those by itself."""
    for port, other in (("80", plain), ("443", secured)):
        for before in ("listen ", "bind :", "<VirtualHost *:"):
            after = f"{before.removesuffix('*:').removesuffix(':')}127.0.0.1:{other}"
            for end in (";", " ", ">", "\n"):
                text = text.replace(f"{before}{port}{end}", f"{after}{end}")
    listens = f"Listen 127.0.0.1:{plain}\nListen 127.0.0.1:{secured}\n" if "<VirtualHost" in text else ""
    return listens + text


@pytest.fixture(scope="module", params=WITH_CERTIFICATE)
def secured(request: pytest.FixtureRequest, site: Installed) -> Iterator[Secured]:
    proxy = request.param
    folder = Path(tempfile.mkdtemp(prefix=f"agentgate-tls-{proxy}-"))
    folder.chmod(SEEN_BY_ALL)
    authority, both = make_certificate(folder, "shop.example")
    both.chmod(0o644)
    wanted = msgspec.structs.replace(site.installation, certificate=Certificate(chain=str(both), key=str(both)))
    plain, tls = free_port(), free_port()
    started = Started(_program(proxy), folder, plain)
    texts = {name: with_ports(render(proxy, wanted, name), plain, tls) for name in FILES[proxy]}
    with started.log.open("ab") as log:
        process = subprocess.Popen(STARTERS[proxy](started, texts), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _wait_for(process, started)
        yield Secured(dataclasses.replace(site, proxy=proxy, port=tls), plain, authority)
    finally:
        _end(process)
        shutil.rmtree(folder, ignore_errors=True)


def test_a_visitor_gets_the_site_over_tls(secured: Secured) -> None:
    told = secured.visit("/page")

    assert told.asked.one("x-service-decision") == "allow"
    assert told.asked.one("x-forwarded-proto") == "https"


def test_a_challenge_and_its_script_arrive_over_tls(secured: Secured) -> None:
    page = secured.visit("/members", usual=NAVIGATION)
    script = secured.visit("/.agentgate/sdk/v1/agentgate.js")

    assert (page.status, page.headers.get_content_type()) == (401, "text/html")
    assert (script.status, script.headers.get_content_type()) == (200, "text/javascript")


def test_http_is_redirected_to_the_same_target(secured: Secured) -> None:
    assert secured.visit_plain("/a/b?c=d") == (301, "https://shop.example/a/b?c=d")


def test_the_files_of_certbot_are_not_redirected(secured: Secured) -> None:
    assert secured.visit_plain("/.well-known/acme-challenge/token")[0] in {403, 404, 503}


def test_the_redirect_leads_nowhere_else(secured: Secured) -> None:
    for target in ("//evil.example/", "/.evil.example"):
        status, location = secured.visit_plain(target)
        assert status in {301, 400}
        assert not location or location.startswith("https://shop.example/")


def test_a_given_address_has_no_tls() -> None:
    for proxy in WITH_CERTIFICATE:
        text = render(proxy, Installation(listen="127.0.0.1:8000"))
        assert "ssl" not in text.lower().replace("ssl on the way", "")


def test_a_certificate_for_an_http_origin_is_rejected() -> None:
    made = Certificate(chain="/a/b.pem", key="/a/b.key")
    with pytest.raises(AdapterRefused, match="https origin"):
        render("nginx", Installation(origin="http://shop.example", certificate=made))
    with pytest.raises(AdapterRefused, match="full paths"):
        render("nginx", Installation(certificate=Certificate(chain="/a;b", key="/a/b")))


def test_the_certificate_of_a_host_is_found(tmp_path: Path) -> None:
    live = tmp_path / "etc/letsencrypt/live/shop.example"
    live.mkdir(parents=True)
    text = make_certificate(tmp_path, "shop.example")[1].read_text()
    (live / "fullchain.pem").write_text(text)
    without_key = find_certificate("nginx", "shop.example", tmp_path)
    (live / "privkey.pem").write_text(text)
    found = find_certificate("nginx", "shop.example", tmp_path)

    assert without_key is None
    assert found == Certificate(chain=str(live / "fullchain.pem"), key=str(live / "privkey.pem"))
    assert find_certificate("nginx", "other.example", tmp_path) is None
    # HAProxy needs both in one file.
    assert find_certificate("haproxy", "shop.example", tmp_path) is None


def test_a_wildcard_certificate_is_for_its_names_only(tmp_path: Path) -> None:
    (tmp_path / "etc/haproxy/certs").mkdir(parents=True)
    make_certificate(tmp_path, "*.example.com")[1].rename(tmp_path / "etc/haproxy/certs/any.pem")

    assert find_certificate("haproxy", "shop.example.com", tmp_path) is not None
    assert find_certificate("haproxy", "a.shop.example.com", tmp_path) is None
    assert find_certificate("haproxy", "example.com", tmp_path) is None


def test_files_without_a_certificate_are_ignored(tmp_path: Path) -> None:
    folder = tmp_path / "etc/letsencrypt/live/shop.example"
    folder.mkdir(parents=True)
    for name in ("fullchain.pem", "privkey.pem"):
        (folder / name).write_text("nothing")

    assert find_certificate("nginx", "shop.example", tmp_path) is None
