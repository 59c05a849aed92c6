"""User-Agent tokens: thousands of names searched in one pass, whatever the text.

Meanings of names are data (`data/user_agents.json`); this module only finds their positions in a User-Agent.
"""

from collections.abc import Sequence
from enum import IntEnum

from ahocorasick_rs import AhoCorasick
from msgspec import Struct

COMPATIBLE = "(compatible; "


class Boundary(IntEnum):
    """The boundaries that a token needs to count. Bundled files name them by word, imported sets by number."""

    ANYWHERE = 0
    # No letter or digit right before it.
    LEFT = 1
    # A whole word: nor right after it, and no part of a dotted name such as `com.example.katana`.
    WORD = 2
    # A product token: nor `-` nor `_` on either side, so that `GPTBot` is not found in `My-GPTBot-Clone`.
    PRODUCT = 3
    # Only as the first thing in the text or in `Mozilla/5.0 (compatible; `, and as a whole word.
    START = 4
    # A whole word between brackets.
    COMMENT = 5


class Token(Struct, frozen=True, array_like=True):
    """One name. It is compared in lower case; `name` is how it is shown."""

    text: str
    kind: str
    boundary: Boundary
    name: str
    # The operator's stated purpose for fetched pages: `training`, `search`, `fetch`, `dataset`, or nothing.
    purpose: str = ""


class TokenMatcher:
    """All tokens as one automaton. The time of a search grows with the text, not with the number of tokens."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tuple(tokens)
        self._automaton = AhoCorasick([token.text.lower() for token in tokens])

    def find(self, lowered: str) -> list[Token]:
        """Return the tokens in a text that `searchable` made, in the order of their ends."""
        found = []
        for index, start, end in self._automaton.find_matches_as_indexes(lowered, overlapping=True):
            token = self.tokens[index]
            if _is_at(token.boundary, lowered, start=start, end=end):
                found.append(token)
        return found


class WordSearch:
    """Words that are searched for all at once, anywhere in a text."""

    def __init__(self, words: Sequence[str]) -> None:
        self._automaton = AhoCorasick(words)

    def find(self, text: str) -> list[int]:
        """Return the positions in the list of all words that a text has."""
        return [index for index, *_ in self._automaton.find_matches_as_indexes(_whole(text), overlapping=True)]

    def has_any(self, text: str) -> bool:
        return bool(self._automaton.find_matches_as_indexes(_whole(text)))


def searchable(text: str) -> str:
    """Return a text in lower case in which half characters, which no search takes, are replaced."""
    return _whole(text.lower())


def _whole(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _is_at(boundary: Boundary, text: str, *, start: int, end: int) -> bool:
    if boundary is Boundary.ANYWHERE:
        return True
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if boundary is Boundary.START:
        is_first = not start or (text.startswith("mozilla/") and text.endswith(COMPATIBLE, 0, start))
        # `python3` is `python` too, `pythonista` is not.
        return is_first and not (text[end - 1].isalpha() and after.isalpha())
    if before.isalnum() or boundary is Boundary.LEFT:
        return not before.isalnum()
    if text[end - 1].isalnum() and after.isalnum():
        return False
    if boundary is Boundary.PRODUCT:
        return not (before in {"-", "_", "."} or after in {"-", "_"})
    is_word = not _is_in_dotted_name(text, start, before=before)
    return is_word and (boundary is Boundary.WORD or text.count("(", 0, start) > text.count(")", 0, start))


def _is_in_dotted_name(text: str, start: int, *, before: str) -> bool:
    """Return whether a name is the last part of `com.example.name`, and not a host name in a web address."""
    if before != ".":
        return False
    word = text[text.rfind(" ", 0, start) + 1 : start]
    return "//" not in word and "www." not in word
