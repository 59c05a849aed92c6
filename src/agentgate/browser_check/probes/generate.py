"""Programs: number n of a seed is always the same program. Pure; pools hold the engines' results.

A program is a tree of boxes and a list of steps and measures; `docs/contributing/detection-internals.md` explains the
measures.
"""

from collections.abc import Callable
from typing import Any

from agentgate.browser_check.probes.dice import Dice
from agentgate.browser_check.probes.layouts import (
    Box,
    count_boxes,
    deep_tree,
    float_tree,
    grid_tree,
    mixed_tree,
)

# Another generator creates other programs from the same seed: a pool names its generator.
GENERATOR = 1

DEEP = "deep"
SIMPLE = ("grid", "tracks", "mix", "floats", "hit", "anim", "svg")
FAMILIES = (DEEP, *SIMPLE)
CYCLE = 2 * len(SIMPLE)

DEEP_MEASURES = 4
SIMPLE_MEASURES = 3
HIT_POINTS = 6
FILL_POINTS = 8
PATH_LENGTHS = 3
HIT_WIDTH, HIT_HEIGHT = 240, 160
PATH_WIDTH, PATH_HEIGHT = 160, 120

ProgramMeasure = list[Any]
Program = list[Any]


def family_of(number: int) -> str:
    """Return the family of program number n: half of all are deep."""
    place = number % CYCLE
    return DEEP if place >= len(SIMPLE) else SIMPLE[place]


def make_program(seed: bytes, number: int) -> Program:
    """Return a program: its tree, and its measures."""
    return MAKERS[family_of(number)](Dice(seed, number))


