"""Chains: nested boxes with percentages, whose last sub-pixel reveals the kind of engine. Modeled here, exactly.

Blink and WebKit count in 1/64 px, after the zoom, and cut off; Gecko counts in 1/60 px whatever the zoom, rounds
lengths and cuts off percentages. So a chain needs no table and has fresh numbers in each challenge. It shows which
engine the results come from, but not that an engine ran: a solver can compute them too.
"""

import math
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agentgate.browser_check.probes.dice import Dice
from agentgate.browser_check.probes.engines import GECKO
from agentgate.browser_check.probes.generate import Program

CHAINS = 3
LEAST_FITTING = 2
# Results are in 1/10000 px; engines hold positions as floats of 32 bits.
PLACES = 10_000
TOLERANCE = 16
LEAST_STEPS, MOST_STEPS = 4, 7
# At these zooms 1/64 px equals 1/60 px or a fraction of it, so that Blink may have the same results as Gecko: 0.9375 is
# 75% on a screen of 125%, 1.875 is 150% there.
ALIKE_ZOOMS = (0.9375, 1.875, 2.8125, 3.75)

_FLOAT = struct.Struct("f")


class BoxStep(NamedTuple):
    """A box inside the one before: `width`, `calc` or `margin`, by a percentage and a length."""

    kind: str
    percent: float
    px: float

    @property
    def css(self) -> str:
        if self.kind == "width":
            return f"width:{self.percent}%"
        if self.kind == "calc":
            return f"width:calc({self.percent}% - {self.px}px)"
        return f"margin:0 {self.px}px 0 {self.percent}%"


class Chain(NamedTuple):
    """Boxes inside a box with a width."""

    width: float
    steps: tuple[BoxStep, ...]

    @property
    def program(self) -> Program:
        """The program that measures every box."""
        tree: list[object] | str = self.steps[-1].css
        for step in reversed(self.steps[:-1]):
            tree = [step.css, tree]
        return [[f"width:{self.width}px", tree], [["e", box] for box in range(1, len(self.steps) + 1)]]


def draw_chains(seed: bytes) -> list[Chain]:
    return [_draw(Dice(seed, number, purpose=b"chain")) for number in range(CHAINS)]


def gecko_answer(chain: Chain) -> list[int]:
    return [round(value * PLACES) for value in _gecko(chain)]


def blink_answer(chain: Chain, zoom: float) -> list[int]:
    """Return the result of Blink and WebKit at a zoom, or at a screen's pixel ratio."""
    return [round(value * PLACES) for value in _blink(chain, zoom)]


def fits(expected: Sequence[int], answer: Sequence[int]) -> bool:
    """Return whether two results are equal, except for the last place of a float."""
    return len(expected) == len(answer) and all(
        abs(one - other) <= TOLERANCE for one, other in zip(expected, answer, strict=True)
    )


def is_mismatch(engine: str | None, chains: Sequence[Chain], answers: Sequence[Sequence[int] | None]) -> bool:
    """Return whether the results come from another engine than the claimed one.

    Gecko has the same results at every zoom: its results must fit, and the results of other engines must not. The
    results of Blink and WebKit depend on zoom and pixel ratio, and the list may lack some: they need not fit.
    """
    pairs = [(chain, answer) for chain, answer in zip(chains, answers, strict=True) if answer is not None]
    if engine is None or len(pairs) < CHAINS:
        return False
    is_gecko = sum(fits(gecko_answer(chain), answer) for chain, answer in pairs) >= LEAST_FITTING
    if not is_gecko or engine == GECKO:
        return is_gecko is not (engine == GECKO)
    return not any(all(fits(blink_answer(chain, zoom), answer) for chain, answer in pairs) for zoom in ALIKE_ZOOMS)


def _draw(dice: Dice) -> Chain:
    steps = tuple(_step(dice) for _ in range(dice.between(LEAST_STEPS, MOST_STEPS)))
    return Chain(dice.hundredths(20_000, 42_000), steps)


def _step(dice: Dice) -> BoxStep:
    kind = dice.pick(("width", "calc", "margin"))
    percent = dice.hundredths(300, 1500) if kind == "margin" else dice.hundredths(6000, 9700)
    return BoxStep(kind, percent, dice.hundredths(50, 900))


def _f32(value: float) -> float:
    packed: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    return packed


def _blink(chain: Chain, zoom: float) -> Iterator[float]:
    width, left = math.floor(_f32(_f32(chain.width) * zoom) * 64), 0
    for kind, percent, px in chain.steps:
        share = _f32(_f32(width / 64) * _f32(percent) / 100)
        length = _f32(_f32(px) * zoom)
        if kind == "width":
            width = math.floor(share * 64)
        elif kind == "calc":
            width = math.floor(_f32(share - length) * 64)
        else:
            margin = math.floor(share * 64)
            left += margin
            width -= margin + math.floor(length * 64)
        yield left / 64 / zoom
        yield width / 64 / zoom


def _gecko(chain: Chain) -> Iterator[float]:
    width, left = math.floor(chain.width * 60 + 0.5), 0
    for kind, percent, px in chain.steps:
        share = width * _f32(_f32(percent) / _f32(100))
        if kind == "width":
            width = math.trunc(share)
        elif kind == "calc":
            width = math.trunc(share - _f32(px) * 60)
        else:
            margin = math.trunc(share)
            left += margin
            width -= margin + math.floor(px * 60 + 0.5)
        yield left / 60
        yield width / 60
