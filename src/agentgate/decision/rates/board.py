"""RateBoard: rates over all workers of a machine, in shared memory. Nothing is sent, and nothing can fail."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from agentgate.decision.rates.count_board import NOWHERE, PART_BYTES, BoardPlace, CountBoard
from agentgate.decision.rates.sharing import RateSharing, SharedCount

# Lowest count that is worth an entry. A smaller count, times the workers, is still below every mark.
SHARED_FROM = 4
# So few requests of one worker, times the workers, are far from every mark.
FEW = 32
# Below that, what is left of a minute when it ends may stay unknown to the others.
FINISHED_FROM = 32


class RateBoard(RateSharing):
    """Counts on a board by minute. `secret` keeps visitors from choosing networks whose entries push out others."""

    def __init__(self, board: CountBoard, *, secret: bytes, workers: int) -> None:
        super().__init__(workers=workers)
        self._board = board
        self._secret = secret

    def first_ask(self, marks: Sequence[int], before: int) -> int:
        return min(SHARED_FROM, self._step(before, marks))

    def ask(self, minute: int, count: SharedCount, *, rest_ms: int, marks: Sequence[int]) -> None:
        """Write what this worker counted, and read what all did."""
        total, before = self._board.sums(self._tell(minute, count))
        own = count.own
        # Less than was known, if an entry was overwritten.
        count.others = max(count.others, total - own)
        count.before = max(count.before, before)
        # Models use low rates too. Even far below the marks, read the others' counts each time the own count has grown
        # by half.
        if own * self.workers < FEW and (own + count.others + count.before) * 2 < marks[0]:
            count.ask_at = own + (own >> 1 or 1)
        else:
            count.ask_at = own + min(own >> 2 or 1, self._step(count.sum(rest_ms), marks))

    def finish(self, minute: int, count: SharedCount) -> None:
        if count.own >= FINISHED_FROM:
            self._tell(minute, count)

    def _tell(self, minute: int, count: SharedCount) -> BoardPlace:
        place = count.place
        if place is NOWHERE:
            key = count.key
            place = count.place = self._board.find(key if isinstance(key, int) else self._hash(key), minute)
        self._board.add(place, count.own - count.told)
        count.told = count.own
        return place

    def _hash(self, network: str) -> int:
        return int.from_bytes(blake2b(network.encode(errors="replace"), digest_size=8, key=self._secret).digest())


class SharedBoards(NamedTuple):
    """The counts of visitors that the workers of a machine share."""

    rates: RateBoard
    # Allowed pages, by visitor.
    pages: CountBoard


def board_bytes(workers: int) -> int:
    """Return how much memory the boards of so many workers take."""
    return 2 * workers * PART_BYTES


def open_boards(memory: memoryview, *, own: int, secret: bytes) -> SharedBoards:
    """Return the boards in a memory of that size, as the worker with the number `own` uses them."""
    half = len(memory) // 2
    rates, pages = (CountBoard(part, own=own) for part in (memory[:half], memory[half:]))
    return SharedBoards(RateBoard(rates, secret=secret, workers=half // PART_BYTES), pages)
