"""Time-based one-time codes (RFC 6238), pure: SHA-1, 30 seconds, 6 digits. Spending them is not here."""

import base64
import hmac
from urllib.parse import quote, urlencode

from agentgate.lib.clock import SECOND_MS

STEP_MS = 30 * SECOND_MS
DIGITS = 6
SECRET_BYTES = 20
# A code of the step before or after is taken too: clocks of phones differ, and typing takes time.
WINDOW_STEPS = 1
ISSUER = "AgentGate"


def step_at(now_ms: int) -> int:
    """Return the number of the time step that a moment falls into."""
    return now_ms // STEP_MS


def code_of(secret: bytes, step: int, *, digits: int = DIGITS) -> str:
    tag = hmac.digest(secret, step.to_bytes(8, "big"), "sha1")
    offset = tag[-1] & 0x0F
    number = int.from_bytes(tag[offset : offset + 4], "big") & 0x7FFF_FFFF
    return str(number % 10**digits).zfill(digits)


def matching_step(secret: bytes, code: str, now_ms: int) -> int | None:
    """Return the newest step within the window whose code this is, or None."""
    present = step_at(now_ms)
    matching = None
    # Compare every step, so that the time taken does not reveal the matching one.
    for step in range(max(0, present - WINDOW_STEPS), present + WINDOW_STEPS + 1):
        if hmac.compare_digest(code_of(secret, step).encode(), code.encode("utf-8", "surrogatepass")):
            matching = step
    return matching


def secret_text(secret: bytes) -> str:
    """Return the secret as people type it into an authenticator."""
    return base64.b32encode(secret).decode().rstrip("=")


def otpauth_url(secret: bytes, email: str) -> str:
    """Return the URL that an authenticator reads from a picture."""
    parameters = {
        "secret": secret_text(secret),
        "issuer": ISSUER,
        "algorithm": "SHA1",
        "digits": DIGITS,
        "period": STEP_MS // SECOND_MS,
    }
    return f"otpauth://totp/{ISSUER}:{quote(email, safe='')}?{urlencode(parameters, quote_via=quote)}"
