"""Pieces of an instrument program about the document: trees, selectors, events, ranges, controls, and native objects.

They run in the page, on elements that are never put into its document.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from agentgate.browser_check.instrument.draw import MASK, Piece, ProgramState
from agentgate.browser_check.instrument.state import Maker

# Bits of compareDocumentPosition.
PRECEDING, FOLLOWING, CONTAINS, CONTAINED = 2, 4, 8, 16
# Thrown exceptions by their legacy codes.
REFUSED: Final = (
    ("@('div').appendChild(#('createComment',''))&&#('createElement','1>')", 5),
    ("#('createTextNode','').appendChild(@('p'))", 3),
    ("@('div').insertBefore(@('p'),@('b'))", 8),
    ("@('div').querySelector('>>')", 12),
    ("#('createTextNode','').splitText(9)", 1),
    ("@('div').removeChild(@('i'))", 8),
    ("@('div').toggleAttribute('')", 5),
    ("@('p').classList.add('a b')", 5),
)


class DocumentAccess:
    """How the page's part reaches the document: pages hide its properties behind named elements."""

    def __init__(self, maker: Maker) -> None:
        self.maker = maker
        self.element, self.document, self.read = maker.draw.names(3)
        self.hoisted: list[str] = []

    @contextmanager
    def hoisting(self) -> Iterator[None]:
        """Collect declarations made meanwhile in the page's part, beside the functions that they use."""
        others, self.maker.hoisted = self.maker.hoisted, self.hoisted
        yield
        self.maker.hoisted = others

    def runtime(self) -> str:
        """Write the functions that the page's part calls."""
        draw = self.maker.draw
        tag, name, given = draw.names(3)
        call = f"Reflect.apply(Document.prototype[{name}],document,{given})"
        read = f"Reflect.get(Document.prototype,{name},document)"
        make = f"{self.document}({draw.text('createElement')},{tag})"
        written = (
            (
                f"const {self.document}=({name},...{given})=>{call};",
                f"function {self.document}({name},...{given}){{return {call}}}",
            ),
            (f"const {self.read}={name}=>{read};", f"function {self.read}({name}){{return {read}}}"),
            (f"const {self.element}={tag}=>{make};", f"function {self.element}({tag}){{return {make}}}"),
        )
        return "".join([draw.pick(ways) for ways in draw.shuffled(written)])

    def declared(self) -> str:
        """Write what the page's pieces call, in a drawn order."""
        return "".join(self.maker.draw.shuffled(self.hoisted))

    def make(self, tag: str) -> str:
        """Write the making of an element."""
        return f"{self.element}({self.maker.draw.text(tag)})"


class ElementTree:
    """A small tree of elements, as drawn: each node's parent comes before it."""

    def __init__(self, parents: list[int]) -> None:
        self.parents = [-1, *parents]
        self.children: list[list[int]] = [[] for _ in self.parents]
        for child, parent in enumerate(parents, start=1):
            self.children[parent].append(child)
        self.order = self._below(0)

    def _below(self, node: int) -> list[int]:
        found = [node]
        for child in self.children[node]:
            found += self._below(child)
        return found

    def position(self, one: int, other: int) -> int:
        """Say where the other is, as compareDocumentPosition does."""
        if one == other:
            return 0
        if other in self._below(one):
            return FOLLOWING | CONTAINED
        if one in self._below(other):
            return PRECEDING | CONTAINS
        return FOLLOWING if self.order.index(other) > self.order.index(one) else PRECEDING


def positions(page: DocumentAccess) -> Piece:
    """Where nodes of a tree stand to each other."""
    maker = page.maker
    draw, name, place = maker.begin()
    nodes, parent, value = draw.names(3)
    parents = [draw.below(number + 1) for number in range(draw.between(4, 7))]
    tree = ElementTree(parents)
    first, second = draw.below(28), draw.below(28)
    factor, literal = draw.factor()
    tag = page.make(draw.pick(("div", "span", "i", "section")))
    body = (
        f"const {nodes}=[{tag}];for(const {parent} of[{','.join(map(str, parents))}])"
        f"{nodes}[{nodes}.length]={nodes}[{parent}].appendChild({tag});let {value}=0;"
        f"for(let {parent}=0;{parent}<4;{parent}++){value}={maker.multiply}({value}^"
        f"{nodes}[{name}>>>{first}&3].compareDocumentPosition({nodes}[{name}>>>{second}+{parent}&3]),{literal})"
        f"+{nodes}[{parent}].childElementCount|0;return {value}"
    )

    def run(state: ProgramState) -> int:
        word = 0
        for turn in range(4):
            found = tree.position(state[place] >> first & 3, state[place] >> (second + turn) & 3)
            word = ((word ^ found) * factor + len(tree.children[turn])) & MASK
        return word

    return Piece(maker.call(body), run)


