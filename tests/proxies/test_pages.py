"""The hosted page through real proxies: shown instead of the requested page, to people only, and how they pass it."""

import json

import pytest

from tests.proxies.visiting import BROWSER, NAVIGATION, ORIGIN, BrowserBehindProxy, Installed, new_address

FORM = [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", ORIGIN)]
SENT = [*NAVIGATION, *FORM]
LARGEST_FORM = 64_000
# They send the request once, for the check and the final response.
ONE_STEP = {"caddy", "traefik", "envoy"}


def test_a_navigation_gets_the_page_under_the_same_address(installed: Installed) -> None:
    before = len(installed.site.asked)

    told = installed.visit("GET", "/members?tab=1", usual=NAVIGATION)

    assert (told.status, told.headers.get_content_type()) == (401, "text/html")
    assert told.headers["cache-control"] == "no-store"
    assert len(installed.site.asked) == before
    asked = installed.tap.heard[-1]
    assert asked.target.startswith("/v1/gateway/check?" if installed.proxy in ONE_STEP else "/v1/gateway/denied?d=")
    assert asked.original[:2] == ("GET", f"{ORIGIN}/members?tab=1")
    assert b"dec_" in told.body
    assert str(told.headers["x-service-decision-id"]).startswith("dec_")
    assert "x-service-denial" not in told.headers


def test_a_script_gets_json(installed: Installed) -> None:
    told = installed.visit("GET", "/members")

    assert (told.status, told.json) == (401, {"decision": "challenge", "reason": "receipt_required"})
    assert told.headers["x-service-reason"] == "receipt_required"
    assert str(told.headers["x-service-decision-id"]).startswith("dec_")


def test_a_form_is_carried_over(installed: Installed) -> None:
    told = installed.visit("POST", "/login", usual=SENT, body=b"user=a&password=b")

    assert (told.status, told.headers.get_content_type()) == (401, "text/html")
    assert b'"resend":true' not in told.body
    asked = installed.tap.heard[-1]
    # nginx writes GET in its second step. The sealed denial has the visitor's method.
    assert asked.original[0] == ("GET" if installed.proxy == "nginx" else "POST")
    assert asked.body == b"user=a&password=b"


def test_a_form_of_the_largest_size_is_passed_on_and_a_larger_one_is_not_kept(installed: Installed) -> None:
    largest = installed.visit("POST", "/login", usual=SENT, body=b"a=" + b"b" * (LARGEST_FORM - 2))
    assert largest.status == 401
    assert b'"resend":true' not in largest.body
    assert len(installed.tap.heard[-1].body) == LARGEST_FORM

    told = installed.visit("POST", "/login", usual=SENT, body=b"a=" + b"b" * 70_000)
    assert (told.status, told.headers.get_content_type()) == (401, "text/html")
    assert b'"resend":true' in told.body


def test_a_form_in_chunks_is_carried_over_or_sent_again(installed: Installed) -> None:
    chunks = b"10\r\nuser=a&password=\r\n1\r\nb\r\n0\r\n\r\n"

    told = installed.visit("POST", "/login", usual=SENT, headers=[("Transfer-Encoding", "chunked")], body=chunks)

    assert (told.status, told.headers.get_content_type()) == (401, "text/html")
    assert (b'"resend":true' in told.body) == (installed.proxy in {"caddy", "traefik"})


def _photo(size: int) -> tuple[list[tuple[str, str]], bytes]:
    """Return a form with a photo, as a browser sends it."""
    part = b'--x\r\nContent-Disposition: form-data; name="photo"; filename="a.jpg"\r\nContent-Type: image/jpeg\r\n\r\n'
    typed = [("Content-Type", "multipart/form-data; boundary=x"), ("Origin", ORIGIN), ("Referer", f"{ORIGIN}/form")]
    return [*NAVIGATION, *typed], part + b"\xff" * size + b"\r\n--x--\r\n"


@pytest.mark.parametrize("size", [100_000, 3_000_000])
def test_a_form_with_a_photo_gets_the_page_which_shows_that_it_must_be_sent_again(
    installed: Installed, size: int
) -> None:
    headers, body = _photo(size)
    before = len(installed.site.asked)

    told = installed.visit("POST", "/login", usual=headers, body=body)

    assert (told.status, told.headers.get_content_type()) == (401, "text/html")
    assert b'"resend":true' in told.body
    assert b"could not be kept" in told.body
    assert b'"back":"https://shop.example/form"' in told.body
    assert "script-src 'nonce-" in told.headers["content-security-policy"]
    assert len(installed.site.asked) == before


def test_a_scripts_upload_gets_json(installed: Installed) -> None:
    _, body = _photo(100_000)
    typed = [("Content-Type", "multipart/form-data; boundary=x"), ("Origin", ORIGIN)]

    told = installed.visit("POST", "/login", headers=typed, body=body)

    assert (told.status, told.json) == (401, {"decision": "challenge", "reason": "receipt_required"})


def test_an_upload_of_some_megabytes_reaches_the_site(installed: Installed) -> None:
    body = b"\xff" * 3_000_000

    told = installed.visit("POST", "/upload", headers=[("Content-Type", "application/octet-stream")], body=body)

    assert (told.status, len(told.asked.body)) == (200, len(body))


@pytest.mark.parametrize(
    "kind", ["a service worker", "Chromium's service worker", "a WebView", "a feature phone", "a text browser"]
)
def test_everyone_who_inspects_the_response_gets_the_page(installed: Installed, kind: str) -> None:
    host = ("Host", "shop.example")
    html = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
    headers = {
        "a service worker": [*BROWSER[:2], html, ("Sec-Fetch-Mode", "same-origin"), ("Sec-Fetch-Dest", "empty")],
        "Chromium's service worker": [*BROWSER[:2], html, ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "empty")],
        "a WebView": [*BROWSER[:2], html, ("X-Requested-With", "com.example.app")],
        "a feature phone": [host, ("User-Agent", "Nokia6300/2.0 Profile/MIDP-2.0"), ("Accept", "*/*")],
        "a text browser": [host, ("User-Agent", "Links (2.29; Linux; text)"), ("Accept", "*/*")],
    }

    told = installed.visit("GET", "/members", usual=headers[kind])

    assert (told.status, told.headers.get_content_type()) == (401, "text/html")


