"""The doctor with correct and with broken installations: it names exactly the existing defects.

The sites are real: the gateway middleware, and a proxy with the adapter, before a small application.
"""

import json
import re
from typing import Any

import pytest

from agentgate.lib.clock import DAY_MS, SystemClock
from agentgate_client import gateway_asgi
from agentgate_tools.adapters.render import Installation as AdapterInstallation
from agentgate_tools.adapters.render import render
from agentgate_tools.doctor.asking import Site
from agentgate_tools.doctor.checks import Installation
from agentgate_tools.doctor.examine import examine
from agentgate_tools.doctor.findings import Finding, State
from agentgate_tools.doctor.route_checks import spellings
from tests.cli.commands import agentgate
from tests.proxies.running import STARTERS, running_proxy
from tests.site_server.gateway_apps import asgi_site, gated_site, serving_asgi
from tests.support.browser_client import create_site, get_token
from tests.support.ports import free_port
from tests.support.scored import add_scores
from tests.support.service import ADMIN_KEY, RunningService
from tests.support.suggestions import named, suggest, verified
from tests.whole.doctor_service import ORIGIN, service

__all__ = ["service"]

ROUTE = {"protected_path": "/login"}


class Shop:
    """A site of the running service."""

    def __init__(self, service: RunningService, mode: str = "enforce") -> None:
        self.service = service
        self.site_key = create_site(
            service,
            mode=mode,
            actions={"login": {"browserRequired": True}, "search": {"browserRequired": False}},
            routes=[{"method": "POST", "path": "/login", "action": "login"}],
        )
        made = service.operator.post(f"/v1/admin/sites/{self.site_key}/credentials", json={"name": "gate"})
        self.credential = made.json()["credential"]["id"]
        self.options = {"service": service.public_url, "secret": made.json()["secret"], "origin": ORIGIN}

    def token(self, action: str = "login") -> str:
        return get_token(self.service, self.site_key, action, ORIGIN, address="127.0.0.1")


@pytest.fixture
def shop(service: RunningService) -> Shop:
    """A separate site for each test: the doctor sends many requests, and the rules count them."""
    return Shop(service)


def seen(url: str, *, host: str | None = None, **given: Any) -> dict[str, Finding]:
    """Return what the doctor finds, by check; `host` is the site's name where the address has another."""
    site = Site(url)
    site.authority = host or site.authority
    findings = examine(Installation(site=site, clock=SystemClock(), **given))
    return {finding.check: finding for finding in findings}


def in_state(findings: dict[str, Finding], state: State) -> set[str]:
    return {check for check, finding in findings.items() if finding.state is state}


def test_a_right_installation_has_no_defect(shop: Shop) -> None:
    with gated_site("asgi", **shop.options) as url:
        tokens = {"token": shop.token(), "other_token": shop.token("search")}
        findings = seen(url, host="shop.example", **ROUTE, **tokens, ports=(free_port(),))

    assert in_state(findings, State.FAIL) == set(), findings
    assert in_state(findings, State.WARN) == set(), findings
    # The doctor reaches the site on this machine, and the addresses of the upstream and of the terms were not given.
    assert in_state(findings, State.SKIP) == {"tls", "upstream", "aliases", "unavailable", "unseen", "robots-agree"}
    assert "token_used" in findings["replay"].found
    assert "action_mismatch" in findings["wrong-action"].found


def test_the_address_alone_is_enough(shop: Shop) -> None:
    with gated_site("wsgi", **shop.options) as url:
        findings = seen(url)

    assert in_state(findings, State.FAIL) == set(), findings
    assert {"missing-token", "listeners"} <= in_state(findings, State.SKIP)


@pytest.mark.parametrize("proxy", STARTERS)
def test_a_proxy_with_the_adapter_has_no_defect(shop: Shop, proxy: str) -> None:
    tokens = {"token": shop.token(), "other_token": shop.token("search")}
    with serving_asgi(asgi_site) as upstream:
        installation = AdapterInstallation(
            site=shop.site_key,
            service=shop.options["service"],
            origin=ORIGIN,
            upstream=upstream,
            secret=shop.options["secret"],
        )
        with running_proxy(proxy, installation) as port:
            findings = seen(f"http://127.0.0.1:{port}", host="shop.example", **ROUTE, **tokens)

    assert in_state(findings, State.FAIL) == set(), findings
    assert in_state(findings, State.WARN) == set(), findings
    assert "token_used" in findings["replay"].found


def test_a_site_without_a_gate_is_found() -> None:
    with serving_asgi(asgi_site) as url:
        findings = seen(url, **ROUTE)

    assert {"gate", "own-paths", "missing-token"} <= in_state(findings, State.FAIL)
    assert "no sign that the site is behind AgentGate" in findings["gate"].found
    assert findings["missing-token"].fix.startswith("The site is not connected")


