"""Opaque cursors. A cursor is good for the one route, site and set of filters that issued it, and cannot be forged."""

import base64
import binascii

import msgspec

from agentgate.lib.errors import Refused
from agentgate.lib.keyring import SHORTEST_TAG, Keyring

_MAX_CURSOR = 512

Position = tuple[int | str, ...]


class Cursors:
    """Issues and reads the cursors of one route for one scope: the caller's account, the site, the filters."""

    def __init__(self, keyring: Keyring, route: str, *scope: str) -> None:
        self._keyring = keyring
        self._scope = tuple(part.encode() for part in (route, *scope))

    def issue(self, position: Position) -> str:
        """Return a cursor that points behind the given position."""
        payload = msgspec.json.encode(position)
        tag = self._keyring.mac("cursor", *self._scope, payload)[:SHORTEST_TAG]
        cursor = base64.urlsafe_b64encode(tag + payload).decode().rstrip("=")
        if len(cursor) > _MAX_CURSOR:
            # Better found here than on the request for the second page.
            raise ValueError("the position is too long for a cursor")
        return cursor

    def read(self, cursor: str) -> Position:
        """Return the position, or refuse a cursor that was not issued here."""
        tag, payload = _split(cursor)
        if not self._keyring.is_mac(tag, "cursor", *self._scope, payload):
            raise _refusal()
        return msgspec.json.decode(payload, type=tuple[int | str, ...])


def _split(cursor: str) -> tuple[bytes, bytes]:
    if len(cursor) > _MAX_CURSOR or not cursor.isascii():
        raise _refusal()
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _refusal() from None
    # One position has one spelling: trailing bits that base64 ignores would make a second one.
    if base64.urlsafe_b64encode(raw).decode().rstrip("=") != cursor:
        raise _refusal()
    return raw[:SHORTEST_TAG], raw[SHORTEST_TAG:]


def _refusal() -> Refused:
    return Refused("invalid_cursor", "cursor is not one that this route gave out for these filters.")
