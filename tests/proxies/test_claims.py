"""Whole-site protection behind real proxies: no claim of a request returns a page."""

from collections.abc import Iterator

import pytest

from tests.proxies.visiting import Installed

HOST = ("Host", "shop.example")
BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
# User-Agent, method, target, further headers.
CLAIMS = [
    (BROWSER, "GET", "/page?feed=rss2", []),
    (BROWSER, "GET", "/page", [("Sec-Fetch-Dest", "image"), ("Sec-Fetch-Mode", "no-cors")]),
    (BROWSER, "GET", "/page.js", [("Sec-Fetch-Dest", "script"), ("Sec-Fetch-Mode", "no-cors")]),
    (BROWSER, "GET", "/page", [("Sec-Fetch-Dest", "empty"), ("Sec-Fetch-Mode", "cors")]),
    ("python-requests/2.32.3", "POST", "/hooks/stripe", [("Stripe-Signature", "t=1"), ("Content-Length", "0")]),
    ("pip/24.0", "GET", "/simple/thing/", [("Accept-Language", "en")]),
    ("WhatsApp/2.23.20.0", "GET", "/page", []),
    ("Foo/1.0", "GET", "/page", [("Accept-Language", "en")]),
    ("Foo/1.0", "GET", "/robots.txt", [("X-HTTP-Method-Override", "POST")]),
]


@pytest.fixture
def whole_site(site: Installed) -> Iterator[None]:
    """Whole-site protection, for the length of a test."""
    path = f"/v1/admin/sites/{site.site_key}"
    assert site.service.operator.patch(path, json={"wholeSite": True}).status_code == 200
    yield
    assert site.service.operator.patch(path, json={"wholeSite": False}).status_code == 200


@pytest.mark.usefixtures("whole_site")
@pytest.mark.parametrize(("user_agent", "method", "target", "headers"), CLAIMS)
def test_a_claim_reaches_no_page(
    installed: Installed, user_agent: str, method: str, target: str, headers: list[tuple[str, str]]
) -> None:
    usual = [HOST, ("User-Agent", user_agent), ("Accept", "*/*")]

    assert installed.visit(method, target, usual=usual, headers=headers).status in {401, 403}


@pytest.mark.parametrize("target", ["/robots.txt", "/feed"])
def test_standard_paths_and_root_feeds_stay_open(installed: Installed, whole_site: None, target: str) -> None:
    usual = [HOST, ("User-Agent", "Foo/1.0"), ("Accept", "*/*")]

    assert installed.visit("GET", target, usual=usual).status == 200
