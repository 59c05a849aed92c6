"""The instrument: a program for one challenge whose result a real browser finds, and the check of that result.

The same draw writes the program and computes its result, so checking costs no more than generating, and neither runs
JavaScript. Pure and deterministic. The seed is enough to compute the result: it must not leave the service.
"""

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from agentgate.browser_check.instrument.document import DocumentAccess, native_objects
from agentgate.browser_check.instrument.draw import Piece, ProgramState, ProgramStep, RandomChoices
from agentgate.browser_check.instrument.language import LANGUAGE
from agentgate.browser_check.instrument.state import WORDS, Maker, avalanche
from agentgate.browser_check.instrument.values import VALUES, truth
from agentgate.browser_check.instrument.worker import worker_facts


def arranged(maker: Maker, steps: Sequence[ProgramStep]) -> list[ProgramStep]:
    """Arrange statements that come one after the other."""
    found: list[ProgramStep] = []
    left = list(steps)
    while left:
        size = min(len(left), maker.draw.between(1, 4))
        group, left = left[:size], left[size:]
        found.append(maker.draw.pick(MANY if size > 1 else SINGLE)(maker, group))
    return found


def _row(_: Maker, steps: Sequence[ProgramStep]) -> ProgramStep:
    return ProgramStep("".join(step.script for step in steps), _run(steps))


def _machine(maker: Maker, steps: Sequence[ProgramStep]) -> ProgramStep:
    """Each statement is a case of a switch in a loop; one case is never reached."""
    draw = maker.draw
    at = draw.name()
    numbers = draw.some(range(1, 200), len(steps) + 1)
    unused = numbers.pop()
    cases = [
        f"case {draw.literal(number)}:{step.script}{at}={following};{draw.pick(('break', 'continue'))};"
        for number, following, step in zip(numbers, [*numbers[1:], 0], steps, strict=True)
    ]
    cases.append(f"case {unused}:{_noise(maker)}{at}={draw.pick(numbers)};break;")
    script = f"for(let {at}={draw.literal(numbers[0])};{at};)switch({at}){{{''.join(draw.shuffled(cases))}}}"
    return ProgramStep(script, _run(steps))


def _branch(maker: Maker, steps: Sequence[ProgramStep]) -> ProgramStep:
    """Statements behind a condition that holds in every engine."""
    body = "".join(step.script for step in steps)
    condition, noise = truth(maker.draw), _noise(maker)
    if maker.draw.below(2):
        return ProgramStep(f"if({condition}){{{body}}}else{{{noise}}}", _run(steps))
    return ProgramStep(f"if(!({condition})){{{noise}}}else{{{body}}}", _run(steps))


def _labelled(maker: Maker, steps: Sequence[ProgramStep]) -> ProgramStep:
    """A block that is left before its end."""
    label = maker.draw.name()
    body = "".join(step.script for step in steps)
    return ProgramStep(f"{label}:{{{body}if({truth(maker.draw)})break {label};{_noise(maker)}}}", _run(steps))


def _called(maker: Maker, steps: Sequence[ProgramStep]) -> ProgramStep:
    """Put statements into a separate function."""
    return ProgramStep(f"{maker.call(''.join(step.script for step in steps))};", _run(steps))


def _repeated(maker: Maker, steps: Sequence[ProgramStep]) -> ProgramStep:
    """Statements that run several times."""
    index, times = maker.draw.name(), maker.draw.between(2, 3)
    body = "".join(step.script for step in steps)
    return ProgramStep(f"for(let {index}={times};{index}--;){{{body}}}", _run(list(steps) * times))


def _run(steps: Sequence[ProgramStep]) -> Callable[[ProgramState], None]:
    runs = [step.run for step in steps]

    def run(state: ProgramState) -> None:
        for each in runs:
            each(state)

    return run


def _noise(maker: Maker) -> str:
    """A statement that is never reached."""
    name, _ = maker.read()
    return f"{maker.round(name)[0]};"


SINGLE: Final = (_row, _branch, _labelled, _called, _repeated)
MANY: Final = (_row, _machine, _machine, _branch, _labelled, _called, _repeated)


# How many pieces of each kind a program has: enough for hundreds of branches, small enough for 6 KB.
MOST_PIECES: Final = 3
# No piece is added where those before it took as many characters.
LANGUAGE_ROOM: Final = 320
VALUE_ROOM: Final = 200


@dataclass(frozen=True, slots=True)
class InstrumentAnswer:
    """The results that the program reported: from the page, and from the worker if there was one."""

    page: str
    worker: str | None = None


