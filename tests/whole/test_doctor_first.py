"""Broken installations: the doctor's first diagnosis names the cause, and its remedy has a command or a setting."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agentgate.lib.clock import FixedClock, SystemClock
from agentgate.lib.settings.schema import read_settings
from agentgate_tools.adapters.render import Installation as AdapterInstallation
from agentgate_tools.adapters.render import render
from agentgate_tools.doctor.asking import Site
from agentgate_tools.doctor.checks import Installation
from agentgate_tools.doctor.examine import examine
from agentgate_tools.doctor.findings import State
from tests.proxies.running import STARTERS
from tests.site_server.gateway_apps import serving_asgi
from tests.support.ports import free_port
from tests.support.service import ADMIN_KEY, RunningService, running_service
from tests.whole.doctor_service import ATTENTION, Change, Whole, examined, in_server, page, service

__all__ = ["service"]
UNKNOWN_SECRET = "ags_" + "w" * 43


@pytest.mark.parametrize("proxy", STARTERS)
def test_an_enforced_whole_site_needs_nothing(service: RunningService, proxy: str) -> None:
    with Whole(service).behind(proxy) as port:
        findings = examined(port)

    assert [each for each in findings if each.state in ATTENTION] == []
    told = " ".join(each.fix for each in findings)
    assert "Wait a minute" not in told
    assert "enforce mode" not in told
    assert {each.check: each.state for each in findings}["cached-answers"] is State.PASS


def with_kept_decisions(text: str) -> str:
    """Cache the decisions of the check by URL."""
    own = "        internal;\n        proxy_cache kept; proxy_cache_key $request_uri; proxy_cache_valid any 1m;\n"
    kept = text.replace("        internal;\n", f"{own}        proxy_ignore_headers Cache-Control;\n", 1)
    return f"proxy_cache_path kept keys_zone=kept:1m;\n{kept}"


def without_check(text: str) -> str:
    """Take the gateway out of nginx's file."""
    return text.replace("auth_request /.agentgate/check;", "").replace("/.agentgate/", "/gone/")


@dataclass(frozen=True)
class Case:
    """An installation with one defect: the first diagnosis, words of its remedy, and the change."""

    check: str
    remedy: str
    proxy: str = "nginx"
    change: Change = lambda text: text
    given: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    host: str = "shop.example"


ROUTED = {"wholeSite": False}
ANY_PORT = "http://127.0.0.1:1"
CASES = {
    "unknown secret": Case("secret", "agentgate credential create", given={"secret": UNKNOWN_SECRET}),
    "unknown secret, open": Case(
        "secret", "agentgate credential create", "caddy", given={"secret": UNKNOWN_SECRET, "mode": "monitor"}
    ),
    "stopped service": Case("gate", "systemctl start agentgate", given={"service": ANY_PORT}),
    "stopped service, open": Case(
        "gate", "systemctl start agentgate", "haproxy", given={"service": ANY_PORT, "mode": "monitor"}
    ),
    "admin listener as service": Case("gate", "--service http", given={"service": "admin"}),
    "no gateway": Case("gate", "agentgate protect http", change=without_check),
    "own paths not forwarded": Case(
        "own-paths", "/.agentgate/", change=lambda text: text.replace("/.agentgate/;", "/nowhere/;", 1)
    ),
    "monitor mode": Case("gate", "agentgate site mode", settings={"mode": "monitor"}),
    "stopped application": Case("application", "--upstream", given={"upstream": ANY_PORT}, settings=ROUTED),
    "another host": Case("origin", "agentgate protect http://www.shop.example", "caddy", host="www.shop.example"),
    "another port": Case(
        "origin",
        "agentgate protect http://127.0.0.1",
        given={"origin": ANY_PORT},
        settings={"allowedOrigins": [ANY_PORT]},
        host="",
    ),
    "address from a header": Case(
        "visitor-address",
        "connection's IP address",
        change=in_server("set_real_ip_from 0.0.0.0/0;", "real_ip_header X-Forwarded-For;"),
    ),
    "one address for all": Case(
        "visitors-apart",
        "connection's IP address",
        change=lambda text: text.replace("$request_method $remote_addr", "$request_method 172.17.0.1"),
    ),
    "kept decisions": Case("cached-decisions", "no cache", change=with_kept_decisions),
}


