"""RateSharing: how workers that count the same visitors keep a limit together.

Each counts on its own and asks for what the others counted only where their sum may have reached a mark: a count at
which a decision changes. `RateBoard` does it in memory that the workers of a machine share, `RateExchange` over Redis.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from sys import maxsize

from msgspec import Struct

from agentgate.decision.rates.count_board import NOWHERE, BoardPlace
from agentgate.lib.clock import MINUTE_MS

# A visitor's key is a number, a network's is text.
Key = int | str

# Limit on the requests that all other workers together have counted but not yet sent, in percent of the highest mark.
MOST_UNTOLD_PERCENT = 3


class SharedCount(Struct, gc=False):
    """The requests of one visitor or network in one minute: this worker's own, and the others'."""

    key: Key = 0
    own: int = 0
    others: int = 0
    # In the minute before, by all workers.
    before: int = 0
    # From this own count on, the worker must call `ask` before it relies on the sum.
    ask_at: int = maxsize
    # The part of `own` that the other workers can know.
    told: int = 0
    # Of `RateExchange`: the newest total from Redis.
    total: int = 0
    # Of `RateBoard`: where the others find it.
    place: BoardPlace = NOWHERE

    def sum(self, rest_ms: int) -> int:
        """Return how many came within the last minute, in which so much of the minute before lies."""
        return self.own + self.others + self.before * rest_ms // MINUTE_MS


class RateSharing(ABC):
    """What others count too. `marks` are the counts at which a decision may change, in rising order."""

    def __init__(self, *, workers: int) -> None:
        # At least one other worker counts too, or there would be nothing to share. How many machines share a Redis is
        # unknown.
        self.workers = max(2, workers)

    def first_ask(self, marks: Sequence[int], before: int) -> int:
        """Return `ask_at` of a new count, where so many of the minute before may still matter."""
        return 1 if before else self._step(0, marks)

    @abstractmethod
    def ask(self, minute: int, count: SharedCount, *, rest_ms: int, marks: Sequence[int]) -> None:
        """Read the others' counts if these may have raised the sum to a mark, and set when to ask again."""

    @abstractmethod
    def finish(self, minute: int, count: SharedCount) -> None:
        """Tell the others what is left of a minute that has ended."""

    def _step(self, at: int, marks: Sequence[int]) -> int:
        """Return how many requests this worker may count on its own after the sum `at`.

        If each worker counts no more than its share of what is left to the next mark, they do not pass the mark
        together. If only one worker continues to count, what the others have not yet sent is within the bound.
        """
        most = marks[-1] * MOST_UNTOLD_PERCENT // 100 // (self.workers - 1)
        place = bisect_right(marks, at)
        part = -(-(marks[place] - at) // self.workers) if place < len(marks) else most
        return max(1, min(part, most))
