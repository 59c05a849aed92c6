"""Request targets: whether a path is plain, and the texts that decoders could make of an odd one (hot, pure).

`is_plain(path)` takes the bytes before the `?` as they came. `decoded_texts(data)` takes any bytes of a request and
returns folded texts, or None when a bound is exceeded: then the request could be anything. `odd_texts(host, target)`
does so for a target with an odd path. See `route_table`.
"""

import re
import unicodedata
from itertools import product
from urllib.parse import unquote_to_bytes

# Bounds on what one odd target may cost. An ordinary odd target is far below them.
MOST_BYTES = 16_384
MOST_DECODINGS = 8
# Percent signs over all rounds of decoding: an escaped `%` is decoded once for each level.
MOST_ESCAPES = 1_024
# Bytes of a target with an odd path, and of text that is not UTF-8 and has several readings.
MOST_ODD_BYTES = 1_024
MOST_OVERLONG = 64
# Normalization sorts combining marks, in time that grows with the square of their number.
MOST_NON_ASCII = 512
_MOST_HIGH_BYTES = 4 * MOST_NON_ASCII

# As a number: `in` looks for bytes in bytes only after it failed to read them as a number.
PERCENT = ord("%")

# One `/` before each segment; no segment is empty, begins in a blank, or ends in a blank or a dot. A `+` is a blank to
# servers that decode paths like forms. Escaped characters are not unreserved, not of `/ \ ; % ? #`, not controls.
# Each run of characters ends where the next one is none of them: a path that does not match fails in linear time.
_RUN = rb"""[!"$&-.0-:<->@-\[\]-~\x80-\xff]*(?![!"$&-.0-:<->@-\[\]-~\x80-\xff])"""
_PLAIN_ESCAPE = rb"%(?:2[0-246-9A-Ca-c]|3[ACDEacde]|40|5[BDEbde]|60|7[B-Db-d]|[89A-Fa-f][0-9A-Fa-f])"
_PLAIN = re.compile(rb"(?=/)(?:/(?![/+]|%%20|\Z)%b(?:%b%b)*(?<![.+])(?<!%%20))*/?\Z" % (_RUN, _PLAIN_ESCAPE, _RUN))
# Controls and blanks that normalization keeps.
_ODD_TEXT = re.compile("[\x7f-\x9f\u1680\u2028\u2029]")

# What ends a word. `+` may be a blank; normalization turns the other blanks into the usual one.
SEPARATORS = re.compile("[/\\\\;?#&=,:@.|+ \u1680\u2028\u2029]+")
# Controls and what Unicode calls default ignorable. Some programs drop them, some end a word or the text there.
_IGNORABLE = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_DROPPED = re.compile(f"[{_IGNORABLE}]")
# Likewise bytes that are no UTF-8 (surrogates here), and a `%` that begins no escape.
_MARKS = re.compile(f"[{_IGNORABLE}\ud800-\udfff%]+")
# What `_MARKS` becomes in a decoded text: it counts as nothing and as a separator.
MARK = "\0"

# However often the `%` itself is escaped.
_ESCAPE = re.compile(rb"%(?:25)*([0-9A-Fa-f]{2})")
_OLD_ESCAPE = re.compile(rb"%[uU]([0-9A-Fa-f]{4})")
_ANY_ESCAPE = re.compile(r"%(?:[0-9A-Fa-f]{2}|[uU][0-9A-Fa-f]{4})")
# Sequences longer than their character needs, in the forms of up to six bytes that UTF-8 once had.
_OVERLONG = re.compile(
    rb"""[\xc0\xc1][\x80-\xbf]
    | \xe0[\x80-\x9f][\x80-\xbf]
    | \xf0[\x80-\x8f][\x80-\xbf]{2}
    | \xf8[\x80-\x87][\x80-\xbf]{3}
    | \xfc[\x80-\x83][\x80-\xbf]{4}""",
    re.VERBOSE,
)
# The first byte of a sequence whose rest is missing, and the characters that a careless decoder takes for the rest.
_TRUNCATED = re.compile(
    "[\udcc0-\udcdf].|[\udce0-\udcef]..|[\udcf0-\udcf7]...|[\udcf8-\udcfb]....|[\udcfc\udcfd].....", re.DOTALL
)
_FIRST_BITS = {2: 0x1F, 3: 0x0F, 4: 0x07, 5: 0x03, 6: 0x01}
_NO_UTF8 = re.compile("[\udc80-\udcff]")
_LATIN_1 = {0xDC00 + byte: byte for byte in range(0x80, 0x100)}
_NO_CHARACTER = "\udc80"
_HIGH_BYTES = bytes(range(0x80, 0x100))
_HEX = b"0123456789abcdefABCDEF"
_BYTES = {bytes(pair): bytes.fromhex(bytes(pair).decode()) for pair in product(_HEX, repeat=2)}


