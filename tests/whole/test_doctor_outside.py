"""Installations that something around them breaks: another proxy, TLS, a cache, a clock, secrets, the application."""

import asyncio
import datetime as dt
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agentgate.lib.clock import SystemClock
from agentgate_tools.adapters.render import Installation as AdapterInstallation
from agentgate_tools.doctor import address_checks, asking
from agentgate_tools.doctor.asking import Site
from agentgate_tools.doctor.checks import Installation
from agentgate_tools.doctor.examine import examine
from agentgate_tools.doctor.findings import Finding, State
from tests.proxies.running import running_proxy
from tests.support.http_receiver import make_certificate
from tests.support.service import RunningService
from tests.whole.doctor_service import ATTENTION, ORIGIN, Change, Whole, examined, in_server, page, service

__all__ = ["service"]
ROUTED = {"wholeSite": False}
SECRET_OF_NO_SITE = "ags_PUT_THE_SECRET_OF_THIS_SITE_HERE"
# The front's address is trusted, so each visitor keeps an own one.
TRUSTING = in_server("set_real_ip_from 127.0.0.1;", "real_ip_header X-Forwarded-For;")
KEPT = (
    "proxy_cache kept; proxy_cache_key $request_uri; proxy_cache_valid any 1m;"
    "proxy_ignore_headers Cache-Control Set-Cookie Vary Expires;"
)
ZONES = "proxy_cache_path kept keys_zone=kept:1m; limit_req_zone $binary_remote_addr zone=slow:1m rate=1r/s;"


def responding(status: int, *headers: tuple[bytes, bytes], to_head: int = 0) -> Any:
    """Return an application with one response."""

    async def application(scope: Any, _receive: Any, send: Any) -> None:
        is_head = scope["method"] == "HEAD"
        sent = to_head if is_head and to_head else status
        await send(
            {"type": "http.response.start", "status": sent, "headers": [(b"content-type", b"text/html"), *headers]}
        )
        await send({"type": "http.response.body", "body": b"" if is_head else b"<h1>Welcome</h1>"})

    return application


def redirecting(address: str) -> Any:
    return responding(302, (b"location", address.encode()))


def revoke(whole: Whole) -> None:
    place = f"/v1/admin/sites/{whole.site_key}/credentials/{whole.credential}"
    assert whole.service.operator.post(f"{place}/revoke").status_code == 200


def rotate(whole: Whole) -> None:
    place = f"/v1/admin/sites/{whole.site_key}/credentials/{whole.credential}"
    assert whole.service.operator.post(f"{place}/rotate", json={"overlapSeconds": 0}).status_code == 201


@dataclass(frozen=True)
class Case:
    """An installation with one defect: the first diagnosis, words of its fix, and the defect.

    `front` has the lines of another nginx before the adapter; `before` the lines of its server outside the location.
    """

    check: str
    remedy: str
    proxy: str = "nginx"
    change: Change = lambda text: text
    front: str = ""
    before: str = ""
    given: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    application: Any = page
    after: Callable[[Whole], None] = lambda _whole: None
    # Whether the adapter trusts the front's address.
    is_trusted: bool = True


def replaced(old: str, new: str) -> Change:
    return lambda text: text.replace(old, new, 1)


