"""Arrangements of boxes whose places only a layout engine knows: flexible, in a grid, floating, positioned, computed.

Whatever the document's mode is: heights are definite, lengths have units.
"""

from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Final, NamedTuple

from agentgate.browser_check.instrument.draw import Piece, ProgramState, ProgramStep
from agentgate.browser_check.instrument.state import WORDS
from agentgate.browser_check.instrument.tree import DocumentAccess

# The box of known size, in units: longer than most, so that reading relative to it does not round badly.
RULER: Final = 64
# Out of sight, and out of the way of the page's own layout. `all` leaves the direction as it is.
HOST_STYLES: Final = (
    "position:fixed", "left:-9999px", "display:block", "visibility:hidden", "direction:ltr", "contain:strict",
)  # fmt: skip


class Number(NamedTuple):
    """A number that the state gives when the boxes are made: its name, where it is kept, how it comes about."""

    name: str
    place: int
    step: ProgramStep


class Measure(NamedTuple):
    """A length that layout gives, and its value in units."""

    script: str
    value: Callable[[ProgramState], int]


class Arrangement(NamedTuple):
    """Boxes to be made, and what can be measured of them."""

    step: ProgramStep
    measures: list[Measure]


class Boxes:
    """The shadow tree of the boxes."""

    def __init__(self, page: DocumentAccess) -> None:
        self.page, self.draw = page, page.maker.draw
        self.unit = self.draw.between(8, 12)
        self.host, self.tree, self.make, self.ruler, self.units, self.root, self.shown = self.draw.names(7)
        self._numbers = 0
        self._script: list[str] = []

    def number(self, least: int) -> Number:
        """Draw a number of least to least + 7 that depends on the state."""
        name, (word, place) = self.draw.name(), self.page.maker.read()
        shift = self.draw.below(29)
        self._numbers += 1

        def run(state: ProgramState) -> None:
            state.append(least + (state[place] >> shift & 7))

        step = ProgramStep(f"const {name}={least}+({word}>>>{shift}&7);", run)
        return Number(name, WORDS + self._numbers - 1, step)

    def length(self, units: int) -> str:
        """Write a length that is known."""
        return f"{units * self.unit}px"

    def lengths(self, number: Number, times: int, more: int = 0) -> str:
        """Write a length that depends on a number."""
        rest = f"+{more * self.unit}" if more else ""
        return f"${{{number.name}*{times * self.unit}{rest}}}px"

    def box(self, parent: str, styles: Mapping[str, str]) -> str:
        """Write the making of a box that is measured or holds others; return its name."""
        name = self.draw.name()
        self._script.append(f"const {name}=")
        self.unnamed(parent, styles)
        return name

    def unnamed(self, parent: str, styles: Mapping[str, str]) -> None:
        """Write the making of a box. Setting the text of a style is CSSOM: content security policies allow it."""
        written = ";".join([f"{key}:{styles[key]}" for key in self.draw.shuffled(tuple(styles))])
        text = f"`{written}`" if "${" in written else self.draw.text(written)
        self._script.append(f"{self.make}({parent},{text});")

    def room(self, styles: Mapping[str, str]) -> str:
        """Write the making of a box that others are placed in and measured from; return its name."""
        return self.box(self.tree, {"position": "relative", **styles})

    def arranged(self, number: Number, *measures: Measure) -> Arrangement:
        """Return the boxes that were written since the last time, and what can be measured of them."""
        script, self._script = "".join([number.step.script, *self._script]), []
        return Arrangement(ProgramStep(script, number.step.run), list(measures))

    def measured(self, measures: list[Measure]) -> Piece:
        """Make one number of two lengths."""
        one, other = self.draw.some(measures, 2)
        weights = self.draw.between(2, 60_000), self.draw.between(2, 60_000)
        script = f"{self.units}({one.script})*{weights[0]}+{self.units}({other.script})*{weights[1]}"
        return Piece(script, lambda state: one.value(state) * weights[0] + other.value(state) * weights[1])

    def runtime(self) -> str:
        """Write the making of boxes: the tree is not in the document yet."""
        parent, styles, made = self.draw.names(3)
        return (
            f"const {self.host}={self.page.make('div')},{self.tree}={self.host}.attachShadow("
            f"{{__proto__:null,mode:'closed'}}),{self.make}=({parent},{styles})=>{{const {made}="
            f"{self.page.make('div')};{made}.style.cssText={styles};return {parent}.appendChild({made})}},"
            f"{self.ruler}={self.make}({self.tree},'width:{RULER * self.unit}px');"
        )

    def attached(self) -> str:
        """Write the putting into the document; what follows must stand in a try, with `removed` in its finally.

        A root element that is not shown (some pages hide themselves until they are ready) is shown until the end,
        without a paint in between.
        """
        draw, root = self.draw, self.root
        length, value = draw.names(2)
        styles = "!important;".join(["all:initial", *draw.shuffled(HOST_STYLES), ""])
        return (
            f"const {root}={self.page.read}({draw.text('documentElement')});let {self.shown};"
            f"{self.host}.style.cssText='{styles}';"
            f"{root}.appendChild({self.host});if(!{self.ruler}.offsetWidth){{{self.shown}=[{root}.style.display,"
            f"{root}.style.getPropertyPriority('display'),{root}.hasAttribute('style')];"
            f"{root}.style.setProperty('display','block','important')}}"
            f"const {length}={self.ruler}.offsetWidth,{self.units}={value}=>{value}*{RULER}/{length}+.5|0;"
        )

    def removed(self) -> str:
        """Write the taking out of the document."""
        root, shown = self.root, self.shown
        return (
            f"{root}.removeChild({self.host});if({shown}){{{root}.style.setProperty('display',{shown}[0],{shown}[1]);"
            f"{shown}[2]||{root}.removeAttribute('style')}}"
        )