def test_a_gate_that_fails_open_is_found(shop: Shop) -> None:
    away = {**shop.options, "service": f"http://127.0.0.1:{free_port()}", "fail_open": True}
    with gated_site("asgi", **away) as url:
        findings = seen(url, **ROUTE)

    assert "AgentGate is unavailable" in findings["gate"].found
    assert findings["missing-token"].state is State.FAIL
    assert "fails open" in findings["missing-token"].fix


def test_a_gate_that_fails_closed_is_distinguished(shop: Shop) -> None:
    with gated_site("asgi", **{**shop.options, "service": f"http://127.0.0.1:{free_port()}"}) as url:
        findings = seen(url, **ROUTE)

    assert findings["gate"].state is State.FAIL
    assert findings["missing-token"].state is State.WARN
    assert "503" in findings["missing-token"].found


class Gullible:
    """An adapter that trusts a visitor's claims about the request, before the true middleware."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        forged = headers.get(b"x-original-url", b"").decode()
        believed = forged.partition("/agentgate-doctor")[1]
        await self._app({**scope, "path": believed or scope["path"]}, receive, send)


def test_an_adapter_that_believes_forged_headers_is_found(shop: Shop) -> None:
    made = gateway_asgi.GatewayMiddleware(asgi_site, **shop.options)
    with serving_asgi(Gullible(made)) as url:
        findings = seen(url, **ROUTE)
    made.close()

    assert in_state(findings, State.FAIL) == {"forged-headers"}, findings
    assert "X-Original-URL (401 becomes 200)" in findings["forged-headers"].found


def test_an_adapter_that_checks_one_spelling_only_is_found(shop: Shop) -> None:
    made = gateway_asgi.GatewayMiddleware(asgi_site, **shop.options)

    async def careless(scope: Any, receive: Any, send: Any) -> None:
        gated = scope["path"] == "/login" or scope["path"].startswith("/.agentgate/")
        await (made if gated else asgi_site)(scope, receive, send)

    with serving_asgi(careless) as url:
        findings = seen(url, **ROUTE)
    made.close()

    assert findings["spellings"].state is State.FAIL
    assert "capitals (/LOGIN: 200)" in findings["spellings"].found


def test_a_site_that_does_not_redeem_tokens_is_found(shop: Shop) -> None:
    async def trusting(scope: Any, receive: Any, send: Any) -> None:
        has_token = b"x-agentgate-token" in dict(scope["headers"])
        await (asgi_site if has_token else made)(scope, receive, send)

    made = gateway_asgi.GatewayMiddleware(asgi_site, **shop.options)
    with serving_asgi(trusting) as url:
        findings = seen(url, **ROUTE, token=shop.token(), other_token=shop.token("search"))
    made.close()

    assert in_state(findings, State.FAIL) == {"forged-token", "wrong-action", "replay"}


def test_monitor_mode_is_found(service: RunningService) -> None:
    with gated_site("asgi", **Shop(service, mode="monitor").options) as url:
        findings = seen(url, **ROUTE)

    assert re.search(r"agentgate site mode site_\w+ enforce", findings["gate"].fix)
    assert "enforce mode" in findings["missing-token"].fix


def test_a_service_that_is_exposed_is_found(shop: Shop) -> None:
    admin = int(shop.service.admin_url.rpartition(":")[2])
    public = int(shop.service.public_url.rpartition(":")[2])
    with gated_site("asgi", **shop.options) as url:
        assert "admin listener" in seen(url, ports=(admin,))["listeners"].found
        assert seen(url, ports=(public,))["listeners"].state is State.WARN
    # The service itself in the site's place: everything of it can be reached.
    assert seen(shop.service.public_url)["exposure"].state is State.FAIL


def test_headers_that_leak_are_found(shop: Shop) -> None:
    async def leaking(scope: Any, receive: Any, send: Any) -> None:
        async def leak(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (b"x-debug", b"ags_0123456789")]}
            await send(message)

        await made(scope, receive, leak)

    made = gateway_asgi.GatewayMiddleware(asgi_site, **shop.options)
    with serving_asgi(leaking) as url:
        findings = seen(url)
    made.close()

    assert in_state(findings, State.FAIL) == {"leaks"}


def test_a_site_that_does_not_respond_is_one_finding() -> None:
    findings = seen(f"http://127.0.0.1:{free_port()}")

    assert in_state(findings, State.FAIL) == {"reachable"}
    assert len(findings) == 1


def test_the_command_prints_a_table_and_exits_with_one(tmp_path) -> None:
    with serving_asgi(asgi_site) as url:
        shown = agentgate(tmp_path, "doctor", url, "--protected-path", "/login")
        told = agentgate(tmp_path, "doctor", url, "--json")

    assert (shown.returncode, told.returncode) == (1, 1)
    assert "missing-token" in shown.stdout
    assert {"check", "state", "found", "fix"} == set(json.loads(told.stdout)[0])


def test_the_command_is_content_with_a_right_installation(tmp_path, shop: Shop) -> None:
    with gated_site("asgi", **shop.options) as url:
        tokens = ["--token", shop.token(), "--token", shop.token("search")]
        done = agentgate(tmp_path, "doctor", url, "--protected-path", "/login", *tokens)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_includes_the_health_of_a_site(tmp_path, shop: Shop) -> None:
    shop.service.operator.post(f"/v1/admin/sites/{shop.site_key}/credentials/{shop.credential}/revoke")
    settings = {"AGENTGATE_ADMIN_LISTEN": shop.service.admin_url.partition("//")[2], "AGENTGATE_ADMIN_KEY": ADMIN_KEY}
    done = agentgate(
        tmp_path, "doctor", f"http://127.0.0.1:{free_port()}", "--site", shop.site_key, "--json", **settings
    )

    found = {each["check"]: each for each in json.loads(done.stdout)}
    assert found["no_credential"] == {
        "check": "no_credential",
        "state": "fail",
        "found": "The site has no active credential",
        "fix": "Create one and give its secret to your backend.",
    }
    assert (found["drift"]["state"], "fewer than 200" in found["drift"]["found"]) == ("skip", True)


@pytest.mark.parametrize(("now", "days", "state"), [(0.15, 1, "pass"), (0.95, 2, "warn")])
def test_the_command_warns_if_the_scores_of_a_site_have_changed(
    tmp_path, shop: Shop, now: float, days: int, state: str
) -> None:
    service = shop.service
    number = service.run(
        service.application.stores.store.read.sites.find_number(
            service.operator.get(f"/v1/admin/sites/{shop.site_key}").json()["id"]
        )
    )
    add_scores(service, number, [0.15] * 300, ago_ms=days * DAY_MS)
    add_scores(service, number, [0.15] * 240 + [now] * 60, ago_ms=60_000)
    settings = {"AGENTGATE_ADMIN_LISTEN": service.admin_url.partition("//")[2], "AGENTGATE_ADMIN_KEY": ADMIN_KEY}
    done = agentgate(
        tmp_path, "doctor", f"http://127.0.0.1:{free_port()}", "--site", shop.site_key, "--json", **settings
    )

    found = {each["check"]: each for each in json.loads(done.stdout)}["drift"]
    assert found["state"] == state, found


def test_the_command_names_blocked_senders_and_clients_of_a_site(tmp_path, shop: Shop) -> None:
    place = f"/v1/admin/sites/{shop.site_key}"
    settings = {"AGENTGATE_ADMIN_LISTEN": shop.service.admin_url.partition("//")[2], "AGENTGATE_ADMIN_KEY": ADMIN_KEY}

    def found() -> dict[str, dict[str, str]]:
        given = ("doctor", f"http://127.0.0.1:{free_port()}", "--site", shop.site_key, "--json")
        return {each["check"]: each for each in json.loads(agentgate(tmp_path, *given, **settings).stdout)}

    assert found()["webhooks"]["state"] == "pass"
    site_id = shop.service.operator.get(place).json()["id"]
    suggest(shop.service, site_id, verified("stripe", "/hooks/pay"), named("uptimething", "/status"))
    listed = shop.service.operator.get(f"{place}/suggestions").json()["items"]
    (stripe,) = [each["id"] for each in listed if each["proven"]]
    told = found()
    assert "stripe (POST /hooks/pay, 7 a day)" in told["webhooks"]["found"]
    assert told["webhooks"]["fix"].endswith(f"agentgate site suggestions {shop.site_key} --accept {stripe}")
    assert "uptimething (GET /status" in told["clients"]["found"]
    assert "--accept" not in told["clients"]["fix"]
    assert shop.service.operator.patch(place, json={"suggestions": False}).status_code == 200
    assert found()["webhooks"]["state"] == "skip"


@pytest.mark.parametrize("wrong", [["ftp://x"], ["shop.example"], ["http://x", "--protected-path", "login"]])
def test_malformed_addresses_and_paths_are_rejected(tmp_path, wrong: list[str]) -> None:
    done = agentgate(tmp_path, "doctor", *wrong)

    assert done.returncode == 2
    assert "such as" in done.stderr


def test_the_command_reads_the_adapters_file(tmp_path, shop: Shop) -> None:
    file = tmp_path / "agentgate.conf"
    file.write_text(render("nginx", AdapterInstallation(mode="enforce")))
    with gated_site("asgi", **shop.options) as url:
        done = agentgate(tmp_path, "doctor", url, "--adapter", str(file), "--json")
    absent = agentgate(tmp_path, "doctor", "http://x", "--adapter", str(tmp_path / "absent.conf"))

    found = {each["check"]: each for each in json.loads(done.stdout)}["unavailable"]
    assert (found["state"], "closed" in found["found"]) == ("pass", True)
    assert (absent.returncode, "cannot be read" in absent.stderr) == (2, True)


def test_other_spellings_are_other_texts_for_the_same_path() -> None:
    made = spellings("/login")

    assert len(set(made.values())) == len(made)
    assert "/login" not in made.values()