POLICY = "Content-Security-Policy \"default-src 'self'\""
CASES = {
    # Proxy
    "set-cookie removed": Case("cookies", "grep -rniE", front="proxy_hide_header Set-Cookie;"),
    "cookie removed": Case("cookies", "grep -rniE", front='proxy_set_header Cookie "";'),
    "own error pages": Case(
        "challenge-page",
        "intercept_errors",
        front="proxy_intercept_errors on;",
        before="error_page 401 403 =403 @own; location @own { return 403 Sorry; }",
    ),
    "policy added by nginx": Case(
        "challenge-page", "content-security-policy", change=in_server(f"add_header {POLICY} always;")
    ),
    "policy added by caddy": Case(
        "challenge-page",
        "content-security-policy",
        "caddy",
        change=replaced("\trequest_header -X-Service-*", f"\theader +{POLICY}\n\trequest_header -X-Service-*"),
    ),
    "policy added by apache": Case(
        "challenge-page",
        "content-security-policy",
        "apache",
        change=lambda text: re.sub(r"(<VirtualHost [^>]*>\n)", rf"\1Header always add {POLICY}\n", text, count=1),
    ),
    "small bodies": Case(
        "challenge-page",
        "client_max_body_size 256k",
        change=replaced("client_max_body_size 256k", "client_max_body_size 1k"),
    ),
    "no posts": Case(
        "challenge-page",
        "limit_except",
        change=replaced("client_max_body_size 256k;", "if ($request_method = POST) { return 405; }"),
    ),
    "page changed": Case(
        "challenge-page",
        "sub_filter",
        front='sub_filter_once off; sub_filter nonce= title=; proxy_set_header Accept-Encoding "";',
    ),
    "check open to visitors": Case(
        "exposure",
        "agentgate adapter",
        change=replaced("            internal;\n            proxy_pass", "            proxy_pass"),
    ),
    "limited requests": Case("reachable", "limit_req", front="limit_req zone=slow burst=9 nodelay;"),
    "maintenance": Case("gate", "systemctl status nginx", front="return 503;"),
    "password": Case("gate", "auth_basic off", change=in_server("auth_basic shop; auth_basic_user_file /dev/null;")),
    # Cache
    "kept challenges": Case("cached-decisions", "no cache", front=KEPT),
    "kept pages": Case("cached-answers", "no cache", front=KEPT.replace("valid any", "valid 200"), settings=ROUTED),
    # Clock
    "the proxy's clock": Case(
        "clock",
        "timedatectl",
        "haproxy",
        change=replaced(
            "\n    http-request ",
            "\n    http-response set-header Date 'Thu, 19 Nov 2020 10:00:00 GMT'\n    http-request ",
        ),
        settings=ROUTED,
    ),
    # Address
    "front not trusted": Case(
        "visitors-apart", "trust only that proxy's", front="proxy_set_header X-Front 1;", is_trusted=False
    ),
    "loopback only": Case("gate", "AGENTGATE_PUBLIC_LISTEN", given={"service": "another address"}),
    # Secret
    "revoked": Case("secret", "agentgate credential create", "apache", after=revoke),
    "rotated, overlap over": Case("secret", "agentgate credential create", "haproxy", after=rotate),
    "no secret yet": Case("secret", "agentgate credential create", "caddy", given={"secret": SECRET_OF_NO_SITE}),
    "secret of another site": Case("origin", "agentgate credential create", "envoy", given={"secret": "another site"}),
    "adapter of another version": Case(
        "secret", "Generate the adapter's configuration again", change=replaced("X-AgentGate-Request", "X-Original-URL")
    ),
    # Origin
    "http instead of https": Case("origin", "agentgate site origins", given={"origin": "http://shop.example"}),
    "port not listed": Case("origin", "agentgate site origins", "caddy", given={"origin": "https://shop.example:8443"}),
    # Application
    "redirect to its own port": Case(
        "application", "proxy_redirect", application=redirecting("http://shop.example:3000/"), settings=ROUTED
    ),
    "redirect to its own address": Case(
        "application", "public address", "caddy", application=redirecting("http://127.0.0.1:3000/"), settings=ROUTED
    ),
    "redirect to itself": Case(
        "application", "X-Forwarded-Proto", "haproxy", application=redirecting("http://shop.example/"), settings=ROUTED
    ),
    "head fails": Case("application", "curl -I", application=responding(200, to_head=500), settings=ROUTED),
    "application on another address family": Case(
        "application", "--upstream", given={"upstream": "http://[::1]:1"}, settings=ROUTED
    ),
}
# One of each kind in `make test`.
QUICK = {
    *("set-cookie removed", "own error pages", "policy added by caddy", "small bodies", "check open to visitors"),
    *("limited requests", "kept challenges", "front not trusted", "secret of another site", "the proxy's clock"),
    *("http instead of https", "redirect to its own port", "rotated, overlap over"),
}


@contextmanager
def broken(whole: Whole, case: Case, service: RunningService) -> Iterator[int]:
    words = {
        "another site": lambda: Whole(service, allowedOrigins=["https://other.example"]).secret,
        "another address": lambda: service.public_url.replace("127.0.0.1", "127.0.0.9"),
    }
    given = {key: words[value]() if value in words else value for key, value in case.given.items()}
    whole.application = case.application
    change = TRUSTING if case.front and case.is_trusted else case.change
    with whole.behind(case.proxy, change, **given) as gate:
        if not case.front:
            yield gate
            return

        def front(text: str) -> str:
            listen = re.search(r"listen [^;]*;", text)
            if listen is None:
                # A part to include, which this front does not use.
                return text
            return (
                f"{ZONES} server {{ {listen[0]} {case.before} location / {{ {case.front}"
                "proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header Host $host;"
                f"proxy_pass http://127.0.0.1:{gate}; }} }}"
            )

        with whole.behind("nginx", front) as port:
            yield port


@pytest.mark.parametrize(
    "name", [each if each in QUICK else pytest.param(each, marks=pytest.mark.soak) for each in CASES]
)
def test_the_first_diagnosis_of_an_installation_that_something_else_breaks(service: RunningService, name: str) -> None:
    case = CASES[name]
    whole = Whole(service, **case.settings)
    with broken(whole, case, service) as port:
        case.after(whole)
        findings = examined(port)

    assert findings[0].check == case.check, findings
    assert findings[0].state in ATTENTION
    assert case.remedy in findings[0].fix


def test_the_secret_of_another_site_is_named_with_both_sites(service: RunningService) -> None:
    one, other = Whole(service), Whole(service)
    with one.behind("nginx", secret=other.secret) as port:
        first = examined(port, site_key=one.site_key)[0]

    assert (first.check, first.state) == ("secret", State.FAIL)
    assert f"a secret of {other.site_key}, not of {one.site_key}" in first.found
    assert f"agentgate credential create {one.site_key}" in first.fix


