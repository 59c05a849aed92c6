"""Codes of a second factor, as an authenticator app shows them."""

import base64
import time

from agentgate.people.identity.totp import code_of, step_at


def one_time_code(secret: str) -> str:
    """Return the code of an authenticator app now."""
    text = secret.replace(" ", "")
    return code_of(base64.b32decode(text + "=" * (-len(text) % 8)), step_at(int(time.time() * 1000)))
