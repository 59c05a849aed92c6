"""Trees of boxes: every layout inside every other. Only words of CSS that have not changed for years.

A box is its CSS alone, or a list of its CSS and its children. Nested flex boxes have a definite basis and may shrink to
nothing: their intrinsic size is where engines changed. No glyphs: `font-size:0` comes from the host.
"""

from collections.abc import Callable, Iterator
from typing import Any

from agentgate.browser_check.probes.dice import Dice

Box = Any
LEAST_BOXES, MOST_BOXES = 12, 36
DEEP_LEVELS = 4
MIX_LEVELS = 3
# Tuned so that one tree in two or three has the right size.
ENDING_PERCENT = 65
LEAST_MIXED, MOST_MIXED = 6, 22


def count_boxes(box: Box) -> int:
    """Return how many boxes a tree has."""
    return 1 if isinstance(box, str) else 1 + sum(map(count_boxes, box[1:]))


def styled(box: Box, css: str) -> Box:
    """Return the tree with more CSS at its root; a later declaration wins."""
    if not css:
        return box
    return f"{box};{css}" if isinstance(box, str) else [f"{box[0]};{css}", *box[1:]]


def deep_tree(dice: Dice) -> Box:
    """Return a large tree with computed lengths."""
    while True:
        tree = _deep(dice, DEEP_LEVELS)
        if LEAST_BOXES <= count_boxes(tree) <= MOST_BOXES:
            return styled(tree, f"width:{dice.between(200, 460)}px")


def grid_tree(dice: Dice, levels: int) -> Box:
    """Return a grid with grids inside."""
    return styled(_plain_grid(dice, levels), _size(dice))


def mixed_tree(dice: Dice) -> Box:
    """Return a tree of flex, grid, floats and positions with plain lengths."""
    while True:
        tree = _mixed(dice, MIX_LEVELS)
        if LEAST_MIXED <= count_boxes(tree) <= MOST_MIXED:
            return styled(tree, _size(dice))


def float_tree(dice: Dice) -> Box:
    """Return floats next to blocks, with margins and clearance."""
    children = [_float(dice, 1 if dice.hits(30) else 0) for _ in range(dice.between(4, 8))]
    return [f"display:flow-root;width:{dice.between(150, 320)}px", *children]


def _size(dice: Dice) -> str:
    height = f";height:{dice.between(100, 300)}px" if dice.hits(50) else ""
    return f"width:{dice.between(180, 420)}px{height}"


def _px(dice: Dice, least: int, most: int) -> str:
    return f"{dice.between(least, most)}px"


def _length(dice: Dice, least: int, most: int) -> str:
    kind = dice.below(4)
    if kind == 0:
        return f"calc({dice.between(2, 20)}% + {_px(dice, least // 2, most // 2)})"
    if kind == 1:
        return f"clamp({_px(dice, least, least + 8)},{dice.between(10, 60)}%,{_px(dice, most, most + 30)})"
    return _px(dice, least, most)


def _leaf(dice: Dice) -> Box:
    padding = ";box-sizing:border-box;padding:2px 5px" if dice.hits(15) else ""
    return f"width:{_length(dice, 10, 60)};height:{_px(dice, 6, 40)}{padding}"


def _plain_leaf(dice: Dice) -> Box:
    return f"width:{_px(dice, 8, 70)};height:{_px(dice, 5, 40)}"


def _words(dice: Dice) -> Box:
    words = [
        f"display:inline-block;vertical-align:top;width:{_px(dice, 10, 50)};height:{_px(dice, 4, 20)}"
        for _ in range(dice.between(2, 5))
    ]
    return ["display:block", *words]


def _deep(dice: Dice, levels: int) -> Box:
    if not levels:
        return _words(dice) if dice.hits(25) else _leaf(dice)
    make = dice.pick(DEEP_KINDS)
    extra = ""
    if dice.hits(12):
        move = f"translate({_px(dice, -9, 9)},{dice.between(-30, 30)}%) scale({dice.hundredths(60, 130)})"
        extra += f";transform:{move}"
    if dice.hits(10):
        extra += f";min-height:{_px(dice, 10, 40)}"
    return styled(make(dice, levels), extra[1:])


