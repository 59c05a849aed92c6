"""`python -m bench.guesses`: the share of guesses that pass the memory-hard proof of work, and the cost of a token.

Both depend on the share of puzzles that a client solves. "One attempt" is the earlier rule: two puzzles checked, and a
wrong solution ended the challenge. "Redrawn" is that rule with four attempts. "Now" is measured with the service's own
check.
"""

from collections.abc import Iterator

from msgspec import Struct

from agentgate.browser_check.records import Work
from agentgate.browser_check.work import DRAWN, SCRYPT, is_solved, scrypt_answer

SHARES = (0.0, 0.25, 0.5, 0.6, 0.75, 0.9, 1.0)
ATTEMPTS, EARLIER_DRAWN = 4, 2
# Small puzzles: the draw depends on their number alone.
PUZZLES, BITS, CHALLENGES = 128, 2, 2_000


class Guesses(Struct, frozen=True):
    """One row: the shares that pass, for a client that solves `solved` of the puzzles and tries all attempts."""

    solved: float
    one_attempt: float
    redrawn: float
    now: float
    # Puzzles solved for each token, as a share of all puzzles. The client solves the rest after a wrong solution.
    cost: float


def measure(challenges: int = CHALLENGES) -> Iterator[Guesses]:
    """Yield a row for each share."""
    work = Work(algorithm=SCRYPT, salt="9f86d081884c7d659a2feaa0c55ad015", count=PUZZLES, bits=BITS)
    answers = [scrypt_answer(work, index) for index in range(work.count)]
    for solved in SHARES:
        number = round(solved * work.count)
        guess = [*answers[:number], *[0] * (work.count - number)]
        passed = sum(_passes(work, guess, seed.to_bytes(16, "big")) for seed in range(challenges))
        once = solved**EARLIER_DRAWN
        yield Guesses(
            solved,
            one_attempt=once,
            redrawn=1 - (1 - once) ** ATTEMPTS,
            now=passed / challenges,
            cost=solved + (1 - solved**DRAWN) * (1 - solved),
        )


def _passes(work: Work, guess: list[int], seed: bytes) -> bool:
    return any(is_solved(work, guess, seed, attempt=attempt) for attempt in range(1, ATTEMPTS + 1))


def main() -> None:
    """Print the table."""
    print("| Solved | One attempt | Four, redrawn | Now | Work for a token now |\n| ---: | ---: | ---: | ---: | ---: |")
    for row in measure():
        print(f"| {row.solved:.0%} | {row.one_attempt:.1%} | {row.redrawn:.1%} | {row.now:.1%} | {row.cost:.2f} |")


if __name__ == "__main__":
    main()
