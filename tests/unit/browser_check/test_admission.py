"""The origin of a request: the Origin header, and what replaces it within one origin."""

import pytest

from agentgate.browser_check.admission import is_from, page_origin
from agentgate.http.request import Request

SHOP = "https://shop.example"


def request(**headers):
    raw = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    return Request(method="GET", path="/", query_string=b"", headers=raw, address="192.0.2.1", secure=True)


@pytest.mark.parametrize(
    ("sent", "origin"),
    [
        ("https://shop.example", SHOP),
        ("HTTPS://SHOP.EXAMPLE", SHOP),
        ("https://shop.example:443", SHOP),
        ("https://shop.example:8443", "https://shop.example:8443"),
        ("http://shop.example", "http://shop.example"),
        ("http://shop.example:80", "http://shop.example"),
        ("http://127.0.0.1:8090", "http://127.0.0.1:8090"),
        ("http://[::1]:8090", "http://[::1]:8090"),
        ("https://xn--mnchen-3ya.example", "https://xn--mnchen-3ya.example"),
    ],
)
def test_an_origin_is_compared_in_its_canonical_form(sent, origin):
    assert page_origin(request(origin=sent)) == origin


@pytest.mark.parametrize(
    "sent",
    [
        "null",
        "",
        " ",
        "shop.example",
        "https://",
        "https:///",
        "https://shop.example/",
        "https://shop.example/login",
        "https://shop.example?x",
        "https://shop.example#x",
        "https://shop.example.",
        "https://shop.example..",
        "https://.shop.example",
        "https://user@shop.example",
        "https://user:word@shop.example",
        "https://shop.example@evil.example",
        "https://shop.example\\@evil.example",
        "https://shop.example, https://evil.example",
        "https://shop.example https://evil.example",
        "https://shop.example:0",
        "https://shop.example:65536",
        "https://shop.example:",
        "https://shop.example:443x",
        "https://*.shop.example",
        "https://shop.example%00.evil.example",
        "https://shop.example\t",
        "ftp://shop.example",
        "file://",
        "chrome-extension://abcdefghijklmnop",
        "https://0x7f.1",
        "https://1.2.3",
        "https://[::1",
        "https://" + "a" * 300 + ".example",
    ],
)
def test_what_no_site_can_have_is_not_an_origin(sent):
    assert page_origin(request(origin=sent)) is None


@pytest.mark.parametrize(
    "sent", ["https://shop.example.evil.example", "https://evilshop.example", "http://shop.example", "https://example"]
)
def test_an_origin_that_only_looks_like_it_is_another(sent):
    assert page_origin(request(origin=sent)) != SHOP
    assert not is_from(request(origin=sent), SHOP)


@pytest.mark.parametrize(
    ("headers", "fits"),
    [
        ({"origin": SHOP}, True),
        ({"origin": "https://evil.example"}, False),
        ({"origin": "null"}, False),
        # The Origin header takes precedence over all others.
        ({"origin": "https://evil.example", "sec_fetch_site": "same-origin", "referer": f"{SHOP}/"}, False),
        ({"origin": "null", "sec_fetch_site": "same-origin"}, False),
        ({"sec_fetch_site": "same-origin"}, True),
        ({"sec_fetch_site": "same-site"}, False),
        ({"sec_fetch_site": "cross-site"}, False),
        ({"referer": f"{SHOP}/login?next=/"}, True),
        ({"referer": SHOP}, True),
        ({"referer": "https://evil.example/https://shop.example/"}, False),
        ({"referer": "https://shop.example.evil.example/"}, False),
        ({"referer": "https://shop.example@evil.example/"}, False),
        ({"referer": "https://[::1"}, False),
        ({"referer": ""}, False),
        ({}, False),
    ],
)
def test_a_get_without_an_origin_may_come_from_the_same_origin(headers, fits):
    assert is_from(request(**headers), SHOP) is fits
