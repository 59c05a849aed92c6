"""QueryMatcher: matches the query of a request with the conditions of rules on its parameters (hot, pure).

A query is plain if all common servers find the same parameters in it. What holds for a plain query is sure. Case, a
repeated parameter and a `+` are read in more than one way, so that a condition on them *may* hold. Any other query may
have every parameter whose words occur in it, and rules take the strictest outcome (`rules/evaluate`).
"""

import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from agentgate.sites.rules.patterns.glob import Glob, split_glob
from agentgate.sites.rules.patterns.predicates import Predicate
from agentgate.sites.targets import MARK, SEPARATORS, decoded_texts, folded_path

# Parameters of a query that are read one by one. A longer query may have any.
MOST_PARAMETERS = 256
# Values of one parameter that are compared with its globs. If there are more, they may match: each costs all globs.
MOST_VALUES = 16
# No escapes in names, and none in values of what servers take apart: controls, `%`, `&`, `+`, `;`, `=`, `#`.
_NAME = rb"[A-Za-z0-9_-]+"
_ESCAPE = rb"%(?:2[0-24789ACDEFacdef]|3[0-9ACEFacef]|[4-6][0-9A-Fa-f]|7[0-9A-Ea-e]|[89A-Fa-f][0-9A-Fa-f])"
_VALUE = rb"(?:[!$'()*,./0-9:?@A-Z_a-z~+-]|" + _ESCAPE + rb")*"
_PAIR = _NAME + rb"(?:=" + _VALUE + rb")?"
_PLAIN = re.compile(_PAIR + rb"(?:&" + _PAIR + rb")*\Z")
_PIECES = re.compile(rb"[&;]")
# PHP turns these into `_` in names.
_NAME_SIGNS = str.maketrans(".[+ ", "____")


class ParameterGlobs(NamedTuple):
    """A condition on one parameter: the globs of which one must match its value."""

    # As written; and with case folded.
    name: bytes
    folded: bytes
    exact: tuple[Glob, ...]
    loose: tuple[Glob, ...]
    # For each glob, the name and the words that occur in this order in a query that could match.
    words: tuple[tuple[str, ...], ...]
    bit: int


class SentValue(NamedTuple):
    """A value of a parameter as it was sent: its name, the text that every server reads, and what some may read."""

    name: bytes
    # None if servers differ.
    exact: str | None
    loose: tuple[str, ...]


class QueryMatcher:
    """The conditions of a rule set on queries. A set without any has no matcher."""

    __slots__ = ("_amounts", "_bits", "_parameters")

    def __init__(self, parameters: Iterable[tuple[Predicate, int]], amounts: Iterable[tuple[Predicate, int]]) -> None:
        self._parameters = tuple(_parameter(each, bit) for each, bit in parameters)
        self._amounts = tuple((int(each.entries[0]), bit) for each, bit in amounts)
        self._bits = sum(each.bit for each in self._parameters)

    def read(self, query: bytes) -> tuple[int, int]:
        """Return the bits of the conditions that hold, and of those that may hold."""
        sure = maybe = 0
        if self._amounts:
            fewest, most = sum(map(bool, query.split(b"&"))), sum(map(bool, _PIECES.split(query)))
            for more_than, bit in self._amounts:
                sure |= bit if fewest > more_than else 0
                maybe |= bit if fewest <= more_than < most else 0
        if not self._parameters or not query:
            return sure, maybe
        pairs = query.split(b"&") if _PLAIN.match(query) else None
        found = self._of_odd(query) if pairs is None or len(pairs) > MOST_PARAMETERS else self._of_plain(pairs)
        return sure | found[0], maybe | found[1]

    def _of_plain(self, pairs: list[bytes]) -> tuple[int, int]:
        by_name: dict[bytes, list[bytes]] = {}
        for pair in pairs:
            by_name.setdefault(pair.partition(b"=")[0].lower(), []).append(pair)
        read: dict[bytes, list[SentValue]] = {}
        sure = maybe = 0
        for each in self._parameters:
            sent = by_name.get(each.folded)
            if sent is None:
                continue
            if len(sent) > MOST_VALUES:
                maybe |= each.bit
                continue
            values = read.get(each.folded) or read.setdefault(each.folded, list(map(_read_value, sent)))
            holds = [_holds(each, value) for value in values]
            if all(holds):
                sure |= each.bit
            elif any(holds) or any(_may_hold(each, value) for value in values):
                maybe |= each.bit
        return sure, maybe

    def _of_odd(self, query: bytes) -> tuple[int, int]:
        texts = decoded_texts(query)
        if texts is None:
            return 0, self._bits
        spellings = [text.replace(MARK, mark) for text in texts for mark in ("", " ")]
        spellings += [text.translate(_NAME_SIGNS) for text in spellings]
        return 0, sum(each.bit for each in self._parameters if _could_have(each, spellings))


def _parameter(predicate: Predicate, bit: int) -> ParameterGlobs:
    globs = [split_glob(entry) for entry in predicate.entries]
    return ParameterGlobs(
        predicate.name.encode(),
        predicate.name.lower().encode(),
        tuple(map(Glob, globs)),
        tuple(Glob(folded_path(part.encode()) for part in parts) for parts in globs),
        tuple((predicate.name.lower(), *_words_of_all(parts)) for parts in globs),
        bit,
    )


def _words_of_all(parts: list[str]) -> list[str]:
    return [word for part in parts for word in words_of(part.encode())]


def _read_value(pair: bytes) -> SentValue:
    name, _, value = pair.partition(b"=")
    exact = None if b"+" in value else unquote_to_bytes(value).decode("utf-8", "surrogateescape")
    return SentValue(name, exact, tuple({folded_path(value), folded_path(value.replace(b"+", b" "))}))


def _holds(parameter: ParameterGlobs, value: SentValue) -> bool:
    """Return whether every server finds the parameter with a matching value."""
    text = value.exact
    if text is None or value.name != parameter.name:
        return False
    return any(glob.matches(text) for glob in parameter.exact)


def _may_hold(parameter: ParameterGlobs, value: SentValue) -> bool:
    return any(glob.matches(text) for glob in parameter.loose for text in value.loose)


def _could_have(parameter: ParameterGlobs, texts: Iterable[str]) -> bool:
    return any(occur(words, text) for words in parameter.words for text in texts)


def occur(words: Iterable[str], text: str) -> bool:
    """Return whether the words occur in a text, in their order."""
    place = 0
    for word in words:
        place = text.find(word, place)
        if place < 0:
            return False
        place += len(word)
    return True


def words_of(part: bytes) -> list[str]:
    """Return the words of a part of a glob, folded."""
    texts = decoded_texts(part)
    return [word for word in SEPARATORS.split(texts[0].replace(MARK, "")) if word] if texts else []
