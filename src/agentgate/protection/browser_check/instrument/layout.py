"""Arrangements of boxes whose places only a layout engine knows: flexible, in a grid, floating, positioned, computed.

Whatever the document's mode is: heights are definite, lengths have units.
"""

from itertools import accumulate
from typing import Final

from agentgate.protection.browser_check.instrument.boxes import Arrangement, Boxes, Measure, Number
from agentgate.protection.browser_check.instrument.draw import ProgramStep, State


def flexible_row(boxes: Boxes) -> Arrangement:
    """Boxes that share a row by weight, in an order of their own."""
    draw, number = boxes.draw, boxes.number(1)
    shares = [draw.between(1, 4) for _ in range(draw.between(2, 4))]
    gap, reverse = draw.below(4), draw.below(2)
    order = draw.shuffled(range(len(shares)))
    total, gaps = sum(shares), gap * (len(shares) - 1)
    room, script = boxes.room(
        {
            "display": "flex",
            "width": boxes.lengths(number, total, gaps),
            "column-gap": boxes.length(gap),
            "flex-direction": "row-reverse" if reverse else "row",
        }
    )
    names: list[str] = []
    for share, place in zip(shares, order, strict=True):
        name, made = boxes.box(room, {"flex": f"{share} 1 0px", "order": str(place), "height": boxes.length(2)})
        names.append(name)
        script += made
    at = draw.below(len(shares))
    before = [share for share, place in zip(shares, order, strict=True) if place < order[at]]
    left, gaps_before = sum(before), gap * len(before)
    if reverse:
        left, gaps_before = total - left - shares[at], gaps - gaps_before
    kept, share = number.place, shares[at]
    return _arranged(
        number,
        script,
        Measure(f"{names[at]}.offsetLeft", lambda state: state[kept] * left + gaps_before),
        Measure(f"{names[at]}.clientWidth", lambda state: state[kept] * share),
    )


def flexible_column(boxes: Boxes) -> Arrangement:
    """Boxes one below the other, with the free room where it is told to be."""
    draw, number = boxes.draw, boxes.number(1)
    heights = [draw.between(1, 6) for _ in range(draw.between(2, 4))]
    count, total, width = len(heights), sum(heights), draw.between(10, 20)
    # The free room in units per number, and the share of it above each box.
    ways: dict[str, tuple[int, list[int]]] = {
        "flex-end": (1, [1] * count),
        "center": (2, [1] * count),
        "space-between": (count - 1, list(range(count))),
        "space-around": (2 * count, [2 * place + 1 for place in range(count)]),
    }
    way = draw.pick(tuple(ways))
    free, above = ways[way]
    side = draw.pick(("flex-end", "flex-start"))
    room, script = boxes.room(
        {
            "display": "flex",
            "flex-direction": "column",
            "justify-content": way,
            "align-items": side,
            "width": boxes.length(width),
            "height": boxes.lengths(number, free, total),
        }
    )
    names: list[str] = []
    widths = [draw.between(1, 9) for _ in heights]
    for height, wide in zip(heights, widths, strict=True):
        name, made = boxes.box(room, {"height": boxes.length(height), "width": boxes.length(wide)})
        names.append(name)
        script += made
    at = draw.below(count)
    kept, shares, top = number.place, above[at], sum(heights[:at])
    left = width - widths[at] if side == "flex-end" else 0
    return _arranged(
        number,
        script,
        Measure(f"{names[at]}.offsetTop", lambda state: state[kept] * shares + top),
        Measure(f"{names[at]}.offsetLeft", lambda _: left),
    )


