"""Proof of work: many small puzzles, more of them for a suspicious visitor. A throttle, never the verdict.

The usual level counts hashes. Raised and high levels need memory as well (scrypt), which native code solves hardly
faster than a browser. Checking such a puzzle costs as much as solving it, so the service checks a sample. The
challenge's secret seed orders the puzzles. The first attempt checks the first four, each further attempt four more: a
client that solves the share h passes with h to the fourth power, and the same solutions never pass a later attempt.
"""

import hashlib
import random
from collections.abc import Sequence
from enum import IntEnum

from msgspec import Struct

from agentgate.browser_check.records import Work

SHA_256, SCRYPT = "SHA-256", "scrypt"
SALT_BYTES = 16
ANSWER_BYTES = 4
# Each attempt checks so many more memory-hard puzzles.
DRAWN = 4


class WorkLevel(IntEnum):
    """Work levels. The numbers are stored, so they never change their meaning."""

    USUAL = 0
    RAISED = 1
    HIGH = 2


class WorkAmount(Struct, frozen=True):
    """The work: `count` puzzles of `2**bits` hashes on average (SHA-256), or `2**bits` blocks of 128 bytes (scrypt)."""

    algorithm: str
    count: int
    bits: int


# A slow phone makes some 250,000 hashes a second, or 140 memory-hard puzzles where it may run no WebAssembly: the
# most, with the step-up's on top, stay below its five seconds.
AMOUNTS = {
    WorkLevel.USUAL: WorkAmount(SHA_256, 16, 10),
    WorkLevel.RAISED: WorkAmount(SCRYPT, 128, 11),
    WorkLevel.HIGH: WorkAmount(SCRYPT, 448, 11),
}
# Of the interactive challenge: if the site requires it for all visitors, and if the evidence requires it.
STEP_UP_AMOUNT = WorkAmount(SCRYPT, 128, 11)
DOUBTFUL_AMOUNT = WorkAmount(SCRYPT, 192, 11)


def challenge_work(seed: bytes, level: WorkLevel) -> Work:
    """Return the puzzles that come with a challenge."""
    return _work(seed, b"challenge", AMOUNTS[level])


def step_up_work(seed: bytes, *, is_doubtful: bool) -> Work:
    """Return the puzzles that come with a challenge's step-up."""
    return _work(seed, b"step-up", DOUBTFUL_AMOUNT if is_doubtful else STEP_UP_AMOUNT)


def is_solved(work: Work, solutions: Sequence[int], seed: bytes, *, attempt: int = 1) -> bool:
    """Return whether the puzzles are solved. The time taken depends on their number and kind and the attempt alone."""
    if len(solutions) != work.count:
        return False
    if work.algorithm == SCRYPT:
        return sum(solutions[index] != scrypt_answer(work, index) for index in _drawn(work, seed, attempt)) == 0
    unsolved = 0
    for index, solution in enumerate(solutions):
        digest = hashlib.sha256(f"{work.salt}:{index}:{solution}".encode("ascii")).digest()
        unsolved |= int.from_bytes(digest[:4], "big") >> (32 - work.bits)
    return unsolved == 0


def _drawn(work: Work, seed: bytes, attempt: int) -> list[int]:
    """Return the puzzles to check. An attempt also checks the puzzles of the attempts before it."""
    secret = hashlib.blake2b(work.salt.encode("ascii"), key=seed, digest_size=SALT_BYTES, person=b"drawn").digest()
    order = random.Random(secret).sample(range(work.count), work.count)  # noqa: S311 - the seed is secret
    return order[: DRAWN * attempt]


def scrypt_answer(work: Work, index: int) -> int:
    """Return the solution of a memory-hard puzzle: about a millisecond, outside the interpreter's lock."""
    password = f"{work.salt}:{index}".encode("ascii")
    answer = hashlib.scrypt(password, salt=b"", n=1 << work.bits, r=1, p=1, dklen=32)
    return int.from_bytes(answer[:ANSWER_BYTES], "big")


def _work(seed: bytes, purpose: bytes, amount: WorkAmount) -> Work:
    salt = hashlib.blake2b(seed, digest_size=SALT_BYTES, person=purpose).hexdigest()
    return Work(algorithm=amount.algorithm, salt=salt, count=amount.count, bits=amount.bits)