def _inside(dice: Dice, levels: int, least: int = 1, most: int = 3) -> Iterator[Box]:
    """Draw the children. The first is as deep as allowed; most others are leaves."""
    for place in range(dice.between(least, most)):
        yield _deep(dice, 0 if place and dice.hits(ENDING_PERCENT) else levels - 1)


def _row(dice: Dice, levels: int) -> Box:
    align = dice.pick(("stretch", "center", "flex-end"))
    css = f"display:flex;gap:{_px(dice, 0, 6)};padding:{_px(dice, 0, 6)};align-items:{align}"
    return [
        css,
        *(
            styled(box, f"flex:{dice.between(0, 2)} {dice.between(0, 1)} {_px(dice, 20, 110)};min-width:0")
            for box in _inside(dice, levels, 2)
        ),
    ]


def _wrapped_rows(dice: Dice, levels: int) -> Box:
    align = dice.pick(("flex-start", "stretch"))
    css = f"display:flex;flex-wrap:wrap;gap:{_px(dice, 1, 7)} {_px(dice, 1, 7)};align-content:{align}"
    return [
        css,
        *(
            styled(box, f"flex:{dice.between(0, 2)} 0 {_px(dice, 30, 110)};min-width:0")
            for box in _inside(dice, levels, 2, 4)
        ),
    ]


def _grid(dice: Dice, levels: int) -> Box:
    tracks = " ".join(_deep_track(dice) for _ in range(dice.between(2, 3)))
    flow = dice.pick(("row", "dense"))
    css = f"display:grid;grid-template-columns:{tracks};gap:{_px(dice, 0, 6)};grid-auto-flow:{flow}"
    return [css, *(styled(box, _cell(dice)) for box in _inside(dice, levels, 2, 4))]


def _deep_track(dice: Dice) -> str:
    plain = f"minmax({_px(dice, 10, 40)},1fr)", _px(dice, 20, 60)
    return dice.pick(("1fr", "2fr", "auto", "min-content", "minmax(0,2fr)", *plain))


def _cell(dice: Dice) -> str:
    words = []
    if dice.hits(25):
        words.append("grid-column:span 2")
    if dice.hits(15):
        words.append("grid-row:span 2")
    if dice.hits(20):
        words.append("justify-self:end")
    return ";".join(words)


def _positioned(dice: Dice, levels: int) -> Box:
    inner = _deep(dice, levels - 1)
    edges = f"left:{dice.between(0, 50)}%;top:{dice.between(0, 50)}%;right:{_px(dice, 0, 20)};bottom:{_px(dice, 0, 10)}"
    return [
        f"position:relative;min-height:{_px(dice, 20, 60)}",
        *_inside(dice, levels),
        [f"position:absolute;{edges}", inner],
    ]


def _floats(dice: Dice, levels: int) -> Box:
    return ["display:flow-root", *(styled(box, _floating(dice)) for box in _inside(dice, levels, 2, 4))]


def _floating(dice: Dice) -> str:
    margin = f"margin:{_px(dice, 0, 6)}"
    if dice.hits(70):
        width = _px(dice, 20, 90) if dice.hits(60) else "auto"
        return f"float:{dice.pick(('left', 'right'))};width:{width};{margin}"
    return f"clear:{dice.pick(('left', 'both'))};{margin}" if dice.hits(40) else margin


def _block(dice: Dice, levels: int) -> Box:
    padding = f"padding:{_px(dice, 0, 8)} {dice.between(0, 6)}%"
    margin = f"margin:{_px(dice, 0, 8)} auto {_px(dice, 0, 8)}"
    return [f"{padding};{margin};max-width:{dice.between(50, 100)}%", *_inside(dice, levels)]


DEEP_KINDS: tuple[Callable[[Dice, int], Box], ...] = (
    _row,
    _grid,
    _grid,
    _positioned,
    _floats,
    _block,
    _wrapped_rows,
)


