"""The doctor with intentionally broken installations: real proxies, and one defect in each."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentgate.lib.clock import FixedClock, SystemClock
from agentgate.lib.settings.schema import read_settings
from agentgate_tools.adapters.render import FILES, render
from agentgate_tools.adapters.render import Installation as AdapterInstallation
from agentgate_tools.doctor.asking import Site
from agentgate_tools.doctor.checks import Installation
from agentgate_tools.doctor.examine import examine
from agentgate_tools.doctor.findings import Finding, State
from agentgate_tools.doctor.upstream_checks import aliases
from tests.proxies.running import STARTERS, running_proxy
from tests.site_server.gateway_apps import asgi_site, serving_asgi
from tests.support.browser_client import create_site
from tests.support.service import ADMIN_KEY, RunningService, running_service
from tests.whole.doctor_service import ORIGIN, service

__all__ = ["service"]

LOGIN = {"method": "POST", "path": "/login", "action": "login"}
# As an application with optional formats and an old front controller has it.
OTHER_NAMES = re.compile(r"\A(?:/index\.php)?/login(?:\.json)?\Z")


async def routed_site(scope: Any, receive: Any, send: Any) -> None:
    """A site that knows what it has: its front page and a form, also under other names."""
    found = scope["path"] == "/" or OTHER_NAMES.match(scope["path"])
    await send(
        {
            "type": "http.response.start",
            "status": 200 if found else 404,
            "headers": [(b"content-type", b"text/html"), (b"cache-control", b"max-age=60")],
        }
    )
    await send({"type": "http.response.body", "body": b"welcome" if found else b"not found"})


class Broken:
    """A site, and the proxies before it with the configuration changed."""

    def __init__(self, service: RunningService) -> None:
        self.service = service
        self.site_key = create_site(
            service, mode="enforce", actions={"login": {"browserRequired": True}}, routes=[LOGIN]
        )
        made = service.operator.post(f"/v1/admin/sites/{self.site_key}/credentials", json={"name": "gate"})
        self.secret = made.json()["secret"]

    @contextmanager
    def behind(
        self,
        proxy: str = "nginx",
        change: Callable[[str], str] = lambda text: text,
        site: Any = asgi_site,
        **other: str,
    ) -> Iterator[tuple[int, str]]:
        """Run the site behind a proxy; the proxy's port and the site's own address are the value."""
        with serving_asgi(site) as upstream:
            filled = {"service": self.service.public_url, "origin": ORIGIN, "secret": self.secret, **other}
            installation = AdapterInstallation(site=self.site_key, upstream=upstream, **filled)
            with running_proxy(proxy, installation, change=change) as port:
                yield port, upstream


@pytest.fixture
def broken(service: RunningService) -> Broken:
    return Broken(service)


def seen(port: int, *, host: str = "shop.example", **given: Any) -> dict[str, Finding]:
    """Return what the doctor finds, by check."""
    site = Site(f"http://127.0.0.1:{port}")
    site.authority = host
    known = {"clock": SystemClock(), "protected_path": "/login", **given}
    return {finding.check: finding for finding in examine(Installation(site=site, **known))}


def failing(findings: dict[str, Finding]) -> set[str]:
    return {check for check, finding in findings.items() if finding.state is State.FAIL}


def in_server(*lines: str) -> Callable[[str], str]:
    """Return a change of nginx's file that puts lines into the server's block."""
    return lambda text: text.replace("    location / {", "\n".join([*lines, "    location / {"]), 1)


def test_a_forged_address_that_is_believed_is_found(broken: Broken) -> None:
    believing = in_server("set_real_ip_from 0.0.0.0/0;", "real_ip_header X-Forwarded-For;")
    with broken.behind("nginx", believing) as (port, _):
        findings = seen(port)

    assert failing(findings) == {"visitor-address"}, findings
    assert "X-Forwarded-For" in findings["visitor-address"].found


def test_one_address_for_all_visitors_is_found(broken: Broken) -> None:
    def as_one(text: str) -> str:
        return text.replace(
            "{http.request.orig_method} {http.request.remote.host}", "{http.request.orig_method} 172.17.0.1"
        )

    with broken.behind("caddy", as_one) as (port, _):
        findings = seen(port)

    assert failing(findings) == {"visitors-apart"}, findings


def test_a_host_that_the_site_does_not_have_is_found(broken: Broken) -> None:
    with broken.behind("haproxy") as (port, _):
        findings = seen(port, host="www.shop.example")

    assert failing(findings) == {"origin"}, findings
    assert "Add http://www.shop.example to the site's allowed origins" in findings["origin"].fix


@pytest.mark.parametrize("proxy", STARTERS)
@pytest.mark.parametrize(("mode", "word"), [("monitor", "open"), ("enforce", "closed")])
def test_a_wrong_secret_is_reported_and_whether_the_adapter_is_open(
    broken: Broken, proxy: str, mode: str, word: str
) -> None:
    with broken.behind(proxy, secret="ags_" + "w" * 43, mode=mode) as (port, _):
        findings = seen(port)

    assert "secret" in failing(findings), findings
    assert "credential" in findings["secret"].fix
    assert "AgentGate runs" in findings["secret"].fix
    assert f"the adapter is {word}" in findings["unavailable"].found
    assert findings["unavailable"].state is (State.WARN if word == "open" else State.PASS)


@pytest.mark.parametrize("proxy", STARTERS)
def test_enforce_mode_with_an_open_adapter_is_a_warning(broken: Broken, proxy: str) -> None:
    files = {mode: installed_files(broken, proxy, mode) for mode in ("monitor", "enforce")}
    with broken.behind(proxy, mode="monitor") as (port, _):
        opened = seen(port, adapter=files["monitor"])["unavailable"]
        closed = seen(port, adapter=files["enforce"])["unavailable"]
        unknown = seen(port, adapter="listen 80;")["unavailable"]

    assert (opened.state, "enforce mode and the adapter is open" in opened.found) == (State.WARN, True)
    assert (closed.state, closed.found) == (State.PASS, "the adapter is closed while AgentGate is unavailable")
    assert (unknown.state, "no line" in unknown.found) == (State.WARN, True)


def installed_files(broken: Broken, proxy: str, mode: str) -> str:
    """Return the text of a proxy's files."""
    installation = AdapterInstallation(site=broken.site_key, mode=mode)
    return "\n".join(render(proxy, installation, file) for file in FILES[proxy])


