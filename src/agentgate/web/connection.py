"""What the connections of one listener agree on: their limits, the state they share, how far a request has come."""

import asyncio
import resource
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from uvicorn.server import ServerState

from agentgate.web.head_reader import HeadReader
from agentgate.web.hot_path import Beginner, Recogniser

# How far the request that is now arriving has come. Plain numbers: in Python 3.11 reading a member of an enumeration
# costs as much as a small function, and this is read several times for every request.
BETWEEN: Final = 0
HEAD: Final = 1
BODY: Final = 2
# Files that a worker needs beside its connections: stores, logs, the other listener's share.
_OTHER_FILES = 128
_FEWEST = 16
# More than this are answered in one turn of the loop only when there are very many connections.
AT_ONCE = 512


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
    # A refused client may still be sending; closing at once would reset the connection before it read the answer.
    linger_s: float = 1.0
    max_in_flight: int = 512
    # Each takes a file descriptor and some memory, whether it asks for anything or not.
    max_connections: int = 10_000
    max_pipelined: int = 64


class Resting(Protocol):
    """A connection of which nothing is read."""

    def wake(self) -> None:
        """Read again."""
        ...


class GateState(ServerState):
    """Counts and the current date, kept for all connections of one listener."""

    def __init__(
        self,
        recognisers: Mapping[bytes, Recogniser] | None = None,
        beginners: Mapping[bytes, Beginner] | None = None,
    ) -> None:
        super().__init__()
        self.date_line = b""
        self.heads = HeadReader()
        self.recognisers = recognisers or {}
        self.beginners = beginners or {}
        self.refused: dict[str, int] = {}
        self.shed = 0
        # Hot requests that wait for their answer without a task.
        self.pending = 0
        # Connections that are read again when the turn of the loop ends.
        self.resting: list[Resting] = []
        # From how many requests on they are asked whether they should rest.
        self.rest_from = AT_ONCE
        self._is_followed = False

    def set_date(self, date: bytes) -> None:
        """Put the date on every answer from now on."""
        self.default_headers = [(b"date", date)]
        self.date_line = b"date: %b\r\n" % date

    def is_turn_long(self) -> bool:
        """Say whether many requests were answered since anything but data had its turn. Asked from `rest_from` on.

        While data comes over a thousand connections, the loop looks for more of it tens of times over, and whoever asks
        again at once has an answer again and again, before any timer, task or commit.
        """
        if self._is_followed:
            return True
        self._is_followed = True
        self.rest_from = self.total_requests + AT_ONCE
        # Called when all data was handled that has arrived, and before any that arrives later.
        asyncio.get_running_loop().call_soon(self._end_turn)
        return False

    def _end_turn(self) -> None:
        self._is_followed = False
        self.rest_from = self.total_requests + AT_ONCE
        resting, self.resting = self.resting, []
        for connection in resting:
            connection.wake()

    def count_refusal(self, code: str) -> None:
        """Remember that a request was refused. Codes come from a fixed set, so this cannot grow."""
        self.refused[code] = self.refused.get(code, 0) + 1
