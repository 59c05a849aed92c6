"""The frame of a page: navigation, table of contents, search, feedback, links to its Markdown."""

from agentgate.lib.markup import Markup, element, joined
from agentgate.pages.documentation.marks import FEEDBACK_BEGIN, FEEDBACK_END, QUESTION, RESULTS
from tools.documentation.library import DocumentPage, Group, Heading, Library, RenderedDocument

_DOCTYPE = "<!doctype html>\n"


def article_page(page: DocumentPage, rendered: RenderedDocument, library: Library) -> str:
    """Return a page. The service removes the feedback where readers cannot give it."""
    before, after = library.neighbors(page)
    main = element(
        "main",
        element("article", rendered.html),
        element(
            "footer",
            Markup(f"{FEEDBACK_BEGIN}{_feedback(page)}{FEEDBACK_END}"),
            element("nav", _step(before, "Previous"), _step(after, "Next"), class_="steps", aria_label="Next pages"),
            element(
                "p",
                element(
                    "a", "This page as Markdown", href=f"{page.address or '/docs/'}.md".replace("/.md", "/index.md")
                ),
                " · ",
                element("a", "All pages as Markdown (llms.txt)", href="/docs/llms.txt"),
            ),
            class_="after",
        ),
        id="content",
    )
    return _document(page.title, joined([_side(library, page), main, _contents(rendered.headings)]))


def search_frame(library: Library, *, everything: bool) -> str:
    """Return the page of the search for browsers without JavaScript. The service fills in question and results."""
    main = element("main", element("article", Markup(RESULTS)), id="content")
    return _document("Search", joined([_side(library, None, QUESTION, everything=everything), main]))


def llms_text(library: Library) -> str:
    """Return the list of pages for programs, in the form of llms.txt."""
    lines = [
        "# AgentGate",
        "",
        "> Self-hosted bot protection for websites: a gateway check, a CAPTCHA alternative, a policy for AI agents.",
    ]
    for group in library.groups:
        # The llms.txt format lets programs skip a section of this name.
        lines += ["", f"## {'Optional' if group.is_internal else group.title}", ""]
        for entry in group.entries:
            about = f": {entry.about}" if entry.about else ""
            lines.append(f"- [{entry.text}]({entry.page.twin}){about}")
    lines += ["", "## APIs", ""]
    lines += [f"- [OpenAPI, {name}](/docs/openapi/{name}.json)" for name in ("public", "account", "console", "admin")]
    return "\n".join(lines) + "\n"


def _document(title: str, body: Markup) -> str:
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title if title == "AgentGate" else f"{title} · AgentGate"),
        element("link", rel="icon", type="image/svg+xml", href="/docs/icon.svg"),
        element("link", rel="stylesheet", href="/docs/docs.css"),
        # Not deferred: it sets the reader's theme before anything is drawn.
        element("script", src="/docs/docs.js"),
    )
    skip = element("a", "Skip to content", href="#content", class_="skip")
    return f"{_DOCTYPE}{element('html', head, element('body', skip, body), lang='en')}\n"


def _side(library: Library, page: DocumentPage | None, question: str = "", *, everything: bool = False) -> Markup:
    brand = element(
        "a", element("span", class_="logo", aria_hidden="true"), "AgentGate docs", href="/docs/", class_="brand"
    )
    search = element(
        "form",
        element("label", "Search the documentation", for_="q", class_="vh"),
        element("input", type="search", id="q", name="q", value=question, placeholder="Search", autocomplete="off"),
        element(
            "label",
            element("input", type="checkbox", id="all", name="all", value="1", checked="" if everything else None),
            " Search contributor pages too",
            class_="all",
        ),
        element("div", id="hits", role="region", aria_label="Results", aria_live="polite", hidden=""),
        action="/docs/search",
        method="get",
        role="search",
    )
    theme = element("button", "Dark", type="button", id="theme", class_="button", hidden="")
    menu = element("button", "Pages", type="button", popovertarget="pages", class_="button menu")
    nav = element(
        "nav",
        *(_group(group, page, library) for group in library.groups),
        _apis(),
        id="pages",
        popover="",
        aria_label="Pages",
    )
    return element("header", element("div", brand, menu, theme, class_="bar"), search, nav, class_="side")


def _group(group: Group, page: DocumentPage | None, library: Library) -> Markup:
    is_open = not group.is_internal or (page is not None and page.slug not in library.user_slugs)
    items = [
        element(
            "li",
            element(
                "a",
                entry.text,
                href=entry.page.address,
                aria_current="page" if page is not None and entry.page.slug == page.slug else None,
            ),
        )
        for entry in group.entries
    ]
    return element("details", element("summary", group.title), element("ul", *items), open="" if is_open else None)


def _apis() -> Markup:
    link = element("li", element("a", "API reference with examples", href="/openapi/"))
    return element("details", element("summary", "APIs on this listener"), element("ul", link), open="")


def _contents(headings: tuple[Heading, ...]) -> Markup | None:
    shown = [heading for heading in headings if heading.level in {2, 3}]
    if len(shown) < 2:
        return None
    items = [
        element("li", element("a", heading.text, href=f"#{heading.anchor}"), class_=f"level-{heading.level}")
        for heading in shown
    ]
    return element("aside", element("h2", "On this page"), element("ul", *items), class_="contents")


def _step(page: DocumentPage | None, label: str) -> Markup | None:
    if page is None:
        return None
    return element("a", element("small", label), page.title, href=page.address, class_=label.lower())


def _feedback(page: DocumentPage) -> Markup:
    return element(
        "div",
        element("p", "Was this page helpful?", id="helpful"),
        element("button", "Yes", type="button", data_helpful="true", class_="button", aria_describedby="helpful"),
        element("button", "No", type="button", data_helpful="false", class_="button", aria_describedby="helpful"),
        element("p", role="status"),
        class_="feedback",
        data_page=page.address,
        hidden="",
    )