def _deep(dice: Dice) -> Program:
    tree = deep_tree(dice)
    boxes = range(3, count_boxes(tree))
    animations = [_sizing(dice, box) for box in dice.some(boxes, 2)]
    late = boxes[-(-len(boxes) * 3 // 10) :]
    return [tree, [*animations, *(["r", box] for box in dice.some(late, DEEP_MEASURES))]]


def _sizing(dice: Dice, box: int) -> ProgramMeasure:
    """Return an animation of a box's size: the content after it moves too."""
    curve = ",".join(str(dice.hundredths(0, most)) for most in (100, 140, 100, 140))
    frames = {
        "width": [f"{dice.between(10, 60)}px", f"{dice.between(70, 140)}px"],
        "height": [f"{dice.between(4, 30)}px", f"{dice.between(31, 60)}px"],
        "easing": f"cubic-bezier({curve})",
    }
    return ["A", box, frames, {"duration": 1000, "fill": "both"}, dice.between(100, 900)]


def _rectangles(dice: Dice, tree: Box) -> Program:
    return [tree, [["r", box] for box in dice.some(range(1, count_boxes(tree)), SIMPLE_MEASURES)]]


def _tracks(dice: Dice) -> Program:
    return [grid_tree(dice, 0), [["c", 0, "grid-template-columns"], ["c", 0, "grid-template-rows"]]]


def _hit(dice: Dice) -> Program:
    boxes = [_target(dice, levels) for levels in (2, 1, 0)]
    points = [part for _ in range(HIT_POINTS) for part in (dice.between(8, 230), dice.between(8, 150))]
    return [[f"position:relative;width:{HIT_WIDTH}px;height:{HIT_HEIGHT}px", *boxes], [["h", *points]]]


def _target(dice: Dice, levels: int) -> Box:
    words = [
        f"position:absolute;left:{dice.between(-20, 160)}px;top:{dice.between(-10, 100)}px",
        f"width:{dice.between(30, 140)}px;height:{dice.between(20, 100)}px",
    ]
    if dice.hits(50):
        words.append(f"border-radius:{dice.between(5, 60)}px {dice.between(0, 50)}% {dice.between(0, 50)}px")
    if dice.hits(50):
        words.append(f"transform:rotate({dice.between(-180, 180)}deg) scale({dice.hundredths(50, 150)})")
    if dice.hits(50):
        words.append(f"z-index:{dice.between(-3, 5)}")
    if dice.hits(30):
        words.append(f"clip-path:{_clip(dice)}")
    if dice.hits(15):
        words.append("pointer-events:none")
    if dice.hits(20):
        words.append("overflow:hidden")
    css = ";".join(words)
    return [css, *(_target(dice, levels - 1) for _ in range(dice.between(1, 3)))] if levels else css


def _clip(dice: Dice) -> str:
    kind = dice.below(3)
    if kind == 0:
        return f"circle({dice.between(20, 70)}%)"
    if kind == 1:
        corners = (f"{dice.between(0, 100)}% {dice.between(0, 100)}%" for _ in range(dice.between(3, 6)))
        return f"polygon({','.join(corners)})"
    size = f"{dice.between(20, 60)}% {dice.between(20, 60)}%"
    return f"ellipse({size} at {dice.between(10, 90)}% {dice.between(10, 90)}%)"


def _anim(dice: Dice) -> Program:
    tree = ["width:200px", f"width:{dice.between(50, 90)}px;height:20px;transform:rotate(10deg)", "height:9px"]
    frames = [_frame(dice) for _ in range(dice.between(2, 4))]
    timing = {
        "duration": dice.between(100, 2000),
        "iterations": dice.hundredths(100, 400),
        "direction": dice.pick(("normal", "reverse", "alternate", "alternate-reverse")),
        "easing": _easing(dice),
        "delay": dice.between(-500, 500),
        "fill": "both",
    }
    return [tree, [["A", 1, frames, timing, dice.between(0, 4000)], ["r", 1], ["r", 2], ["r", 0]]]


def _frame(dice: Dice) -> dict[str, str]:
    move = f"translate({dice.between(-50, 50)}px,{dice.between(-50, 50)}px)"
    return {
        "transform": f"rotate({dice.between(-180, 180)}deg) {move}",
        "width": f"{dice.between(10, 200)}px" if dice.hits(50) else f"{dice.between(10, 90)}%",
        "height": f"{dice.between(5, 60)}px",
        "marginLeft": f"{dice.between(0, 99)}px",
        "easing": _easing(dice),
    }


def _easing(dice: Dice) -> str:
    kind = dice.below(4)
    if kind == 0:
        bounds = ((0, 100), (-100, 200), (0, 100), (-100, 200))
        curve = (dice.hundredths(least, most) for least, most in bounds)
        return f"cubic-bezier({','.join(map(str, curve))})"
    if kind == 1:
        return f"steps({dice.between(2, 9)},{dice.pick(('start', 'end'))})"
    return ("ease-in-out", "linear")[kind - 2]


def _svg(dice: Dice) -> Program:
    path = f"M{_point(dice)}{''.join(_segment(dice) for _ in range(dice.between(2, 4)))}{'Z' if dice.hits(50) else ''}"
    lengths = [dice.between(5, 200) for _ in range(PATH_LENGTHS)]
    points = [
        part
        for _ in range(FILL_POINTS)
        for part in (dice.hundredths(0, 100 * PATH_WIDTH), dice.hundredths(0, 100 * PATH_HEIGHT))
    ]
    return ["display:block", [["s", path, *lengths, *points]]]


def _point(dice: Dice) -> str:
    return f"{dice.hundredths(0, 100 * PATH_WIDTH)} {dice.hundredths(0, 100 * PATH_HEIGHT)}"


def _segment(dice: Dice) -> str:
    kind = dice.below(4)
    if kind == 3:
        turn = f"{dice.between(0, 180)} {dice.below(2)} {dice.below(2)}"
        return f"A{dice.between(10, 70)} {dice.between(10, 70)} {turn} {_point(dice)}"
    return ("L", "Q", "C")[kind] + " ".join(_point(dice) for _ in range(kind + 1))


MAKERS: dict[str, Callable[[Dice], Program]] = {
    DEEP: _deep,
    "grid": lambda dice: _rectangles(dice, grid_tree(dice, 1)),
    "tracks": _tracks,
    "mix": lambda dice: _rectangles(dice, mixed_tree(dice)),
    "floats": lambda dice: _rectangles(dice, float_tree(dice)),
    "hit": _hit,
    "anim": _anim,
    "svg": _svg,
}
