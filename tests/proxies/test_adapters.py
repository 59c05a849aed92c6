"""Real proxies with the shipped configuration: who gets through, who does not, and what each side sees of it."""

import http.client

import pytest

from tests.proxies.visiting import BROWSER, ORIGIN, STATUSES, Installed, new_address, read_answer
from tests.support.browser_client import get_token

TOKEN = "X-AgentGate-Token"
# These proxies cannot close a connection without a response.
ANSWERS_WHOM_IT_DROPS = {"apache", "traefik", "envoy"}
# These proxies change the order of the headers.
ORDERS_HEADERS = {"caddy", "traefik", "apache", "envoy"}
# Proxies that get the final response from the check, where a 5xx is a failed check.
ONE_STEP = {"caddy", "traefik", "envoy"}
FIREFOX = [
    ("Host", "shop.example"),
    ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"),
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("Accept-Language", "en-US,en;q=0.5"),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ("Upgrade-Insecure-Requests", "1"),
    ("Sec-Fetch-Dest", "document"),
    ("Sec-Fetch-Mode", "navigate"),
    ("Sec-Fetch-Site", "none"),
    ("Sec-Fetch-User", "?1"),
    ("Priority", "u=0, i"),
]


def test_an_allowed_request_reaches_the_site_with_its_decision(installed: Installed) -> None:
    address = new_address()

    told = installed.visit("GET", "/page?x=1&y=%20", address=address)

    assert (told.asked.method, told.asked.target) == ("GET", "/page?x=1&y=%20")
    assert told.asked.one("x-service-decision") == "allow"
    assert str(told.asked.one("x-service-decision-id")).startswith("dec_")
    assert told.asked.one("host") == "shop.example"
    assert str(told.asked.one("x-forwarded-for")) == address
    check = installed.tap.checks()[-1]
    assert check.original == ("GET", f"{ORIGIN}/page?x=1&y=%20", address)
    assert check.one("user-agent") == told.asked.one("user-agent")
    assert "x-service-reason" not in told.headers
    assert "x-service-decision-id" not in told.headers


def test_the_check_gets_the_headers_in_their_order_or_sorted(installed: Installed) -> None:
    installed.visit("GET", "/page")

    # Of any other order the service would make something.
    if installed.proxy == "envoy":
        # AgentGate does not judge the order of its headers.
        return
    usual = [name.lower() for name, _ in BROWSER[1:]]
    names = [name.lower() for name, _ in installed.tap.checks()[-1].headers if name.lower() in usual]
    assert names in (usual, sorted(usual), ["user-agent", *sorted(usual[1:])])


def test_firefox_is_not_taken_for_something_else_by_the_order_of_its_headers(installed: Installed, ruled: None) -> None:
    # One that neither its own order nor a sorting proxy explains is.
    assert installed.visit("GET", "/ordered", usual=FIREFOX).status == 200
    if installed.proxy not in ORDERS_HEADERS:
        assert installed.visit("GET", "/ordered", usual=[*FIREFOX[:2], *reversed(FIREFOX[2:])]).status == 403


def test_a_protected_route_without_a_token_is_blocked_in_json(installed: Installed) -> None:
    before = len(installed.site.asked)

    told = installed.visit("POST", "/login", body=b'{"user":"a"}', headers=[("Content-Type", "application/json")])

    assert told.status == 401
    assert told.json == {"decision": "challenge", "reason": "receipt_required"}
    assert told.headers.get_content_type() == "application/json"
    assert len(installed.site.asked) == before


def test_a_token_passes_once(installed: Installed) -> None:
    address = new_address()
    token = [(TOKEN, get_token(installed.service, installed.site_key, "login", ORIGIN, address=address))]

    first = installed.visit("POST", "/login", headers=token, body=b"user=a", address=address)
    again = installed.visit("POST", "/login", headers=token, body=b"user=a", address=address)
    assert first.asked.body == b"user=a"
    assert (again.status, again.headers["x-service-reason"]) == (401, "token_used")


def test_the_check_gets_no_body_that_it_cannot_use(installed: Installed) -> None:
    installed.visit("PUT", "/upload", headers=[("TE", "trailers")], body=b"x" * 1000)

    check = installed.tap.checks()[-1]
    if installed.proxy == "envoy":
        # It sends the first 64 KB, because it cannot know yet whether it needs them.
        assert check.body == b"x" * 1000
        return
    assert (check.body, check.one("content-length") or "0", check.all("transfer-encoding")) == (b"", "0", [])


@pytest.mark.parametrize("size", [0, 10, 70_000, 300_000])
def test_a_body_reaches_the_site_as_it_was_sent(installed: Installed, size: int) -> None:
    body = bytes(index % 251 for index in range(size))

    assert installed.visit("POST", "/form", body=body).asked.body == body


