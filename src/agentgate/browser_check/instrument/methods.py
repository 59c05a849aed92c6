"""Pieces of an instrument program about the library: patterns, dates, JSON, addresses, sorting, encodings.

They run in the worker alone: there nobody but us has replaced a method.
"""

import json
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from agentgate.browser_check.instrument.draw import MASK, Piece, ProgramState
from agentgate.browser_check.instrument.state import Maker

# Beyond ASCII: one, two, three and four bytes in UTF-8, some with another form when normalized.
MARKS: Final = ("\u00e9", "\u00f1", "\u212b", "\ufb01", "\u1e69", "\u20ac", "\U0001f600", "\uac00", "\u00bd", "\u0130")
FORMS: Final[tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...]] = ("NFC", "NFD", "NFKC", "NFKD")
DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FACTS: Final = (
    "self instanceof WorkerGlobalScope",
    "typeof document=='undefined'",
    "/\\[native code]/.test(Function.prototype.toString.call(importScripts))",
    "typeof window=='undefined'",
    "Object.getPrototypeOf(navigator)===WorkerNavigator.prototype",
    "typeof WorkerLocation=='function'",
    "Object.prototype.toString.call(self)=='[object DedicatedWorkerGlobalScope]'",
    "/\\[native code]/.test(Function.prototype.toString.call(postMessage))",
)


def worker_facts(maker: Maker) -> Piece:
    """What holds in a worker and nowhere else."""
    draw = maker.draw
    total, scripts = 0, []
    for fact in draw.some(FACTS, 2):
        right = draw.below(1 << 15)
        scripts.append(f"({fact}?{right}:{right ^ draw.between(1, 1 << 14)})")
        total = total * 31 + right
    script = f"{scripts[0]}*31+{scripts[1]}"
    return Piece(script, lambda _: total)


def matches(maker: Maker) -> Piece:
    """Named groups of a pattern, found one after the other."""
    draw, name, place = maker.begin()
    value, found = draw.names(2)
    factor, literal = draw.factor()
    parts = [(draw.below(9999), draw.letters(draw.between(1, 3))) for _ in range(draw.between(2, 4))]
    text = draw.pick("-_:").join(f"{number}{letters}" for number, letters in parts)
    one, other = draw.letters(2), draw.letters(3)
    body = (
        f"let {value}={name};for(const {found} of {draw.text(text)}.matchAll(/(?<{one}>\\d+)(?<{other}>[a-z]+)/g))"
        f"{value}={maker.multiply}({value}^+{found}.groups.{one}+{found}.groups[{draw.text(other)}].length,{literal})"
        f"+{found}.index|0;return {value}"
    )

    def run(state: ProgramState) -> int:
        word, index = state[place], 0
        for number, letters in parts:
            word = ((word ^ (number + len(letters))) * factor + index) & MASK
            index += len(str(number)) + len(letters) + 1
        return word

    return Piece(maker.call(body), run)


def replaced(maker: Maker) -> Piece:
    """A text cut, padded, repeated and put together anew."""
    draw = maker.draw
    letters, pad = draw.letters(draw.between(4, 7)), draw.letters(2)
    width, start = draw.between(8, 14), draw.between(-4, 3)
    script = f"{draw.text(letters)}.slice({start}).padStart({width},{draw.text(pad)})"
    kept = letters[start:]
    filled = (pad * width)[: max(0, width - len(kept))] + kept
    way = draw.below(3)
    if way == 0:
        return _hashed(maker, f"{script}.toUpperCase()", filled.upper())
    if way == 1:
        script = f"{script}.replace(/(.)(.)/g,{draw.text('$2-$1')})"
        pairs = "".join(f"{filled[at + 1]}-{filled[at]}" for at in range(0, len(filled) - 1, 2))
        return _hashed(maker, script, pairs + (filled[-1] if len(filled) % 2 else ""))
    return _hashed(maker, f"[...{script}].reverse().join({draw.text(':')})", ":".join(reversed(filled)))


def json_text(maker: Maker) -> Piece:
    """An object as JSON: the order of its keys, what is left out, what becomes null."""
    draw = maker.draw
    words = [draw.letters(number) for number in (2, 3, 4)]
    numbers = sorted(draw.some(range(50), 2))
    values = {word: draw.below(999) for word in words}
    gone = draw.letters(5)
    written = [f"{word}:{value}" for word, value in values.items()]
    script = (
        f"JSON.stringify({{{written[0]},{numbers[1]}:[void 0,-0,NaN],{gone}:void 0,{written[1]},"
        f"{numbers[0]}:{{toJSON:()=>{draw.text(words[0])}}},{written[2]}}})"
    )
    right = {str(numbers[0]): words[0], str(numbers[1]): [None, 0, None], **values}
    # Quotation marks are not among the counted characters.
    return _hashed(maker, script, json.dumps(right, separators=(",", ":")))