def selectors(page: DocumentAccess) -> Piece:
    """How many elements each selector finds."""
    maker = page.maker
    draw, name, place = maker.begin()
    nodes, parent, value = draw.names(3)
    parents = [draw.below(number + 1) for number in range(draw.between(5, 8))]
    tree = ElementTree(parents)
    classes = draw.some("abcdefghijklmnop", 3)
    given = [classes[draw.below(3)] for _ in tree.parents]
    one, other = classes[0], classes[1]
    all_children = range(1, len(given))
    place_of = {child: siblings.index(child) for siblings in tree.children for child in siblings}
    last = {siblings[-1] for siblings in tree.children if siblings}
    found = {
        f".{one}>:nth-child(odd)": sum(given[tree.parents[c]] == one and place_of[c] % 2 == 0 for c in all_children),
        f":not(.{one},.{other})": sum(given[c] not in (one, other) for c in all_children),
        f".{one}+.{other}": sum(
            given[c] == other and place_of[c] > 0 and given[tree.children[tree.parents[c]][place_of[c] - 1]] == one
            for c in all_children
        ),
        f":is(.{other},.{one}):last-child": sum(given[c] in (one, other) and c in last for c in all_children),
        f".{other}:empty": sum(given[c] == other and not tree.children[c] for c in all_children),
        f".{one}:nth-last-child(2)": sum(
            given[c] == one and len(tree.children[tree.parents[c]]) - place_of[c] == 2 for c in all_children
        ),
    }
    chosen = draw.some(tuple(found), 3)
    weights = [draw.between(2, 60_000) for _ in chosen]
    counts = "+".join(
        f"{nodes}[0].querySelectorAll({draw.text(each)}).length*{weight}"
        for each, weight in zip(chosen, weights, strict=True)
    )
    body = (
        f"const {nodes}=[{page.make('b')}],{value}={draw.text(''.join(given))};{nodes}[0].className={value}[0];"
        f"for(const {parent} of[{','.join(map(str, parents))}])({nodes}[{nodes}.length]="
        f"{nodes}[{parent}].appendChild({page.make('p')})).className={value}[{nodes}.length-1];return {counts}^{name}"
    )
    total = sum(found[each] * weight for each, weight in zip(chosen, weights, strict=True))
    return Piece(maker.call(body), lambda state: total ^ state[place])


def tokens(page: DocumentAccess) -> Piece:
    """The class list and its text."""
    maker, draw = page.maker, page.maker.draw
    made = draw.name()
    words = [draw.letters(2) + str(number) for number in range(4)]
    start = [draw.pick(words) for _ in range(draw.between(3, 5))]
    kept = dict.fromkeys(start)
    scripts: list[str] = []
    for _ in range(draw.between(1, 3)):
        word = draw.pick(words)
        action = draw.pick(("add", "remove", "toggle"))
        scripts.append(f"{made}.classList.{action}({draw.text(word)});")
        if word in kept and action != "add":
            del kept[word]
        elif action != "remove":
            kept[word] = None
    body = (
        f"const {made}={page.make('div')};{made}.className={draw.text('  '.join(start))};{''.join(scripts)}"
        f"return {maker.hash}({made}.className+{made}.classList.length)"
    )
    value = maker.hash_of(" ".join(kept) + str(len(kept)))
    return Piece(maker.call(body), lambda _: value)


def attributes(page: DocumentAccess) -> Piece:
    """The order and the names of attributes."""
    maker, draw = page.maker, page.maker.draw
    made, text = draw.names(2)
    words = draw.shuffled([draw.letters(2) + letter for letter in "xyz"])
    body = (
        f"const {made}={page.make('i')};{made}.setAttribute({draw.text(words[0].upper())},1);"
        f"{made}.dataset.{words[1]}B=2;{made}.setAttribute({draw.text(words[2])},3);"
        f"{made}.removeAttribute({draw.text(words[0])});{made}.toggleAttribute({draw.text(words[0])});"
        f'let {text}="";for(let {made}_=0;{made}_<{made}.attributes.length;{made}_++)'
        f"{text}+={made}.attributes[{made}_].name+{made}.attributes[{made}_].value;return {maker.hash}({text})"
    )
    value = maker.hash_of(f"data-{words[1]}-b2{words[2]}3{words[0]}")
    return Piece(maker.call(body), lambda _: value)


def bubbling(page: DocumentAccess) -> Piece:
    """An event goes up until it is stopped."""
    maker = page.maker
    draw, name, place = maker.begin()
    value, nodes, index, event = draw.names(4)
    depth = draw.between(3, 6)
    stop, start = draw.below(depth), draw.below(depth)
    factor, literal = draw.factor()
    kind = draw.pick(("click", "input", "change", "submit", "reset"))
    body = (
        f"let {value}={name};const {nodes}=[{page.make('b')}];for(let {index}=0;{index}<{depth};{index}++){{"
        f"{nodes}[{index}].on{kind}={event}=>{{{value}={maker.multiply}({value}^{event}.eventPhase*9+{index},{literal});"
        f"if({index}=={stop}){event}.stopPropagation()}};"
        f"{nodes}[{index}].appendChild({nodes}[{index}+1]={page.make('b')})}}"
        f"{nodes}[{start}].dispatchEvent(new Event({draw.text(kind)},{{__proto__:null,bubbles:!0}}));return {value}"
    )

    def run(state: ProgramState) -> int:
        word = state[place]
        for node in range(start, -1, -1):
            word = (word ^ ((2 if node == start else 3) * 9 + node)) * factor & MASK
            if node == stop:
                break
        return word

    return Piece(maker.call(body), run)


