"""A connection that defers data while a loop iteration has no time for it (`loop_budget.py`).

Deferred data was not read yet, so it is handled as if it had arrived later; data that follows is queued behind it.
"""

from abc import abstractmethod

from agentgate.http.connection.deadlines import TimedConnection
from agentgate.http.request_guard import MAX_HEADER_BYTES, MAX_TARGET_BYTES

# More data is not one request header block, or not one that is accepted.
MOST_BYTES = MAX_TARGET_BYTES + MAX_HEADER_BYTES


class DeferringConnection(TimedConnection):
    """Defers one request, or the part of it that has arrived."""

    __slots__ = ()

    @abstractmethod
    def _take(self, data: bytes) -> None:
        """Handle data that has arrived."""

    def data_received(self, data: bytes) -> None:
        if self._deferred_data:
            # It follows the deferred data; nothing more needs to be read until that is handled.
            self._deferred_data += data
            self.flow.pause_reading()
        elif self._state.budget.is_over():
            self._defer(data)
        else:
            self._take(data)

    def _defer(self, data: bytes) -> None:
        """Keep the data until there is time."""
        if len(data) > MOST_BYTES:
            self._take(data)
            return
        self._deferred_data = data
        if data.startswith(self._state.refusable):
            self._state.budget.enqueue(self)
        else:
            self._state.budget.defer(self)

    def _give_way(self, rest: bytes) -> None:
        """Keep the rest of the data until other connections had their turn."""
        self._deferred_data = rest
        self.flow.pause_reading()
        self._state.budget.give_way(self)

    def resume(self) -> None:
        """Handle the deferred data; none is left if the connection has ended."""
        data, self._deferred_data = self._deferred_data, b""
        self.flow.resume_reading()
        self._take(data)
