"""Work: many small puzzles, more of them for a suspicious visitor. A throttle, never the verdict."""

import hashlib
from collections.abc import Sequence
from enum import IntEnum

from msgspec import Struct

from agentgate.protection.browser_check.records import Work

ALGORITHM = "SHA-256"
SALT_BYTES = 16


class Level(IntEnum):
    """How much is asked. The numbers are stored; they never change their meaning."""

    USUAL = 0
    RAISED = 1
    HIGH = 2


class Amount(Struct, frozen=True):
    """So many puzzles of so many bits: on average `count * 2**bits` hashes."""

    count: int
    bits: int


# A slow phone makes some 250,000 hashes a second: the most, with the step-up's on top, stay below its five seconds.
AMOUNTS = {Level.USUAL: Amount(16, 10), Level.RAISED: Amount(32, 12), Level.HIGH: Amount(48, 14)}
STEP_UP_AMOUNT = Amount(32, 12)


def challenge_work(seed: bytes, level: Level) -> Work:
    """Return the puzzles that come with a challenge."""
    return _work(seed, b"challenge", AMOUNTS[level])


def step_up_work(seed: bytes) -> Work:
    """Return the puzzles that come with a challenge's step-up."""
    return _work(seed, b"step-up", STEP_UP_AMOUNT)


def is_solved(work: Work, solutions: Sequence[int]) -> bool:
    """Say whether every puzzle is solved. The time taken depends on the number of puzzles alone."""
    if len(solutions) != work.count:
        return False
    unsolved = 0
    for index, solution in enumerate(solutions):
        digest = hashlib.sha256(f"{work.salt}:{index}:{solution}".encode("ascii")).digest()
        unsolved |= int.from_bytes(digest[:4], "big") >> (32 - work.bits)
    return unsolved == 0


def _work(seed: bytes, purpose: bytes, amount: Amount) -> Work:
    salt = hashlib.blake2b(seed, digest_size=SALT_BYTES, person=purpose).hexdigest()
    return Work(algorithm=ALGORITHM, salt=salt, count=amount.count, bits=amount.bits)
