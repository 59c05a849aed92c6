"""Pieces of an instrument program about the language itself: control flow, scopes, evaluation order, functions.

They run in the page and in the worker, so they use syntax, not methods, and nothing newer than ECMAScript 2021.
"""

from collections.abc import Callable
from typing import Final

from agentgate.browser_check.instrument.draw import MASK, Piece, ProgramState
from agentgate.browser_check.instrument.state import Maker

Change = Callable[[int], int]


def lookup(maker: Maker) -> Piece:
    """An element at a computed place."""
    draw, name, place = maker.begin()
    values = [draw.word() for _ in range(draw.pick((4, 8)))]
    shift, last = draw.below(28), len(values) - 1
    script = f"[{','.join(map(draw.literal, values))}][{name}>>>{shift}&{last}]"
    return Piece(script, lambda state: values[state[place] >> shift & last])


def machine(maker: Maker) -> Piece:
    """A small machine: a switch in a loop, with jumps that depend on the value."""
    draw, name, place = maker.begin()
    at, left, value = draw.names(3)
    count, turns = draw.between(3, 5), draw.between(5, 11)
    numbers = draw.some(range(1, 120), count)
    rows: list[tuple[Change, int, int, int]] = []
    cases: list[str] = []
    for number in numbers:
        script, change = maker.round(value)
        bit = 1 << draw.below(31)
        one, other = draw.below(count), draw.below(count)
        rows.append((change, bit, one, other))
        jump = f"{at}={value}&{draw.literal(bit)}?{numbers[one]}:{numbers[other]}"
        cases.append(f"case {draw.literal(number)}:{script};{jump};{draw.pick(('break', 'continue'))};")
    body = (
        f"let {value}={name};for(let {at}={numbers[0]},{left}={turns};{left}--;)"
        f"switch({at}){{{''.join(draw.shuffled(cases))}}}return {value}"
    )

    def run(state: ProgramState) -> int:
        word, row = state[place], 0
        for _ in range(turns):
            change, bit, one, other = rows[row]
            word = change(word)
            row = one if word & bit else other
        return word

    return Piece(maker.call(body), run)


def closures(maker: Maker) -> Piece:
    """Functions that share one variable and each have another."""
    draw, name, place = maker.begin()
    shared, make, own, *made = draw.names(5)
    factor, literal = draw.factor()
    values = [draw.word(), draw.word()]
    calls = [draw.below(2) for _ in range(draw.between(2, 5))]
    body = (
        f"let {shared}={name};const {make}={own}=>()=>{shared}={maker.multiply}({shared}^{own},{literal}),"
        f"{made[0]}={make}({draw.literal(values[0])}),{made[1]}={make}({draw.literal(values[1])});"
        f"{';'.join(f'{made[call]}()' for call in calls)};return {shared}"
    )

    def run(state: ProgramState) -> int:
        word = state[place]
        for call in calls:
            word = (word ^ values[call]) * factor & MASK
        return word

    return Piece(maker.call(body), run)


def finally_order(maker: Maker) -> Piece:
    """What try, catch and finally do to a value that is returned or thrown."""
    draw, name, place = maker.begin()
    value, inner, caught = draw.names(3)
    before, first = maker.round(value)
    last, end = maker.round(value)
    kept, kept_literal = draw.constant()
    factor, literal = draw.factor()
    bit = 1 << draw.below(31)
    body = (
        f"let {value}={name};const {inner}=()=>{{try{{{before};if({value}&{draw.literal(bit)})throw {value};"
        f"return {value}^{kept_literal}}}catch({caught}){{return {value}={maker.multiply}({caught},{literal})}}"
        f"finally{{{last}}}}};return({inner}()^{value})+{value}|0"
    )

    def run(state: ProgramState) -> int:
        word = first(state[place])
        if word & bit:
            word = result = word * factor & MASK
        else:
            result = word ^ kept
        word = end(word)
        return (result ^ word) + word

    return Piece(maker.call(body), run)


def labels(maker: Maker) -> Piece:
    """Nested loops left and continued by a label."""
    draw, name, place = maker.begin()
    value, label, outer, inner = draw.names(4)
    rows, columns, stop = draw.between(3, 6), draw.between(3, 6), draw.between(4, 8)
    skip = draw.below(4)
    factor, literal = draw.factor()
    body = (
        f"let {value}={name};{label}:for(let {outer}=0;{outer}<{rows};{outer}++)"
        f"for(let {inner}=0;{inner}<{columns};{inner}++){{if(({outer}*{inner}+{value}&3)=={skip})continue {label};"
        f"if({outer}+{inner}>{stop})break {label};{value}={maker.multiply}({value}+{outer}*5+{inner}|0,{literal})}}"
        f"return {value}"
    )

    def run(state: ProgramState) -> int:
        word = state[place]
        for row in range(rows):
            for column in range(columns):
                if row * column + word & 3 == skip:
                    break
                if row + column > stop:
                    return word
                word = (word + row * 5 + column) * factor & MASK
        return word

    return Piece(maker.call(body), run)


def getters(maker: Maker) -> Piece:
    """Getters with effects, read in the order that destructuring gives."""
    draw, name, place = maker.begin()
    value, one, other = draw.names(3)
    properties = [draw.letters(2), draw.letters(3), draw.letters(4)]
    scripts, changes = zip(*(maker.round(value) for _ in properties), strict=True)
    order = draw.some(range(3), 2)
    declared = ",".join(
        f"get {properties[number]}(){{{scripts[number]};return {value}}}" for number in draw.shuffled(range(3))
    )
    body = (
        f"let {value}={name};const{{{properties[order[0]]}:{one},{properties[order[1]]}:{other}}}"
        f"={{__proto__:null,{declared}}};return {one}-{other}^{value}"
    )

    def run(state: ProgramState) -> int:
        first: int = changes[order[0]](state[place])
        second: int = changes[order[1]](first)
        return (first - second) ^ second

    return Piece(maker.call(body), run)


