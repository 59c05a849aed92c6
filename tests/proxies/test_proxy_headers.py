"""What only a proxy may say, said by a visitor: it counts for nothing, and the visitor is served all the same.

And what is sent with the check: the visitor's query is in `X-Original-URL` and nowhere else.
"""

import random
from urllib.parse import unquote

import pytest

from agentgate_tools.adapters.cleared import CLEARED
from tests.proxies.visiting import ORIGIN, Installed, new_address
from tests.support.browser_client import decision_of

# Nginx and Traefik have no way to take out headers by how their names begin.
CLEARS_BY_NAME = {"nginx", "traefik"}
# They take no byte in a target that RFC 3986 does not allow; every browser writes such bytes as percent escapes.
REFUSES_RAW_BYTES = {"haproxy", "envoy"}
MARK = "said-by-the-visitor"
PREFIXES = ("X-Original-", "X-Service-", "X-Forwarded-")
# Those that frameworks are known to read; the adapters know more.
READ_BY_SITES = {
    *(
        "Forwarded",
        "X-JA4",
        "X-Rewrite-URL",
        "X-AgentGate-Secret",
        "X-Original-URL",
        "X-Original-URI",
        "X-Original-Host",
    ),
    *("X-Original-Method", "X-Original-Path", "X-Original-For", "X-Original-Proto", "X-Original-Forwarded-For"),
    *(
        f"X-Forwarded-{name}"
        for name in ("For", "Host", "Proto", "Port", "Prefix", "Uri", "Method", "Server", "Scheme")
    ),
    *(f"X-Forwarded-{name}" for name in ("Path", "Ssl", "User", "Email", "Groups", "Access-Token", "Client-Cert")),
    *(f"X-Service-{name}" for name in ("Decision", "Decision-Id", "Would-Decision", "Reason", "Drop", "Message")),
}
NAMES = sorted({*READ_BY_SITES, *CLEARED})
BATCHES = [NAMES[start : start + 12] for start in range(0, len(NAMES), 12)]
# What a site sees as the same name: CGI and WSGI make HTTP_X_ORIGINAL_URL of all of them.
SPELLINGS = {
    "as it is": str,
    "in small letters": str.lower,
    "in capitals": str.upper,
    "with underscores": lambda name: name.replace("-", "_"),
    "with dots": lambda name: name.replace("-", "."),
    "with one underscore": lambda name: name.replace("-", "_", 1),
    "with another underscore": lambda name: "_".join(name.rsplit("-", 1)),
}


