"""Up to 32 KiB of request headers reach a decision behind every proxy; beyond, the response reports the excess.

Behind an open adapter as well: a request that is too large is not a failed check.
"""

import pytest

from tests.proxies.visiting import Headers, Installed


def fillers(count: int, size: int) -> Headers:
    return [(f"X-Filler-{number}", "v" * size) for number in range(count)]


# A query, and further headers.
DECIDED = {
    "a query": ("?" + "q" * 31_000, []),
    "one header": ("", fillers(1, 31_000)),
    "many headers": ("", fillers(31, 1_000)),
    "both": ("?" + "q" * 15_000, fillers(16, 1_000)),
}
TOO_LARGE = {
    "a query": ("?" + "q" * 50_000, []),
    "a header more than a buffer": ("", fillers(1, 60_000)),
    "headers": ("", fillers(50, 1_000)),
    "more headers": ("", fillers(100, 1_000)),
    "too many headers": ("", fillers(160, 5)),
}


@pytest.mark.parametrize("kind", DECIDED)
def test_32_kib_of_headers_reach_a_decision(opened: Installed, kind: str) -> None:
    query, headers = DECIDED[kind]

    allowed = opened.visit("GET", f"/page{query}", headers=headers)
    denied = opened.visit("GET", f"/members{query}", headers=headers)

    assert allowed.asked.target == f"/page{query}"
    assert allowed.asked.one("x-service-decision") == "allow"
    assert (denied.status, denied.json["reason"]) == (401, "receipt_required")


@pytest.mark.parametrize("kind", TOO_LARGE)
@pytest.mark.parametrize("path", ["/page", "/members"])
def test_larger_headers_are_refused_and_open_nothing(opened: Installed, kind: str, path: str) -> None:
    query, headers = TOO_LARGE[kind]
    before = len(opened.site.asked)

    told = opened.visit("GET", f"{path}{query}", headers=headers)

    # nginx, HAProxy and Apache return 400 for what exceeds their own limits.
    assert told.status in ({400, 414, 431} if opened.proxy in {"nginx", "haproxy", "apache"} else {414, 431})
    assert len(opened.site.asked) == before


@pytest.mark.parametrize("kind", ["headers", "too many headers"])
def test_nginx_returns_the_services_own_status(opened: Installed, kind: str) -> None:
    if opened.proxy != "nginx":
        pytest.skip("nginx alone needs a second step for it")

    assert opened.visit("GET", "/page", headers=TOO_LARGE[kind][1]).status == 431
