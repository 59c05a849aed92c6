"""Whether a browser reports that another site's page made the request."""

import pytest

from agentgate.http.guards import check_same_origin
from agentgate.http.request import Request
from agentgate.lib.errors import Refused


def is_refused(**headers: str) -> bool:
    pairs = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    request = Request(method="POST", path="/", query_string=b"", headers=pairs, address="192.0.2.1", secure=False)
    try:
        check_same_origin(request)
    except Refused as refused:
        assert refused.code == "cross_origin"  # noqa: PT017 - the other outcome is an answer too
        return True
    return False


def test_a_client_that_shows_nothing_is_not_a_browser_and_passes() -> None:
    assert not is_refused(host="admin.example")


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_our_own_pages_and_the_address_bar_pass(site: str) -> None:
    assert not is_refused(host="admin.example", sec_fetch_site=site)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "Same-Origin", "same-origin, cross-site", "unknown"])
def test_any_other_relation_is_rejected(site: str) -> None:
    assert is_refused(host="admin.example", sec_fetch_site=site)
    assert is_refused(host="admin.example", sec_fetch_site=site, origin="https://admin.example")


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://admin.example", "admin.example"),
        ("http://admin.example", "admin.example"),
        ("https://admin.example:8443", "admin.example:8443"),
        ("https://ADMIN.example", "admin.EXAMPLE"),
        ("http://127.0.0.1:8081", "127.0.0.1:8081"),
        ("http://[::1]:8081", "[::1]:8081"),
        ("http://[::1]", "[::1]"),
    ],
)
def test_an_origin_on_our_own_host_passes(origin: str, host: str) -> None:
    assert not is_refused(origin=origin, host=host)


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "https://",
        "https://evil.example",
        "https://admin.example.evil",
        "https://evil.example/admin.example",
        "https://evil.example#admin.example",
        "https://evil.example\\@admin.example",
        "https://x@admin.example",
        "https://admin.example@evil.example",
        "https://admin.example:8443",
        "https://admin.example.",
        "https://admin.example, https://evil.example",
        "https://admin.example https://evil.example",
        "admin.example",
        "//admin.example",
        "https:admin.example",
        "http://[",
        "http://]",
        "http://[::1",
        "http://[::1]x",
        "http://\xbd",
        "\xff",
    ],
)
def test_any_other_origin_is_rejected_and_never_an_error(origin: str) -> None:
    assert is_refused(origin=origin, host="admin.example")


@pytest.mark.parametrize("origin", ["null", "", "https://", "x"])
def test_an_origin_that_names_no_one_does_not_match_an_empty_or_absent_host(origin: str) -> None:
    assert is_refused(origin=origin, host="")
    assert is_refused(origin=origin)
