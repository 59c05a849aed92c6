"""Markdown as HTML: headings with anchors, tables that scroll by themselves, links that lead within the site.

Raw HTML in a document is shown as text and never passed on.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from agentgate.lib.markup import Markup, element
from tools.documentation.library import DocumentPage, Heading, Library, RenderedDocument, resolve

_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//|/|#", re.IGNORECASE)
_LANGUAGES = {"sh": "shell", "py": "Python", "python": "Python", "js": "JavaScript", "ts": "TypeScript"}


def render(page: DocumentPage, library: Library) -> RenderedDocument:
    """Turn a page into HTML."""
    parser = _parser()
    tokens = parser.parse(page.markdown)
    headings = tuple(_headings(tokens))
    for token in tokens:
        # The pages' content security policy forbids inline styles.
        if token.type in {"th_open", "td_open"} and token.attrs:
            token.attrs = {"class": str(token.attrs["style"]).removeprefix("text-align:")}
        for child in token.children or ():
            if child.type == "link_open":
                _redirect(child, page, library)
            elif child.type == "image":
                child.attrSet("src", f"/{resolve(page.source, str(child.attrGet('src')))}")
                child.attrSet("loading", "lazy")
    html = parser.renderer.render(tokens, parser.options, {})
    return RenderedDocument(Markup(html), headings)


def sections(page: DocumentPage) -> list[tuple[Heading, str]]:
    """Return the sections of a page for the search: each heading with the plain text below it."""
    tokens = _parser().parse(page.markdown)
    found: list[tuple[Heading, list[str]]] = [(Heading(1, "", page.title), [])]
    headings = iter(list(_headings(tokens)))
    opened = False
    for token in tokens:
        if token.type == "heading_open":
            heading = next(headings)
            opened = heading.level > 1
            if opened:
                found.append((heading, []))
        elif token.type == "inline" and not opened:
            found[-1][1].append(plain(token))
        elif token.type == "fence":
            found[-1][1].append(token.content)
        elif token.type == "heading_close":
            opened = False
    return [(heading, re.sub(r"\s+", " ", " ".join(texts)).strip()) for heading, texts in found]


def plain(token: Token) -> str:
    """Return the words of an inline token."""
    return "".join(
        child.content if child.type in {"text", "code_inline"} else " " if child.type == "softbreak" else ""
        for child in token.children or ()
    )


def anchor_of(text: str, seen: dict[str, int]) -> str:
    """Return a heading's anchor, as the web view of a repository makes it; the second of a kind gets a number."""
    slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
    count = seen[slug] = seen.get(slug, -1) + 1
    return f"{slug}-{count}" if count else slug


def _headings(tokens: Sequence[Token]) -> list[Heading]:
    seen: dict[str, int] = {}
    found = []
    for token, inline in pairwise(tokens):
        if token.type == "heading_open":
            text = plain(inline)
            heading = Heading(int(token.tag[1]), anchor_of(text, seen), text)
            token.attrSet("id", heading.anchor)
            found.append(heading)
    return found


def _redirect(token: Token, page: DocumentPage, library: Library) -> None:
    target = str(token.attrGet("href") or "")
    if _ELSEWHERE.match(target):
        if not target.startswith("#"):
            token.attrSet("rel", "noreferrer")
        return
    path, _, anchor = target.partition("#")
    goal = resolve(page.source, path)
    known = library.by_source.get(goal)
    if known is not None:
        token.attrSet("href", f"{known.address}#{anchor}" if anchor else known.address)
    elif goal.startswith("docs/openapi/"):
        token.attrSet("href", f"/{goal}")
    else:
        # A source file is not served: show its path instead of a link.
        token.attrs = {"title": f"in the source: {goal}", "class": "source"}


class _Renderer(RendererHTML):
    """Differences from plain CommonMark."""

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        token = tokens[idx]
        return f'<{token.tag} id="{token.attrGet("id")}">'

    def heading_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        token = tokens[idx]
        opened = next(each for each in reversed(tokens[:idx]) if each.type == "heading_open")
        if token.tag == "h1":
            return "</h1>\n"
        link = element("a", "#", href=f"#{opened.attrGet('id')}", class_="anchor", aria_label="Link to this section")
        return f"{link}</{token.tag}>\n"

    def table_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        return '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        return "</table></div>\n"

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        if token.attrGet("class") == "source":
            return f'<span class="source" title="{token.attrGet("title")}">'
        return self.renderToken(tokens, idx, options, env)

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        opened = _opening(tokens, idx)
        return "</span>" if opened.attrGet("class") == "source" else self.renderToken(tokens, idx, options, env)

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        token = tokens[idx]
        name = token.info.split(" ")[0]
        label = _LANGUAGES.get(name, name.upper() if len(name) < 5 else name)
        code = element("pre", element("code", token.content), tabindex="0")
        return element("figure", element("figcaption", label or "text"), code, class_="code") + "\n"


def _opening(tokens: Sequence[Token], idx: int) -> Token:
    depth = 0
    for token in reversed(tokens[:idx]):
        depth += (token.type == "link_close") - (token.type == "link_open")
        if depth < 0:
            return token
    raise LookupError("a link that was never opened")


def _parser() -> MarkdownIt:
    options: dict[str, Any] = {"html": False, "linkify": False, "typographer": False}
    return MarkdownIt("commonmark", options, renderer_cls=_Renderer).enable("table")
