"""Creating a pool: every browser at every zoom runs all programs; programs on which all runs agree are kept.

Every run is compared with all others at once: the kept result is in the middle of theirs, so that no run differs from
it by more than 50% of the tolerance in judging.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from agentgate.browser_check.probes.engines import ENGINES
from agentgate.browser_check.probes.generate import (
    FILL_POINTS,
    HIT_POINTS,
    PATH_LENGTHS,
    Program,
    family_of,
    make_program,
)
from agentgate.browser_check.probes.pool import LARGEST, SMALLEST, AnsweredProgram, Pool, PoolAnswer
from agentgate_tools.probe_making.browsers import Browser, Run, RunFailed, collect

# In 1/16 px: judging allows half a pixel to either side.
AGREEMENT = 8
# So far from a point no edge may lie, or a screen with another pixel ratio would see the other side.
MARGIN = 0.75
SHIFTS = ((MARGIN, 0), (-MARGIN, 0), (0, MARGIN), (0, -MARGIN))
PATH_NUMBERS = 4 + 1 + 2 * PATH_LENGTHS
LEAST_BOXES_HIT = 3
LEAST_NUMBERS = 3


def widened(program: Program) -> Program:
    """Return the program for the selection: if its results are bits, it also measures the points around each."""
    tree, measures = program
    kind = measures[0][0]
    if kind == "h":
        return [tree, [*measures, ["h", *_around(measures[0][1:])]]]
    if kind == "s":
        lengths = measures[0][: 2 + PATH_LENGTHS]
        return [tree, [*measures, [*lengths, *_around(measures[0][2 + PATH_LENGTHS :])]]]
    return program


def narrowed(program: Program, answer: Sequence[int]) -> PoolAnswer | None:
    """Return the result of the program itself; None if an edge is close to a point."""
    kind = program[1][0][0]
    if kind == "h":
        own = tuple(answer[:HIT_POINTS])
        return own if _is_steady(own, answer[HIT_POINTS:]) else None
    if kind == "s":
        whole = PATH_NUMBERS + FILL_POINTS
        own = tuple(answer[:whole])
        around = answer[whole + PATH_NUMBERS :]
        return own if _is_steady(own[PATH_NUMBERS:], around) else None
    return tuple(answer)


def agreed(program: Program, runs: Iterable[Run], place: int) -> PoolAnswer | None:
    """Return the result on which all runs agree; None if they do not, or if the result proves nothing."""
    answers = []
    for run in runs:
        given = run.answers[place]
        own = narrowed(program, given) if given else None
        if own is None:
            return None
        answers.append(own)
    middle = middle_of(answers)
    return middle if middle is not None and says_something(program, middle) else None


def by_engine(program: Program, runs: Sequence[Run], place: int) -> Mapping[str, PoolAnswer] | None:
    """Return a result for each engine, if only the engines differ from each other."""
    answers = {
        engine: agreed(program, [run for run in runs if run.engine == engine], place)
        for engine in {run.engine for run in runs}
    }
    found = {engine: answer for engine, answer in answers.items() if answer is not None}
    return found if len(found) == len(answers) else None


def middle_of(answers: Sequence[PoolAnswer]) -> PoolAnswer | None:
    """Return the middle of results that are within the tolerance of each other."""
    if not answers or len({len(answer) for answer in answers}) != 1:
        return None
    middle = []
    for numbers in zip(*answers, strict=True):
        least, most = min(numbers), max(numbers)
        if most - least > AGREEMENT or least < SMALLEST or most > LARGEST:
            return None
        middle.append((least + most) // 2)
    return tuple(middle)


def says_something(program: Program, answer: PoolAnswer) -> bool:
    """Return whether a client needs a layout engine to get this result."""
    if program[1][0][0] == "h":
        return len(set(answer)) >= LEAST_BOXES_HIT
    told = {number for number in answer if abs(number) > AGREEMENT}
    return len(told) >= min(LEAST_NUMBERS, len(answer)) and len(answer) >= LEAST_NUMBERS


def _around(points: Sequence[float]) -> list[float]:
    pairs = list(zip(points[::2], points[1::2], strict=True))
    return [part for x, y in pairs for right, down in SHIFTS for part in (x + right, y + down)]


def _is_steady(own: Sequence[int], around: Sequence[int]) -> bool:
    several = len(SHIFTS)
    return len(around) == several * len(own) and all(
        around[several * place + shift] == value for place, value in enumerate(own) for shift in range(several)
    )


ZOOMS = (1.0, 1.25, 0.67, 1.5, 0.9, 1.1)

Report = Callable[[str], None]


def run_all(
    browsers: Iterable[Browser], zooms: Iterable[float], programs: Sequence[Program], tell: Report
) -> list[Run]:
    """Run programs in each browser at each zoom, one after the other; say how each went."""
    asked = [widened(program) for program in programs]
    wanted = tuple(zooms)
    runs = []
    for browser in browsers:
        for zoom in wanted:
            start = time.monotonic()
            try:
                run = collect(browser, zoom, asked)
            except RunFailed as error:
                tell(f"skipped: {error}")
                continue
            version = "" if run.version is None else f" {run.version}"
            tell(f"{run.engine}{version} at zoom {zoom:g}: {time.monotonic() - start:.0f} s")
            runs.append(run)
    return runs


def choose(seed: bytes, programs: Sequence[Program], runs: Sequence[Run], *, made: str, apart: bool = False) -> Pool:
    """Return the pool of the programs that all runs agree on; with `apart` also those where only engines differ."""
    kept = {}
    for number, program in enumerate(programs):
        together = agreed(program, runs, number)
        answers: Mapping[str, PoolAnswer] | None = {"": together} if together is not None else None
        if answers is None and apart:
            answers = by_engine(program, runs, number)
        if answers is not None:
            kept[number] = AnsweredProgram(number, family_of(number), answers)
    return Pool(seed=seed, made=made, seen=_seen({}, runs), programs=kept)


def join(pool: Pool, runs: Sequence[Run], numbers: Sequence[int]) -> Pool:
    """Return the pool with only the programs that these other browsers' runs confirm; add the browsers' versions."""
    kept = {}
    for place, number in enumerate(numbers):
        known = pool.programs[number]
        program = make_program(pool.seed, number)
        fits = True
        for engine in {run.engine for run in runs}:
            answer, mine = (
                known.answer_of(engine),
                agreed(program, [run for run in runs if run.engine == engine], place),
            )
            fits = fits and answer is not None and mine is not None and _is_near(answer, mine)
        if fits:
            kept[number] = known
    return msgspec.structs.replace(pool, seen=_seen(pool.seen, runs), programs=kept)


def programs_of(seed: bytes, numbers: Iterable[int]) -> list[Program]:
    return [make_program(seed, number) for number in numbers]


def _is_near(one: PoolAnswer, other: PoolAnswer) -> bool:
    # Nearer than judging asks for, so that small differences of other machines have room too.
    room = AGREEMENT * 3 // 4
    return len(one) == len(other) and all(abs(a - b) <= room for a, b in zip(one, other, strict=True))


def _seen(before: Mapping[str, Sequence[int]], runs: Iterable[Run]) -> dict[str, list[int]]:
    versions = {engine: set(before.get(engine, ())) for engine in ENGINES}
    for run in runs:
        if run.version is not None:
            versions[run.engine].add(run.version)
    return {engine: sorted(found) for engine, found in versions.items()}
