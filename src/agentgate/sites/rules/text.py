"""Editor text to a plain value: JSON, or YAML 1.2 without aliases, anchors and tags. Each part knows its position.

Scalars are read by YAML 1.2's core schema, unlike the library's default: `no` and `on` are text. `validate` checks the
value itself.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from agentgate.lib.limits import RULE_SET_DEPTH, RULE_SET_TEXT_BYTES

# Longer than any number that means something in a rule set, and short enough for every reader.
NUMBER_CHARACTERS = 30

# Keys and indexes from the top of a value to one of its parts.
Path = tuple[str | int, ...]


class LineColumn(NamedTuple):
    """Line and column, counted from 1."""

    line: int
    column: int


class TextProblem(Exception):  # noqa: N818 - says what it is
    """A text cannot be read at all."""

    def __init__(self, message: str, place: LineColumn) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.ASCII)
_WORDS = {"true": True, "false": False, "null": None}


def read_json(text: str) -> tuple[Any, dict[Path, LineColumn]] | None:
    """Return value and positions; None if this is not JSON. Raise TextProblem for JSON that is not allowed."""
    reader = _JsonReader(text)
    try:
        value = reader.value((), RULE_SET_DEPTH)
    except _NotJsonError:
        return None
    return (value, reader.places) if reader.skip() == len(text) else None


class _NotJsonError(Exception):
    pass


class _JsonReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self.places: dict[Path, LineColumn] = {}

    def skip(self) -> int:
        """Go past spaces; return where that is."""
        match = _SPACE.match(self._text, self._at)
        assert match is not None, "no spaces are spaces too"
        self._at = match.end()
        return self._at

    def value(self, path: Path, depth: int) -> Any:
        """Read one value. Recursion ends at the depth that is allowed."""
        start = self.skip()
        self.places[path] = self._place(start)
        first = self._text[start : start + 1]
        if first in {"{", "["}:
            if depth == 0:
                raise _too_deep(self._place(start))
            self._at += 1
            return self._object(path, depth - 1) if first == "{" else self._list(path, depth - 1)
        if first == '"':
            return self._string()
        return self._number_or_word()

    def _object(self, path: Path, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self._takes("}"):
            return found
        while True:
            start = self.skip()
            key = self._string()
            if key in found:
                raise TextProblem(f"The key {key[:40]} occurs twice. Keep one.", self._place(start))
            self._expect(":")
            found[key] = self.value((*path, key), depth)
            if self._takes("}"):
                return found
            self._expect(",")

    def _list(self, path: Path, depth: int) -> list[Any]:
        found: list[Any] = []
        if self._takes("]"):
            return found
        while True:
            found.append(self.value((*path, len(found)), depth))
            if self._takes("]"):
                return found
            self._expect(",")

    def _string(self) -> str:
        match = _STRING.match(self._text, self._at)
        if match is None:
            raise _NotJsonError
        text: str = json.loads(match[0])
        _check_characters(text, self._place(self._at))
        self._at = match.end()
        return text

    def _number_or_word(self) -> Any:
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return value
        match = _NUMBER.match(self._text, self._at)
        if match is None:
            raise _NotJsonError
        number = _number(match[0], self._place(self._at), is_integer=not (match[1] or match[2]))
        self._at = match.end()
        return number

    def _takes(self, character: str) -> bool:
        found = self._text.startswith(character, self.skip())
        self._at += found
        return found

    def _expect(self, character: str) -> None:
        if not self._takes(character):
            raise _NotJsonError

    def _place(self, at: int) -> LineColumn:
        line = bisect_right(self._lines, at)
        return LineColumn(line, at - self._lines[line - 1] + 1)


_NULL = re.compile(r"(?:null|Null|NULL|~|)\Z")
_TRUE = re.compile(r"(?:true|True|TRUE)\Z")
_FALSE = re.compile(r"(?:false|False|FALSE)\Z")
_INTEGER = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
# The library written in C is thirty times faster; the other reads the same texts, but for tabs within braces.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class ReadText:
    """The value of a text, and the position of each part."""

    value: Any
    places: Mapping[Path, LineColumn]

    def locate(self, path: Path) -> LineColumn:
        """Return the position of a part, or of the nearest enclosing part that the text contains."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, LineColumn(1, 1))


def read_text(text: str) -> ReadText:
    """Read a text, or raise TextProblem."""
    # Characters have one to four bytes, so this alone bounds the work below.
    if len(text) > RULE_SET_TEXT_BYTES or len(text.encode("utf-8", "replace")) > RULE_SET_TEXT_BYTES:
        raise TextProblem(f"The text is too large. Send at most {RULE_SET_TEXT_BYTES // 1024} KiB.", LineColumn(1, 1))
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        # YAML's readers do not know all of JSON's escapes, nor its tabs.
        read = read_json(text.removeprefix("\ufeff"))
        if read is not None:
            return ReadText(*read)
    return _read_yaml(text)