def grid(boxes: Boxes) -> Arrangement:
    """Boxes in a grid of fixed and flexible columns; one takes two."""
    draw, number = boxes.draw, boxes.number(1)
    fixed, one, two = draw.between(2, 9), draw.between(1, 3), draw.between(1, 3)
    gap, row = draw.below(3), draw.between(1, 5)
    columns = draw.shuffled((f"{fixed * boxes.unit}px", f"{one}fr", f"{two}fr "))
    room, script = boxes.room(
        {
            "display": "grid",
            "width": boxes.lengths(number, one + two, fixed + 2 * gap),
            "grid-template-columns": " ".join(columns),
            "grid-auto-rows": boxes.length(row),
            "gap": boxes.length(gap),
        }
    )
    wide_at = draw.between(1, 2)
    wide, made = boxes.box(room, {"grid-column": f"{wide_at}/span 2", "grid-row": "1"})
    script += made
    fill = draw.between(1, 4)
    script += "".join([boxes.unnamed(room, {}) for _ in range(fill - 1)])
    last, made = boxes.box(room, {})
    # One cell of the first row is left; the others come below.
    below = fill - 1
    column, line = (2 if wide_at == 1 else 0, 0) if not below else ((below - 1) % 3, (below - 1) // 3 + 1)
    # As units without the number, and units per number.
    sizes = [_column(text, fixed) for text in columns]
    left_fixed = sum(size[0] for size in sizes[:column]) + gap * column
    left_share = sum(size[1] for size in sizes[:column])
    wide_fixed = sum(size[0] for size in sizes[wide_at - 1 : wide_at + 1]) + gap
    wide_share = sum(size[1] for size in sizes[wide_at - 1 : wide_at + 1])
    kept, top = number.place, line * (row + gap)
    return _arranged(
        number,
        script + made,
        Measure(f"{last}.offsetLeft", lambda state: state[kept] * left_share + left_fixed),
        Measure(f"{wide}.offsetWidth", lambda state: state[kept] * wide_share + wide_fixed),
        Measure(f"{last}.offsetTop", lambda _: top),
    )


def positioned(boxes: Boxes) -> Arrangement:
    """A box at a share of another's width, and one inside it from the other side."""
    draw, number = boxes.draw, boxes.number(2)
    left, wide, right, tall = draw.between(1, 6), draw.between(5, 9), draw.between(1, 2), draw.between(10, 20)
    bottom, high = draw.between(1, 4), draw.between(1, 5)
    room, script = boxes.room({"width": boxes.lengths(number, 20), "height": boxes.length(tall)})
    outer, made = boxes.box(
        room,
        {
            "position": "absolute",
            "left": f"{left * 5}%",
            "width": f"{wide * 5}%",
            "top": "0",
            "bottom": boxes.length(bottom),
        },
    )
    script += made
    inner, made = boxes.box(
        outer,
        {
            "position": "absolute",
            "right": boxes.length(right),
            "width": boxes.lengths(number, 2),
            "bottom": "0",
            "height": boxes.length(high),
        },
    )
    kept, top = number.place, tall - bottom - high
    return _arranged(
        number,
        script + made,
        Measure(f"{outer}.offsetLeft", lambda state: state[kept] * left),
        Measure(f"{inner}.offsetLeft", lambda state: state[kept] * (wide - 2) - right),
        Measure(f"{inner}.offsetTop", lambda _: top),
        Measure(f"{outer}.offsetWidth", lambda state: state[kept] * wide),
    )


def computed(boxes: Boxes) -> Arrangement:
    """Lengths that are calculated, bounded, inherited or kept in a property of their own."""
    draw, number = boxes.draw, boxes.number(3)
    own, unit = f"--{draw.letters(5)}", boxes.unit
    less, times, low, high = draw.between(1, 3), draw.between(2, 4), draw.between(2, 6), draw.between(7, 12)
    room, script = boxes.room(
        {"width": boxes.lengths(number, 4), "height": boxes.length(9), own: f"${{{number.name}}}"}
    )
    half, made = boxes.box(room, {"width": f"calc(50% - {less * unit}px)", "height": "inherit"})
    script += made
    product, made = boxes.box(half, {"width": f"calc(var({own})*{times * unit}px)", "height": "1px"})
    script += made
    bounded, made = boxes.box(
        room, {"width": f"clamp({low * unit}px,25%,{high * unit}px)", "height": f"var({own}x,{2 * unit}px)"}
    )
    kept = number.place
    return _arranged(
        number,
        script + made,
        Measure(f"{half}.offsetWidth", lambda state: state[kept] * 2 - less),
        Measure(f"{product}.scrollWidth", lambda state: state[kept] * times),
        Measure(f"parseFloat(getComputedStyle({product}).width)", lambda state: state[kept] * times),
        Measure(f"{bounded}.offsetWidth", lambda state: max(low, min(high, state[kept]))),
        Measure(f"{bounded}.clientHeight", lambda _: 2),
        Measure(f"{half}.offsetHeight", lambda _: 9),
    )


def margins(boxes: Boxes) -> Arrangement:
    """Margins that collapse between and through boxes."""
    draw, number = boxes.draw, boxes.number(1)
    below, inner, first, minus = draw.between(1, 9), draw.between(1, 9), draw.between(1, 5), draw.below(2)
    room, script = boxes.room({"display": "flow-root", "width": boxes.length(20)})
    script += boxes.unnamed(room, {"height": boxes.length(first), "margin-bottom": boxes.length(below)})
    outer, made = boxes.box(room, {"margin-top": boxes.lengths(number, 1)})
    script += made
    child, made = boxes.box(outer, {"margin-top": boxes.length(inner), "height": boxes.length(3)})
    script += made
    after, made = boxes.box(room, {"margin-top": f"-{minus * boxes.unit}px", "height": boxes.length(1)})
    kept = number.place

    def top(state: State) -> int:
        return first + max(below, inner, state[kept])

    return _arranged(
        number,
        script + made,
        Measure(f"{child}.offsetTop", top),
        Measure(f"{after}.offsetTop", lambda state: top(state) + 3 - minus),
        Measure(f"{room}.offsetHeight", lambda state: top(state) + 4 - minus),
    )


def floating(boxes: Boxes) -> Arrangement:
    """Boxes that float into rows, and one that clears them."""
    draw, number = boxes.draw, boxes.number(4)
    widths = [draw.between(2, 9) for _ in range(draw.between(3, 5))]
    height, side = draw.between(1, 4), draw.pick(("left", "right"))
    room, script = boxes.room({"width": boxes.lengths(number, 1, 6)})
    styles = [{"float": side, "width": boxes.length(width), "height": boxes.length(height)} for width in widths]
    script += "".join([boxes.unnamed(room, each) for each in styles[:-1]])
    last, made = boxes.box(room, styles[-1])
    script += made
    clear, made = boxes.box(room, {"clear": "both", "height": boxes.length(1)})
    kept = number.place

    def rows(state: State) -> tuple[int, int]:
        room_width, used, row = state[kept] + 6, 0, 0
        for width in widths:
            if used + width > room_width:
                used, row = 0, row + 1
            used += width
        return row, used - widths[-1] if side == "left" else room_width - used

    return _arranged(
        number,
        script + made,
        Measure(f"{last}.offsetLeft", lambda state: rows(state)[1]),
        Measure(f"{last}.offsetTop", lambda state: rows(state)[0] * height),
        Measure(f"{clear}.offsetTop", lambda state: (rows(state)[0] + 1) * height),
    )


def padded(boxes: Boxes) -> Arrangement:
    """Padding inside and outside of a width, from right to left, and scrolled to the end."""
    draw, number = boxes.draw, boxes.number(5)
    inner, sizing, wide = draw.between(1, 2), draw.pick(("border-box", "content-box")), draw.between(2, 5)
    tall, end = draw.between(10, 30), draw.below(4)
    room, script = boxes.room(
        {
            "width": boxes.lengths(number, 2),
            "height": boxes.length(3),
            "padding": boxes.length(inner),
            "box-sizing": sizing,
            "direction": "rtl",
            "overflow": "hidden",
        }
    )
    child, made = boxes.box(
        room, {"width": boxes.length(wide), "height": boxes.length(tall), "margin-inline-start": boxes.length(end)}
    )
    kept, outside = number.place, 2 * inner if sizing == "content-box" else 0
    height = 3 + outside if outside else max(3, 2 * inner)
    scrolled = f"({room}.scrollTop={tall * boxes.unit * 9},{room}.scrollTop)"
    return _arranged(
        number,
        script + made,
        Measure(f"{room}.offsetWidth", lambda state: state[kept] * 2 + outside),
        Measure(f"{child}.offsetLeft", lambda state: state[kept] * 2 + outside - inner - wide - end),
        Measure(f"{room}.scrollHeight", lambda _: tall + 2 * inner),
        Measure(scrolled, lambda _: tall + 2 * inner - height),
    )


def ratios(boxes: Boxes) -> Arrangement:
    """A height that follows from a width, and boxes of a wrapper that is not there."""
    draw, number = boxes.draw, boxes.number(2)
    wide, tall = draw.between(1, 4), draw.between(1, 4)
    room, script = boxes.room({"display": "flex", "width": boxes.length(60), "flex-wrap": "wrap"})
    first, made = boxes.box(
        room, {"width": boxes.lengths(number, wide), "aspect-ratio": f"{wide}/{tall}", "flex-shrink": "0"}
    )
    script += made
    wrapper, made = boxes.box(room, {"display": "contents"})
    script += made
    widths = [draw.between(2, 6), draw.between(2, 6)]
    inside: list[str] = []
    for width in widths:
        name, made = boxes.box(wrapper, {"width": boxes.length(width), "height": boxes.length(1)})
        inside.append(name)
        script += made
    at = draw.below(2)
    kept, before = number.place, [0, *accumulate(widths)][at]
    return _arranged(
        number,
        script,
        Measure(f"{first}.offsetHeight", lambda state: state[kept] * tall),
        Measure(f"{inside[at]}.offsetLeft", lambda state: state[kept] * wide + before),
    )


def _arranged(number: Number, script: str, *measures: Measure) -> Arrangement:
    return Arrangement(ProgramStep(number.step.script + script, number.step.run), list(measures))


def _column(text: str, fixed: int) -> tuple[int, int]:
    return (fixed, 0) if text.endswith("px") else (0, int(text.strip().removesuffix("fr")))


LAYOUTS: Final = (
    flexible_row, flexible_column, grid, positioned, computed, margins, floating, padded, ratios,
)  # fmt: skip
