"""Pieces of an instrument program about values: numbers, texts, keys, bytes, conversions, traps; and plain truths.

They run in the page and in the worker, so they use syntax, not methods that pages replace.
"""

import struct
from collections.abc import Callable
from typing import Final, Literal

from agentgate.browser_check.instrument.draw import MASK, Piece, ProgramState, RandomChoices
from agentgate.browser_check.instrument.state import Maker

# How each is written in a template, and its length cooked.
ESCAPES: Final = (("\\x41", 1), ("\\n", 1), ("\\u{1F600}", 2), ("\\u0062", 1), ("cd", 2), ("\\\\", 1), ("e", 1))


def key_order(maker: Maker) -> Piece:
    """The order of an object's keys: numbers first, then as they came; deleted ones come last again."""
    draw, name, place = maker.begin()
    value, record, key = draw.names(3)
    words = [f"{draw.letters(2)}{number}" for number in range(3)]
    numbers = draw.some(range(60), 3)
    values = {each: draw.below(10_000) for each in draw.shuffled([*words, *map(str, numbers)])}
    again = draw.pick(words)
    factor, literal = draw.factor()
    later = draw.below(10_000)
    body = (
        f"let {value}={name};const {record}={{__proto__:null,{','.join(f'{k}:{v}' for k, v in values.items())}}};"
        f"delete {record}.{again};{record}[{draw.text(again)}]={later};"
        f"for(const {key} in {record}){value}={maker.multiply}({value}^{record}[{key}],{literal});return {value}"
    )
    order = [values[str(each)] for each in sorted(numbers)]
    order += [values[each] for each in values if each in words and each != again] + [later]

    return maker.folded(body, place, order, factor)


def template(maker: Maker) -> Piece:
    """Use the arguments that a template's tag function gets: raw and cooked texts, values."""
    draw, name, place = maker.begin()
    texts, values = draw.names(2)
    quasis = [[draw.pick(ESCAPES) for _ in range(draw.between(1, 4))] for _ in range(3)]
    raw = ["".join(written for written, _ in quasi) for quasi in quasis]
    one, other, third = draw.below(3), draw.below(3), draw.below(2)
    factors = [draw.between(2, 60_000), draw.between(2, 60_000)]
    number = draw.below(60_000)
    script = (
        f"(({texts},...{values})=>{texts}[{one}].length*{factors[0]}+{texts}.raw[{other}].length*{factors[1]}"
        f"^{values}[{third}])`{raw[0]}${{{name}}}{raw[1]}${{{number}}}{raw[2]}`"
    )
    known = sum(length for _, length in quasis[one]) * factors[0] + len(raw[other]) * factors[1]
    return Piece(script, lambda state: known ^ (number if third else state[place]))


def traps(maker: Maker) -> Piece:
    """A proxy whose traps keep a record."""
    draw, name, place = maker.begin()
    value, proxy, key, given = draw.names(4)
    factor, literal = draw.factor()
    words = [draw.letters(draw.between(2, 4)) for _ in range(4)]
    stored = draw.below(60_000)
    log = f"{value}={maker.multiply}({value}^{maker.hash}({key}),{literal})"
    actions = {
        "get": f"{proxy}.{words[0]};",
        "has": f"{draw.text(words[1])}in {proxy};",
        "set": f"{proxy}.{words[2]}={stored};",
        "delete": f"delete {proxy}[{draw.text(words[3])}];",
    }
    chosen = draw.some(tuple(actions), draw.between(2, 4))
    body = (
        f"let {value}={name};const {proxy}=new Proxy({{__proto__:null}},{{__proto__:null,get({given},{key}){{{log}}},"
        f"has({given},{key}){{{log};return {value}&1}},set({given},{key},{given}_){{{log};{value}^={given}_;return!0}},"
        f"deleteProperty({given},{key}){{{log};return!0}}}});{''.join(actions[each] for each in chosen)}return {value}"
    )
    hashes = dict(zip(actions, map(maker.hash_of, words), strict=True))

    def run(state: ProgramState) -> int:
        word = state[place]
        for action in chosen:
            word = (word ^ hashes[action]) * factor & MASK
            word ^= stored if action == "set" else 0
        return word

    return Piece(maker.call(body), run)


