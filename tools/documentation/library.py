"""The pages of the documentation: their addresses and their order. `layout` has their HTML frame."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from agentgate.lib.markup import Markup

CHECKOUT = Path(__file__).parents[2]
INDEX = "docs/index.md"
# The group of the index for contributors. Its pages, and pages that no group lists, are not for users.
INTERNAL_GROUP = "Project internals"
# Documents outside of `docs/` that pages link to.
BESIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "packages/*/README.md")

_TITLE = re.compile(r"^# (.+?)\s*$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_ENTRY = re.compile(
    r"^- \[(?P<text>[^\]]+)\]\((?P<target>[^)\s]+)\)(?:: (?P<about>[^\n]*(?:\n  [^\n]+)*))?", re.MULTILINE
)


@dataclass(frozen=True)
class DocumentPage:
    """One document: its path in the repository, its address without `/docs/`, its text."""

    source: str
    slug: str
    markdown: str

    @property
    def address(self) -> str:
        return f"/docs/{self.slug}"

    @property
    def twin(self) -> str:
        """The address of its Markdown."""
        return f"/docs/{self.slug or 'index'}.md"

    @cached_property
    def title(self) -> str:
        """Its first heading, as plain text."""
        found = _TITLE.search(self.markdown)
        return re.sub(r"[`*]", "", found[1]) if found else self.slug


@dataclass(frozen=True)
class Heading:
    """A heading of a page: its level, its anchor and its words."""

    level: int
    anchor: str
    text: str


@dataclass(frozen=True)
class RenderedDocument:
    """A page as HTML, with the headings that its table of contents lists."""

    html: Markup
    headings: tuple[Heading, ...]


@dataclass(frozen=True)
class Entry:
    """A line of the index: a page and its description."""

    page: DocumentPage
    text: str
    about: str


@dataclass(frozen=True)
class Group:
    """A section of the index and its pages."""

    title: str
    entries: tuple[Entry, ...]

    @property
    def is_internal(self) -> bool:
        return self.title == INTERNAL_GROUP


class Library:
    """All pages, read when first asked for."""

    def __init__(self, root: Path | None = None) -> None:
        self._root = root or CHECKOUT

    @cached_property
    def pages(self) -> dict[str, DocumentPage]:
        """Every page by its address without `/docs/`."""
        return {page.slug: page for page in map(self._page, self._paths())}

    @cached_property
    def by_source(self) -> dict[str, DocumentPage]:
        """Every page by its path in the repository."""
        return {page.source: page for page in self.pages.values()}

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The sections of the index: the order in which readers see the pages."""
        text = self.by_source[INDEX].markdown if INDEX in self.by_source else ""
        sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
        found = (Group(title, tuple(self._entries(body))) for title, _, body in (s.partition("\n") for s in sections))
        return tuple(group for group in found if group.entries)

    @cached_property
    def user_slugs(self) -> tuple[str, ...]:
        """Pages for users in the order of the index, then the package READMEs."""
        listed = (entry.page.slug for group in self.groups if not group.is_internal for entry in group.entries)
        packages = (slug for slug in self.pages if slug.startswith("packages/"))
        return tuple(dict.fromkeys(("", *listed, *packages)))

    @cached_property
    def attachments(self) -> dict[str, Path]:
        """The files that pages link to or show, by their path below `docs/`."""
        docs = self._root / "docs"
        found = (*docs.glob("openapi/*.json"), *docs.glob("screenshots/*.webp"))
        return {path.relative_to(docs).as_posix(): path for path in sorted(found)}

    def neighbors(self, page: DocumentPage) -> tuple[DocumentPage | None, DocumentPage | None]:
        """Return the pages before and after one in the order of the index."""
        order = list(dict.fromkeys(entry.page.slug for group in self.groups for entry in group.entries))
        if page.slug not in order:
            return None, None
        place = order.index(page.slug)
        before = self.pages[order[place - 1]] if place else None
        after = self.pages[order[place + 1]] if place + 1 < len(order) else None
        return before, after

    def _entries(self, body: str) -> Iterator[Entry]:
        seen: set[str] = set()
        for found in _ENTRY.finditer(body):
            page = self.by_source.get(resolve(INDEX, found["target"].partition("#")[0]))
            if page is not None and page.slug not in seen:
                seen.add(page.slug)
                about = re.sub(r"\s+", " ", found["about"] or "")
                yield Entry(page, re.sub(r"[`*]", "", found["text"]), about)

    def _paths(self) -> Iterator[Path]:
        yield from sorted((self._root / "docs").glob("*.md"))
        for folder in ("contributing", "decisions"):
            yield from sorted((self._root / "docs" / folder).glob("*.md"))
        for pattern in BESIDE:
            yield from sorted(self._root.glob(pattern))

    def _page(self, path: Path) -> DocumentPage:
        source = path.relative_to(self._root).as_posix()
        text = _COMMENT.sub("", path.read_text(encoding="utf-8"), count=1)
        return DocumentPage(source, slug_of(source), text)


def slug_of(source: str) -> str:
    """Return the slug of a document: `gateway` for `docs/gateway.md`, `packages/vue` for `packages/vue/README.md`."""
    path = PurePosixPath(source)
    if path.name == "README.md" and len(path.parts) > 1:
        return path.parent.as_posix()
    plain = path.with_suffix("").as_posix().removeprefix("docs/").lower()
    return "" if plain == "index" else plain


def resolve(source: str, target: str) -> str:
    """Return the path that a relative link in a document leads to, from the root of the repository."""
    parts: list[str] = []
    for part in (PurePosixPath(source).parent / target).parts:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
