"""A GET whose head came before: a hot function that knows it answers from the values that change, and it is not read.

What is not answered so goes the usual way, in `protocol.py`.
"""

from abc import abstractmethod

from agentgate.http.connection.deadlines import TimedConnection
from agentgate.http.connection.fast_functions import FAILED, Reply
from agentgate.http.connection.head_reader import KnownHead
from agentgate.http.connection.state import BETWEEN


class KnownGets(TimedConnection):
    """A connection that asks whether somebody recognises such a request."""

    @abstractmethod
    def _write(self, reply: Reply, *, with_body: bool, keep_alive: bool) -> None:
        """Write a whole answer."""

    def _answer_recognised(self, known: KnownHead, values: list[bytes]) -> bool:
        """Answer a request on a connection that stays open; False when the usual way has to look at it."""
        state = self._state
        recognise = state.recognisers.get(known.hot_path)
        if recognise is None:
            return False
        try:
            reply = recognise(known, values)
        except Exception:
            self.logger.exception("a hot function failed")
            reply = FAILED
        if reply is None:
            return False
        if isinstance(reply, tuple):
            # As `_write` would, but for what cannot be: data does not come over a connection that is closing.
            state.total_requests += 1
            self.transport.write(state.date_line.join(reply))
        else:
            self._write(reply, with_body=True, keep_alive=True)
        # As `_set_deadline` would: nothing runs or waits, and no part of another request has come.
        self._is_first = False
        self._timed_phase = BETWEEN
        self._deadline = self.loop.time() + self._limits.keep_alive_s
        return True