def _read_yaml(text: str) -> ReadText:
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        raise TextProblem(f"This is not YAML: {problem.problem or problem.context}.", _place(mark)) from None
    except yaml.reader.ReaderError as problem:
        raise TextProblem("Control characters are not allowed. Remove them.", _at(text, problem.position)) from None
    except yaml.YAMLError:
        raise TextProblem("This is not YAML.", LineColumn(1, 1)) from None
    if not builder.done:
        raise TextProblem(
            "The text is empty. Write a rule set with version, rules and default_action.", LineColumn(1, 1)
        )
    return ReadText(builder.value, builder.places)


@dataclass
class _Open:
    """A mapping or a list that is being read."""

    value: Any
    path: Path
    # The key whose value is next.
    key: str | None = None


@dataclass
class _Builder:
    """Puts a value together from events. No recursion: the depth is checked against the limit."""

    value: Any = None
    done: bool = False
    places: dict[Path, LineColumn] = field(default_factory=dict)
    _open: list[_Open] = field(default_factory=list)

    def take(self, event: yaml.Event) -> None:
        place = _place(event.start_mark)
        _check_plain(event, place)
        if isinstance(event, yaml.DocumentStartEvent) and self.done:
            raise TextProblem("Only one document is allowed. Remove everything after ---.", place)
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event, place)
        elif isinstance(event, yaml.MappingStartEvent):
            self._begin({}, place)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._begin([], place)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._open.pop()

    def _scalar(self, event: yaml.ScalarEvent, place: LineColumn) -> None:
        _check_characters(event.value, place)
        top = self._open[-1] if self._open else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            if event.value in top.value:
                raise TextProblem(f"The key {event.value[:40]} occurs twice. Keep one.", place)
            top.key = event.value
            # The position of a key without a value; the value overwrites it.
            self.places[(*top.path, event.value)] = place
            return
        self._put(_plain_value(event.value, place) if event.implicit[0] else event.value, place)

    def _begin(self, value: Any, place: LineColumn) -> None:
        top = self._open[-1] if self._open else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            raise TextProblem("A key must be text.", place)
        if len(self._open) >= RULE_SET_DEPTH:
            raise _too_deep(place)
        self._open.append(_Open(value, self._put(value, place)))

    def _put(self, value: Any, place: LineColumn) -> Path:
        path: Path = ()
        if not self._open:
            self.value, self.done = value, True
        else:
            top = self._open[-1]
            if isinstance(top.value, dict):
                assert top.key is not None, "a mapping's values follow its keys"
                path = (*top.path, top.key)
                top.value[top.key], top.key = value, None
            else:
                path = (*top.path, len(top.value))
                top.value.append(value)
        self.places[path] = place
        return path


def _check_plain(event: yaml.Event, place: LineColumn) -> None:
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
        raise TextProblem("Anchors (&) and aliases (*) are not allowed. Write out the value, or quote the text.", place)
    tags = getattr(event, "tags", None)
    if tags or getattr(event, "tag", None) is not None:
        raise TextProblem("Tags (!) are not allowed. Remove the tag, or quote the text.", place)


def _plain_value(text: str, place: LineColumn) -> Any:
    if _NULL.match(text):
        return None
    if _TRUE.match(text):
        return True
    if _FALSE.match(text):
        return False
    if _NOT_FINITE.match(text):
        raise TextProblem("Infinity and not-a-number are not allowed. Write a number.", place)
    is_integer = _INTEGER.match(text) is not None
    if not is_integer and not _FLOAT.match(text):
        return text
    return _number(text, place, is_integer=is_integer)


def _number(text: str, place: LineColumn, *, is_integer: bool) -> int | float:
    if len(text) > NUMBER_CHARACTERS:
        raise TextProblem(f"This number is too long. Write at most {NUMBER_CHARACTERS} characters.", place)
    if is_integer:
        # Leading zeros do not make it octal in YAML 1.2, and Python's base 0 would reject them.
        return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        raise TextProblem("This number is too large.", place)
    return number


def _too_deep(place: LineColumn) -> TextProblem:
    return TextProblem(f"The text is nested too deeply: at most {RULE_SET_DEPTH} levels are allowed.", place)


def _check_characters(text: str, place: LineColumn) -> None:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise TextProblem("Half of a surrogate pair is not a character. Write the character itself.", place)


def _place(mark: Any) -> LineColumn:
    return LineColumn(mark.line + 1, mark.column + 1) if mark is not None else LineColumn(1, 1)


def _at(text: str, position: int) -> LineColumn:
    before = text[:position]
    return LineColumn(before.count("\n") + 1, len(before) - before.rfind("\n"))
