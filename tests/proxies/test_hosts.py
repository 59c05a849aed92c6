"""Every proxy rejects an invalid Host, over HTTP/1 and HTTP/2: some sites would read a path in it."""

import dataclasses
import re
from collections.abc import Iterator, Sequence

import pytest

from tests.proxies import http2
from tests.proxies.running import STARTERS, running_proxy
from tests.proxies.visiting import BROWSER, ORIGIN, Installed, read_answer

HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?\Z")
NOT_HOSTS = [
    "x/pay?",
    "x/pay",
    "shop.example/pay",
    "shop.example/pay?",
    "shop.example:80/pay?",
    "shop.example:/pay?",
    "shop.example?x",
    "shop.example#x",
    "shop.example:80?x=",
    "shop.example\\pay",
    "shop.example;x",
    "user@shop.example",
    "user:word@shop.example",
    "shop.example:80@elsewhere.example",
    "shop.example, elsewhere.example",
    "shop example",
    "shop.example x",
    "shop.example\t/pay",
    "shop.example:port",
    "shop.example:80:80",
    "shop.example:1234567",
    "shop.example:-1",
    "shop.example%2fpay",
    "shop.example%00",
    "shop.example\xc3\xa9",
    "[shop.example]",
    "[::1",
    "[::1]x",
    "http://shop.example",
    "<shop.example>",
    "shop.example'",
    "*",
    "",
]
HOSTS = ["shop.example", "SHOP.example", "shop.example.", "shop.example:80", "shop.example:65535"]
ELSEWHERE = ["elsewhere.example", "a_b.example", "127.0.0.1", "127.0.0.1:8000", "[::1]", "[2001:db8::1]:443", "x-y"]


def _visit_with(installed: Installed, host: str) -> int:
    with installed.connect() as connection:
        installed.send(connection, "GET", "/page", usual=[("Host", host), *BROWSER[1:]])
        return read_answer(connection, "GET").status


@pytest.mark.parametrize("host", NOT_HOSTS)
def test_a_host_that_is_none_is_blocked(installed: Installed, host: str) -> None:
    before = len(installed.site.asked)

    assert _visit_with(installed, host) in {400, 403, 404, 421}
    assert installed.site.asked[before:] == []


@pytest.mark.parametrize("hosts", [["shop.example", "x/pay?"], ["x/pay?", "shop.example"], []])
def test_two_hosts_and_none_at_all_are_blocked(installed: Installed, hosts: list[str]) -> None:
    before = len(installed.site.asked)

    told = installed.visit("GET", "/page", usual=[*(("Host", host) for host in hosts), *BROWSER[1:]])

    assert told.status in {400, 403, 404}
    assert installed.site.asked[before:] == []


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_is_not_blocked(installed: Installed, host: str) -> None:
    assert _visit_with(installed, host) == 200


@pytest.mark.parametrize("host", ELSEWHERE)
def test_another_host_is_blocked_only_where_the_proxy_has_a_site_of_that_name_alone(
    installed: Installed, host: str
) -> None:
    status = _visit_with(installed, host)

    assert status == (404 if installed.proxy == "traefik" else 200)
    if status == 200:
        assert installed.tap.checks()[-1].original[1] == f"{ORIGIN}/page"
        # Caddy and HAProxy may leave the port out: hosts are compared by name.
        assert str(installed.tap.checks()[-1].described_host).removesuffix(".") in {host, host.rpartition(":")[0]}


def test_a_host_in_the_target_does_not_replace_the_other(installed: Installed) -> None:
    before = len(installed.site.asked)

    for target in ("http://x@shop.example/page", "http://shop.example;x/page", "http://elsewhere.example/page"):
        installed.visit("GET", target)

    for asked in installed.site.asked[before:]:
        assert [HOST.match(value) is not None for value in asked.all("host")] == [True]


@pytest.fixture(scope="module", params=list(STARTERS))
def speaking_http2(request: pytest.FixtureRequest, site: Installed) -> Iterator[Installed]:
    """The site behind each proxy in turn, which takes HTTP/2 without TLS."""
    with running_proxy(request.param, site.installation, speaks_http2=True) as port:
        yield dataclasses.replace(site, proxy=request.param, port=port)


def _visit_over_http2(installed: Installed, headers: Sequence[tuple[str, str]]) -> bool:
    usual = [(name.lower(), value) for name, value in BROWSER if name != "Host"]
    pseudo = [(":method", "GET"), (":scheme", "http"), (":path", "/page")]
    with installed.connect() as connection:
        # Pseudo-headers come before the others (RFC 9113 8.3).
        return http2.visit(connection, [*pseudo, *headers, *usual])


@pytest.mark.parametrize("headers", [[(":authority", "shop.example")], [("host", "shop.example")]])
def test_http2_with_one_host_gets_through(speaking_http2: Installed, headers: list[tuple[str, str]]) -> None:
    before = len(speaking_http2.site.asked)

    assert _visit_over_http2(speaking_http2, headers)
    assert [asked.one("host") for asked in speaking_http2.site.asked[before:]] == ["shop.example"]


@pytest.mark.parametrize("host", ["x/pay?", "shop.example/pay", "shop.example:80/pay?", "a@shop.example", "a b", ""])
@pytest.mark.parametrize("names", [(":authority",), ("host",), (":authority", "host")])
def test_http2_with_a_host_that_is_none_is_blocked(
    speaking_http2: Installed, host: str, names: tuple[str, ...]
) -> None:
    before, checked = len(speaking_http2.site.asked), len(speaking_http2.tap.checks())

    _visit_over_http2(speaking_http2, [(name, host) for name in names])

    got = speaking_http2.site.asked[before:]
    if got and speaking_http2.proxy == "haproxy" and host == "shop.example:80/pay?" and names[0] == ":authority":
        # HAProxy 2 puts scheme, authority and path together and takes them apart again: the path is another, and is
        # judged. HAProxy 3 rejects the request.
        assert [(asked.target, asked.one("host")) for asked in got] == [("/pay?/page", "shop.example")]
        assert speaking_http2.tap.checks()[checked:][0].original[1] == f"{ORIGIN}/pay?/page"
        return
    assert got == []


@pytest.mark.parametrize("host", ["x/pay?", "elsewhere.example", "a@shop.example", ""])
def test_of_two_hosts_over_http2_the_site_gets_the_one_that_was_judged(speaking_http2: Installed, host: str) -> None:
    before = len(speaking_http2.site.asked)

    _visit_over_http2(speaking_http2, [(":authority", "shop.example"), ("host", host)])

    for asked in speaking_http2.site.asked[before:]:
        assert asked.all("host") == ["shop.example"]


def test_http2_without_a_host_is_blocked(speaking_http2: Installed) -> None:
    before = len(speaking_http2.site.asked)

    _visit_over_http2(speaking_http2, [])

    assert speaking_http2.site.asked[before:] == []