def big_numbers(maker: Maker) -> Piece:
    """Whole numbers without a bound."""
    draw, name, place = maker.begin()
    factor, other = draw.odd() << 32 | draw.word(), draw.odd() << 32 | draw.word()
    shift = draw.between(1, 60)
    last = draw.pick((f"&{hex(MASK)}n", f"%{MASK + 1}n"))
    if draw.below(2):
        script = f"Number((BigInt({name}>>>0)*{hex(factor)}n^{other}n)>>{shift}n{last})"
        if last[0] == "%":
            script = f"Number(((BigInt({name}>>>0)*{hex(factor)}n^{other}n)>>{shift}n){last})"
        return Piece(script, lambda state: (state[place] * factor ^ other) >> shift & MASK)
    small = draw.odd() & 0xFFFF | 3
    script = f"Number(({other}n**3n-BigInt({name}>>>0))/{small}n%{MASK + 1}n)"
    return Piece(script, lambda state: (other**3 - state[place]) // small & MASK)


def bytes_of_words(maker: Maker) -> Piece:
    """The order of bytes, as written and as read."""
    draw, name, place = maker.begin()
    view = draw.name()
    first, second, third = draw.below(5), draw.below(7), draw.below(5)
    little = [draw.below(2) for _ in range(3)]
    value, literal = draw.constant()
    body = (
        f"const {view}=new DataView(new ArrayBuffer(8));{view}.setUint32({first},{name},{_truth(draw, little[0])});"
        f"{view}.setUint16({second},{literal},{_truth(draw, little[1])});"
        f"return {view}.getInt32({third},{_truth(draw, little[2])})"
    )

    def run(state: ProgramState) -> int:
        room = bytearray(8)
        room[first : first + 4] = state[place].to_bytes(4, _order(little[0]))
        room[second : second + 2] = (value & 0xFFFF).to_bytes(2, _order(little[1]))
        return int.from_bytes(room[third : third + 4], _order(little[2]))

    return Piece(maker.call(body), run)


def typed_values(maker: Maker) -> Piece:
    """What typed arrays make of a number, and the bytes of a fraction."""
    draw, name, place = maker.begin()
    divisor = draw.between(3, 999)
    if draw.below(2):
        half = draw.below(2)
        script = f"new Uint32Array(new Float64Array([({name}>>>0)/{divisor}]).buffer)[{half}]"
        return Piece(script, lambda state: struct.unpack("<2I", struct.pack("<d", state[place] / divisor))[half])
    shift, number, factor = draw.between(2, 20), draw.between(-500, 500), draw.between(3, 60_000)
    script = (
        f"new Uint8ClampedArray([{number}.5])[0]*{factor}+new Int16Array([{name}>>>{shift}])[0]"
        if number >= 0
        else f"new Uint8ClampedArray([{number}])[0]*{factor}-new Int8Array([{name}>>>{shift}])[0]"
    )
    if number < 0:
        return Piece(script, lambda state: -_signed(state[place] >> shift, 8))
    # A half goes to the even neighbor.
    clamped = min(255, number + (number & 1))
    return Piece(script, lambda state: clamped * factor + _signed(state[place] >> shift, 16))


def number_text(maker: Maker) -> Piece:
    """A number as text: the shortest that reads back as the same."""
    name, place = maker.read()
    divisor, hashed = maker.draw.between(3, 999), maker.hash_of
    script = f"{maker.hash}(`${{({name}>>>0)/{divisor}}}`)"
    return Piece(script, lambda state: hashed(repr(state[place] / divisor).removesuffix(".0")))


def conversions(maker: Maker) -> Piece:
    """Add up numbers that the language converts from texts, null values, booleans and fractions."""
    draw, name, place = maker.begin()
    total, scripts = 0, []
    for make in draw.some(CONVERSIONS, draw.between(3, 5)):
        script, value = make(draw)
        weight = draw.between(2, 5000)
        scripts.append(f"({script})*{weight}")
        total += value * weight
    return Piece(f"{'+'.join(scripts)}^{name}", lambda state: total ^ state[place])


def hints(maker: Maker) -> Piece:
    """Which kind of value each operator asks an object for."""
    draw, name, place = maker.begin()
    value, asked, hint = draw.names(3)
    factor, literal = draw.factor()
    chosen = [draw.pick(HINTS) for _ in range(draw.between(2, 4))]
    scripts = ";".join(script.replace("@", asked) for script, _ in chosen)
    body = (
        f"let {value}={name};const {asked}={{__proto__:null,[Symbol.toPrimitive]({hint}){{"
        f"return {value}={maker.multiply}({value}^{maker.hash}({hint}),{literal})}}}};{scripts};return {value}"
    )
    hashes = [maker.hash_of(kind) for _, kind in chosen]

    return maker.folded(body, place, hashes, factor)


def refusals(maker: Maker) -> Piece:
    """Which kind of error each mistake throws."""
    draw, name, place = maker.begin()
    value, error = draw.names(2)
    rights: list[int] = []
    scripts: list[str] = []
    for script, kind in draw.some(MISTAKES, draw.between(1, 3)):
        right, wrong = draw.word(), draw.word()
        # Long enough that no page has a global of this name.
        unknown = draw.letters(9)
        rights.append(right)
        scripts.append(
            f"try{{{script.replace('@', unknown)};{value}=0}}catch({error}){{{value}^={error} instanceof {kind}"
            f"?{draw.literal(right)}:{draw.literal(wrong)}}}"
        )

    def run(state: ProgramState) -> int:
        word = state[place]
        for each in rights:
            word ^= each
        return word

    return Piece(maker.call(f"let {value}={name};{''.join(scripts)}return {value}"), run)


def patterns(maker: Maker) -> Piece:
    """Destructuring: holes, defaults, the rest, and nothing that is not undefined."""
    draw, name, place = maker.begin()
    first, second, third, rest = draw.names(4)
    values = [draw.below(60_000) for _ in range(5)]
    hole = draw.pick(("void 0", "null"))
    body = (
        f"const[{first},,{second}={values[0]},{{length:{third}}},...{rest}]=[{name},{values[1]},{hole},"
        f'"{draw.letters(values[4] % 6 + 1)}",{values[2]},{values[3]}];'
        f"return {first}^{second}+{third}*{values[1]}+{rest}[1]*{rest}.length"
    )
    second_value = values[0] if hole == "void 0" else 0
    known = second_value + (values[4] % 6 + 1) * values[1] + values[3] * 2
    return Piece(maker.call(body), lambda state: state[place] ^ known)


def short_circuits(maker: Maker) -> Piece:
    """Use operators that skip an operand: an expression that is not evaluated has no effect."""
    draw, name, place = maker.begin()
    value, nothing = draw.names(2)
    words = [draw.word() for _ in range(4)]
    one, two, three, four = map(draw.literal, words)
    bit = 1 << draw.below(31)
    body = (
        f"let {value}={name}|0,{nothing}=null;{nothing}?.[{value}=0];{nothing}??={one};{nothing}??={value}=1;"
        f"{value}&{draw.literal(bit)}&&({value}^={two});{value}||={three};({nothing}&&=0)??({value}=2);"
        f"return {value}+({nothing}||{four})-{one}"
    )

    def run(state: ProgramState) -> int:
        word = state[place]
        word ^= words[1] if word & bit else 0
        return (word or words[2]) + words[3] - words[0]

    return Piece(maker.call(body), run)


def truth(draw: RandomChoices) -> str:
    """Draw a condition that holds in every engine."""
    small, large = draw.between(2, 99), draw.between(100, 999)
    letters = draw.letters(3)
    return draw.pick(
        (
            f"-{large}%{small}<=0", f"'{large}'<'{min(9, large // 100 + 1)}z'", f"{large}>'{small}'", "null>=0",
            f"!(null>{small}-{small})", f"typeof '{letters}'[{small + 1}]=='undefined'", f"2**53+1==2**53&&{small}",
            "1/-0<0", "NaN!==NaN", f".1*3!=.{small % 7 + 1}", "typeof null=='object'", f"+' {large} '==={large}",
            f"+'0x{small:x}'=={small}", "(function(){return!this})()", f"~~-{small}.7==-{small}",
            f"'{letters}'<'{letters}a'", f"typeof {draw.letters(9)}=='undefined'",
            f"!('{letters}'in{{__proto__:null}})", f"{large}/{small}>{small}/{large}",
            f"'{small}'+{large}=='{small}{large}'", f"'{large}'-{small}=={large - small}", "typeof class{}=='function'",
        )
    )  # fmt: skip


def _truth(draw: RandomChoices, holds: int) -> str:
    return draw.pick(("!0", "1", "true", "[]", "{}") if holds else ("!1", "0", "''", "null", "NaN"))


def _order(little: int) -> Literal["little", "big"]:
    return "little" if little else "big"


def _signed(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _radix(draw: RandomChoices) -> tuple[str, int]:
    value = draw.below(5000)
    return f"+'{draw.pick((hex, oct, bin))(value)}'", value


def _product(draw: RandomChoices) -> tuple[str, int]:
    one, other = draw.below(300), draw.below(300)
    return f"'{one}'*' {other} '", one * other


def _joined(draw: RandomChoices) -> tuple[str, int]:
    one, other, third = draw.between(1, 300), draw.below(300), draw.below(300)
    return f"'{one}'+{other}-{third}", int(f"{one}{other}") - third


def _nothing(draw: RandomChoices) -> tuple[str, int]:
    value = draw.below(3000)
    return f"null+{value}+true", value + 1


def _cut(draw: RandomChoices) -> tuple[str, int]:
    value, tenth = draw.between(1, 3000), draw.below(10)
    return f"~~'-{value}.{tenth}'", -value


def _rest(draw: RandomChoices) -> tuple[str, int]:
    one, other = draw.between(1, 9999), draw.between(2, 99)
    return f"-{one}%{other}", -(one % other)


def _power(draw: RandomChoices) -> tuple[str, int]:
    base, exponent, divisor = draw.between(2, 9), draw.between(2, 14), draw.between(100, 9999)
    return f"{base}**{exponent}%{divisor}", base**exponent % divisor


def _length(draw: RandomChoices) -> tuple[str, int]:
    exponent = draw.between(21, 99)
    return draw.pick(
        (
            (f"`${{1e{exponent}}}`.length", 5),
            (f"`${{{draw.between(2, 9)}e20}}`.length", 21),
            ("`${.1+.2}`.length", 19),
            ("`${-0}`.length", 1),
            ("`${1e-7}`.length", 4),
            ("`${.000001}`.length", 8),
            ("`${null}${void 0}`.length", 13),
            ("`${2**-1074}`.length", 6),
        )
    )


def _spread(draw: RandomChoices) -> tuple[str, int]:
    letters = draw.letters(draw.between(1, 5))
    return f"[...'{letters}\\u{{1F6{draw.between(10, 44)}}}'].length", len(letters) + 1


CONVERSIONS: Final[tuple[Callable[[RandomChoices], tuple[str, int]], ...]] = (
    _radix, _product, _joined, _nothing, _cut, _rest, _power, _length, _spread,
)  # fmt: skip

HINTS: Final = (
    ("+@", "number"), ("`${@}`", "string"), ("@+1", "default"), ("@*2", "number"), ("@==1", "default"),
    ("@>0", "number"), ("({__proto__:null})[@]", "string"), ("''+@", "default"), ("-@", "number"),
)  # fmt: skip

MISTAKES: Final = (
    ("@;let @=1", "ReferenceError"), ("const @=1;@=2", "TypeError"), ("null.@", "TypeError"),
    ("'@'.length=1", "TypeError"), ("@", "ReferenceError"), ("2n+1", "TypeError"), ("new Array(-1)", "RangeError"),
    ("const[@]=1", "TypeError"), ("1n/0n", "RangeError"), ("@=1", "ReferenceError"), ("new(()=>{})", "TypeError"),
    ("class @ extends 1{}", "TypeError"), ("Symbol()+1", "TypeError"), ("const{@}=null", "TypeError"),
)  # fmt: skip

VALUES: Final = (
    key_order, template, traps, big_numbers, bytes_of_words, typed_values, number_text, conversions, hints, refusals,
    patterns, short_circuits,
)  # fmt: skip
