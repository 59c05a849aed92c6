"""A POST whose head came before: a hot function begins with it at once, and nothing of it is read twice.

What is not answered so goes the usual way, in `protocol.py`.
"""

import functools
from abc import abstractmethod
from math import inf

from agentgate.http.connection.deadlines import TimedConnection
from agentgate.http.connection.fast_functions import FAILED, Pending, Reply
from agentgate.http.connection.head_reader import KnownHead
from agentgate.http.connection.state import BETWEEN


class KnownPosts(TimedConnection):
    """A connection that begins with such a request and writes the answer when it is there."""

    @abstractmethod
    def _write(self, reply: Reply, *, with_body: bool, keep_alive: bool) -> None:
        """Write a whole answer."""

    def _begin(self, known: KnownHead, values: list[bytes], body: bytes) -> bool:
        """Let a hot function begin with a request; False when the usual way has to look at it."""
        state = self._state
        begin = state.beginners.get(known.hot_path)
        # Every POST that is known has a length. One that is not spelt as we would, the usual way looks at; and where
        # there is no room, it says so.
        if (
            begin is None
            or values[known.names.index(b"content-length")] != _written(len(body))
            or len(self.tasks) + state.pending >= self._limits.max_in_flight
        ):
            return False
        try:
            pending = begin(known, values, body)
        except Exception:
            self.logger.exception("a hot function failed")
            pending = Pending()
            pending.resolve(FAILED)
        if pending is None:
            return False
        self._is_first = False
        self._is_busy = True
        self._deadline = inf
        state.pending += 1
        pending.then(self._answer_begun)
        return True

    def _answer_begun(self, reply: Reply) -> None:
        self._state.pending -= 1
        self._is_busy = False
        self._write(reply, with_body=True, keep_alive=True)
        if self._waiting or self._is_draining or self._is_stopped or self._phase != BETWEEN or self.flow.read_paused:
            self._advance()
        else:
            # As that would, where nothing else has come.
            self._deadline = self.loop.time() + self._limits.keep_alive_s


# Bodies of one kind have a few lengths.
@functools.lru_cache(maxsize=1024)
def _written(length: int) -> bytes:
    return b"%d" % length