def _check_and_site(installed: Installed, target: str, headers: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    address, checked, asked = new_address(), len(installed.tap.checks()), len(installed.site.asked)

    told = installed.visit("GET", target, headers=headers, address=address)

    assert told.status == 200
    checks, got = installed.tap.checks()[checked:], installed.site.asked[asked:]
    assert [check.original for check in checks] == [("GET", f"{ORIGIN}{target}", address)]
    assert [each.target for each in got] == [target]
    return [each.headers for each in (*checks, *got)]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("batch", range(len(BATCHES)))
def test_a_proxys_headers_of_a_visitor_reach_nobody(installed: Installed, spelling: str, batch: int) -> None:
    headers = [(SPELLINGS[spelling](name), MARK) for name in BATCHES[batch]]

    for received in _check_and_site(installed, "/page", headers):
        assert [name for name, value in received if MARK in value] == []


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_such_headers_of_any_name_reach_nobody(installed: Installed, prefix: str, spelling: str) -> None:
    chance = random.Random(f"{prefix}{spelling}")
    names = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz-0123456789", k=9)).strip("-") + "x" for _ in range(10)]
    headers = [(SPELLINGS[spelling](f"{prefix}{name}"), MARK) for name in names]

    received = _check_and_site(installed, "/page", headers)

    if installed.proxy not in CLEARS_BY_NAME or "_" in headers[0][0] or "." in headers[0][0]:
        assert [name for each in received for name, value in each if MARK in value] == []


# A whole original request of the visitor's own making, in either spelling that the service reads.
OTHER_REQUEST = {
    "X-Original-Method": "OPTIONS",
    "X-Original-URL": "https://shop.example/free",
    "X-Original-Address": "203.0.113.7",
    "X-Forwarded-Method": "OPTIONS",
    "X-Forwarded-Proto": "ftp",
    "X-Forwarded-Host": "other.example",
    "X-Forwarded-Uri": "/free",
    "X-Forwarded-For": "203.0.113.7",
}


@pytest.mark.parametrize("prefix", ["X-Original-", "X-Forwarded-", "X-"])
def test_a_visitor_who_sends_a_whole_other_request_is_not_refused_for_it(installed: Installed, prefix: str) -> None:
    headers = [(name, value) for name, value in OTHER_REQUEST.items() if name.startswith(prefix)]

    page = installed.visit("GET", "/page", headers=headers)
    protected = installed.visit("POST", "/login", headers=headers, body=b"user=a")

    assert page.asked.one("x-service-decision") == "allow"
    assert (protected.status, protected.json["reason"]) == (401, "receipt_required")


def test_a_site_is_told_where_the_visitor_came_from_by_the_proxy_alone(installed: Installed) -> None:
    headers = [("X-Forwarded-For", "203.0.113.7"), ("X-Forwarded-Host", "x/pay"), ("X-Forwarded-Proto", "ftp")]
    address = new_address()

    told = installed.visit("GET", "/page", headers=[*headers, ("X-Forwarded-Port", "1")], address=address)

    assert told.asked.one("x-forwarded-for") == address
    assert told.asked.one("x-forwarded-host") == "shop.example"
    assert told.asked.one("x-forwarded-proto") in {"http", "https"}
    assert told.asked.one("x-forwarded-port") in {None, str(installed.port), "80", "443"}


@pytest.mark.parametrize(
    "query", ["ok=200", "", "a=b&ok=200", "x=voil\xc3\xa0", "x=%C3%A0", "x=%zz&y", "?", "a;b", "\xff", "reason=x"]
)
def test_the_visitors_query_is_sent_nowhere_but_in_the_original_url(installed: Installed, query: str) -> None:
    checked, asked = len(installed.tap.checks()), len(installed.site.asked)

    told = installed.visit("GET", f"/page?{query}")

    if installed.proxy in REFUSES_RAW_BYTES and not query.isascii():
        assert (told.status, installed.site.asked[asked:]) == (400, [])
        return
    if installed.proxy == "traefik":
        # It reads a semicolon as what it once was, and your site gets what AgentGate is asked about.
        query = query.replace(";", "&")
    assert told.status == 200
    checks = installed.tap.checks()[checked:]
    assert [check.original[1] for check in checks] == [f"{ORIGIN}/page?{query}"]
    assert [check.target.removesuffix("?") for check in checks] == ["/v1/gateway/check"]
    assert [each.target for each in installed.site.asked[asked:]] == [f"/page?{query}"]


@pytest.mark.parametrize(
    "path", ["/voil\xc3\xa0", "/\xc3\x85ngstr\xc3\xb6m", "/\xe2\x80\xa6", "/\xc2\xa0", "/\xe3\x81\x85"]
)
def test_raw_utf8_in_a_path_is_not_refused(installed: Installed, path: str) -> None:
    checked = len(installed.tap.checks())

    told = installed.visit("GET", path)

    if installed.proxy in REFUSES_RAW_BYTES:
        assert (told.status, installed.tap.checks()[checked:]) == (400, [])
        return
    assert unquote(told.asked.target, encoding="latin-1") == path
    assert unquote(installed.tap.checks()[-1].original[1], encoding="latin-1") == f"{ORIGIN}{path}"


def test_a_decision_carries_the_proxys_request_id_and_so_does_the_request_to_the_site(installed: Installed) -> None:
    headers = [("X-Request-Id", MARK)]
    first, second = (installed.visit("GET", "/page", headers=headers) for _ in range(2))

    ids = [check.one("x-request-id") for check in installed.tap.checks()[-2:]]

    if installed.proxy == "traefik":
        # It makes none. A visitor's is not taken for one.
        assert ids == [None, None]
        return
    assert len({*ids, None, MARK}) == 4
    assert [first.asked.one("x-request-id"), second.asked.one("x-request-id")] == ids
    decision = decision_of(installed.service, installed.site_key, first.asked.one("x-service-decision-id") or "")
    assert decision["requestId"] == ids[0]
