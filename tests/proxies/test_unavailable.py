"""AgentGate stopped, frozen, failing or with a wrong secret: `open` allows requests, `closed` blocks them all."""

import contextlib
import dataclasses
import http.client
import time
from collections.abc import Iterator

import pytest

from tests.proxies.running import running_proxy
from tests.proxies.visiting import NAVIGATION, Installed

LONGEST_S = 3.5
FAILURES = {
    "an error": b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
    "unavailable": b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
    "no HTTP": b"hello\r\n\r\n",
}
# Responses of no failed check, and of no decision.
NONSENSE = {
    "a redirect": b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
    "not found": b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    "a bad request": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "too large": b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\n\r\n",
}
FORM = [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", "https://shop.example")]


@contextlib.contextmanager
def monitoring(installed: Installed) -> Iterator[None]:
    installed.change(mode="monitor")
    try:
        yield
    finally:
        installed.change(mode="enforce")


@contextlib.contextmanager
def stopped(installed: Installed) -> Iterator[None]:
    installed.tap.close()
    try:
        yield
    finally:
        installed.tap.open()


def test_requests_pass_an_open_adapter_while_the_service_is_stopped(opened: Installed) -> None:
    with stopped(opened):
        page = opened.visit("GET", "/members?x=1")
        form = opened.visit("POST", "/login", headers=FORM, body=b"user=a")
        large = opened.visit("POST", "/upload", body=b"x" * 300_000)

    assert [page.asked.target, form.asked.body, len(large.asked.body)] == ["/members?x=1", b"user=a", 300_000]
    for told in (page, form, large):
        assert [name for name, value in told.asked.headers if name.lower().startswith("x-service-") and value] == []


@pytest.mark.parametrize("failure", FAILURES)
def test_requests_pass_an_open_adapter_when_the_check_fails(opened: Installed, failure: str) -> None:
    if (opened.proxy, failure) == ("nginx", "no HTTP"):
        pytest.skip("nginx returns 500")
    with opened.answering(FAILURES[failure]):
        assert opened.visit("POST", "/login", body=b"a").asked.body == b"a"


def test_requests_pass_an_open_adapter_within_the_time_limit(opened: Installed) -> None:
    with opened.answering(hangs=True):
        started_s = time.monotonic()
        told = opened.visit("GET", "/page", headers=[("X-Service-Decision", "allow")])

    assert time.monotonic() - started_s < LONGEST_S
    decided = [value for name, value in told.asked.headers if name.lower() == "x-service-decision" and value]
    assert decided == [] or opened.proxy == "nginx"


@pytest.mark.parametrize("kind", NONSENSE)
@pytest.mark.parametrize("mode", ["monitor", "enforce"])
def test_a_response_that_is_no_decision_opens_nothing(
    installed: Installed, opened: Installed, kind: str, mode: str
) -> None:
    behind = opened if mode == "monitor" else installed
    before = len(behind.site.asked)

    with behind.answering(NONSENSE[kind]):
        told = behind.visit("GET", "/page")

    assert told.status >= 300
    assert len(behind.site.asked) == before


def test_a_failed_second_step_is_a_denial(opened: Installed) -> None:
    """The check denies with a seal, and the connection for the final response is lost."""
    before = len(opened.site.asked)
    denied = b"HTTP/1.1 401 Unauthorized\r\nX-Service-Denial: sealed0000000000\r\nContent-Length: 0\r\n\r\n"

    with opened.answering(denied, only_checks=True):
        try:
            status = opened.visit("POST", "/login", usual=NAVIGATION, headers=FORM, body=b"user=a").status
        except http.client.RemoteDisconnected:
            # HAProxy 3 closes the visitor's connection if one that it reused is lost, so that browsers try again.
            status = 502 if opened.proxy == "haproxy" else None

    assert status in {401, 502, 503, 504}
    assert len(opened.site.asked) == before


def test_a_stalled_form_does_not_open_the_gate(opened: Installed) -> None:
    """The site enforces, and the adapter is still open. The body of the form never arrives."""
    before = len(opened.site.asked)

    with opened.connect() as connection:
        opened.send(connection, "POST", "/login", usual=NAVIGATION, headers=[*FORM, ("Content-Length", "1000")])
        connection.sendall(b"user=")
        connection.settimeout(8)
        with contextlib.suppress(TimeoutError, OSError):
            connection.recv(4096)

    assert len(opened.site.asked) == before


def test_a_site_that_is_down_is_not_asked_twice(opened: Installed) -> None:
    opened.site.close()
    accepted = opened.site.accepted
    try:
        told = opened.visit("POST", "/page", body=b"once")
    finally:
        opened.site.open()

    assert told.status in {500, 502, 503, 504}
    assert opened.site.accepted == accepted


# Closed.


def _is_blocked(installed: Installed, method: str = "GET", path: str = "/page", body: bytes = b"") -> None:
    before, started_s = len(installed.site.asked), time.monotonic()
    told = installed.visit(method, path, body=body)
    assert time.monotonic() - started_s < LONGEST_S
    assert told.status == 503
    assert len(installed.site.asked) == before
    # Apache and Traefik return their own text.
    if installed.proxy not in {"apache", "traefik"}:
        assert told.json == {"decision": "block", "reason": "service_unavailable"}


def test_a_stopped_service_blocks_every_request_and_comes_back(installed: Installed) -> None:
    with stopped(installed):
        _is_blocked(installed)
        _is_blocked(installed, "POST", "/login", b"user=a")
        page = installed.visit("GET", "/page", usual=NAVIGATION)
        assert installed.visit("GET", "/.agentgate/sdk/v1/agentgate.js").status >= 500

    assert page.status == 503
    if installed.proxy != "traefik":
        assert page.headers.get_content_type() == "text/html"
    assert installed.visit("GET", "/page").status == 200


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_check_blocks_the_request(installed: Installed, failure: str) -> None:
    if (installed.proxy, failure) == ("nginx", "no HTTP"):
        pytest.skip("nginx returns 500")
    with installed.answering(FAILURES[failure]):
        _is_blocked(installed)


def test_a_service_that_hangs_blocks_the_request(installed: Installed) -> None:
    with installed.answering(hangs=True):
        _is_blocked(installed)

    assert installed.visit("GET", "/page").status == 200


@pytest.mark.parametrize(("proxy", "line"), [("haproxy", "socket:connect(address)"), ("apache", "connection:connect(")])
@pytest.mark.parametrize("mode", ["monitor", "enforce"])
def test_lua_that_is_aborted_opens_no_adapter(site: Installed, proxy: str, line: str, mode: str) -> None:
    # HAProxy also aborts Lua when the visitor resets the connection, and continues with the next line.
    before, printed = len(site.site.asked), dataclasses.replace(site, mode=mode).installation

    with running_proxy(proxy, printed, change=lambda text: text.replace(line, f"error(0) or {line}")) as port:
        told = dataclasses.replace(site, proxy=proxy, port=port).visit("GET", "/page")

    assert told.status in {500, 503}
    assert len(site.site.asked) == before


def test_what_a_site_shows_while_it_is_down_is_not_a_denial(installed: Installed) -> None:
    installed.site.close()
    try:
        told = installed.visit("GET", "/page")
    finally:
        installed.site.open()

    assert told.status in {502, 503, 504}
    assert b"service_unavailable" not in told.body