def ranges(page: DocumentAccess) -> Piece:
    """Points before, in and after a range."""
    maker = page.maker
    draw, name, place = maker.begin()
    made, found, index = draw.names(3)
    count = draw.between(4, 7)
    low = draw.below(count - 1)
    high = draw.between(low, count - 1)
    weight, shift = draw.between(10, 60_000), draw.below(29)
    body = (
        f"const {made}={page.make('ul')},{found}={page.document}({draw.text('createRange')});"
        f"for(let {index}=0;{index}<{count};{index}++){made}.appendChild({page.make('li')});"
        f"{found}.setStart({made},{low});{found}.setEnd({made},{high});"
        f"return {found}.comparePoint({made},{name}>>>{shift}&3)*{weight}+{found}.cloneContents().childNodes.length"
    )

    def run(state: ProgramState) -> int:
        point = state[place] >> shift & 3
        return (-1 if point < low else point > high) * weight + high - low

    return Piece(maker.call(body), run)


def texts(page: DocumentAccess) -> Piece:
    """Text nodes joined and cut."""
    maker, draw = page.maker, page.maker.draw
    made, index = draw.names(2)
    parts = [draw.letters(draw.between(1, 4)) for _ in range(3)]
    whole = "".join(parts)
    cut = draw.between(1, len(whole) - 1)
    body = (
        f"const {made}={page.make('p')};for(const {index} of[{','.join(map(draw.text, parts))}])"
        f"{made}.appendChild({page.document}({draw.text('createTextNode')},{index}));{made}.normalize();"
        f"return {maker.hash}({made}.firstChild.splitText({cut}).data+{made}.childNodes.length+{made}.textContent)"
    )
    value = maker.hash_of(f"{whole[cut:]}2{whole}")
    return Piece(maker.call(body), lambda _: value)


def controls(page: DocumentAccess) -> Piece:
    """Values that controls bring into their own bounds."""
    maker = page.maker
    draw, name, place = maker.begin()
    made = draw.name()
    shift = draw.below(24)
    least, step, count = draw.below(50), draw.between(3, 9), draw.between(5, 12)
    most = least + step * count
    if draw.below(2):
        body = (
            f"const {made}={page.make('input')};{made}.type='range';{made}.min={least};{made}.max={most};"
            f"{made}.step={step};{made}.value=({name}>>>{shift}&255)*{step}+{least}+.3;return+{made}.value"
        )
        return Piece(maker.call(body), lambda state: min(most, (state[place] >> shift & 255) * step + least))
    body = (
        f"const {made}={page.make('meter')};{made}.max={most};{made}.min={least};"
        f"{made}.value={name}>>>{shift}&127;return {made}.value"
    )
    return Piece(maker.call(body), lambda state: max(least, min(most, state[place] >> shift & 127)))


def links(page: DocumentAccess) -> Piece:
    """An address as a link reads it."""
    maker, draw = page.maker, page.maker.draw
    made = draw.name()
    one, two, three = (draw.letters(draw.between(2, 4)) for _ in range(3))
    port = draw.pick((443, draw.between(1000, 9999)))
    address = draw.text(f"HTTPS://{one.upper()}.{two}:0{port}/{two}/../{three}/./?{one} {two}#{three}")
    parts = {
        "host": f"{one}.{two}" + ("" if port == 443 else f":{port}"), "pathname": f"/{three}/",
        "search": f"?{one}%20{two}", "hash": f"#{three}", "protocol": "https:",
    }  # fmt: skip
    chosen = draw.some(tuple(parts), 3)
    body = (
        f"const {made}={page.make('a')};{made}.href={address};"
        f"return {maker.hash}({'+'.join(f'{made}.{each}' for each in chosen)})"
    )
    value = maker.hash_of("".join(parts[each] for each in chosen))
    return Piece(maker.call(body), lambda _: value)


def document_refusals(page: DocumentAccess) -> Piece:
    """What the document throws when asked for what cannot be."""
    maker, draw = page.maker, page.maker.draw
    error = draw.name()
    weight = draw.between(2, 60_000)
    script, code = draw.pick(REFUSED)
    script = script.replace("@", page.element).replace("#", page.document)
    return Piece(maker.call(f"try{{{script}}}catch({error}){{return {error}.code*{weight}}}"), lambda _: code * weight)


def native_objects(page: DocumentAccess) -> Piece:
    """What objects of a browser are and those of a document written in JavaScript are not."""
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


TREES: Final = (
    positions, selectors, tokens, attributes, bubbling, ranges, texts, controls, links, document_refusals,
)  # fmt: skip
