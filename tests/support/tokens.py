"""Tokens without a browser: signed with the keys of a service that runs here, or of one that runs as a process."""

import asyncio
from pathlib import Path
from typing import Any

from agentgate.browser_check.tokens.receipts import Grant, ReceiptIssuer, SigningKeys
from agentgate.lib.clock import SystemClock
from agentgate.lib.enums import ReceiptKind
from agentgate.lib.keyring import Keyring, Sealer, load_keys
from agentgate.lib.settings.schema import Settings, read_settings
from agentgate.server.secret_files import root_secret
from agentgate.server.stores.open import open_stores
from tests.support.processes import environment

ISSUER = "https://gate.example"
ORIGIN = "https://shop.example"
DECISION = "dec_0000000000000"
LIFETIME_S = 120


def mint(keys: SigningKeys, site_key: str, *, now_ms: int, lifetime_s: int = LIFETIME_S, **changes: Any) -> str:
    """Return a browser token for a site; `changes` are fields of the grant."""
    usual = {
        "site_key": site_key,
        "kind": ReceiptKind.BROWSER,
        "action": "login",
        "subject": "0123456789abcdef",
        "decision_id": DECISION,
        "origin": ORIGIN,
    }
    issuer = ReceiptIssuer(keys, issuer=ISSUER, lifetime_s=lifetime_s)
    return issuer.issue(Grant(**usual | changes), now_ms=now_ms).receipt


def keys_of_process(folder: Path, **settings: str) -> SigningKeys:
    """Return the keys of a service that was started in this folder with these settings."""
    return asyncio.run(_read_keys(read_settings(environment(folder, settings))))


async def _read_keys(settings: Settings) -> SigningKeys:
    clock = SystemClock()
    stores = await open_stores(settings, clock)
    try:
        now_ms = clock.now_ms()
        return SigningKeys(Keyring(await load_keys(stores.store, Sealer(root_secret(settings)), now_ms), now_ms))
    finally:
        await stores.close()