def flexible_row(boxes: Boxes) -> Arrangement:
    """Boxes that share a row by weight, in an order of their own."""
    draw, number = boxes.draw, boxes.number(1)
    shares = [draw.between(1, 4) for _ in range(draw.between(2, 4))]
    gap, reverse = draw.below(4), draw.below(2)
    order = draw.shuffled(range(len(shares)))
    total, gaps = sum(shares), gap * (len(shares) - 1)
    room = boxes.room(
        {
            "display": "flex",
            "width": boxes.lengths(number, total, gaps),
            "column-gap": boxes.length(gap),
            "flex-direction": "row-reverse" if reverse else "row",
        }
    )
    names = [
        boxes.box(room, {"flex": f"{share} 1 0px", "order": str(place), "height": boxes.length(2)})
        for share, place in zip(shares, order, strict=True)
    ]
    at = draw.below(len(shares))
    before = [share for share, place in zip(shares, order, strict=True) if place < order[at]]
    left, gaps_before = sum(before), gap * len(before)
    if reverse:
        left, gaps_before = total - left - shares[at], gaps - gaps_before
    kept, share = number.place, shares[at]
    return boxes.arranged(
        number,
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
    room = boxes.room(
        {
            "display": "flex",
            "flex-direction": "column",
            "justify-content": way,
            "align-items": side,
            "width": boxes.length(width),
            "height": boxes.lengths(number, free, total),
        }
    )
    widths = [draw.between(1, 9) for _ in heights]
    names = [
        boxes.box(room, {"height": boxes.length(height), "width": boxes.length(wide)})
        for height, wide in zip(heights, widths, strict=True)
    ]
    at = draw.below(count)
    kept, shares, top = number.place, above[at], sum(heights[:at])
    left = width - widths[at] if side == "flex-end" else 0
    return boxes.arranged(
        number,
        Measure(f"{names[at]}.offsetTop", lambda state: state[kept] * shares + top),
        Measure(f"{names[at]}.offsetLeft", lambda _: left),
    )


def grid(boxes: Boxes) -> Arrangement:
    """Boxes in a grid of fixed and flexible columns; one takes two."""
    draw, number = boxes.draw, boxes.number(1)
    fixed, one, two = draw.between(2, 9), draw.between(1, 3), draw.between(1, 3)
    gap, row = draw.below(3), draw.between(1, 5)
    columns = draw.shuffled((f"{fixed * boxes.unit}px", f"{one}fr", f"{two}fr "))
    room = boxes.room(
        {
            "display": "grid",
            "width": boxes.lengths(number, one + two, fixed + 2 * gap),
            "grid-template-columns": " ".join(columns),
            "grid-auto-rows": boxes.length(row),
            "gap": boxes.length(gap),
        }
    )
    wide_at = draw.between(1, 2)
    wide = boxes.box(room, {"grid-column": f"{wide_at}/span 2", "grid-row": "1"})
    fill = draw.between(1, 4)
    for _ in range(fill - 1):
        boxes.unnamed(room, {})
    last = boxes.box(room, {})
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
    return boxes.arranged(
        number,
        Measure(f"{last}.offsetLeft", lambda state: state[kept] * left_share + left_fixed),
        Measure(f"{wide}.offsetWidth", lambda state: state[kept] * wide_share + wide_fixed),
        Measure(f"{last}.offsetTop", lambda _: top),
    )


def positioned(boxes: Boxes) -> Arrangement:
    """A box at a share of another's width, and one inside it from the other side."""
    draw, number = boxes.draw, boxes.number(2)
    left, wide, right, tall = draw.between(1, 6), draw.between(5, 9), draw.between(1, 2), draw.between(10, 20)
    bottom, high = draw.between(1, 4), draw.between(1, 5)
    room = boxes.room({"width": boxes.lengths(number, 20), "height": boxes.length(tall)})
    outer = boxes.box(
        room,
        {
            "position": "absolute",
            "left": f"{left * 5}%",
            "width": f"{wide * 5}%",
            "top": "0",
            "bottom": boxes.length(bottom),
        },
    )
    inner = boxes.box(
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
    return boxes.arranged(
        number,
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
    room = boxes.room({"width": boxes.lengths(number, 4), "height": boxes.length(9), own: f"${{{number.name}}}"})
    half = boxes.box(room, {"width": f"calc(50% - {less * unit}px)", "height": "inherit"})
    product = boxes.box(half, {"width": f"calc(var({own})*{times * unit}px)", "height": "1px"})
    bounded = boxes.box(
        room, {"width": f"clamp({low * unit}px,25%,{high * unit}px)", "height": f"var({own}x,{2 * unit}px)"}
    )
    kept = number.place
    return boxes.arranged(
        number,
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
    room = boxes.room({"display": "flow-root", "width": boxes.length(20)})
    boxes.unnamed(room, {"height": boxes.length(first), "margin-bottom": boxes.length(below)})
    outer = boxes.box(room, {"margin-top": boxes.lengths(number, 1)})
    child = boxes.box(outer, {"margin-top": boxes.length(inner), "height": boxes.length(3)})
    after = boxes.box(room, {"margin-top": f"-{minus * boxes.unit}px", "height": boxes.length(1)})
    kept = number.place

    def top(state: ProgramState) -> int:
        return first + max(below, inner, state[kept])

    return boxes.arranged(
        number,
        Measure(f"{child}.offsetTop", top),
        Measure(f"{after}.offsetTop", lambda state: top(state) + 3 - minus),
        Measure(f"{room}.offsetHeight", lambda state: top(state) + 4 - minus),
    )


def floating(boxes: Boxes) -> Arrangement:
    """Boxes that float into rows, and one that clears them."""
    draw, number = boxes.draw, boxes.number(4)
    widths = [draw.between(2, 9) for _ in range(draw.between(3, 5))]
    height, side = draw.between(1, 4), draw.pick(("left", "right"))
    room = boxes.room({"width": boxes.lengths(number, 1, 6)})
    styles = [{"float": side, "width": boxes.length(width), "height": boxes.length(height)} for width in widths]
    for each in styles[:-1]:
        boxes.unnamed(room, each)
    last = boxes.box(room, styles[-1])
    clear = boxes.box(room, {"clear": "both", "height": boxes.length(1)})
    kept = number.place

    def rows(state: ProgramState) -> tuple[int, int]:
        room_width, used, row = state[kept] + 6, 0, 0
        for width in widths:
            if used + width > room_width:
                used, row = 0, row + 1
            used += width
        return row, used - widths[-1] if side == "left" else room_width - used

    return boxes.arranged(
        number,
        Measure(f"{last}.offsetLeft", lambda state: rows(state)[1]),
        Measure(f"{last}.offsetTop", lambda state: rows(state)[0] * height),
        Measure(f"{clear}.offsetTop", lambda state: (rows(state)[0] + 1) * height),
    )


def padded(boxes: Boxes) -> Arrangement:
    """Padding inside and outside of a width, from right to left, and scrolled to the end."""
    draw, number = boxes.draw, boxes.number(5)
    inner, sizing, wide = draw.between(1, 2), draw.pick(("border-box", "content-box")), draw.between(2, 5)
    tall, end = draw.between(10, 30), draw.below(4)
    room = boxes.room(
        {
            "width": boxes.lengths(number, 2),
            "height": boxes.length(3),
            "padding": boxes.length(inner),
            "box-sizing": sizing,
            "direction": "rtl",
            "overflow": "hidden",
        }
    )
    child = boxes.box(
        room, {"width": boxes.length(wide), "height": boxes.length(tall), "margin-inline-start": boxes.length(end)}
    )
    kept, outside = number.place, 2 * inner if sizing == "content-box" else 0
    height = 3 + outside if outside else max(3, 2 * inner)
    scrolled = f"({room}.scrollTop={tall * boxes.unit * 9},{room}.scrollTop)"
    return boxes.arranged(
        number,
        Measure(f"{room}.offsetWidth", lambda state: state[kept] * 2 + outside),
        Measure(f"{child}.offsetLeft", lambda state: state[kept] * 2 + outside - inner - wide - end),
        Measure(f"{room}.scrollHeight", lambda _: tall + 2 * inner),
        Measure(scrolled, lambda _: tall + 2 * inner - height),
    )


def ratios(boxes: Boxes) -> Arrangement:
    """A height that follows from a width, and boxes of a wrapper that is not there."""
    draw, number = boxes.draw, boxes.number(2)
    wide, tall = draw.between(1, 4), draw.between(1, 4)
    room = boxes.room({"display": "flex", "width": boxes.length(60), "flex-wrap": "wrap"})
    first = boxes.box(
        room, {"width": boxes.lengths(number, wide), "aspect-ratio": f"{wide}/{tall}", "flex-shrink": "0"}
    )
    wrapper = boxes.box(room, {"display": "contents"})
    widths = [draw.between(2, 6), draw.between(2, 6)]
    inside = [boxes.box(wrapper, {"width": boxes.length(width), "height": boxes.length(1)}) for width in widths]
    at = draw.below(2)
    kept, before = number.place, [0, *accumulate(widths)][at]
    return boxes.arranged(
        number,
        Measure(f"{first}.offsetHeight", lambda state: state[kept] * tall),
        Measure(f"{inside[at]}.offsetLeft", lambda state: state[kept] * wide + before),
    )


def _column(text: str, fixed: int) -> tuple[int, int]:
    return (fixed, 0) if text.endswith("px") else (0, int(text.strip().removesuffix("fr")))


LAYOUTS: Final = (
    flexible_row, flexible_column, grid, positioned, computed, margins, floating, padded, ratios,
)  # fmt: skip
