"""Serving the documentation. Each page is rendered at its first request, in a thread."""

import asyncio
from collections.abc import Callable
from functools import cached_property
from importlib.resources import files

from agentgate.http.call import Call
from agentgate.http.replies import Reply, Text
from agentgate.http.static_files import StaticFile, made_file, serve_file
from agentgate.lib.errors import Refused
from agentgate.pages.documentation.layout import article_page, llms_text, search_page
from agentgate.pages.documentation.library import DocumentPage, Library
from agentgate.pages.documentation.search import Section, find, index, index_json

HTML = "text/html; charset=utf-8"
MARKDOWN = "text/markdown; charset=utf-8"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
PAGE_HEADERS = (("content-security-policy", POLICY), ("cross-origin-opener-policy", "same-origin"))
# Longer queries are cut.
MOST_QUESTION = 100

_ASSETS = {
    "docs.css": "text/css; charset=utf-8",
    "docs.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_INDEXES = ("search.json", "search-all.json")


class Documentation:
    """The documentation of one listener. `feedback` says whether readers can answer there."""

    def __init__(self, *, feedback: bool, library: Library | None = None) -> None:
        self._feedback = feedback
        self._library = library or Library()
        self._made: dict[str, StaticFile] = {}
        # One thread at a time renders or searches. The indexes, which take longest, are made once.
        self._working = asyncio.Lock()

    @cached_property
    def _user_index(self) -> tuple[Section, ...]:
        return index(self._library, everything=False)

    @cached_property
    def _whole_index(self) -> tuple[Section, ...]:
        return index(self._library, everything=True)

    async def file(self, path: str) -> StaticFile | None:
        """Return the file at a path below `/docs/`, or None."""
        if path not in self._made:
            make = self._maker(path)
            if make is None:
                return None
            async with self._working:
                if path not in self._made:
                    self._made[path] = await asyncio.to_thread(make)
        return self._made[path]

    async def search(self, question: str, *, everything: bool = False) -> bytes:
        """Return the page with the results of a search in the user pages, or in all pages."""
        async with self._working:
            found = await asyncio.to_thread(
                lambda: find(self._whole_index if everything else self._user_index, question)
            )
        return search_page(question, found, self._library, everything=everything).encode()

    def _maker(self, path: str) -> Callable[[], StaticFile] | None:
        """Return the function that renders a file; None for paths that do not exist, so that the cache is bounded."""
        if path in _ASSETS:
            return lambda: made_file(files(__package__).joinpath(path).read_bytes(), _ASSETS[path])
        if path in _INDEXES:
            return lambda: made_file(
                index_json(self._user_index if path == "search.json" else self._whole_index), "application/json"
            )
        if path == "llms.txt":
            return lambda: made_file(llms_text(self._library).encode(), "text/plain; charset=utf-8")
        if path.startswith("openapi/"):
            content = self._library.attachment(path.removeprefix("openapi/"))
            return None if content is None else lambda: made_file(content, "application/json")
        if path.startswith("screenshots/"):
            picture = self._library.picture(path.removeprefix("screenshots/"))
            return None if picture is None else lambda: made_file(picture, "image/webp")
        return self._page_maker(path)

    def _page_maker(self, path: str) -> Callable[[], StaticFile] | None:
        # The first page has the address `/docs/` and no other, but as Markdown it needs a name.
        is_twin = path.endswith(".md")
        page = self._library.pages.get("" if path == "index.md" else path.removesuffix(".md"))
        if page is None:
            return None
        if is_twin:
            return lambda: made_file(page.markdown.encode(), MARKDOWN)
        return lambda: self._article(page)

    def _article(self, page: DocumentPage) -> StaticFile:
        from agentgate.pages.documentation.render import render  # noqa: PLC0415 - a start need not read Markdown

        html = article_page(page, render(page, self._library), self._library, feedback=self._feedback)
        return made_file(html.encode(), HTML)


async def read_page(call: Call, documentation: Documentation) -> Reply[Text | None]:
    """Read a page of the documentation; with `.md` at its end, as Markdown."""
    path = call.request.path.removeprefix("/docs/")
    found = await documentation.file(path)
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
    return Reply(body=Text(found, HTML), headers=PAGE_HEADERS)