@pytest.mark.parametrize("encoding", ["gzip", "br", "anything"])
@pytest.mark.parametrize("mode", ["enforce", "monitor"])
def test_a_compressed_body_reaches_the_site(installed: Installed, encoding: str, mode: str) -> None:
    installed.change(mode=mode)
    try:
        told = installed.visit("POST", "/upload", headers=[("Content-Encoding", encoding)], body=b"\x1f\x8b\xff")
    finally:
        installed.change(mode="enforce")

    assert (told.asked.body, told.asked.one("content-encoding")) == (b"\x1f\x8b\xff", encoding)
    assert told.asked.one("x-service-decision") == "allow"


def test_a_chunked_body_reaches_the_site(installed: Installed) -> None:
    chunks = b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"

    told = installed.visit("POST", "/form", headers=[("Transfer-Encoding", "chunked")], body=chunks)

    assert told.asked.body == b"hello world"


def test_head_is_challenged_as_head_and_gets_no_body(installed: Installed) -> None:
    told = installed.visit("HEAD", "/page")

    assert (told.status, told.body) == (200, b"")
    assert installed.site.asked[-1].method == "HEAD"
    assert installed.tap.checks()[-1].original[0] == "HEAD"
    assert installed.visit("HEAD", "/members").status == 401


def test_one_connection_carries_many_visits(installed: Installed) -> None:
    with installed.connect() as connection:
        for number in range(20):
            installed.send(connection, "GET", f"/{number}")
            assert read_answer(connection, "GET").asked.target == f"/{number}"


def test_connections_to_the_service_are_kept(installed: Installed) -> None:
    if installed.proxy == "apache":
        # Its Lua opens one for each check.
        return
    for _ in range(3):
        installed.visit("GET", "/page")
    before = installed.tap.accepted

    for _ in range(30):
        assert installed.visit("GET", "/page").status == 200

    assert installed.tap.accepted - before < 20


def test_a_visitor_past_the_limit_gets_429(installed: Installed, limited: str) -> None:
    told = installed.visit("GET", "/page", address=limited)

    assert (told.status, told.json) == (429, {"decision": "block", "reason": "rate_limited"})
    assert installed.visit("HEAD", "/page", address=limited).status == 429


def test_a_tool_that_attacks_is_blocked(installed: Installed, ruled: None) -> None:
    told = installed.visit("GET", "/", usual=[("Host", "shop.example"), ("User-Agent", "sqlmap/1.8")])

    assert told.status == 403
    assert told.headers["x-service-reason"] == "policy"
    assert str(told.headers["x-service-decision-id"]).startswith("dec_")
    if installed.proxy != "apache":
        assert told.json == {"decision": "block", "reason": "policy"}


def test_a_rules_own_response_is_given(installed: Installed, ruled: None) -> None:
    usual = [("Host", "shop.example"), ("User-Agent", "sqlmap/1.8")]

    told = installed.visit("GET", "/told", usual=usual)
    assert (told.status, told.headers["retry-after"]) == (451, "77")
    assert told.headers["x-service-message"] == "Not here."
    assert told.headers["cache-control"] == "no-store"
    assert told.json["reason"] == "policy"


@pytest.mark.parametrize("status", STATUSES)
def test_each_status_of_a_rule_is_given(installed: Installed, ruled: None, status: int) -> None:
    told = installed.visit("GET", f"/status/{status}", usual=[("Host", "shop.example"), ("User-Agent", "sqlmap/1.8")])

    assert told.status == (429 if status == 503 and installed.proxy in ONE_STEP else status)
    if (installed.proxy, status) != ("apache", 403):
        assert told.json == {"decision": "block", "reason": "policy"}
    assert "x-service-denial" not in told.headers
    assert "x-service-decision" not in told.headers


def test_a_dropped_visitor_gets_no_response(installed: Installed, ruled: None) -> None:
    usual = [("Host", "shop.example"), ("User-Agent", "sqlmap/1.8")]
    if installed.proxy in ANSWERS_WHOM_IT_DROPS:
        assert installed.visit("GET", "/dropped", usual=usual).status == 403
        return
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        installed.visit("GET", "/dropped", usual=usual)


def test_monitor_mode_allows(installed: Installed) -> None:
    installed.change(mode="monitor")
    try:
        told = installed.visit("POST", "/login", body=b"user=a")
    finally:
        installed.change(mode="enforce")

    assert told.asked.one("x-service-decision") == "allow"
    assert told.asked.one("x-service-would-decision") is None
