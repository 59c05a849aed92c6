"""`agentgate adapter nginx --decoys`: real nginx adds the link to pages, and to nothing else."""

import dataclasses
import gzip
import re
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from agentgate_tools.adapters.render import INCLUDES, AdapterRefused, render
from tests.proxies.backend import EchoSite
from tests.proxies.running import STARTERS, running_proxy
from tests.proxies.visiting import BROWSER, NAVIGATION, Installed, Told, new_address

LINK = re.compile(rb"<a href=(/[a-z2-7]+/[a-z2-7]+) rel=nofollow hidden aria-hidden=true [^>]*></a></body>")
PAGE = b"<!doctype html><title>Shop</title><p>Caf\xc3\xa9 </P></BODY></html>" + b"<!-- end -->" * 40
# As a link on a page of the site leads to the next page, without a click.
LED = [(name, value if value != "none" else "same-origin") for name, value in NAVIGATION if name != "Sec-Fetch-User"]


@pytest.fixture(scope="module")
def shop(site: Installed) -> Iterator[Installed]:
    """The site, which sends pages, behind nginx, with the rule for decoys."""
    path, operator = f"/v1/admin/sites/{site.site_key}/rules", site.service.operator
    before = operator.get(path).json()
    rules = {"version": "1", "rules": [{"group": "decoys", "version": 1}], "default_action": "allow"}
    saved = operator.put(path, json={"ruleSet": rules, "revision": before["revision"]})
    assert saved.status_code == 200, saved.text
    site.change(decoys=True)
    with running_proxy("nginx", replace(site.installation, decoys=True)) as port:
        yield dataclasses.replace(site, proxy="nginx", port=port)
    site.change(decoys=False)
    restored = operator.put(path, json={"ruleSet": before["ruleSet"], "revision": before["revision"] + 1})
    assert restored.status_code == 200, restored.text


@pytest.fixture
def pages(shop: Installed) -> Iterator[EchoSite]:
    """The site's server, which a test can let compress its pages."""
    echo = shop.site
    echo.page, echo.media_type = PAGE, b"text/html; charset=utf-8"
    yield echo
    echo.page, echo.media_type, echo.more_headers = b"", b"application/json", b""


def body_of(told: Told) -> bytes:
    return gzip.decompress(told.body) if told.headers["Content-Encoding"] == "gzip" else told.body


def test_a_page_has_the_link_once_and_a_client_that_follows_it_is_challenged(shop: Installed, pages: EchoSite) -> None:
    address = new_address()
    told = shop.visit(usual=NAVIGATION, address=address)
    found = LINK.search(body_of(told))
    assert told.status == 200
    assert found
    assert LINK.sub(b"</BODY>", body_of(told)) == PAGE
    assert shop.visit(target="/next", usual=LED, address=address).status == 200
    assert shop.visit(target=found[1].decode(), usual=LED, address=address).status == 401
    assert shop.visit(target="/next", usual=LED, address=address).status == 401

    assert shop.visit(target="/next", usual=LED).status == 200


def test_a_visitor_who_accepts_compressed_pages_gets_them_with_the_link(shop: Installed, pages: EchoSite) -> None:
    told = shop.visit(usual=NAVIGATION)

    assert told.headers["Content-Encoding"] == "gzip"
    assert LINK.search(gzip.decompress(told.body))
    assert pages.asked[-1].one("accept-encoding") is None


def test_a_page_that_the_site_compresses_in_any_case_arrives_unchanged(shop: Installed, pages: EchoSite) -> None:
    pages.page, pages.more_headers = gzip.compress(PAGE), b"Content-Encoding: gzip\r\n"
    told = shop.visit(usual=NAVIGATION)

    assert (told.status, told.body) == (200, pages.page)


def test_only_pages_are_changed(shop: Installed, pages: EchoSite) -> None:
    pages.media_type = b"application/javascript"
    assert body_of(shop.visit(usual=NAVIGATION)) == PAGE
    pages.media_type = b"text/html"
    assert body_of(shop.visit(usual=BROWSER)) == PAGE.replace(b"</BODY>", b"</body>")

    told = body_of(shop.visit(usual=[*LED, ("X-Service-Decoy", "<script>")]))
    assert told.count(b"<a href=") == 1
    assert b"<script>" not in told


def test_while_agentgate_is_unavailable_pages_have_no_link(shop: Installed, pages: EchoSite) -> None:
    opened = replace(shop.installation, decoys=True, mode="monitor")
    with (
        running_proxy("nginx", opened) as port,
        shop.answering(b"HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n"),
    ):
        told = dataclasses.replace(shop, port=port).visit(usual=NAVIGATION)

    assert (told.status, body_of(told)) == (200, PAGE.replace(b"</BODY>", b"</body>"))


def test_without_the_option_pages_and_their_compression_are_the_sites(site: Installed, pages: EchoSite) -> None:
    with running_proxy("nginx", site.installation) as port:
        told = dataclasses.replace(site, port=port).visit(usual=NAVIGATION)

    assert told.body == PAGE
    assert pages.asked[-1].one("accept-encoding") == dict(NAVIGATION)["Accept-Encoding"]


def test_proxies_that_change_no_pages_name_the_line_of_html(site: Installed) -> None:
    with_decoys = replace(site.installation, decoys=True)
    for proxy in set(STARTERS) - {"nginx"}:
        with pytest.raises(AdapterRefused, match=f"{proxy} does not change pages; add the line of HTML"):
            render(proxy, with_decoys)
    for file in INCLUDES["nginx"]:
        assert ("sub_filter" in render("nginx", with_decoys, file)) is (file == "agentgate-server.conf")
