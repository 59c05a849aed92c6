"""The longest lifetime that a live token may have, kept in a file in the data folder, outside of every database.

When the setting is lowered, earlier tokens stay valid for a while. A restore in that time must refuse them too.
"""

from pathlib import Path

import msgspec
import structlog
from msgspec import Struct

from agentgate.lib.clock import SECOND_MS

NAME = "token-lifetime.mark"


class _Lifetime(Struct, frozen=True):
    seconds: int
    # When the last token with a lifetime that is no longer set has expired; 0 while it is set.
    until_ms: int = 0


def longest_lifetime_s(folder: Path, token_seconds: int, now_ms: int) -> int:
    """Return the longest lifetime of tokens that may be live now, and note it for later starts."""
    path = folder / NAME
    try:
        noted = msgspec.json.decode(path.read_bytes(), type=_Lifetime)
    except (OSError, msgspec.MsgspecError):
        noted = _Lifetime(0)
    longest = _Lifetime(token_seconds)
    if noted.seconds > token_seconds and (not noted.until_ms or now_ms < noted.until_ms):
        longest = _Lifetime(noted.seconds, noted.until_ms or now_ms + noted.seconds * SECOND_MS)
    if longest != noted:
        try:
            path.touch(mode=0o600)
            path.write_bytes(msgspec.json.encode(longest))
        except OSError as failure:
            structlog.get_logger().warning("the lifetime of tokens cannot be noted", why=str(failure))
    return longest.seconds
