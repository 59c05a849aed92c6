"""The receipts that this process has accepted, until they expire. Bounded: raises an error when it is full."""

import heapq
import threading
from dataclasses import dataclass

from agentgate_client.results import Verified


class SpentFull(Exception):  # noqa: N818 - says what it is
    """There is no room to remember another receipt, so another one cannot be accepted."""


@dataclass(frozen=True, slots=True)
class Spent:
    """One receipt that was accepted."""

    expires_s: float
    verified: Verified


class SpentReceipts:
    """Receipt IDs with what they were accepted as. Thread-safe."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._by_id: dict[str, Spent] = {}
        self._by_expiry: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._by_id)

    def find(self, receipt_id: str) -> Spent | None:
        """Return how a receipt was accepted; None when it was not."""
        return self._by_id.get(receipt_id)

    def add(self, receipt_id: str, spent: Spent, *, now_s: float) -> Spent:
        """Record a receipt and return the valid record: this one, or an earlier one. Of concurrent calls, one wins."""
        with self._lock:
            while self._by_expiry and self._by_expiry[0][0] <= now_s:
                self._by_id.pop(heapq.heappop(self._by_expiry)[1], None)
            earlier = self._by_id.get(receipt_id)
            if earlier is not None:
                return earlier
            if len(self._by_id) >= self._capacity:
                raise SpentFull
            self._by_id[receipt_id] = spent
            heapq.heappush(self._by_expiry, (spent.expires_s, receipt_id))
            return spent