# Half a minute: each request of the doctor waits for the stopped service.
SLOW = {"stopped service, open"}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.soak) if each in SLOW else each for each in CASES]
)
def test_the_first_diagnosis_of_a_broken_installation(service: RunningService, name: str) -> None:
    case = CASES[name]
    given = {key: service.admin_url if value == "admin" else value for key, value in case.given.items()}
    with Whole(service, **case.settings).behind(case.proxy, case.change, **given) as port:
        findings = examined(port, case.host)

    assert findings[0].check == case.check, findings
    assert findings[0].state in ATTENTION
    assert case.remedy in findings[0].fix


@pytest.mark.parametrize("proxy", ["nginx", "caddy"])
@pytest.mark.parametrize("skew_s", [-3600, 3600])
def test_a_service_clock_that_is_an_hour_off_is_the_first_diagnosis(tmp_path: Path, proxy: str, skew_s: int) -> None:
    environ = {
        "AGENTGATE_DATA_DIR": str(tmp_path),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_DRAIN_SECONDS": "0",
    }
    clock = FixedClock(SystemClock().now_ms() + skew_s * 1000)
    with running_service(read_settings(environ), clock) as late, Whole(late).behind(proxy) as port:
        first = examined(port)[0]

    assert (first.check, first.state) == ("clock", State.FAIL)
    found = re.search(r"AgentGate's clock is off by ([+-]\d+) s", first.found)
    # The service has a fixed clock.
    assert found
    assert skew_s - 30 <= int(found[1]) <= skew_s
    assert "timedatectl" in first.fix


def test_an_admin_api_on_the_sites_host_is_the_first_diagnosis(service: RunningService) -> None:
    admin = in_server(f"    location /v1/admin/ {{ proxy_pass {service.admin_url}; }}")
    with Whole(service).behind("nginx", admin) as port:
        first = examined(port)[0]

    assert (first.check, first.state) == ("admin-routes", State.FAIL)


def test_a_page_that_a_cache_keeps_without_its_query_is_found(service: RunningService) -> None:
    whole = Whole(service, wholeSite=False)
    with whole.behind("nginx") as gate:

        def front(text: str) -> str:
            listen = re.search(r"listen [^;]*;", text)
            if listen is None:
                return text
            return (
                f"proxy_cache_path kept keys_zone=kept:1m;\nserver {{ {listen[0]} location / {{\n"
                "set $key $uri$args; if ($args) { set $key $request_id; }\n"
                "proxy_cache kept; proxy_cache_key $key; proxy_cache_valid 200 1m;\n"
                f"proxy_pass http://127.0.0.1:{gate}; proxy_set_header Host $host; }} }}"
            )

        with whole.behind("nginx", front) as port:
            found = {each.check: each for each in examined(port)}

    assert found["cached-answers"].state is State.FAIL
    assert "cached response of /" in found["cached-answers"].found


def test_an_open_adapter_of_an_enforced_site_is_the_first_diagnosis(service: RunningService) -> None:
    whole = Whole(service)
    with whole.behind("nginx", mode="monitor") as port:
        text = render("nginx", AdapterInstallation(site=whole.site_key))
        first = examined(port, adapter=text)[0]

    assert (first.check, first.state) == ("unavailable", State.WARN)
    assert "agentgate adapter --mode enforce" in first.fix


def test_an_application_that_is_bound_to_all_addresses_is_found(
    service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentgate_tools.doctor import upstream_checks

    # Another address of this machine, on which the application of the test listens too.
    monkeypatch.setattr(upstream_checks, "_reached", lambda _host: ["127.0.0.1"])
    whole = Whole(service, wholeSite=False)
    with serving_asgi(page) as upstream, whole.behind("nginx", upstream=upstream) as port:
        text = render("nginx", AdapterInstallation(site=whole.site_key, upstream=upstream, mode="enforce"))
        found = {each.check: each for each in examined(port, adapter=text)}

    assert found["upstream"].state is State.FAIL
    assert upstream.removeprefix("http://") in found["upstream"].found


def test_a_site_that_does_not_respond_has_a_command() -> None:
    stopped = examined(free_port())
    unnamed = examine(Installation(site=Site("http://shop.invalid"), clock=SystemClock()))

    assert "ss -ltn" in stopped[0].fix
    assert "getent hosts shop.invalid" in unnamed[0].fix
