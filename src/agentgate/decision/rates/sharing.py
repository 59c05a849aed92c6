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

# How many requests all other workers together may have counted and not told, in hundredths of the highest mark.
MOST_UNTOLD_PERCENT = 3


class SharedCount(Struct, gc=False):
    """The requests of one visitor or network in one minute: this worker's own, and the others'."""

    key: Key = 0
    own: int = 0
    others: int = 0
    # In the minute before, by all workers.
    before: int = 0
    # From which count of its own on this worker has to `ask` before it relies on the sum.
    ask_at: int = maxsize
    # How many of its own the others can know of.
    told: int = 0
    # Of `RateExchange`: the newest answer.
    total: int = 0
    # Of `RateBoard`: where the others find it.
    place: BoardPlace = NOWHERE

    def sum(self, rest_ms: int) -> int:
        """Return how many came within the last minute, in which so much of the minute before lies."""
        return self.own + self.others + self.before * rest_ms // MINUTE_MS


class RateSharing(ABC):
    """What others count too. `marks` are the counts at which a decision may change, in rising order."""

    def __init__(self, *, workers: int) -> None:
        # Somebody else counts too, or there would be nothing to share; how many machines share a Redis is not known.
        self.workers = max(2, workers)

    def first_ask(self, marks: Sequence[int], before: int) -> int:
        """Return `ask_at` of a new count, where so many of the minute before may still matter."""
        return 1 if before else self._step(0, marks)

    @abstractmethod
    def ask(self, minute: int, count: SharedCount, *, rest_ms: int, marks: Sequence[int]) -> None:
        """Learn what the others counted, if they can have made the sum reach a mark, and say when to ask again."""

    @abstractmethod
    def finish(self, minute: int, count: SharedCount) -> None:
        """Tell the others what is left of a minute that has ended."""

    def _step(self, at: int, marks: Sequence[int]) -> int:
        """Return how many this worker may count on its own after the sum `at`.

        If each worker counts no more than its part of what is left to the next mark, they do not pass it together. And
        what some have not told yet, while one goes on alone, stays within the bound.
        """
        most = marks[-1] * MOST_UNTOLD_PERCENT // 100 // (self.workers - 1)
        place = bisect_right(marks, at)
        part = -(-(marks[place] - at) // self.workers) if place < len(marks) else most
        return max(1, min(part, most))