def generator(maker: Maker) -> Piece:
    """A generator that is left early and cleans up."""
    draw, name, place = maker.begin()
    value, make, given, count, item = draw.names(5)
    turns = draw.between(1, 4)
    step, change = maker.round(given)
    end, end_literal = draw.constant()
    factor, literal = draw.factor()
    body = (
        f"let {value}={name},{count}=0;function*{make}({given}){{try{{for(;;){{{step};yield {given}}}}}"
        f"finally{{{value}^={end_literal}}}}}for(const {item} of {make}({value})){{"
        f"{value}={maker.multiply}({value}^{item},{literal});if(++{count}>{turns})break}}return {value}"
    )

    def run(state: ProgramState) -> int:
        word = given = state[place]
        for _ in range(turns + 1):
            given = change(given)
            word = (word ^ given) * factor & MASK
        return word ^ end

    return Piece(maker.call(body), run)


def classes(maker: Maker) -> Piece:
    """The order in which classes evaluate keys, static fields, fields and constructors."""
    draw, name, place = maker.begin()
    value, log, mark, base, derived = draw.names(5)
    factor, literal = draw.factor()
    marks = [draw.below(1000) for _ in range(6)]
    first, second, third, before, after, static = marks
    key = draw.letters(3)
    body = (
        f"let {value}={name};const {log}={mark}=>{value}={maker.multiply}({value}^{mark},{literal});"
        f"class {base}{{{draw.letters(2)}={log}({first});constructor(){{{log}({second})}}}}"
        f"class {derived} extends {base}{{#{key}={log}({third});static {draw.letters(4)}={log}({static});"
        f"constructor(){{{log}({before});super();{log}({after})^this.#{key}}}}}new {derived};return {value}"
    )
    order = (static, before, first, second, third, after)

    return maker.folded(body, place, order, factor)


def evaluation_order(maker: Maker) -> Piece:
    """Operands that change what their neighbors read."""
    draw, name, place = maker.begin()
    one, other = draw.names(2)
    value, literal = draw.constant()
    factor, factor_literal = draw.factor()
    shift = draw.between(3, 20)
    lines: dict[str, Callable[[int, int], tuple[int, int]]] = {
        f"{one}={one}++ + ++{one}|0": lambda x, y: (2 * x + 2 & MASK, y),
        f"{other}^={one}={maker.multiply}({one},{factor_literal})": lambda x, y: (
            x * factor & MASK,
            y ^ x * factor & MASK,
        ),
        f"{one}=({other}={one}^{literal},{other}>>>{shift})+{other}|0": lambda x, _: (
            ((x ^ value) >> shift) + (x ^ value) & MASK,
            x ^ value,
        ),
        f"{one}+=({one}={literal})^{other};{one}|=0": lambda x, y: (x + (value ^ y) & MASK, y),
        f"[{one},{other}]=[{other},{one}-{other}|0]": lambda x, y: (y, x - y & MASK),
    }
    chosen = draw.some(tuple(lines), draw.between(2, 4))
    start, start_literal = draw.constant()
    body = f"let {one}={name},{other}={start_literal}|0;{';'.join(chosen)};return {one}^{other}"

    def run(state: ProgramState) -> int:
        x, y = state[place], start
        for line in chosen:
            x, y = lines[line](x, y)
        return x ^ y

    return Piece(maker.call(body), run)


def loop_variables(maker: Maker) -> Piece:
    """Functions made in a loop: each sees its own variable with let, one for all with var."""
    draw, name, place = maker.begin()
    own, same, index, all_index = draw.names(4)
    count, shift = draw.pick((4, 8)), draw.below(28)
    factor = draw.below(50_000)
    body = (
        f"const {own}=[],{same}=[];for(let {index}=0;{index}<{count};{index}++)"
        f"{own}[{index}]=()=>{index}++*{factor};"
        f"for(var {all_index}=0;{all_index}<{count};{all_index}++){same}[{all_index}]=()=>{all_index}++;"
        f"return {own}[{name}>>>{shift}&{count - 1}]()+{own}[{name}>>>{shift}&{count - 1}]()+{same}[0]()*{same}[1]()"
    )

    def run(state: ProgramState) -> int:
        index = state[place] >> shift & count - 1
        return index * factor + (index + 1) * factor + count * (count + 1)

    return Piece(maker.call(body), run)


def parameters(maker: Maker) -> Piece:
    """Defaults, rest parameters and spread."""
    draw, name, place = maker.begin()
    first, second, rest, extra = draw.names(4)
    value, literal = draw.constant()
    factor, factor_literal = draw.factor()
    given = [draw.below(1000) for _ in range(draw.between(1, 4))]
    at = draw.below(len(given))
    script = (
        f"(({first},{second}={first}^{literal},...{rest})=>{maker.multiply}({second}+{rest}[{at}]|0,{factor_literal})"
        f"+{rest}.length)({name},void 0,...(({extra})=>[{extra},{','.join(map(str, given))}])({given[-1]}))"
    )
    values = [given[-1], *given]
    return Piece(script, lambda state: ((state[place] ^ value) + values[at]) * factor % (1 << 32) + len(values))


LANGUAGE: Final = (
    lookup, machine, closures, finally_order, labels, getters, generator, classes, evaluation_order,
    loop_variables, parameters,
)  # fmt: skip
