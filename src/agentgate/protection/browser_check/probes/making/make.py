"""Making a pool: every browser at every zoom runs all programs; what all agree on is kept."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from agentgate.protection.browser_check.probes.engines import ENGINES
from agentgate.protection.browser_check.probes.generate import Program, family_of, make_program
from agentgate.protection.browser_check.probes.making.browsers import Browser
from agentgate.protection.browser_check.probes.making.choose import AGREEMENT, agreed, by_engine, widened
from agentgate.protection.browser_check.probes.making.collect import Run, RunFailed, collect
from agentgate.protection.browser_check.probes.pool import Answer, AnsweredProgram, Pool

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
                tell(f"left out: {error}")
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
        answers: Mapping[str, Answer] | None = {"": together} if together is not None else None
        if answers is None and apart:
            answers = by_engine(program, runs, number)
        if answers is not None:
            kept[number] = AnsweredProgram(number, family_of(number), answers)
    return Pool(seed=seed, made=made, seen=_seen({}, runs), programs=kept)


def join(pool: Pool, runs: Sequence[Run], numbers: Sequence[int]) -> Pool:
    """Return the pool without what these runs of other browsers answer otherwise, knowing their versions too."""
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
    """Return programs by their numbers."""
    return [make_program(seed, number) for number in numbers]


def _is_near(one: Answer, other: Answer) -> bool:
    # Nearer than judging asks for, so that small differences of other machines have room too.
    room = AGREEMENT * 3 // 4
    return len(one) == len(other) and all(abs(a - b) <= room for a, b in zip(one, other, strict=True))


def _seen(before: Mapping[str, Sequence[int]], runs: Iterable[Run]) -> dict[str, list[int]]:
    versions = {engine: set(before.get(engine, ())) for engine in ENGINES}
    for run in runs:
        if run.version is not None:
            versions[run.engine].add(run.version)
    return {engine: sorted(found) for engine, found in versions.items()}