@dataclass(frozen=True)
class Certified:
    """A certificate with one defect, and the doctor's diagnosis."""

    found: str
    remedy: str
    names: tuple[str, ...] = ("localhost",)
    from_now: dt.timedelta = dt.timedelta()
    is_direct: bool = True


CERTIFICATES = {
    "expired": Certified("expired", "certbot renew", from_now=dt.timedelta(days=-9)),
    "future": Certified("not valid yet", "timedatectl", from_now=dt.timedelta(days=9)),
    "another name": Certified("not for localhost", "certbot certonly -d localhost", names=("other.example",)),
    "half a chain": Certified("chain is incomplete", "openssl s_client", is_direct=False),
}


@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_wrong_certificate_is_the_first_diagnosis(
    service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    case = CERTIFICATES[name]
    authority, both = make_certificate(tmp_path, *case.names, from_now=case.from_now, is_direct=case.is_direct)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with Whole(service).behind("nginx", with_certificate(both)) as port:
        first = over_tls(port)[0]

    assert (first.check, first.state) == ("tls", State.FAIL)
    assert case.found in first.found
    assert case.remedy in first.fix


def with_certificate(both: Path) -> Change:
    """Return a change of nginx's file that adds TLS."""
    tls = f"ssl; ssl_certificate {both}; ssl_certificate_key {both};"
    return lambda text: re.sub(r"(listen 127\.0\.0\.1:\d+);", rf"\1 {tls}", text, count=1)


def over_tls(port: int, **given: Any) -> list[Finding]:
    site = Site(f"https://localhost:{port}")
    site.authority = "shop.example"
    return examine(Installation(site=site, clock=SystemClock(), **given))


def test_a_site_that_is_also_served_without_tls_is_found(
    service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, both = make_certificate(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with serving_at("127.0.0.1", 0) as plain, Whole(service).behind("nginx", with_certificate(both)) as port:
        opened, closed = over_tls(port, plain_port=plain), over_tls(port, plain_port=port)

    assert (opened[0].check, "return 301 https" in opened[0].fix) == ("plain-http", True)
    assert {each.check: each.state for each in closed}["plain-http"] is State.PASS


def test_a_port_without_tls_is_the_first_diagnosis(service: RunningService) -> None:
    with Whole(service).behind("caddy") as port:
        first = over_tls(port)[0]

    assert (first.check, first.found) == ("tls", f"port {port} does not speak TLS")
    assert "agentgate protect https://localhost" in first.fix


def test_a_port_with_http2_only_is_the_first_diagnosis(service: RunningService) -> None:
    whole = Whole(service)
    installation = AdapterInstallation(
        site=whole.site_key, service=service.public_url, origin=ORIGIN, secret=whole.secret
    )
    with running_proxy("nginx", installation, speaks_http2=True) as port:
        first = examined(port)[0]
        if Site(f"http://127.0.0.1:{port}").try_asking("GET", "/") is not None:
            pytest.skip("nginx from 1.25.1 on has HTTP/1.1 on the same port")

    assert (first.check, first.state) == ("reachable", State.FAIL)
    assert "HTTP/1.1" in first.fix


@pytest.mark.parametrize("proxy", ["nginx", "caddy"])
def test_an_application_that_hangs_is_distinguished_from_a_site_that_does_not_respond(
    service: RunningService, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    hangs = threading.Event()

    async def hanging(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(3 if hangs.is_set() else 0)
        await page(scope, receive, send)

    monkeypatch.setattr(asking, "TIMEOUT_S", 1.0)
    whole = Whole(service, **ROUTED)
    whole.application = hanging
    with whole.behind(proxy) as port:
        hangs.set()
        first = examined(port)[0]

    assert (first.check, first.state) == ("application", State.FAIL)
    assert "Restart the application" in first.fix


@pytest.mark.parametrize("other", ["refuses", "serves"])
def test_an_address_of_the_name_that_leads_around_the_gateway_is_found(
    service: RunningService, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    with Whole(service).behind("nginx") as port:
        monkeypatch.setattr(address_checks, "addresses_of", lambda _host, _port: ["127.0.0.1", "127.0.0.2"])
        if other == "refuses":
            first = examined(port)[0]
        else:
            with serving_at("127.0.0.2", port):
                first = examined(port)[0]

    assert (first.check, first.state) == ("addresses", State.FAIL)
    assert first.found.startswith("127.0.0.2 ")
    assert "getent ahosts" in first.fix


class Welcome(BaseHTTPRequestHandler):
    """A page without a gateway."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<h1>Welcome</h1>")

    def log_message(self, *_given: object) -> None:
        """Print nothing."""


@contextmanager
def serving_at(address: str, port: int) -> Iterator[int]:
    server = ThreadingHTTPServer((address, port), Welcome)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
