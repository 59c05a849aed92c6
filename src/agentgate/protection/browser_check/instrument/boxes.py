"""The boxes of an instrument program: where they stand, how they are made, shown for a moment, measured and taken away.

Sizes are whole multiples of a unit and are read relative to a box of known size, so that zoom and any pixel ratio give
the same numbers; there are no borders and no text. They stand in a closed shadow tree under `all: initial`, where no
style of the page reaches them.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from agentgate.protection.browser_check.instrument.draw import Piece, ProgramStep, State
from agentgate.protection.browser_check.instrument.state import WORDS
from agentgate.protection.browser_check.instrument.tree import DocumentAccess

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
    value: Callable[[State], int]


class Arrangement(NamedTuple):
    """Boxes to be made, and what can be measured of them."""

    step: ProgramStep
    measures: list[Measure]


class Boxes:
    """The shadow tree that the boxes stand in."""

    def __init__(self, page: DocumentAccess) -> None:
        self.page, self.draw = page, page.maker.draw
        self.unit = self.draw.between(8, 12)
        self.host, self.tree, self.make, self.ruler, self.units, self.root, self.shown = self.draw.names(7)
        self._numbers = 0

    def number(self, least: int) -> Number:
        """Draw a number of least to least + 7 that depends on the state."""
        name, (word, place) = self.draw.name(), self.page.maker.read()
        shift = self.draw.below(29)
        self._numbers += 1

        def run(state: State) -> None:
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

    def box(self, parent: str, styles: Mapping[str, str]) -> tuple[str, str]:
        """Write the making of a box that is measured or holds others."""
        name = self.draw.name()
        return name, f"const {name}={self.unnamed(parent, styles)}"

    def unnamed(self, parent: str, styles: Mapping[str, str]) -> str:
        """Write the making of a box. Setting the text of a style is CSSOM: content security policies allow it."""
        written = ";".join([f"{key}:{styles[key]}" for key in self.draw.shuffled(tuple(styles))])
        return f"{self.make}({parent},{f'`{written}`' if '${' in written else self.draw.text(written)});"

    def room(self, styles: Mapping[str, str]) -> tuple[str, str]:
        """Write the making of a box that others are placed in and measured from."""
        return self.box(self.tree, {"position": "relative", **styles})

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
