"""The documentation on both listeners: every link of every page works, and pages load nothing from other hosts."""

import asyncio
import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urljoin

import pytest

from agentgate.pages.documentation import endpoints
from agentgate.pages.documentation.search import Section, find
from tests.support.service import RunningService
from tools.documentation.library import Library

# Resources that a page may load by itself.
LOADED = {("link", "/docs/docs.css"), ("link", "/docs/icon.svg"), ("script", "/docs/docs.js")}


class Links(HTMLParser):
    """Collects the targets, the anchors and what a page loads."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: set[tuple[str, str]] = set()
        self.pictures: set[str] = set()
        self.inline: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors.add(given.get("id") or "")
        self.inline += [f"{tag} {name}" for name in given if name.startswith("on") or name == "style"]
        if tag == "a" and given.get("href"):
            self.targets.append(str(given["href"]))
        elif tag == "img":
            self.pictures.add(str(given.get("src") or ""))
        elif tag in {"link", "script", "iframe", "style"}:
            self.loaded.add((tag, str(given.get("href") or given.get("src") or "")))


@pytest.fixture(params=["public", "operator"])
def listener(request: pytest.FixtureRequest, shared_service: RunningService) -> object:
    """Return a client of each listener."""
    return getattr(shared_service, request.param)


def crawled(client: object) -> Iterator[tuple[str, Links]]:
    """Follow the links from the first page to every page of the documentation."""
    waiting, seen = ["/docs/"], {"/docs/"}
    while waiting:
        address = waiting.pop()
        reply = client.get(address)
        assert reply.status_code == 200, address
        found = Links(reply.text)
        yield address, found
        for target in found.targets:
            path = urljoin(address, target).partition("#")[0]
            is_page = path.startswith("/docs/") and not path.endswith((".md", ".json", ".txt"))
            if is_page and path not in seen:
                seen.add(path)
                waiting.append(path)


def test_every_link_of_every_page_leads_somewhere(listener):
    pages = dict(crawled(listener))
    others: dict[str, int] = {}
    broken = []
    for address, found in pages.items():
        for target in found.targets:
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = urljoin(address, target).partition("#")
            if path in pages:
                if anchor and anchor not in pages[path].anchors:
                    broken.append(f"{address}: {target}: no such heading")
                continue
            if path not in others:
                others[path] = listener.get(path).status_code
            if others[path] != 200:
                broken.append(f"{address}: {target}: {others[path]}")

    assert {f"/docs/{slug}" for slug in Library().pages} <= pages.keys() | {"/docs/"}
    assert broken == []
    assert all(found.loaded == LOADED and not found.inline for found in pages.values())
    shown = set().union(*(found.pictures for found in pages.values()))
    assert shown
    for source in shown:
        reply = listener.get(source)
        assert source.startswith("/docs/"), source
        assert (reply.status_code, reply.headers["content-type"]) == (200, "image/webp"), source


def test_a_page_is_html_under_a_strict_policy_and_markdown_under_its_other_name(shared_service: RunningService) -> None:
    page, twin = shared_service.public.get("/docs/write-rules"), shared_service.public.get("/docs/write-rules.md")

    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert not re.search(r"unsafe|https?:|\*|data:", policy)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert twin.headers["content-type"] == "text/markdown; charset=utf-8"
    assert twin.text.startswith("# Write and test rules\n")
    cached = shared_service.public.get("/docs/write-rules", headers={"If-None-Match": page.headers["etag"]})
    assert cached.status_code == 304


def test_llms_txt_lists_every_page_of_the_index_as_markdown(shared_service: RunningService) -> None:
    told = shared_service.public.get("/llms.txt")
    named = re.findall(r"\]\((/docs/[^)]+)\)", told.text)

    assert told.headers["content-type"] == "text/plain; charset=utf-8"
    assert len(named) > 35
    assert "/docs/verify-tokens.md" in named
    assert [address for address in named if shared_service.public.get(address).status_code != 200] == []


@pytest.mark.parametrize("path", ["gone", "..%2fsetup.py", "decisions/gone", "openapi/..%2f..%2fsetup", "x/y"])
def test_an_unknown_page_returns_404(shared_service: RunningService, path: str) -> None:
    reply = shared_service.public.get(f"/docs/{path}")

    assert (reply.status_code, reply.json()["error"]) in {(404, "not_found"), (400, "invalid_request")}


def test_search_works_without_javascript_and_escapes_the_query(shared_service: RunningService) -> None:
    found = shared_service.public.get("/docs/search", params={"q": "requestId siteverify"})
    odd = shared_service.public.get("/docs/search", params={"q": "<script>alert(1)</script>"})

    assert re.search(r'<li><a href="/docs/(verify-tokens|http-apis)', found.text)
    assert "<script>alert" not in odd.text
    assert "&lt;script&gt;" in odd.text


def test_readers_must_give_feedback_only_where_they_can_give_it(shared_service: RunningService) -> None:
    assert 'data-page="/docs/write-rules"' in shared_service.public.get("/docs/write-rules").text
    assert "data-page" not in shared_service.operator.get("/docs/write-rules").text
    assert shared_service.public.post("/v1/docs/feedback", json={"page": "/docs/", "helpful": True}).status_code == 202


def test_the_front_page_links_to_the_documentation(listener):
    assert "/docs/" in Links(listener.get("/").text).targets


def test_user_pages_exclude_contributor_pages_from_search_and_sidebar(shared_service: RunningService) -> None:
    def results(**query: str) -> list[str]:
        html = shared_service.public.get("/docs/search", params=query).text
        return re.findall(r'<li><a href="(/docs/[^"#]*)', html.partition("<main")[2])

    internal = ("/docs/decisions/", "/docs/contributing/", "/docs/gaps", "/docs/contract", "/docs/spec")
    assert [each for each in results(q="decision record") if each.startswith(internal)] == []
    assert [each for each in results(q="package layout", all="1") if each.startswith("/docs/decisions/")] != []
    users = shared_service.public.get("/docs/search.json").json()
    everything = shared_service.public.get("/docs/search-all.json").json()
    assert [row[0] for row in users if row[0].startswith(internal)] == []
    assert len(everything) > len(users)
    sidebar = Links(shared_service.public.get("/docs/").text.partition("<main")[0]).targets
    assert [each for each in sidebar if each.startswith("/docs/decisions/")] == []


def test_the_bare_address_leads_to_the_first_page(shared_service: RunningService) -> None:
    reply = shared_service.public.get("/docs")

    assert (reply.status_code, reply.headers["location"]) == (308, "/docs/")


def test_parallel_searches_run_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each further thread would take the interpreter from the event loop for some milliseconds at a time."""
    running, most = 0, 0

    def counting_find(sections: tuple[Section, ...], question: str) -> list[Section]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        found = find(sections, question)
        time.sleep(0.01)
        running -= 1
        return found

    monkeypatch.setattr(endpoints, "find", counting_find)
    documentation = endpoints.Documentation(feedback=False)

    async def search_at_once() -> list[bytes]:
        return await asyncio.gather(*(documentation.search("a " * 3_000) for _ in range(8)))

    assert len(asyncio.run(search_at_once())) == 8
    assert most == 1


def test_words_of_a_search_count_once() -> None:
    sections = (Section("/a", "page", "heading", "alpha"), Section("/b", "page", "heading", "beta"))

    assert find(sections, "alpha " * 9 + "beta") == []
    assert [each.address for each in find(sections, "alpha " * 9)] == ["/a"]
