"""Opaque cursors. A cursor is good for the one route, site and set of filters that issued it, and cannot be forged."""

import msgspec

from agentgate.lib import base64url
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
        cursor = base64url.encode(tag + payload)
        if len(cursor) > _MAX_CURSOR:
            # Better found here than on the request for the second page.
            raise ValueError("the position is too long for a cursor")
        return cursor

    def read(self, cursor: str) -> Position:
        """Return the position; reject a cursor that was not issued here."""
        tag, payload = _split(cursor)
        if not self._keyring.is_mac(tag, "cursor", *self._scope, payload):
            raise _refusal()
        return msgspec.json.decode(payload, type=tuple[int | str, ...])


def _split(cursor: str) -> tuple[bytes, bytes]:
    if len(cursor) > _MAX_CURSOR:
        raise _refusal()
    try:
        raw = base64url.decode(cursor)
    except ValueError:
        raise _refusal() from None
    return raw[:SHORTEST_TAG], raw[SHORTEST_TAG:]


def _refusal() -> Refused:
    return Refused(
        "invalid_cursor", "cursor is not from this route with these filters. Send the nextCursor of the previous page."
    )
