"""Decision IDs: 63-bit integers in the order of time, unique over all workers, written `dec_` and 13 characters.

Milliseconds since EPOCH_MS, then ten bits of worker, then twelve that count within the millisecond. So a range of time
is a range of IDs, a cursor is an ID, and the day of an event needs no column.
"""

import functools
import re

from agentgate.lib.clock import DAY_MS, Clock

EPOCH_MS = 1_700_000_000_000
TIME_SHIFT = 22
WORKERS = 1 << 10
_WORKER_SHIFT = 12
_LAST_COUNT = (1 << _WORKER_SHIFT) - 1
# From the last ID of a millisecond to the first of the next one, by the same worker.
_AFTER_FULL = (1 << TIME_SHIFT) - _LAST_COUNT
LARGEST_ID = (1 << 63) - 1

# Crockford's alphabet: no i, l, o, u.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_DIGITS = {character: value for value, character in enumerate(_ALPHABET)}
# Two characters for each ten bits: every check at the gateway writes an ID.
_PAIRS = tuple(high + low for high in _ALPHABET for low in _ALPHABET)
_ENCODED_PAIRS = tuple(map(str.encode, _PAIRS))
_FIRST = tuple(f"dec_{digit}" for digit in _ALPHABET[:8])
_TEXT = re.compile(r"dec_([0-7][0-9a-hjkmnp-tv-z]{12})\Z")


class DecisionIds:
    """Creates the IDs of one worker. IDs are unique even if the clock stops or runs backward."""

    __slots__ = ("_clock", "_last", "_worker")

    def __init__(self, clock: Clock, worker: int | None = None) -> None:
        self._clock = clock
        self._worker: int | None = None
        self._last = 0
        if worker is not None:
            self.worker = worker

    @property
    def worker(self) -> int | None:
        """The worker's number; None until it has one."""
        return None if self._worker is None else self._worker >> _WORKER_SHIFT

    @worker.setter
    def worker(self, number: int) -> None:
        if not 0 <= number < WORKERS:
            raise ValueError(f"a worker's number must be between 0 and {WORKERS - 1}")
        if self._worker != number << _WORKER_SHIFT:
            self._worker = number << _WORKER_SHIFT
            # The millisecond of what it made last, under another number, counts as full.
            self._last = self._last >> TIME_SHIFT << TIME_SHIFT | self._worker | _LAST_COUNT

    def next(self) -> int:
        """Return a new ID, greater than every earlier one of this worker."""
        return self.next_at(self._clock.now_ms())

    def next_at(self, now_ms: int) -> int:
        """Return a new ID of a moment that has just been read off the clock."""
        assert self._worker is not None, "a worker without a number cannot create IDs"
        made = now_ms - EPOCH_MS << TIME_SHIFT | self._worker
        if made <= self._last:
            # The same millisecond, or the clock went back. One more than a millisecond holds is borrowed from the next
            # one, which time will catch up with.
            is_full = self._last & _LAST_COUNT == _LAST_COUNT
            made = self._last + (_AFTER_FULL if is_full else 1)
        self._last = made
        return made


def first_id(time_ms: int) -> int:
    """Return the least ID of a moment: `first_id(from) <= id < first_id(to)` is a range of time."""
    return min(max(time_ms - EPOCH_MS, 0) << TIME_SHIFT, LARGEST_ID)


def id_time_ms(decision: int) -> int:
    return (decision >> TIME_SHIFT) + EPOCH_MS


def id_day(decision: int) -> int:
    """Return the UTC day on which an ID was made, in days since 1970."""
    return id_time_ms(decision) // DAY_MS


# A denial writes its ID for the seal, the page and the headers.
@functools.lru_cache(maxsize=64)
def write_id(decision: int) -> str:
    """Return the form that goes over the wire."""
    pairs = _PAIRS
    return (
        f"{_FIRST[decision >> 60]}{pairs[decision >> 50 & 1023]}{pairs[decision >> 40 & 1023]}"
        f"{pairs[decision >> 30 & 1023]}{pairs[decision >> 20 & 1023]}{pairs[decision >> 10 & 1023]}"
        f"{pairs[decision & 1023]}"
    )


def encode_id(decision: int) -> bytes:
    """Return the same as bytes."""
    return _encode_first(decision >> 20) + _ENCODED_PAIRS[decision >> 10 & 1023] + _ENCODED_PAIRS[decision & 1023]


# Most of many decisions come within a millisecond after another one, and this part of their IDs is the same.
@functools.lru_cache(maxsize=64)
def _encode_first(rest: int) -> bytes:
    return _encode_start(rest >> 10) + _ENCODED_PAIRS[rest & 1023]


# This part is the same for about 250 ms.
@functools.lru_cache(maxsize=64)
def _encode_start(rest: int) -> bytes:
    return write_id(rest << 30)[:-6].encode()


def read_id(text: str) -> int | None:
    """Return the ID, or None for text that no decision ever had."""
    match = _TEXT.match(text)
    if match is None:
        return None
    number = 0
    for character in match[1]:
        number = number << 5 | _DIGITS[character]
    return number
