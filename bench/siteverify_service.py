"""The service that `bench.siteverify` measures: one worker, with tokens that it has issued.

`python -m bench.siteverify_service TOKENS ROUNDS CONNECTIONS` writes a script of wrk for each round into its data
folder, prints its port, and ends when its input does.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import httpx
import uvloop

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from agentgate.lib.telemetry import logs
from agentgate.server.application import Application
from agentgate.server.worker_tuning import tune_worker
from bench.prepared import script_once
from tests.minting import mint

SITE_KEY = "site_bench"
ORIGIN = "https://shop.example"
SITE = {
    "name": "Bench",
    "siteKey": SITE_KEY,
    "allowedOrigins": [ORIGIN],
    "actions": {"login": {"browserRequired": True}},
}
TOKEN_S = 3600


async def main(tokens: int, rounds: int, connections: int) -> None:
    """Start, issue, say where, and serve until nobody listens any more."""
    logs.configure("json", "warning")
    settings = read_settings(os.environ)
    application = await Application.open(settings)
    await application.start()
    secret = await _open_site(application)
    for number in range(rounds):
        now_ms = SystemClock().now_ms()
        requests = (
            _request(
                secret,
                mint(application.signing_keys, SITE_KEY, now_ms=now_ms, lifetime_s=TOKEN_S),
                f"r{number}-{each}",
            )
            for each in range(tokens)
        )
        (Path(settings.data_dir) / f"requests-{number}.lua").write_text(script_once(requests, connections=connections))
    # As a worker does.
    tune_worker()
    print(application.public_address[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await application.close()


def _request(secret: str, token: str, request_id: str) -> bytes:
    fields = {"token": token, "expectedAction": "login", "expectedOrigin": ORIGIN, "requestId": request_id}
    payload = json.dumps(fields).encode()
    head = (
        "POST /v1/siteverify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {secret}\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


async def _open_site(application: Application) -> str:
    key = {"X-Admin-Key": os.environ["AGENTGATE_ADMIN_KEY"]}
    host, port = application.admin_address
    async with httpx.AsyncClient(base_url=f"http://{host}:{port}", headers=key) as operator:
        (await operator.post("/v1/admin/sites", json=SITE)).raise_for_status()
        made = await operator.post(f"/v1/admin/sites/{SITE_KEY}/credentials", json={"name": "bench"})
        return str(made.raise_for_status().json()["secret"])


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:])))
