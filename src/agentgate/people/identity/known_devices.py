"""Known devices: a sealed cookie proves that this browser has signed in with this email address before.

The cookie does not sign its owner in. During an attack it exempts its owner from the limits on unknown devices
(`sign_in_limits`).
"""

import secrets

import msgspec
from msgspec import Struct

from agentgate.http.call import Call
from agentgate.http.replies import set_cookie
from agentgate.lib import base64url
from agentgate.lib.clock import DAY_MS, HOUR_MS, SECOND_MS
from agentgate.lib.keyring import KeysUnreadable, Sealer
from agentgate.lib.secrets import digest
from agentgate.people.identity.users import canonical_email

DEVICE_COOKIE_PREFIX = "ag_device_"
# Sign-in is at the API below /v1/account and, as a form, below /v1/pages: the path has to include both.
COOKIE_PATH = "/v1"
KNOWN_MS = 180 * DAY_MS
# A user with a reset link owns the mailbox but still has to enter a code. The device is known for the lifetime of a
# link. If it were known for longer, each further link would add a device to guess codes with.
BY_LINK_MS = HOUR_MS
DEVICE_ID_BYTES = 16
_MOST_CHARACTERS = 512
_CONTEXT = "known device"


class Device(Struct, frozen=True, array_like=True):
    """The content of a cookie: the device's ID, the address, and the end of validity."""

    id: str
    email_subject: str
    expires_ms: int


class KnownDevices:
    """Makes and reads the cookies. Each address has a separate cookie, so that people may share a browser."""

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer

    def find(self, call: Call, email: str) -> Device | None:
        """Return the device when it has signed in with this address before."""
        subject = email_subject(email)
        value = call.request.cookie(cookie_name(subject))
        device = None if value is None else self._open(value)
        if device is None or device.email_subject != subject or device.expires_ms <= call.now:
            return None
        return device

    def cookie(self, call: Call, email: str, *, lasts_ms: int = KNOWN_MS) -> tuple[str, str]:
        """Return the header that makes the browser a known device; one that is known keeps its ID and its counts."""
        known = self.find(call, email)
        subject = email_subject(email)
        expires_ms = max(call.now + lasts_ms, known.expires_ms if known else 0)
        device = Device(known.id if known else secrets.token_hex(DEVICE_ID_BYTES), subject, expires_ms)
        sealed = self._sealer.seal(msgspec.json.encode(device), _CONTEXT)
        return set_cookie(
            cookie_name(subject),
            base64url.encode(sealed),
            path=COOKIE_PATH,
            same_site="Lax",
            secure=call.request.secure,
            max_age_s=(expires_ms - call.now) // SECOND_MS,
        )

    def _open(self, value: str) -> Device | None:
        if len(value) > _MOST_CHARACTERS:
            return None
        try:
            sealed = base64url.decode(value)
            return msgspec.json.decode(self._sealer.open(sealed, _CONTEXT), type=Device)
        except (ValueError, KeysUnreadable):
            return None


def cookie_name(subject: str) -> str:
    """Return the name of the cookie for an address, given by its subject."""
    return DEVICE_COOKIE_PREFIX + subject[:8]


def email_subject(email: str) -> str:
    """Return the subject under which an address is counted: its digest."""
    # Hashed, because neither the counting store nor a cookie is a place for people's addresses.
    return digest(canonical_email(email)).hex()
