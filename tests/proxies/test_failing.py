"""When the service is away, slow, or answers nonsense: nobody is let through, and nobody waits long to be told."""

import dataclasses
import time

import msgspec
import pytest

from tests.proxies.running import running_proxy
from tests.proxies.visiting import BROWSER, NAVIGATION, Headers, Installed

LONGEST_S = 2.5
NONSENSE = {
    "an error": b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
    "a redirect": b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
    "not found": b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    "a bad request": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "no HTTP": b"hello\r\n\r\n",
    "too many": b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
}


def _is_told_that_it_is_down(installed: Installed, method: str = "GET", path: str = "/page", body: bytes = b"") -> None:
    before, started_s = len(installed.site.asked), time.monotonic()
    told = installed.visit(method, path, body=body)
    assert time.monotonic() - started_s < LONGEST_S
    assert told.status == 503
    assert len(installed.site.asked) == before
    assert (told.headers["retry-after"], told.headers["cache-control"]) == ("5", "no-store")
    # Traefik has no words of its own.
    if installed.proxy != "traefik":
        assert told.json == {"decision": "block", "reason": "service_unavailable"}


def _is_shown_that_it_is_down(installed: Installed, usual: Headers = NAVIGATION) -> None:
    before = len(installed.site.asked)
    told = installed.visit("GET", "/page", usual=usual)
    assert (told.status, told.headers["retry-after"], told.headers["cache-control"]) == (503, "5", "no-store")
    assert len(installed.site.asked) == before
    if installed.proxy != "traefik":
        assert told.headers.get_content_type() == "text/html"
        assert b"Try again" in told.body
        assert b"service_unavailable" not in told.body


def test_a_person_is_shown_a_page_while_the_service_is_away(installed: Installed) -> None:
    html, name = ("Accept", "text/html,*/*;q=0.8"), BROWSER[:2]
    installed.tap.close()
    try:
        _is_shown_that_it_is_down(installed)
        _is_shown_that_it_is_down(installed, [*name, html])
        _is_shown_that_it_is_down(installed, [*name, html, ("Sec-Fetch-Mode", "same-origin")])
        _is_shown_that_it_is_down(installed, [*name, html, ("X-Requested-With", "com.example.app")])
        script = installed.visit("GET", "/page", usual=[*name, html, ("X-Requested-With", "XMLHttpRequest")])
    finally:
        installed.tap.open()

    assert script.headers.get_content_type() != "text/html"


def test_traefik_shows_a_page_of_the_site_while_the_service_is_away(site: Installed) -> None:
    chosen = msgspec.structs.replace(site.installation, down_page="/503.html")
    cookie, form = ("Cookie", "session=1"), {"usual": NAVIGATION, "body": b"a=1"}
    with running_proxy("traefik", chosen) as port:
        behind = dataclasses.replace(site, proxy="traefik", port=port)
        site.tap.close()
        try:
            page = behind.visit("GET", "/members?id=1", usual=[*NAVIGATION, cookie])
            shown = site.site.asked[-1]
            sent = behind.visit("POST", "/members", **form)
            before = len(site.site.asked)
            program = behind.visit("GET", "/members")
        finally:
            site.tap.open()
        allowed = behind.visit("GET", "/page")

    assert [page.status, sent.status, program.status, allowed.status] == [503, 503, 503, 200]
    assert (page.headers["retry-after"], page.headers["cache-control"]) == ("5", "no-store")
    # The site echoes what it was asked for: its page, and nothing of the visitor's or of AgentGate's.
    assert (shown.method, shown.target) == ("GET", "/503.html")
    assert [shown.one(name) for name in ("authorization", "cookie", "x-forwarded-uri", "x-service-decision")] == [
        None
    ] * 4
    assert b"/503.html" in page.body
    assert len(site.site.asked) == before + 1


def test_a_service_that_is_away_lets_nobody_through_and_comes_back(installed: Installed) -> None:
    installed.visit("GET", "/page")
    installed.tap.close()
    try:
        _is_told_that_it_is_down(installed)
        _is_told_that_it_is_down(installed, "POST", "/login", b"user=a")
        assert installed.visit("GET", "/.agentgate/sdk/v1/agentgate.js").status >= 500
    finally:
        installed.tap.open()

    assert installed.visit("GET", "/page").status == 200


def test_a_service_that_hangs_lets_nobody_through(installed: Installed) -> None:
    with installed.answering(hangs=True):
        _is_told_that_it_is_down(installed)

    assert installed.visit("GET", "/page").status == 200


@pytest.mark.parametrize("kind", NONSENSE)
def test_an_answer_that_is_none_lets_nobody_through(installed: Installed, kind: str) -> None:
    with installed.answering(NONSENSE[kind]):
        _is_told_that_it_is_down(installed)


def test_a_service_that_answers_503_lets_nobody_through(installed: Installed) -> None:
    answer = (
        b"HTTP/1.1 503 Service Unavailable\r\nX-Service-Decision: block\r\nX-Service-Reason: service_unavailable\r\n"
        b"Retry-After: 5\r\nContent-Length: 2\r\n\r\n{}"
    )
    with installed.answering(answer):
        _is_told_that_it_is_down(installed)


def test_a_wrong_secret_lets_nobody_through(installed: Installed) -> None:
    answer = (
        b"HTTP/1.1 403 Forbidden\r\nX-Service-Decision: block\r\nX-Service-Reason: invalid_credential\r\n"
        b"Content-Length: 2\r\n\r\n{}"
    )
    with installed.answering(answer):
        assert installed.visit("PUT", "/page").status == 403


def test_a_site_that_is_away_is_told_apart_from_a_service_that_is(installed: Installed) -> None:
    installed.site.close()
    try:
        told = installed.visit("GET", "/page")
    finally:
        installed.site.open()

    assert told.status in {502, 503, 504}
    assert b"service_unavailable" not in told.body


def test_too_many_headers_let_nobody_through(installed: Installed) -> None:
    before = len(installed.site.asked)

    told = installed.visit("GET", "/page", headers=[(f"X-More-{number}", "x") for number in range(80)])

    assert told.status in {400, 431, 503}
    assert len(installed.site.asked) == before
