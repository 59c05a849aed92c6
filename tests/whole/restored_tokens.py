"""Tokens from before and after a backup, and a restored service's decisions about them."""

import time

from tests.support.gateway import Gate, said
from tests.support.tokens import LIFETIME_S, mint

ALLOWED, USED = (204, "allow", "allowed"), (401, "challenge", "token_used")


def new_tokens(gate: Gate, count: int, *, age_s: float = 0, lifetime_s: int = LIFETIME_S) -> list[str]:
    keys, now_ms = gate.service.application.signing_keys, gate.service.clock.now_ms() - round(age_s * 1000)
    return [mint(keys, gate.site_key, now_ms=now_ms, lifetime_s=lifetime_s) for _ in range(count)]


def ask(gate: Gate, tokens: list[str]) -> set[tuple[int, str, str]]:
    """Return the decisions about the tokens, each sent from a different address."""
    return {
        said(gate.check("POST", "/login", X_AgentGate_Token=token, X_Original_Address=f"198.51.100.{number}"))
        for number, token in enumerate(tokens)
    }


def wait_for_new_tokens(gate: Gate, *, lifetime_s: int = LIFETIME_S) -> None:
    # A token's time is in whole seconds: a token from the second of the restore is blocked like earlier ones.
    deadline_s = time.monotonic() + 5
    while ask(gate, new_tokens(gate, 1, lifetime_s=lifetime_s)) != {ALLOWED}:
        assert time.monotonic() < deadline_s, "new tokens are refused"
        time.sleep(0.1)
