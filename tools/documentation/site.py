"""Every file below `/docs/` but style, script and icon, by the name under which the build writes it."""

import json
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path

from agentgate.pages.documentation.search import Section
from tools.documentation.layout import article_page, llms_text, search_frame
from tools.documentation.library import DocumentPage, Library
from tools.documentation.render import render, sections

# Characters indexed of each section. Longer sections are reference tables, whose first rows are enough.
MOST_TEXT = 3_000


class Site:
    """The files of a checkout's documentation."""

    def __init__(self, library: Library | None = None) -> None:
        self._library = library or Library()

    @cached_property
    def makers(self) -> dict[str, Callable[[], bytes]]:
        """Return a function for each file, by its name, that makes it."""
        library = self._library
        makers: dict[str, Callable[[], bytes]] = {
            "llms.txt": lambda: llms_text(library).encode(),
            "search/user.html": lambda: search_frame(library, everything=False).encode(),
            "search/all.html": lambda: search_frame(library, everything=True).encode(),
            "search.json": lambda: index_json(index(library, everything=False)),
            "search-all.json": lambda: index_json(index(library, everything=True)),
        }
        makers |= {name: path.read_bytes for name, path in library.attachments.items()}
        for page in library.pages.values():
            name = page.slug or "index"
            makers[f"{name}.md"] = page.markdown.encode
            makers[f"{name}.html"] = partial(self._article, page)
        return makers

    def make(self, name: str) -> bytes | None:
        """Return a file; None if there is none of this name."""
        make = self.makers.get(name)
        return make() if make else None

    def write(self, folder: Path) -> None:
        """Write all files into a folder."""
        for name, make in self.makers.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(make())

    def _article(self, page: DocumentPage) -> bytes:
        return article_page(page, render(page, self._library), self._library).encode()


def index(library: Library, *, everything: bool) -> tuple[Section, ...]:
    """Return the sections of the user pages in the order of the index; with `everything`, of all pages."""
    # The first page only lists the others.
    pages = [library.pages[slug] for slug in library.user_slugs if slug and slug in library.pages]
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
    """Return the index as the service and the script read it: rows of address, page, heading, text."""
    rows = [[each.address, each.page, each.heading, each.text] for each in found]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()