def _plain_grid(dice: Dice, levels: int) -> Box:
    tracks = " ".join(_track(dice) for _ in range(dice.between(2, 4)))
    rows = dice.pick(("auto", _px(dice, 10, 50), "minmax(12px,auto)"))
    flow = dice.pick(("row", "dense"))
    css = f"display:grid;grid-template-columns:{tracks};grid-auto-rows:{rows};grid-auto-flow:{flow}"
    children = []
    for _ in range(dice.between(3, 6)):
        box = _plain_grid(dice, levels - 1) if levels and dice.hits(40) else _plain_leaf(dice)
        children.append(styled(box, _plain_cell(dice)))
    return [f"{css};gap:{_px(dice, 0, 9)} {_px(dice, 0, 9)}", *children]


def _track(dice: Dice) -> str:
    kind = dice.below(7)
    if kind < 3:
        return ("auto", "min-content", "max-content")[kind]
    if kind == 3:
        return _px(dice, 10, 90)
    if kind == 4:
        return f"{dice.between(1, 3)}fr"
    return f"minmax({_px(dice, 5, 60)},{dice.between(1, 3)}fr)" if kind == 5 else f"fit-content({_px(dice, 20, 90)})"


def _plain_cell(dice: Dice) -> str:
    words = []
    if dice.hits(30):
        words.append(f"grid-column:{dice.pick(('span 2', f'{dice.between(1, 3)}/span {dice.between(1, 2)}'))}")
    if dice.hits(20):
        words.append("grid-row:span 2")
    if dice.hits(30):
        words.append(f"justify-self:{dice.pick(('start', 'end', 'center'))}")
    if dice.hits(20):
        words.append(f"margin:{_px(dice, 1, 8)}")
    return ";".join(words)


def _mixed(dice: Dice, levels: int) -> Box:
    if not levels:
        return _plain_leaf(dice)
    kind = dice.below(5)
    children = [_mixed(dice, levels - 1) for _ in range(dice.between(1, 3))]
    if kind == 0:
        space = f"gap:{_px(dice, 0, 6)};padding:{_px(dice, 0, 6)}"
        css = f"display:flex;{space};align-items:{dice.pick(('stretch', 'center'))}"
        return [
            css,
            *(styled(box, f"flex:{dice.between(0, 2)} 1 {_px(dice, 20, 90)};min-width:0") for box in children),
        ]
    if kind == 1:
        tracks = dice.pick(("1fr 2fr", "auto 1fr", "min-content 1fr", f"{_px(dice, 20, 60)} auto"))
        return [f"display:grid;grid-template-columns:{tracks};gap:{_px(dice, 0, 6)}", *children]
    if kind == 2:
        place = (
            f"left:{dice.between(0, 50)}%;top:{dice.between(0, 50)}%;right:{_px(dice, 0, 20)};bottom:{_px(dice, 0, 9)}"
        )
        return [f"position:relative;min-height:{_px(dice, 20, 60)}", *children, f"position:absolute;{place}"]
    if kind == 3:
        side = [f"float:{dice.pick(('left', 'right'))};margin:{_px(dice, 0, 6)}" for _ in children]
        return ["display:flow-root", *map(styled, children, side)]
    css = f"padding:{_px(dice, 0, 8)} {dice.between(0, 6)}%;margin:{_px(dice, 0, 8)} auto {_px(dice, 0, 8)}"
    return [f"{css};max-width:{dice.between(50, 100)}%", *children]


def _float(dice: Dice, levels: int) -> Box:
    kind = dice.pick(("float:left", "float:right", "float:left", "display:flow-root", "display:block"))
    clear = f";clear:{dice.pick(('left', 'right', 'both'))}" if dice.hits(20) else ""
    width = f";width:{_px(dice, 20, 140)}" if dice.hits(85) else ""
    css = f"{kind}{clear}{width};margin:{dice.between(-8, 12)}px {dice.between(-4, 9)}px"
    if not levels:
        return f"{css};height:{_px(dice, 5, 60)}"
    return [css, *(_float(dice, levels - 1) for _ in range(dice.between(1, 3)))]
