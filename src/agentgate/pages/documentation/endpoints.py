"""Serving the documentation. A wheel has the pages as files; a checkout makes each at its first request."""

import asyncio
import re
import sys
from collections.abc import Callable
from html import escape
from importlib import import_module
from pathlib import Path

from agentgate.http.call import Call
from agentgate.http.replies import Reply, Text
from agentgate.http.static_files import StaticFile, made_file, serve_file
from agentgate.lib.errors import Refused
from agentgate.lib.markup import element
from agentgate.pages.documentation.marks import FEEDBACK_BEGIN, FEEDBACK_END, QUESTION, RESULTS
from agentgate.pages.documentation.search import Section, find, read_index

FOLDER = Path(__file__).parent
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".webp": "image/webp",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
PAGE_HEADERS = (("content-security-policy", POLICY), ("cross-origin-opener-policy", "same-origin"))
_FEEDBACK = re.compile(f"{FEEDBACK_BEGIN}(.*?){FEEDBACK_END}".encode(), re.DOTALL)
# Longer queries are cut.
MOST_QUESTION = 100
# A search engine and a reader's tab show about this much.
MOST_EXCERPT = 180

_ASSETS = frozenset(("docs.css", "docs.js", "icon.svg"))
# Reads a file of the build by its name; None if there is none.
ReadFile = Callable[[str], bytes | None]


class Documentation:
    """The documentation of one listener. `feedback`: whether readers can send feedback there."""

    def __init__(self, *, feedback: bool, read: ReadFile | None = None) -> None:
        self._feedback = feedback
        self._given = read
        self._made: dict[str, StaticFile] = {}
        self._indexes: dict[str, tuple[Section, ...]] = {}
        # One thread at a time renders or searches.
        self._working = asyncio.Lock()

    async def file(self, path: str) -> StaticFile | None:
        """Return the file at a path below `/docs/`, or None."""
        if path not in self._made:
            async with self._working:
                if path not in self._made:
                    made = await asyncio.to_thread(self._make, path)
                    # Paths that do not exist are not kept.
                    if made is None:
                        return None
                    self._made[path] = made
        return self._made[path]

    async def search(self, question: str, *, everything: bool = False) -> bytes:
        """Return the page with the results of a search in the user pages, or in all pages."""
        async with self._working:
            return await asyncio.to_thread(self._search, question, everything=everything)

    def _make(self, path: str) -> StaticFile | None:
        name = file_name(path)
        content = None if name is None else self._read(name)
        if name is None or content is None:
            return None
        if name.endswith(".html"):
            content = _FEEDBACK.sub(rb"\1" if self._feedback else b"", content)
        return made_file(content, MEDIA_TYPES[Path(name).suffix])

    def _search(self, question: str, *, everything: bool) -> bytes:
        index = "search-all.json" if everything else "search.json"
        if index not in self._indexes:
            self._indexes[index] = read_index(self._read(index) or b"[]")
        rows = [
            element(
                "li",
                element("a", found.heading, href=found.address),
                element("span", found.page),
                element("p", found.text[:MOST_EXCERPT]),
            )
            for found in find(self._indexes[index], question)
        ]
        title = element("h1", f"Search: {question}" if question else "Search")
        none = element("p", "No page contains these words. Try fewer.")
        results = title + (element("ol", *rows, class_="results") if rows else none)
        frame = self._read(f"search/{'all' if everything else 'user'}.html") or b""
        # Results last: they contain the question.
        return frame.replace(QUESTION.encode(), escape(question).encode()).replace(RESULTS.encode(), results.encode())

    def _read(self, name: str) -> bytes | None:
        if self._given is None:
            self._given = _build()
        return (FOLDER / name).read_bytes() if name in _ASSETS else self._given(name)


def file_name(path: str) -> str | None:
    """Return the name of the file at a path below `/docs/`; None for names that no path has."""
    # The first page has the address `/docs/` and no other, but as a file it needs a name.
    if path == "index" or path.endswith(".html") or path.startswith("search/"):
        return None
    return path if Path(path).suffix in MEDIA_TYPES else f"{path or 'index'}.html"


def _build() -> ReadFile:
    """Return what reads files of the build, or makes them in a checkout."""
    built = FOLDER / "built"
    if built.is_dir():
        known = {path.relative_to(built).as_posix(): path for path in built.rglob("*") if path.is_file()}
        return lambda name: known[name].read_bytes() if name in known else None
    checkout = str(FOLDER.parents[3])
    if checkout not in sys.path:
        sys.path.append(checkout)
    make: ReadFile = import_module("tools.documentation.site").Site().make
    return make


async def read_page(call: Call, documentation: Documentation) -> Reply[Text | None]:
    """Read a page of the documentation; with `.md` at its end, as Markdown."""
    found = await documentation.file(call.request.path.removeprefix("/docs/"))
    if found is None:
        raise Refused("not_found", "Page not found. /docs/ lists all pages.")
    return serve_file(call, found, PAGE_HEADERS)


async def read_start(call: Call) -> Reply[None]:  # noqa: ARG001 - every handler is given its call
    """Redirect from `/docs` to the first page."""
    return Reply(body=None, status=308, headers=(("location", "/docs/"),))


async def read_llms(call: Call, documentation: Documentation) -> Reply[Text | None]:
    """Read the list of pages for programs (llms.txt)."""
    found = await documentation.file("llms.txt")
    assert found is not None
    return serve_file(call, found, ())


async def read_search(call: Call, documentation: Documentation) -> Reply[Text | None]:
    """Search the documentation without JavaScript: `q` holds the words, `all=1` includes contributor pages."""
    query = call.request.query()
    question = (query.get("q") or "")[:MOST_QUESTION]
    found = await documentation.search(question, everything=query.get("all") == "1")
    return Reply(body=Text(found, MEDIA_TYPES[".html"]), headers=PAGE_HEADERS)