def make_program(seed: bytes, challenge_id: str) -> str:
    """Return the text of a classic script; it calls `globalThis["agentgate:" + challengeId]` once with its result."""
    if not challenge_id.replace("_", "").replace("-", "").isalnum() or not challenge_id.isascii():
        raise ValueError("a challenge's id has letters, digits, hyphens and underscores only")
    # The leading semicolon ends whatever script this one was appended to.
    return f';globalThis["agentgate:{challenge_id}"](({make_function(seed, challenge_id)})());\n'


def make_function(seed: bytes, challenge_id: str) -> str:
    """Return the program as a function expression that returns its result and refers to nothing around it."""
    return _drawn(seed, challenge_id).function()


def check_answer(seed: bytes, challenge_id: str, answer: InstrumentAnswer) -> bool:
    """Return whether the result is right. A page without a worker has no worker's part; an empty one is wrong."""
    right = right_answer(seed, challenge_id)
    page = _is_same(right.page, answer.page)
    worker = answer.worker is None or _is_same(right.worker or "", answer.worker)
    return page and worker


def right_answer(seed: bytes, challenge_id: str) -> InstrumentAnswer:
    """Compute the result of a real browser, for the check and for tests."""
    return _drawn(seed, challenge_id).answer()


@dataclass(frozen=True, slots=True)
class _Program:
    maker: Maker
    page: DocumentAccess
    where: str
    page_start: list[int]
    worker_start: list[int]
    shared: list[ProgramStep]
    in_page: list[ProgramStep]
    in_worker: list[ProgramStep]
    end: list[ProgramStep]

    def answer(self) -> InstrumentAnswer:
        page, worker = list(self.page_start), list(self.worker_start)
        for step in (*self.shared, *self.in_page, *self.end):
            step.run(page)
        for step in (*self.shared, *self.in_worker, *self.end):
            step.run(worker)
        return InstrumentAnswer(page=_hex(page), worker=_hex(worker))

    def function(self) -> str:
        maker, where = self.maker, self.where
        error = maker.draw.name()
        start = maker.start(self.page_start, self.worker_start, where)
        body = (
            f"{maker.runtime()}{start}{maker.declared()}{_joined(self.shared)}"
            f"if({where}){{{self.page.runtime()}{self.page.declared()}{_joined(self.in_page)}}}"
            f"else{{{_joined(self.in_worker)}}}{_joined(self.end)}{maker.written()}"
        )
        return (
            f'()=>{{"use strict";const {where}=typeof document!="undefined";'
            f'try{{return(()=>{{{body}}})()}}catch({error}){{return"failed"}}}}'
        )


def _drawn(seed: bytes, challenge_id: str) -> _Program:
    draw = RandomChoices(b"agentgate instrument 1\0" + len(seed).to_bytes(2, "big") + seed + challenge_id.encode())
    maker = Maker(draw)
    page = DocumentAccess(maker)
    pieces = _fitting(maker, [partial(make, maker) for make in draw.some(LANGUAGE, MOST_PIECES)], LANGUAGE_ROOM)
    pieces += _fitting(maker, [partial(make, maker) for make in draw.some(VALUES, MOST_PIECES)], VALUE_ROOM)
    shared, in_worker = _mixed(maker, pieces), _mixed(maker, [worker_facts(maker)])
    with page.hoisting():
        in_page = _mixed(maker, [native_objects(page)])
    return _Program(
        maker=maker,
        page=page,
        where=draw.name(),
        page_start=[draw.word() for _ in range(WORDS)],
        worker_start=[draw.word() for _ in range(WORDS)],
        shared=shared,
        in_page=in_page,
        in_worker=in_worker,
        end=avalanche(maker),
    )


def _fitting(maker: Maker, makers: Sequence[Callable[[], Piece]], room: int) -> list[Piece]:
    """Make one piece after the other while there is room."""
    pieces: list[Piece] = []
    for make in makers:
        if room > 0:
            declared = len(maker.hoisted)
            pieces.append(make())
            room -= len(pieces[-1].script) + sum(map(len, maker.hoisted[declared:]))
    return pieces


def _mixed(maker: Maker, pieces: Sequence[Piece]) -> list[ProgramStep]:
    return arranged(maker, [maker.mixed(piece) for piece in maker.draw.shuffled(pieces)])


def _joined(steps: Sequence[ProgramStep]) -> str:
    return "".join(step.script for step in steps)


def _hex(state: ProgramState) -> str:
    return "".join(f"{word:08x}" for word in state[:WORDS])


def _is_same(right: str, given: str) -> bool:
    return hmac.compare_digest(right.encode(), given.encode("utf-8", "surrogatepass"))
