"""The search: an index of all sections that the browser loads once, and the same search for readers without script."""

import json
import re
from dataclasses import dataclass
from functools import cached_property

MOST_RESULTS = 20
MOST_WORDS = 8

_WORD = re.compile(r"[\w.-]+")
# Words of questions that say nothing about the page.
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are be by can do does for from how i if in is it my of on or the to what when where which why with",
    )
)
_ENDING = re.compile(r"(?<=\w{3})(?:ies|ing|ed|y|s)\Z")


@dataclass(frozen=True)
class Section:
    """One section of a page, as the search index has it."""

    address: str
    page: str
    heading: str
    text: str

    @cached_property
    def fields(self) -> tuple[tuple[str, int], ...]:
        """The texts that are searched, in lower case, with their weights."""
        return (f" {self.heading.lower()}", 8), (f" {self.page.lower()}", 4), (f" {self.text.lower()}", 1)


def read_index(rows: bytes) -> tuple[Section, ...]:
    """Return the sections of an index, which the build wrote as rows of address, page, heading, text."""
    return tuple(Section(*row) for row in json.loads(rows))


def find(found: tuple[Section, ...], question: str) -> list[Section]:
    """Return the sections that contain more than half of the words, the best first; `docs.js` ranks in the same way."""
    asked = list(dict.fromkeys(_WORD.findall(question.lower())))
    words = list(dict.fromkeys(map(_stem, [each for each in asked if each not in _STOP_WORDS] or asked)))[:MOST_WORDS]
    scored = [(*_score(each, words), place) for place, each in enumerate(found)]
    best = sorted((-count, -score, place) for count, score, place in scored if 2 * count > len(words))
    return [found[place] for _, _, place in best[:MOST_RESULTS]]


def _stem(word: str) -> str:
    """Remove a plural or verb ending, so that `rate limits` finds `rate limit`: words match by their beginning."""
    return word if word.endswith("ss") else _ENDING.sub("", word)


def _score(section: Section, words: list[str]) -> tuple[int, int]:
    """Return how many of the words a section contains, and the sum of their weights.

    A word within another counts little. A heading counts more if the words are most of it.
    """
    patterns = [re.compile(rf"(?<![^\W_]){re.escape(word)}") for word in words]
    scores = [
        sum(4 * weight if pattern.search(text) else 1 for text, weight in section.fields if word in text)
        for word, pattern in zip(words, patterns, strict=True)
    ]
    heading = section.fields[0][0]
    share = sum(len(word) for word, pattern in zip(words, patterns, strict=True) if pattern.search(heading))
    return sum(score > 0 for score in scores), sum(scores) + 32 * share // len(heading)
