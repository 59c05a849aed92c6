"""The service that `bench.gateway` measures: one worker, one site with 30 rules, a model of 200 trees, many visitors.

`python -m bench.gateway_service VISITORS` writes requests of visitors with a clearance into its data folder, for wrk
and our own client, and some that an agent signed; prints its port, and ends when its input does. Then it writes how
many events found no room.
"""

import asyncio
import os
import sys
from pathlib import Path

import httpx
import uvloop

from agentgate.lib.clock import SystemClock
from agentgate.lib.enums import ClearanceLevel
from agentgate.lib.records import to_builtins, to_json
from agentgate.lib.settings.schema import Settings, read_settings
from agentgate.lib.telemetry import logs
from agentgate.lib.visitor_ids import write_visitor
from agentgate.protection.tokens.clearance import Clearances
from agentgate.server.application import Application
from agentgate.server.worker_tuning import tune_worker
from bench.decide import bench_rules
from bench.model_trees import bench_model
from bench.prepared import script_in_turns, write_requests
from tests.agent_client import SigningAgent

SITE_KEY = "site_bench"
ORIGIN = "https://shop.example"
SITE = {
    "name": "Bench",
    "siteKey": SITE_KEY,
    "mode": "enforce",
    "allowedOrigins": [ORIGIN],
    "actions": {"login": {"browserRequired": True, "clearance": True}, "search": {"browserRequired": False}},
    "routes": [
        {"method": "POST", "path": "/login", "action": "login"},
        {"method": "GET", "pathPrefix": "/account/", "action": "login"},
        {"method": "GET", "pathPrefix": "/api/", "action": "search"},
    ],
}
AGENT = SigningAgent()
_AGENT_POLICY = {"decision": "allow", "jwks": AGENT.jwks, "quotaPerMinute": 1_000_000}
POLICY = {"default": "challenge", "quotaPerMinute": 1_000_000, "agents": {AGENT.url: _AGENT_POLICY}}
# Each counts once.
SIGNED = 4_000
SIGNED_S = 3_600
# What Chrome sends with a navigation; nginx passes it on, with its own headers in front.
VISITOR = (
    ("Host", "127.0.0.1"),
    ("sec-ch-ua", '"Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"'),
    ("sec-ch-ua-mobile", "?0"),
    ("sec-ch-ua-platform", '"Linux"'),
    ("Upgrade-Insecure-Requests", "1"),
    (
        "User-Agent",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    ),
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"),
    ("Sec-Fetch-Site", "same-origin"),
    ("Sec-Fetch-Mode", "navigate"),
    ("Sec-Fetch-User", "?1"),
    ("Sec-Fetch-Dest", "document"),
    ("Referer", f"{ORIGIN}/account/"),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ("Accept-Language", "en-GB,en;q=0.9,de;q=0.8"),
)


async def main(visitors: int) -> None:
    """Start, make the site, write the requests, say where, and serve until nobody listens any more."""
    logs.configure("json", "warning")
    settings = read_settings(os.environ)
    application = await Application.open(settings)
    await application.start()
    secret = await _open_site(application)
    requests = [_request(application, settings, secret, number) for number in range(visitors)]
    folder = Path(settings.data_dir)
    write_requests(folder / "requests", iter(requests))
    (folder / "requests.lua").write_text(script_in_turns(requests))
    signed = [_signed_request(secret, number, nonce=False) for number in range(SIGNED)]
    (folder / "signed.lua").write_text(script_in_turns(signed))
    write_requests(folder / "signed-once", (_signed_request(secret, number, nonce=True) for number in range(SIGNED)))
    (folder / "secret").write_text(secret)
    # As a worker does.
    tune_worker()
    print(application.public_address[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await application.close()
    (folder / "events-failed").write_text(str(application.recorder.failed))


async def _open_site(application: Application) -> str:
    key = {"X-Admin-Key": os.environ["AGENTGATE_ADMIN_KEY"]}
    host, port = application.admin_address
    site = f"/v1/admin/sites/{SITE_KEY}"
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


def _request(application: Application, settings: Settings, secret: str, number: int) -> bytes:
    """Return the check of a visitor with a clearance, which opens its page."""
    address = _address(number)
    issuer = settings.public_base_url.rstrip("/") or f"http://{settings.public_listen}"
    clearance = Clearances(application.keyring, settings.clearance_seconds, issuer=issuer).issue(
        site_key=SITE_KEY,
        origin=ORIGIN,
        visitor=write_visitor(application.deciding.decider.visitors.find(SITE_KEY, address)),
        level=ClearanceLevel.CHECKED,
        now_ms=SystemClock().now_ms(),
    )
    headers = (
        ("Authorization", f"Bearer {secret}"),
        ("X-Original-Method", "GET"),
        ("X-Original-URL", f"{ORIGIN}/account/orders?page={number % 7}"),
        ("X-Original-Address", address),
        *VISITOR,
        ("Cookie", f"session=0123456789abcdef; {clearance.name}={clearance.value}; theme=dark"),
    )
    return _check(headers)


def _signed_request(secret: str, number: int, *, nonce: bool) -> bytes:
    """Return the check of an agent's request with a signature of its own. With a nonce it counts once."""
    url = f"{ORIGIN}/account/orders?page={number}"
    created_s = SystemClock().now_ms() // 1000
    headers = (
        ("Authorization", f"Bearer {secret}"),
        ("X-Original-Method", "GET"),
        ("X-Original-URL", url),
        # From a single address nobody may ask so often.
        ("X-Original-Address", _address(number)),
        ("Host", "127.0.0.1"),
        ("User-Agent", "ShoppingAgent/1.0"),
        ("Accept", "text/html"),
        *AGENT.headers("GET", url, created=created_s, expires=created_s + SIGNED_S, nonce=nonce).items(),
    )
    return _check(headers)


def _address(number: int) -> str:
    return f"203.{number // 65536 % 64}.{number // 256 % 256}.{number % 256}"


def _check(headers: tuple[tuple[str, str], ...]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"GET /v1/gateway/check HTTP/1.1\r\n{lines}\r\n".encode()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