def is_plain(path: bytes) -> bool:
    """Return whether every server reads the path alike, but for case and a closing slash."""
    if _PLAIN.match(path) is None:
        return False
    return (PERCENT not in path and path.isascii()) or _is_plain_text(path)


def folded_path(path: bytes) -> str:
    """Return a plain path with its escapes decoded and case folded, without ignorable characters."""
    if PERCENT not in path and path.isascii():
        return path.decode("ascii").lower()
    return _DROPPED.sub("", _fold(unquote_to_bytes(path).decode("utf-8", "surrogateescape")))


def decoded_texts(data: bytes) -> tuple[str, ...] | None:
    """Return what decoders could make of it, the most usual first, folded and with marks; None beyond the bounds."""
    if len(data) > MOST_BYTES:
        return None
    if data.isascii() and PERCENT not in data:
        return (_MARKS.sub(MARK, data.decode("ascii").lower()),)
    text = _decode(data)
    if text is None:
        return None
    texts = [text]
    if _NO_UTF8.search(text):
        if len(data) > MOST_ODD_BYTES:
            return None
        texts.append(text.translate(_LATIN_1))
        taken = _decode(_TRUNCATED.sub(_take_rest, text).encode("utf-8", "surrogateescape"))
        if taken is None:
            return None
        texts.append(taken)
    return tuple(_MARKS.sub(MARK, _fold(each)) for each in texts)


def odd_texts(host: bytes, target: bytes) -> tuple[str, ...] | None:
    """Return what decoders could make of a target with an odd path, and its host; None beyond the bounds."""
    return None if len(target) > MOST_ODD_BYTES else decoded_texts(host + b" " + target)


def _is_plain_text(path: bytes) -> bool:
    try:
        text = unquote_to_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        return False
    if text.isascii():
        return True
    if _ODD_TEXT.search(text) or not unicodedata.is_normalized("NFKC", text):
        return False
    # Nothing that makes a target odd may hide behind characters that some programs drop.
    shown = _DROPPED.sub("", text)
    return shown == text or _PLAIN.match(shown.encode()) is not None


def _decode(data: bytes) -> str | None:
    """Return the fully decoded text; None if it takes too many steps. Bytes that are not UTF-8 become surrogates."""
    left = MOST_ESCAPES
    for _ in range(MOST_DECODINGS):
        before = data
        left -= data.count(PERCENT)
        if left < 0:
            return None
        data = _ESCAPE.sub(_byte, _OLD_ESCAPE.sub(_utf_8, data))
        if data.isascii():
            if data == before:
                return data.decode("ascii")
            continue
        data, count = _OVERLONG.subn(_shorten, data, MOST_OVERLONG + 1)
        if count > MOST_OVERLONG or len(data) - len(data.translate(None, _HIGH_BYTES)) > _MOST_HIGH_BYTES:
            return None
        if data != before:
            continue
        text = data.decode("utf-8", "surrogateescape")
        if len(text) - len(text.encode("ascii", "ignore")) > MOST_NON_ASCII:
            return None
        # Wide forms of `%` and of digits make escapes too. Decomposed, nothing is joined to a separator.
        text = unicodedata.normalize("NFKD", text)
        if _ANY_ESCAPE.search(text) is None:
            return text
        data = text.encode("utf-8", "surrogateescape")
    return None


def _fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    # Python's (?i) and Turkish rules take both for an i.
    return folded.replace("\u0131", "i").replace("i\u0307", "i")


def _byte(escape: re.Match[bytes]) -> bytes:
    return _BYTES[escape[1]]


def _utf_8(escape: re.Match[bytes]) -> bytes:
    return chr(int(escape[1], 16)).encode("utf-8", "surrogatepass")


def _shorten(sequence: re.Match[bytes]) -> bytes:
    return _character(sequence[0]).encode("utf-8", "surrogateescape")


def _take_rest(sequence: re.Match[str]) -> str:
    first, *rest = map(ord, sequence[0])
    return _character([first - 0xDC00, *rest])


def _character(sequence: bytes | list[int]) -> str:
    code = sequence[0] & _FIRST_BITS[len(sequence)]
    for part in sequence[1:]:
        code = code << 6 | part & 0x3F
    return _NO_CHARACTER if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF else chr(code)
