"""The state of an instrument program: how values are mixed into it, how statements are arranged, how it is written out.

Scripts use syntax rather than methods: pages replace methods.
"""

from collections.abc import Callable, Sequence
from typing import Final

from agentgate.browser_check.instrument.draw import (
    ALPHABET,
    MASK,
    Piece,
    ProgramState,
    ProgramStep,
    RandomChoices,
)

WORDS: Final = 4
HEX: Final = "0123456789abcdef"


class Maker:
    """The names that all parts of one program share, and what must be declared before it runs."""

    def __init__(self, draw: RandomChoices) -> None:
        self.draw = draw
        self.state = draw.names(WORDS)
        self.multiply, self.hash, self.table = draw.names(3)
        self.hoisted: list[str] = []
        self._alphabet = draw.cut(ALPHABET)
        self._codes = {letter: place for place, letter in enumerate(self._alphabet)}
        self._hash_start, self._hash_factor = draw.odd(), draw.odd()

    def read(self) -> tuple[str, int]:
        """Draw a word of the state: its name, its place."""
        place = self.draw.below(WORDS)
        return self.state[place], place

    def begin(self) -> tuple[RandomChoices, str, int]:
        """Begin a piece: return the choices, and a drawn word of the state by its name and its place."""
        return self.draw, *self.read()

    def folded(self, body: str, place: int, numbers: Sequence[int], factor: int) -> Piece:
        """Make a piece of a function that mixes numbers into a word of the state, one after the other."""

        def run(state: ProgramState) -> int:
            word = state[place]
            for number in numbers:
                word = (word ^ number) * factor & MASK
            return word

        return Piece(self.call(body), run)

    def call(self, body: str) -> str:
        """Make a function body an expression."""
        way = self.draw.below(4)
        if way == 0:
            return f"(()=>{{{body}}})()"
        if way == 1:
            return f"(function(){{{body}}})()"
        name = self.draw.name()
        self.hoisted.append(f"function {name}(){{{body}}}" if way == 2 else f"const {name}=()=>{{{body}}};")
        return f"{name}()"

    def declared(self) -> str:
        """Write what the pieces call, in a drawn order."""
        return "".join(self.draw.shuffled(self.hoisted))

    def hash_of(self, text: str) -> int:
        """Hash a text as the program does."""
        codes, value, factor = self._codes, self._hash_start, self._hash_factor
        for letter in text:
            value = (value ^ codes.get(letter, 0)) * factor & MASK
        return value

    def runtime(self) -> str:
        """Write the functions that the rest calls."""
        left, right, place, found = self.draw.names(4)
        multiply = self.draw.pick(
            (
                f"({left},{right})=>({left}&65535)*{right}+(({left}>>>16)*{right}<<16)|0",
                f"({left},{right})=>({right}&65535)*{left}+(({right}>>>16)*{left}<<16)|0",
                f"({left},{right})=>{{{left}|=0;return({left}>>>16)*({right}&65535)*65536+({left}&65535)*{right}|0}}",
            )
        )
        alphabet = self.draw.name()
        start, factor = self.draw.literal(self._hash_start), self.draw.literal(self._hash_factor)
        table = self.draw.pick(
            (
                f"for(let {place}=0;{place}<{len(ALPHABET)};{place}++){self.table}[{alphabet}[{place}]]={place};",
                f"let {place}={len(ALPHABET)};while({place}--){self.table}[{alphabet}[{place}]]={place};",
                f"let {place}=0;do {self.table}[{alphabet}[{place}]]={place};while(++{place}<{len(ALPHABET)});",
            )
        )
        hashing = self.draw.pick(
            (
                (
                    f"const {self.hash}={left}=>{{let {found}={start};"
                    f"for(let {right}=0;{right}<{left}.length;{right}++)"
                    f"{found}={self.multiply}({found}^{self.table}[{left}[{right}]],{factor});return {found}}};"
                ),
                (
                    f"function {self.hash}({left}){{let {found}={start},{right}=0;while({right}<{left}.length)"
                    f"{found}={self.multiply}({self.table}[{left}[{right}++]]^{found},{factor});return {found}}}"
                ),
                (
                    f"const {self.hash}=({left},{right}=0,{found}={start})=>{right}<{left}.length?{self.hash}("
                    f"{left},{right}+1,{self.multiply}({found}^{self.table}[{left}[{right}]],{factor})):{found};"
                ),
            )
        )
        made = f'const {alphabet}="{self._alphabet}",{self.table}={{__proto__:null}};{table}'
        return "".join(self.draw.shuffled((f"const {self.multiply}={multiply};", made, hashing)))

    def start(self, page: Sequence[int], worker: Sequence[int], where: str) -> str:
        """Declare the state, which starts differently in the page and in the worker."""
        literal, names = self.draw.literal, ",".join(self.state)
        ones, others = [literal(word) for word in page], [literal(word) for word in worker]
        way = self.draw.below(3)
        if way == 0:
            return f"let[{names}]={where}?[{','.join(ones)}]:[{','.join(others)}];"
        assigned = [",".join(f"{n}={v}" for n, v in zip(self.state, words, strict=True)) for words in (ones, others)]
        if way == 1:
            return f"let {names};if({where}){assigned[0]};else {assigned[1]};"
        pairs = zip(self.state, ones, others, strict=True)
        return f"let {','.join(f'{name}={where}?{one}:{other}' for name, one, other in pairs)};"

    def written(self) -> str:
        """Write the state out without calling a method: pages replace the methods of numbers too."""
        shift, word, text = self.draw.names(3)
        words = f"[{','.join(self.state)}]"
        return self.draw.pick(
            (
                (
                    f'let {text}="";for(const {word} of{words})for(let {shift}=28;{shift}>=0;{shift}-=4)'
                    f'{text}+="{HEX}"[{word}>>>{shift}&15];return {text}'
                ),
                (
                    f'const {word}={words};let {text}="",{shift}=0;while({shift}<32){text}+="{HEX}"'
                    f"[{word}[{shift}>>3]>>>28-4*({shift}++&7)&15];return {text}"
                ),
                (
                    f'const {text}=({word},{shift})=>{shift}?{text}({word}>>>4,{shift}-1)+"{HEX}"[{word}&15]:"";'
                    f"return {'+'.join(f'{text}({name},8)' for name in self.state)}"
                ),
            )
        )

    def mixed(self, piece: Piece) -> ProgramStep:
        """Mix a value into the state in one of several ways."""
        return self.draw.pick(MIXINGS)(self, piece)

    def round(self, name: str) -> tuple[str, Callable[[int], int]]:
        """Draw a statement that changes one variable, and its effect."""
        way = self.draw.below(5)
        value, literal = self.draw.factor()
        if way == 0:
            return f"{name}={self.multiply}({name},{literal})", lambda number: number * value & MASK
        if way == 1:
            return f"{name}^={literal}", lambda number: number ^ value
        if way == 2:
            return f"{name}={name}+{literal}|0", lambda number: number + value & MASK
        if way == 3:
            return f"{name}={literal}-{name}|0", lambda number: value - number & MASK
        turn = 1 + self.draw.below(31)
        return (
            f"{name}={name}<<{turn}|{name}>>>{32 - turn}",
            lambda number: (number << turn | number >> (32 - turn)) & MASK,
        )


