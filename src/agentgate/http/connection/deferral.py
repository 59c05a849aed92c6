"""A connection that puts off what arrived when the turn of the loop has no time for it (`loop_budget.py`).

Nothing of it was looked at before, so that it is handled as if it had arrived later; what follows it waits behind it.
"""

from abc import abstractmethod

from agentgate.http.connection.deadlines import TimedConnection
from agentgate.http.request_guard import MAX_HEADER_BYTES, MAX_TARGET_BYTES

# More is not the head of a request, or not of one that would be taken.
MOST_BYTES = MAX_TARGET_BYTES + MAX_HEADER_BYTES


class PuttingOff(TimedConnection):
    """Waits with one request, or with what there is of it."""

    @abstractmethod
    def _take(self, data: bytes) -> None:
        """Handle what has arrived."""

    def data_received(self, data: bytes) -> None:
        if self._put_off_data:
            # It belongs behind that, and nothing else need come.
            self._put_off_data += data
            self.flow.pause_reading()
        elif self._state.turn.is_over():
            self._put_off(data)
        else:
            self._take(data)

    def _put_off(self, data: bytes) -> None:
        """Wait until there is time."""
        if len(data) > MOST_BYTES:
            self._take(data)
            return
        self._put_off_data = data
        if data.startswith(self._state.refusable):
            self._state.turn.hold(self)
        else:
            self._state.turn.delay(self)

    def go_on(self) -> None:
        """Handle what was put off. Where the connection has ended meanwhile, nothing is."""
        data, self._put_off_data = self._put_off_data, b""
        self.flow.resume_reading()
        self._take(data)
