"""`python -m bench.instrument`: the cost of an instrument program, compared with one HMAC-SHA-256.

An instrument program is generated and checked. Microseconds are CPU time, the median of alternating rounds.
"""

import hashlib
import hmac
import statistics
import time
import zlib
from collections.abc import Callable

from agentgate.browser_check.instrument.program import check_answer, make_program, right_answer

PROGRAMS = 100
ROUNDS = 9
HMACS = 5_000
CHALLENGE = "ch_01J0000000000000000000000"


def measure() -> dict[str, float]:
    """Return the measurements."""
    seeds = [number.to_bytes(16, "big") for number in range(PROGRAMS)]
    answers = [right_answer(seed, CHALLENGE) for seed in seeds]
    works: dict[str, tuple[int, Callable[[], object]]] = {
        "make_us": (PROGRAMS, lambda: [make_program(seed, CHALLENGE) for seed in seeds]),
        "check_us": (
            PROGRAMS,
            lambda: [check_answer(seed, CHALLENGE, answer) for seed, answer in zip(seeds, answers, strict=True)],
        ),
        "hmac_us": (HMACS, lambda: [hmac.new(seeds[0], seeds[1], hashlib.sha256).digest() for _ in range(HMACS)]),
    }
    rounds = [{name: _round_us(count, work) for name, (count, work) in works.items()} for _ in range(ROUNDS)]
    figures = {name: statistics.median(each[name] for each in rounds) for name in works}
    programs = [make_program(seed, CHALLENGE).encode() for seed in seeds]
    return {
        **figures,
        "check_ratio_to_hmac": figures["check_us"] / figures["hmac_us"],
        "median_bytes": statistics.median(map(len, programs)),
        "median_gzip_bytes": statistics.median(len(zlib.compress(program)) for program in programs),
    }


def _round_us(count: int, work: Callable[[], object]) -> float:
    started = time.process_time_ns()
    work()
    return (time.process_time_ns() - started) / 1000 / count


if __name__ == "__main__":
    for figure, value in measure().items():
        print(f"{figure:<22}{value:>10.2f}")
