"""JSON text to a plain value with the place of every part. Strict, linear, and no deeper than allowed."""

import json
import re
from bisect import bisect_right
from typing import Any

from agentgate.protection.rules.positions import NUMBER_CHARACTERS, Path, Place, TextProblem

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.ASCII)
_WORDS = {"true": True, "false": False, "null": None}


def read_json(text: str, *, depth: int) -> tuple[Any, dict[Path, Place]] | None:
    """Return value and places; None when this is not JSON. What is JSON and not allowed raises TextProblem."""
    reader = _JsonReader(text, depth)
    try:
        value = reader.value((), depth)
    except _NotJsonError:
        return None
    return (value, reader.places) if reader.skip() == len(text) else None


class _NotJsonError(Exception):
    pass


class _JsonReader:
    def __init__(self, text: str, depth: int) -> None:
        self._text = text
        self._depth = depth
        self._at = 0
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self.places: dict[Path, Place] = {}

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
                raise TextProblem(
                    f"This is nested too deeply; at most {self._depth} levels are allowed.", self._place(start)
                )
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
                raise TextProblem(f"The key {key[:40]} stands here twice; keep one.", self._place(start))
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
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise TextProblem(
                "Half of a surrogate pair is no character; write the character itself.", self._place(self._at)
            )
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
        if len(match[0]) > NUMBER_CHARACTERS:
            raise TextProblem(
                f"This number is too long; at most {NUMBER_CHARACTERS} characters are read.", self._place(self._at)
            )
        number = float(match[0]) if match[1] or match[2] else int(match[0])
        if number in {float("inf"), float("-inf")}:
            raise TextProblem("This number is too large.", self._place(self._at))
        self._at = match.end()
        return number

    def _takes(self, character: str) -> bool:
        found = self._text.startswith(character, self.skip())
        self._at += found
        return found

    def _expect(self, character: str) -> None:
        if not self._takes(character):
            raise _NotJsonError

    def _place(self, at: int) -> Place:
        line = bisect_right(self._lines, at)
        return Place(line, at - self._lines[line - 1] + 1)
