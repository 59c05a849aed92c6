"""How the statements of an instrument program are arranged: in a row, in a machine, in branches, in loops.

Each arrangement does to the state exactly what its statements do, whichever way it is written.
"""

from collections.abc import Callable, Sequence
from typing import Final

from agentgate.protection.browser_check.instrument.draw import ProgramStep, State
from agentgate.protection.browser_check.instrument.state import Maker
from agentgate.protection.browser_check.instrument.values import truth


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
    """Statements in a function of their own."""
    return ProgramStep(f"{maker.call(''.join(step.script for step in steps))};", _run(steps))


def _repeated(maker: Maker, steps: Sequence[ProgramStep]) -> ProgramStep:
    """Statements that run several times."""
    index, times = maker.draw.name(), maker.draw.between(2, 3)
    body = "".join(step.script for step in steps)
    return ProgramStep(f"for(let {index}={times};{index}--;){{{body}}}", _run(list(steps) * times))


def _run(steps: Sequence[ProgramStep]) -> Callable[[State], None]:
    runs = [step.run for step in steps]

    def run(state: State) -> None:
        for each in runs:
            each(state)

    return run


def _noise(maker: Maker) -> str:
    """A statement that is never reached."""
    name, _ = maker.read()
    return f"{maker.round(name)[0]};"


SINGLE: Final = (_row, _branch, _labelled, _called, _repeated)
MANY: Final = (_row, _machine, _machine, _branch, _labelled, _called, _repeated)