def test_decisions_that_the_proxy_keeps_are_found(broken: Broken) -> None:
    def keep(text: str) -> str:
        zone = "proxy_cache_path kept keys_zone=kept:1m;\n"
        own = "        internal;\n        proxy_cache kept;\n        proxy_cache_key $request_uri;\n"
        kept = f"{own}        proxy_cache_valid any 1m;\n        proxy_ignore_headers Cache-Control;\n"
        return zone + text.replace("        internal;\n", kept, 1)

    with broken.behind("nginx", keep) as (port, _):
        findings = seen(port)

    assert "cached-decisions" in failing(findings), findings


def test_responses_that_a_cache_before_the_gate_keeps_are_found(broken: Broken) -> None:
    with broken.behind("caddy", site=routed_site) as (gate, _):

        def front(text: str) -> str:
            zone = "proxy_cache_path kept keys_zone=kept:1m;\n"
            listen = re.search(r"listen [^;]*;", text)
            if listen is None:
                # A part to include, which this front does not use.
                return text
            return (
                f"{zone}server {{ {listen[0]} location / {{ proxy_cache kept; proxy_cache_key $request_uri;"
                f" proxy_pass http://127.0.0.1:{gate}; proxy_set_header Host $host; }} }}"
            )

        with broken.behind("nginx", front) as (port, _):
            findings = seen(port)

    # The cache is also between the gate and its visitors, and does not forward their addresses.
    assert {"cached-answers", "visitors-apart"} <= failing(findings), findings


def test_admin_routes_on_the_sites_host_are_found(broken: Broken) -> None:
    admin = in_server(f"    location /v1/admin/ {{ proxy_pass {broken.service.admin_url}; }}")
    with broken.behind("nginx", admin) as (port, _):
        findings = seen(port)

    assert failing(findings) == {"admin-routes"}, findings
    assert "/v1/admin/sites" in findings["admin-routes"].found


def test_an_upstream_that_responds_around_the_gate_is_found(broken: Broken) -> None:
    with broken.behind("nginx", site=routed_site) as (port, upstream):
        outside = seen(port, upstream=Site(upstream))
        inside = seen(port, upstream=Site(upstream), is_inside=True)

    assert outside["upstream"].state is State.FAIL
    assert inside["upstream"].state is State.SKIP


def test_other_names_of_a_route_that_the_application_responds_to_be_found(broken: Broken) -> None:
    with broken.behind("nginx", site=routed_site) as (port, upstream):
        open_ = seen(port, upstream=Site(upstream), is_inside=True)
        more = [
            {"method": "POST", "path": "/index.php/login", "action": "login"},
            {"method": "POST", "pathPrefix": "/login.", "action": "login"},
        ]
        reply = broken.service.operator.patch(f"/v1/admin/sites/{broken.site_key}", json={"routes": [LOGIN, *more]})
        assert reply.status_code == 200, reply.text
        named = seen(port, upstream=Site(upstream), is_inside=True)

    assert failing(open_) == {"aliases"}, open_
    assert "/login.json" in open_["aliases"].found
    assert "/index.php/login" in open_["aliases"].found
    assert named["aliases"].state is State.PASS, named["aliases"]
    assert "/login.json" in named["aliases"].found


def test_a_clock_of_the_doctors_own_that_is_off_is_distinguished(broken: Broken) -> None:
    with broken.behind("nginx") as (port, _):
        findings = seen(port, clock=FixedClock(SystemClock().now_ms() - 300_000))

    assert findings["clock"].state is State.WARN
    assert "this machine's clock" in findings["clock"].found


def test_a_clock_of_the_gate_that_is_off_is_found(tmp_path: Path) -> None:
    settings = read_settings(
        {
            "AGENTGATE_DATA_DIR": str(tmp_path),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
        }
    )
    late = FixedClock(SystemClock().now_ms() - 300_000)
    with running_service(settings, late) as service, Broken(service).behind("nginx") as (port, _):
        findings = seen(port)

    assert failing(findings) == {"clock"}, findings
    assert "AgentGate's clock is off by -30" in findings["clock"].found


def test_aliases_are_other_paths() -> None:
    made = aliases("/login")

    assert len(set(made)) == len(made)
    assert {"/index.php/login", "/login.json", "//login", "/login/"} <= set(made)
    assert "/login" not in made
