"""How each kind of identifier is made. IDs name things; they are never secrets."""

import secrets
from collections.abc import Iterator

_LOWER_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
# How many request IDs are drawn at once.
_REQUEST_IDS = 128
# Crockford's: no i, l, o, u.
_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"


def _hex_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(8)}"


def _crockford_id(prefix: str) -> str:
    # 26 digits hold 130 bits; the first is therefore below 8.
    number = secrets.randbits(128)
    return f"{prefix}_" + "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


def new_site_id() -> str:
    """Return an ID for a site."""
    return _hex_id("st")


def new_site_key() -> str:
    """Return a site key, which pages and agents will send."""
    return "site_" + "".join(secrets.choice(_LOWER_BASE36) for _ in range(16))


def new_credential_id() -> str:
    """Return an ID for a backend credential."""
    return _hex_id("cred")


def new_account_id() -> str:
    """Return an ID for a customer account."""
    return _hex_id("acc")


def new_session_id() -> str:
    """Return an ID for a session, as listed to its owner. What the cookie carries is another value."""
    return _hex_id("ses")


def new_user_id() -> str:
    """Return an ID for a user."""
    return _hex_id("usr")


def new_api_token_id() -> str:
    """Return an ID for an API token. Its secret is another value."""
    return _hex_id("tok")


def new_access_request_id() -> str:
    """Return an ID for somebody's request for an account."""
    return _hex_id("req")


def new_message_id() -> str:
    """Return an ID for a message in the outbox."""
    return _hex_id("msg")


def new_webhook_id() -> str:
    """Return an ID for a webhook."""
    return _hex_id("whk")


def new_delivery_id() -> str:
    """Return an ID for one delivery to a webhook; all its attempts carry the same."""
    return _hex_id("whd")


def new_challenge_id() -> str:
    """Return an ID for a challenge of the browser check."""
    return _crockford_id("ch")


def new_receipt_id() -> str:
    """Return the `jti` of a receipt: what is spent when it is redeemed."""
    return _crockford_id("rcp")


def new_handoff_id() -> str:
    """Return an ID for a handoff from an agent to a person."""
    return _crockford_id("ho")


def new_agent_grant_id() -> str:
    """Return an ID for what a person allowed an agent beforehand."""
    return _hex_id("agr")


def new_list_entry_id() -> str:
    """Return an ID for an entry of a site's lists."""
    return _hex_id("lst")


def new_appeal_id() -> str:
    """Return an ID for an appeal. The secret of its link is another value."""
    return _hex_id("apl")


def new_request_id() -> str:
    """Return an ID that ties one HTTP request to its log lines."""
    return secrets.token_hex(8)


def draw_request_ids() -> Iterator[str]:
    """Yield such IDs, for whoever needs many: asking the system for each costs as much as a fair part of an answer."""
    while True:
        drawn = secrets.token_hex(8 * _REQUEST_IDS)
        for start in range(0, len(drawn), 16):
            yield drawn[start : start + 16]