def test_a_person_who_passed_gets_in(installed: Installed) -> None:
    address = new_address()
    browser = BrowserBehindProxy(installed, address)
    token = browser.verify(browser.challenge().json()).json()["token"]
    sent = json.dumps({"token": token, "return": f"{ORIGIN}/members"}).encode()
    typed = [("Content-Type", "application/json"), ("Origin", ORIGIN)]

    passed = installed.visit("POST", "/.agentgate/v1/gateway/pass", headers=typed, body=sent, address=address)

    assert (passed.status, passed.json) == (200, {"return": f"{ORIGIN}/members"})
    cookie = passed.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "Secure" in cookie
    shown = [("Cookie", cookie.partition(";")[0])]
    assert (
        installed.visit("GET", "/members", usual=NAVIGATION, headers=shown, address=address).asked.target == "/members"
    )
    # It is bound to the visitor's network and browser.
    elsewhere, firefox = "127.200.13.7", "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0"
    other = [(name, firefox if name.lower() == "user-agent" else value) for name, value in NAVIGATION]
    assert installed.visit("GET", "/members", usual=NAVIGATION, headers=shown, address=elsewhere).status == 401
    assert installed.visit("GET", "/members", usual=other, headers=shown, address=address).status == 401


@pytest.mark.parametrize(("path", "status", "kind"), [("/blocked", 403, "text/html"), ("/told", 451, "text/html")])
def test_a_blocked_navigation_gets_a_page_or_the_rules_own_response(
    installed: Installed, ruled: None, path: str, status: int, kind: str
) -> None:
    scanner = [(name, "sqlmap/1.8" if name == "User-Agent" else value) for name, value in NAVIGATION]

    told = installed.visit("GET", path, usual=scanner)

    assert (told.status, told.headers.get_content_type()) == (status, kind)


@pytest.mark.parametrize("status", [401, 403, 404, 503])
def test_what_the_site_itself_blocks_is_passed_on_as_it_is(installed: Installed, status: int) -> None:
    installed.site.status = b"%d No" % status
    try:
        told = installed.visit("GET", "/page", usual=NAVIGATION)
    finally:
        installed.site.status = b"200 OK"

    assert (told.status, told.json[:2]) == (status, ["GET", "/page"])
