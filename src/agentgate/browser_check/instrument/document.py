"""The document as an instrument program's part for the page reaches it, and what only native objects are."""

from collections.abc import Iterator
from contextlib import contextmanager

from agentgate.browser_check.instrument.draw import Piece
from agentgate.browser_check.instrument.state import Maker


class DocumentAccess:
    """How the page's part reaches the document: pages hide its properties behind named elements."""

    def __init__(self, maker: Maker) -> None:
        self.maker = maker
        self.document, self.read = maker.draw.names(2)
        self.hoisted: list[str] = []

    @contextmanager
    def hoisting(self) -> Iterator[None]:
        """Collect the declarations of this context in the page's part, next to the functions that they use."""
        others, self.maker.hoisted = self.maker.hoisted, self.hoisted
        yield
        self.maker.hoisted = others

    def runtime(self) -> str:
        """Write the functions that the page's part calls."""
        draw = self.maker.draw
        name, given = draw.names(2)
        call = f"Reflect.apply(Document.prototype[{name}],document,{given})"
        read = f"Reflect.get(Document.prototype,{name},document)"
        written = (
            (
                f"const {self.document}=({name},...{given})=>{call};",
                f"function {self.document}({name},...{given}){{return {call}}}",
            ),
            (f"const {self.read}={name}=>{read};", f"function {self.read}({name}){{return {read}}}"),
        )
        return "".join([draw.pick(ways) for ways in draw.shuffled(written)])

    def declared(self) -> str:
        """Write what the page's pieces call, in a drawn order."""
        return "".join(self.maker.draw.shuffled(self.hoisted))


def native_objects(page: DocumentAccess) -> Piece:
    """Draw properties that objects of a browser have, and objects of a document written in JavaScript lack."""
    draw = page.maker.draw
    everything = draw.name()
    facts = draw.shuffled(
        (
            f"!Reflect.ownKeys({page.document}({draw.text('createRange')})).length",
            f"Reflect.ownKeys(new Event({draw.text(draw.letters(3))})).length==1",
            f"!Reflect.ownKeys({page.document}({draw.text('createTreeWalker')},document)).length",
        )
    )[:1]
    # An object whose type is undefined: the language cannot make one.
    facts.append(
        f"({everything}=>typeof {everything}=='undefined'&&{everything}!==void 0)({page.read}({draw.text('all')}))"
    )
    total, script = 0, ""
    for fact in facts:
        right, weight = draw.below(1 << 15), draw.between(2, 60_000)
        wrong = right ^ draw.between(1, 1 << 14)
        script += f"{'+' if script else ''}({fact}?{right}:{wrong})*{weight}"
        total += right * weight
    return Piece(script, lambda _: total)
