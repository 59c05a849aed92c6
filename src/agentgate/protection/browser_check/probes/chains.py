"""Chains: boxes inside boxes with percentages, whose last sub-pixel tells the kind of engine. Modelled here, exactly.

Blink and WebKit count in 1/64 px, after the zoom, and cut off; Gecko counts in 1/60 px whatever the zoom, rounds
lengths and cuts off percentages. So a chain needs no table and has fresh numbers in each challenge. It says which
engine answers, and nothing about whether one was asked: the models are as short for everybody.
"""

import math
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agentgate.protection.browser_check.probes.dice import Dice
from agentgate.protection.browser_check.probes.engines import GECKO
from agentgate.protection.browser_check.probes.generate import Program

CHAINS = 3
LEAST_FITTING = 2
# Answers are in 1/10000 px; engines hold positions as floats of 32 bits.
PLACES = 10_000
TOLERANCE = 16
LEAST_STEPS, MOST_STEPS = 4, 7

_FLOAT = struct.Struct("f")


class Step(NamedTuple):
    """A box inside the one before: `width`, `calc` or `margin`, by a percentage and a length."""

    kind: str
    percent: float
    px: float

    @property
    def css(self) -> str:
        """The box's CSS."""
        if self.kind == "width":
            return f"width:{self.percent}%"
        if self.kind == "calc":
            return f"width:calc({self.percent}% - {self.px}px)"
        return f"margin:0 {self.px}px 0 {self.percent}%"


class Chain(NamedTuple):
    """Boxes inside a box with a width."""

    width: float
    steps: tuple[Step, ...]

    @property
    def program(self) -> Program:
        """The program that measures every box."""
        tree: list[object] | str = self.steps[-1].css
        for step in reversed(self.steps[:-1]):
            tree = [step.css, tree]
        return [[f"width:{self.width}px", tree], [["e", box] for box in range(1, len(self.steps) + 1)]]


def draw_chains(seed: bytes) -> list[Chain]:
    """Return the chains of a challenge."""
    return [_draw(Dice(seed, number, purpose=b"chain")) for number in range(CHAINS)]


def fits_gecko(chain: Chain, answer: Sequence[int]) -> bool:
    """Say whether Gecko gives this answer."""
    return _is_close(_gecko(chain), answer)


def fits_blink(chain: Chain, answer: Sequence[int], zoom: float) -> bool:
    """Say whether Blink or WebKit gives this answer at a zoom."""
    return _is_close(_blink(chain, zoom), answer)


def is_mismatch(engine: str | None, chains: Sequence[Chain], answers: Sequence[Sequence[int] | None]) -> bool:
    """Say whether the answers are those of another engine than the claimed one.

    Gecko answers alike at every zoom: a Gecko that does not fit is none, and who fits is no other. Blink and WebKit
    answer by their zoom and the screen's ratio, which may be one that nobody thought of: they need not fit.
    """
    pairs = [(chain, answer) for chain, answer in zip(chains, answers, strict=True) if answer is not None]
    if engine is None or len(pairs) < CHAINS:
        return False
    is_gecko = sum(fits_gecko(chain, answer) for chain, answer in pairs) >= LEAST_FITTING
    return is_gecko is not (engine == GECKO)


def _draw(dice: Dice) -> Chain:
    steps = tuple(_step(dice) for _ in range(dice.between(LEAST_STEPS, MOST_STEPS)))
    return Chain(dice.hundredths(20_000, 42_000), steps)


def _step(dice: Dice) -> Step:
    kind = dice.pick(("width", "calc", "margin"))
    percent = dice.hundredths(300, 1500) if kind == "margin" else dice.hundredths(6000, 9700)
    return Step(kind, percent, dice.hundredths(50, 900))


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


def _is_close(model: Iterator[float], answer: Sequence[int]) -> bool:
    expected = list(model)
    return len(expected) == len(answer) and all(
        abs(value * PLACES - given) <= TOLERANCE for value, given in zip(expected, answer, strict=True)
    )
