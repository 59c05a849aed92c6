"""The search: an index of all sections that the browser loads once, and the same search for readers without script."""

import json
import re
from dataclasses import dataclass
from functools import cached_property

from agentgate.http.documentation.library import Library

# Characters indexed of each section. Longer sections are reference tables, whose first rows are enough.
MOST_TEXT = 1_200
MOST_RESULTS = 20
MOST_WORDS = 8

_WORD = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class Section:
    """One part of a page, as the search knows it."""

    address: str
    page: str
    heading: str
    text: str

    @cached_property
    def fields(self) -> tuple[tuple[str, int], ...]:
        """The texts that are searched, in lower case, with their weights."""
        return (self.heading.lower(), 8), (self.page.lower(), 4), (self.text.lower(), 1)


def index(library: Library, *, everything: bool) -> tuple[Section, ...]:
    """Return the sections of the user pages in the order of the index; then, with `everything`, those of the others."""
    from agentgate.http.documentation.render import sections  # noqa: PLC0415 - a start need not read Markdown

    pages = [library.pages[slug] for slug in library.user_slugs if slug in library.pages]
    if everything:
        pages += [page for page in library.pages.values() if page.slug not in library.user_slugs]
    return tuple(
        Section(
            f"{page.address}#{heading.anchor}" if heading.anchor else page.address,
            page.title,
            heading.text,
            text[:MOST_TEXT],
        )
        for page in pages
        for heading, text in sections(page)
    )


def index_json(found: tuple[Section, ...]) -> bytes:
    """Return the index as the script reads it: rows of address, page, heading, text."""
    rows = [[each.address, each.page, each.heading, each.text] for each in found]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()


def find(found: tuple[Section, ...], question: str) -> list[Section]:
    """Return the sections in which every word begins a word, the best first; `docs.js` counts in the same way."""
    words = list(dict.fromkeys(_WORD.findall(question.lower())))[:MOST_WORDS]
    if not words:
        return []
    scored = [(_score(each, words), place) for place, each in enumerate(found)]
    best = sorted((-score, place) for score, place in scored if score > 0)
    return [found[place] for _, place in best[:MOST_RESULTS]]


def _score(section: Section, words: list[str]) -> int:
    total = 0
    for word in words:
        score = sum(weight * (2 if _begins(text, word) else 1) for text, weight in section.fields if word in text)
        if score == 0:
            return 0
        total += score
    return total


def _begins(text: str, word: str) -> bool:
    return text.startswith(word) or f" {word}" in text