def avalanche(maker: Maker) -> list[ProgramStep]:
    """Spread every bit of the state over all of it: in a drawn order, then in both rings, which leave no word out."""
    draw, spread = maker.draw, maker.draw.name()
    one, other, factor, shift = draw.names(4)
    steps = [
        ProgramStep(
            f"const {spread}=({one},{other},{factor},{shift})=>({one}={maker.multiply}({one}^{other}^{other}>>>{shift},"
            f"{factor}))^{one}>>>15;",
            lambda _: None,
        )
    ]
    pairs = [(place, (place + draw.between(1, 3)) % WORDS) for place in draw.shuffled(range(WORDS))]
    pairs += [(place, (place + distance) % WORDS) for distance in draw.shuffled((1, 2)) for place in range(WORDS)]
    return steps + [_spread(maker, spread, place, other_place) for place, other_place in pairs]


def _spread(maker: Maker, spread: str, place: int, other: int) -> ProgramStep:
    factor, literal = maker.draw.factor()
    shift = maker.draw.between(11, 19)
    name = maker.state[place]

    def run(state: ProgramState) -> None:
        word = (state[place] ^ state[other] ^ state[other] >> shift) * factor & MASK
        state[place] = word ^ word >> 15

    return ProgramStep(f"{name}={spread}({name},{maker.state[other]},{literal},{shift});", run)


def _multiplied(maker: Maker, piece: Piece) -> ProgramStep:
    name, place = maker.read()
    factor, literal = maker.draw.factor()
    value = piece.value

    def run(state: ProgramState) -> None:
        state[place] = (state[place] ^ value(state)) * factor & MASK

    return ProgramStep(f"{name}={maker.multiply}({name}^({piece.script}),{literal});", run)


def _added(maker: Maker, piece: Piece) -> ProgramStep:
    name, place = maker.read()
    factor, literal = maker.draw.factor()
    shift, value = maker.draw.between(5, 25), piece.value

    def run(state: ProgramState) -> None:
        old = state[place]
        state[place] = (old + value(state)) * factor & MASK ^ old >> shift

    return ProgramStep(f"{name}={maker.multiply}({name}+({piece.script})|0,{literal})^{name}>>>{shift};", run)


def _swapped(maker: Maker, piece: Piece) -> ProgramStep:
    one, other = maker.draw.some(range(WORDS), 2)
    name, other_name = maker.state[one], maker.state[other]
    factor, literal = maker.draw.factor()
    value = piece.value

    def run(state: ProgramState) -> None:
        state[one], state[other] = (state[other] ^ value(state)) & MASK, state[one] * factor & MASK

    return ProgramStep(
        f"[{name},{other_name}]=[{other_name}^({piece.script}),{maker.multiply}({name},{literal})];", run
    )


def _turned(maker: Maker, piece: Piece) -> ProgramStep:
    name, place = maker.read()
    turn, value = maker.draw.between(3, 29), piece.value

    def run(state: ProgramState) -> None:
        old = state[place]
        state[place] = ((old << turn | old >> (32 - turn)) + value(state)) & MASK

    return ProgramStep(f"{name}=({name}<<{turn}|{name}>>>{32 - turn})+({piece.script})|0;", run)


def _chained(maker: Maker, piece: Piece) -> ProgramStep:
    one, other, third = maker.draw.some(range(WORDS), 3)
    name, other_name, third_name = maker.state[one], maker.state[other], maker.state[third]
    factor, literal = maker.draw.factor()
    value = piece.value

    def run(state: ProgramState) -> None:
        state[other] = (state[other] ^ value(state)) * factor & MASK
        state[one] ^= state[third] + state[other] & MASK

    return ProgramStep(
        f"{name}^=({other_name}={maker.multiply}({other_name}^({piece.script}),{literal}),"
        f"{third_name}+{other_name}|0);",
        run,
    )


MIXINGS: Final = (_multiplied, _added, _swapped, _turned, _chained)
