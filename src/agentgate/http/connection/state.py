"""The shared state of the connections of one listener: limits, counters, and the phases of a request."""

import resource
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from uvicorn.server import ServerState

from agentgate.http.connection.fast_functions import HotPaths, budget_of, taker_of

# How far the request that is now arriving has come. Plain numbers: in Python 3.11 reading a member of an enumeration
# costs as much as a small function, and this is read several times for every request.
BETWEEN: Final = 0
HEAD: Final = 1
BODY: Final = 2
# Files that a worker needs besides its connections: stores, logs, the other listener's share.
_OTHER_FILES = 128
_FEWEST = 16


def room_for_connections() -> int:
    """Return how many connections each of two listeners can have before the process may open no more files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return 1_000_000
    return max(_FEWEST, (soft - _OTHER_FILES) * 3 // 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """How long a client may take, and how much of the process it may hold."""

    header_deadline_s: float = 10.0
    body_deadline_s: float = 10.0
    keep_alive_s: float = 5.0
    write_stall_s: float = 30.0
    # A rejected client may still be sending; closing at once would reset the connection before it reads the response.
    linger_s: float = 1.0
    max_in_flight: int = 512
    # Each takes a file descriptor and some memory, whether it asks for anything or not.
    max_connections: int = 10_000
    max_pipelined: int = 64


class GateState(ServerState):
    """Counts and the current date, kept for all connections of one listener."""

    def __init__(self, hot_paths: HotPaths) -> None:
        super().__init__()
        self.date_line = b""
        # Responds to requests with this beginning as they arrive.
        self.take, self.taken = taker_of(hot_paths, b"GET")
        self.take_post, self.taken_posts = taker_of(hot_paths, b"POST")
        self.refused: dict[str, int] = {}
        self.shed = 0
        # Each connection closes after its next response.
        self.is_draining = False
        # Fast requests that wait for their response without a task.
        self.pending = 0
        # Idle connections to close for new ones, the idlest last, and when they were looked up.
        self.idlest: list[tuple[tuple[bool, bool, float], Any]] = []
        self.idlest_s = -inf
        # The loop iterations, and the beginnings of requests that may be rejected if an iteration has no time for them.
        self.budget, self.refusable = budget_of(hot_paths)

    def set_date(self, date: bytes) -> None:
        """Put the date on every response from now on."""
        self.default_headers = [(b"date", date)]
        self.date_line = b"date: %b\r\n" % date

    def count_refusal(self, code: str) -> None:
        """Count a rejected request. Codes come from a fixed set, so this cannot grow."""
        self.refused[code] = self.refused.get(code, 0) + 1
