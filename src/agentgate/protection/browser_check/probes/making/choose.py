"""Choosing: which programs all runs agree on, and the answer that is kept. Pure.

Every run is compared with all others at once: the kept answer lies in the middle, so that none is further from it than
half of what judging allows.
"""

from collections.abc import Iterable, Mapping, Sequence

from agentgate.protection.browser_check.probes.generate import FILL_POINTS, HIT_POINTS, PATH_LENGTHS, Program
from agentgate.protection.browser_check.probes.making.collect import Run
from agentgate.protection.browser_check.probes.pool import LARGEST, SMALLEST, Answer

# In 1/16 px: judging allows half a pixel to either side.
AGREEMENT = 8
# So far from a point no edge may lie, or a screen with another pixel ratio would see the other side.
MARGIN = 0.75
SHIFTS = ((MARGIN, 0), (-MARGIN, 0), (0, MARGIN), (0, -MARGIN))
PATH_NUMBERS = 4 + 1 + 2 * PATH_LENGTHS
LEAST_BOXES_HIT = 3
LEAST_NUMBERS = 3


def widened(program: Program) -> Program:
    """Return the program as it is asked while choosing: of bits, the points around each are asked too."""
    tree, measures = program
    kind = measures[0][0]
    if kind == "h":
        return [tree, [*measures, ["h", *_around(measures[0][1:])]]]
    if kind == "s":
        lengths = measures[0][: 2 + PATH_LENGTHS]
        return [tree, [*measures, [*lengths, *_around(measures[0][2 + PATH_LENGTHS :])]]]
    return program


def narrowed(program: Program, answer: Sequence[int]) -> Answer | None:
    """Return the answer to the program itself; None where an edge lies near a point."""
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


def agreed(program: Program, runs: Iterable[Run], place: int) -> Answer | None:
    """Return the answer that all runs agree on; None where they do not, or where it would say nothing."""
    answers = []
    for run in runs:
        given = run.answers[place]
        own = narrowed(program, given) if given else None
        if own is None:
            return None
        answers.append(own)
    middle = middle_of(answers)
    return middle if middle is not None and says_something(program, middle) else None


def by_engine(program: Program, runs: Sequence[Run], place: int) -> Mapping[str, Answer] | None:
    """Return an answer for each engine, where only the engines differ from each other."""
    answers = {
        engine: agreed(program, [run for run in runs if run.engine == engine], place)
        for engine in {run.engine for run in runs}
    }
    found = {engine: answer for engine, answer in answers.items() if answer is not None}
    return found if len(found) == len(answers) else None


def middle_of(answers: Sequence[Answer]) -> Answer | None:
    """Return the middle of answers that lie within the tolerance of each other."""
    if not answers or len({len(answer) for answer in answers}) != 1:
        return None
    middle = []
    for numbers in zip(*answers, strict=True):
        least, most = min(numbers), max(numbers)
        if most - least > AGREEMENT or least < SMALLEST or most > LARGEST:
            return None
        middle.append((least + most) // 2)
    return tuple(middle)


def says_something(program: Program, answer: Answer) -> bool:
    """Say whether an answer is one that nobody gets who lays out nothing."""
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
