"""The site of `bench.gateway` and `bench.adapter`: 30 rules, a model of 200 trees, one agent whose key is known.

It is set up in the data directory of a service that is started afterwards, so that `agentgate serve` itself is
measured. Clearances are issued here, with that directory's keys: getting one takes a browser.
"""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from agentgate.browser_check.tokens.clearance import ClearanceHolder, Clearances
from agentgate.lib.clock import SystemClock
from agentgate.lib.enums import ClearanceLevel
from agentgate.lib.keyring import Keyring
from agentgate.lib.records import to_builtins, to_json
from agentgate.lib.settings.schema import Settings, read_settings
from agentgate.lib.telemetry import logs
from agentgate.server.application import Application
from bench.decide import bench_rules
from bench.model_trees import bench_model
from tests.population.visitors import ORIGIN, Visitor
from tests.support.agent_client import SigningAgent
from tests.support.processes import ADMIN_KEY, ServeProcess, environment, serving

SITE_KEY = "site_bench"
# No clearance expires during a measurement.
SETTINGS = {"AGENTGATE_CLEARANCE_SECONDS": "21600"}
# Of the population's pages, those that a visit begins with are open, and all others need a clearance.
PROTECTED = ("/products/", "/account/", "/cart/", "/search")
SITE = {
    "name": "Bench",
    "siteKey": SITE_KEY,
    "mode": "enforce",
    "allowedOrigins": [ORIGIN],
    "actions": {"login": {"browserRequired": True, "clearance": True}, "search": {"browserRequired": False}},
    "routes": [
        {"method": "POST", "path": "/login", "action": "login"},
        *({"method": "GET", "pathPrefix": prefix, "action": "login"} for prefix in PROTECTED),
        {"method": "GET", "pathPrefix": "/api/", "action": "search"},
    ],
}
AGENT = SigningAgent()
_AGENT_POLICY = {"decision": "allow", "jwks": AGENT.jwks, "quotaPerMinute": 1_000_000}
POLICY = {"default": "challenge", "quotaPerMinute": 1_000_000, "agents": {AGENT.url: _AGENT_POLICY}}


class BenchSite:
    """The site's secret, and clearances for its visitors."""

    def __init__(self, secret: str, keyring: Keyring, settings: Settings) -> None:
        self.secret = secret
        issuer = settings.public_base_url.rstrip("/") or f"http://{settings.public_listen}"
        self._clearances = Clearances(keyring, settings.clearance_seconds, issuer=issuer)
        self._now_ms = SystemClock().now_ms()
        self.set_up_s = self._now_ms // 1000

    def clearance(self, visitor: Visitor) -> str:
        """Return the clearance cookie of a visitor: name and value."""
        holder = ClearanceHolder(visitor.address, visitor.browser.user_agent.encode())
        issued = self._clearances.issue(
            site_key=SITE_KEY, origin=ORIGIN, holder=holder, level=ClearanceLevel.CHECKED, now_ms=self._now_ms
        )
        return f"{issued.name}={issued.value}"


@contextmanager
def gateway(folder: Path, **more: str) -> Iterator[tuple[ServeProcess, BenchSite]]:
    """Run `agentgate serve` with the site, in a folder; `more` are settings."""
    folder.mkdir(parents=True, exist_ok=True)
    logs.configure("json", "warning")
    # The service has a separate process group, and would outlive a bench that is terminated.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    settings = {**SETTINGS, **more, "AGENTGATE_WORKERS": "1"}
    site = asyncio.run(_set_up(read_settings(environment(folder, settings))))
    with serving(folder, **SETTINGS, **more) as process:
        yield process, site


async def _set_up(settings: Settings) -> BenchSite:
    application = await Application.open(settings)
    await application.start()
    try:
        secret = await _create_site(application)
    finally:
        await application.close()
    return BenchSite(secret, application.keyring, settings)


async def _create_site(application: Application) -> str:
    host, port = application.admin_address
    site = f"/v1/admin/sites/{SITE_KEY}"
    key = {"X-Admin-Key": ADMIN_KEY}
    async with httpx.AsyncClient(base_url=f"http://{host}:{port}", headers=key, timeout=30) as operator:
        (await operator.post("/v1/admin/sites", json=SITE)).raise_for_status()
        rules = {"ruleSet": to_builtins(bench_rules()), "revision": 0}
        (await operator.put(f"{site}/rules", json=rules)).raise_for_status()
        (await operator.put(f"{site}/agent-policy", json=POLICY)).raise_for_status()
        model = {"content": to_json(bench_model()), "headers": {"Content-Type": "application/json"}}
        (await operator.put("/v1/admin/models/bot/candidate", **model)).raise_for_status()
        (await operator.post("/v1/admin/models/bot/promote")).raise_for_status()
        made = await operator.post(f"{site}/credentials", json={"name": "bench"})
        return str(made.raise_for_status().json()["secret"])
