"""Creation of each kind of identifier, and parsing of visitors' identifiers. IDs are never secrets."""

import re
import secrets
from collections.abc import Iterator
from functools import partial

_LOWER_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
# How many request IDs are drawn at once.
_REQUEST_IDS = 128
# Crockford's: no i, l, o, u.
_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
# A visitor: 16 lower-case hex digits on the wire, an unsigned 64-bit number inside, signed in a database.
_VISITOR = re.compile(r"[0-9a-f]{16}\Z", re.ASCII)


def _hex_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(8)}"


def _crockford_id(prefix: str) -> str:
    # 26 digits hold 130 bits; the first is therefore below 8.
    number = secrets.randbits(128)
    return f"{prefix}_" + "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


# An ID for each kind of thing: a prefix that tells the kind, then random digits.
new_site_id = partial(_hex_id, "st")
new_credential_id = partial(_hex_id, "cred")
new_fleet_id = partial(_hex_id, "flt")
new_account_id = partial(_hex_id, "acc")
new_user_id = partial(_hex_id, "usr")
# A session as listed to its owner. The cookie contains another value.
new_session_id = partial(_hex_id, "ses")
new_passkey_id = partial(_hex_id, "pk")
# An API token. Its secret is another value, and so is the secret of an appeal's link.
new_api_token_id = partial(_hex_id, "tok")
new_appeal_id = partial(_hex_id, "apl")
new_suggestion_id = partial(_hex_id, "sug")
new_access_request_id = partial(_hex_id, "req")
new_message_id = partial(_hex_id, "msg")
new_webhook_id = partial(_hex_id, "whk")
# One delivery to a webhook; all its attempts carry the same.
new_delivery_id = partial(_hex_id, "whd")
# An advance permission of a person for an agent.
new_agent_grant_id = partial(_hex_id, "agr")
new_list_entry_id = partial(_hex_id, "lst")
new_challenge_id = partial(_crockford_id, "ch")
# The `jti` of a receipt: what is spent when it is redeemed.
new_receipt_id = partial(_crockford_id, "rcp")
new_handoff_id = partial(_crockford_id, "ho")


def new_site_key() -> str:
    """Return a site key, which pages and agents will send."""
    return "site_" + "".join(secrets.choice(_LOWER_BASE36) for _ in range(16))


def new_request_id() -> str:
    """Return an ID that ties one HTTP request to its log lines."""
    return secrets.token_hex(8)


def draw_request_ids() -> Iterator[str]:
    """Yield request IDs, drawn many at a time: a system call for each would be a large part of a response's cost."""
    while True:
        drawn = secrets.token_hex(8 * _REQUEST_IDS)
        for start in range(0, len(drawn), 16):
            yield drawn[start : start + 16]


def read_visitor(text: str) -> int | None:
    """Return a visitor's number, or None for text that no visitor ever had."""
    return int(text, 16) if _VISITOR.match(text) else None


def write_visitor(visitor: int) -> str:
    """Return the form of a visitor's number that goes over the wire."""
    return f"{visitor:016x}"