def sorting(maker: Maker) -> Piece:
    """Sorting keeps the order of equals, and compares texts when not told otherwise."""
    draw = maker.draw
    if draw.below(2):
        numbers = [draw.below(200) for _ in range(draw.between(4, 7))]
        return _hashed(maker, f"[{','.join(map(str, numbers))}].sort().join()", ",".join(sorted(map(str, numbers))))
    one, other = draw.names(2)
    texts = [f"{draw.letters(1)}{draw.below(3)}" for _ in range(draw.between(5, 8))]
    script = f"{draw.text(' '.join(texts))}.split(` `).sort(({one},{other})=>{other}[1]-{one}[1]).join(``)"
    return _hashed(maker, script, "".join(sorted(texts, key=lambda text: -int(text[1]))))


def radix(maker: Maker) -> Piece:
    """Numbers written and read in another number system."""
    draw, name, place = maker.begin()
    digits, hashed = draw.between(3, 36), maker.hash_of
    if draw.below(2):
        return Piece(
            f"{maker.hash}(({name}>>>0).toString({digits}))", lambda state: hashed(_written(state[place], digits))
        )
    number = draw.below(60_000)
    script = f"parseInt({draw.text(' ' + _written(number, digits) + '!')},{digits})^{name}"
    return Piece(script, lambda state: number ^ state[place])


def dates(maker: Maker) -> Piece:
    """Months and days beyond their ends."""
    draw = maker.draw
    year, month, day = draw.between(1971, 2090), draw.between(-9, 20), draw.between(-40, 70)
    moment = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC) + timedelta(days=day - 1)
    script = f"Date.UTC({year},{month},{day})"
    if draw.below(2):
        return _hashed(maker, f"new Date({script}).toISOString()", f"{moment:%Y-%m-%dT%H:%M:%S}.000Z")
    days = (moment - EPOCH).days
    divisor = draw.between(1, 4000)
    return Piece(f"{script}/864e5*{divisor}+new Date({script}).getUTCDay()", lambda _: days * divisor + (days + 4) % 7)


def addresses(maker: Maker) -> Piece:
    """Addresses and queries, read and written."""
    draw = maker.draw
    one, two, three, four = (draw.letters(draw.between(2, 4)) for _ in range(4))
    number = draw.below(999)
    way = draw.below(3)
    if way == 0:
        address = draw.text(f"../{three}/./{four}?{one}={number}#{two}")
        script = f"new URL({address},{draw.text(f'HTTPS://{one}.{two}:443/{two}/{one}/')}).href"
        return _hashed(maker, script, f"https://{one}.{two}/{two}/{three}/{four}?{one}={number}#{two}")
    if way == 1:
        script = f"`${{new URLSearchParams({draw.text(f'?{one}={two} {three}&{four}&={number}%21')})}}`"
        return _hashed(maker, script, f"{one}={two}+{three}&{four}=&={number}%21")
    script = f"encodeURIComponent({draw.text(f'{one}/{two}?{three}={four} {number}')})"
    return _hashed(maker, script, f"{one}%2F{two}%3F{three}%3D{four}%20{number}")


def encodings(maker: Maker) -> Piece:
    """The bytes and the normal forms of texts beyond ASCII."""
    draw = maker.draw
    value, item = draw.names(2)
    text = "".join(draw.pick(MARKS) for _ in range(draw.between(1, 3))) + draw.letters(1)
    form = draw.pick(FORMS)
    factor, literal = draw.factor()
    written = "".join(f"\\u{{{ord(letter):x}}}" for letter in text)
    body = (
        f"let {value}=1;for(const {item} of new TextEncoder().encode('{written}'.normalize('{form}')))"
        f"{value}={maker.multiply}({value}^{item},{literal});return {value}"
    )
    word = 1
    for byte in unicodedata.normalize(form, text).encode():
        word = (word ^ byte) * factor & MASK
    return Piece(maker.call(body), lambda _: word)


def collections(maker: Maker) -> Piece:
    """Maps and sets keep the order in which keys came first."""
    draw = maker.draw
    one, other = draw.names(2)
    texts = [draw.pick("abcde") + str(draw.below(3)) for _ in range(draw.between(5, 8))]
    words = draw.text(" ".join(texts))
    if draw.below(2):
        return _hashed(maker, f"[...new Set({words}.split(' '))].join('+')", "+".join(dict.fromkeys(texts)))
    script = f"[...new Map({words}.split(' ').map(({one},{other})=>[{one}[0],{other}]))].flat().join('')"
    kept = {text[0]: place for place, text in enumerate(texts)}
    return _hashed(maker, script, "".join(f"{letter}{place}" for letter, place in kept.items()))


def _hashed(maker: Maker, script: str, text: str) -> Piece:
    value = maker.hash_of(text)
    return Piece(f"{maker.hash}({script})", lambda _: value)


def _written(number: int, digits: int) -> str:
    written = ""
    while number:
        number, digit = divmod(number, digits)
        written = DIGITS[digit] + written
    return written or "0"


METHODS: Final = (
    matches, replaced, json_text, sorting, radix, dates, addresses, encodings, collections,
)  # fmt: skip
