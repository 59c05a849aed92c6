"""Links, cookies and pages of other sites (C4, C5, C10, C11): what a stranger's page, mail scanner or proxy can do."""

import itertools

import pytest

from agentgate.lib.enums import AccountRole
from agentgate.people.identity.records import LinkKind
from agentgate.people.identity.sessions import ACCOUNT_COOKIE
from tests.api.account.steps import (
    NEW_PASSWORD,
    begin_with_mfa,
    code_now,
    link_in,
    make_link,
    messages,
    turn_mfa_on,
)
from tests.support.api_client import ApiClient
from tests.support.cast import EMAILS, PASSWORD, Cast, add_user, sign_in
from tests.support.service import RunningService
from tests.support.two_accounts import headers_of

ACCOUNT, CONSOLE = "/v1/account", "/v1/console"
EVIL = "evil.example"
# C4: headers by which a proxy, a cache or an attacker may claim a different location of the service.
POISON = [
    {"Host": EVIL},
    {"Host": f"{EVIL}:443"},
    {"Host": "EVIL.EXAMPLE."},
    {"X-Forwarded-Host": EVIL},
    {"X-Forwarded-Host": f"{EVIL}, 127.0.0.1"},
    {"X-Forwarded-Server": EVIL},
    {"X-Host": EVIL},
    {"X-Original-Host": EVIL},
    {"Forwarded": f"host={EVIL}"},
    {"Forwarded": f'for=127.0.0.1;host="{EVIL}";proto=https'},
    {"X-Forwarded-Proto": "https", "X-Forwarded-Port": "444", "X-Forwarded-Prefix": "/evil"},
    {"Host": EVIL, "X-Forwarded-Host": EVIL, "Forwarded": f"host={EVIL}", "X-Rewrite-URL": f"http://{EVIL}/"},
]


def test_nothing_that_a_request_shows_changes_where_links_lead(service: RunningService, people: Cast) -> None:
    own = service.public_url
    assert len(POISON) == 12

    for number, poison in enumerate(POISON):
        service.clock.advance(hours=1)
        client = sign_in(service, EMAILS["alice"])
        body = {"email": f"new{number}@acme.example", "role": "member"}
        service.public.post(f"{ACCOUNT}/password/forgot", json={"email": EMAILS["bob"]}, headers=poison)
        if number < 5:
            assert client.post(f"{CONSOLE}/members", json=body, headers=poison).status_code == 201
        sent = [message for message in messages(service) if message["body"]]
        assert sent
        assert {link_in(message)[0] for message in sent if "#" in message["body"]} == {own}, poison
        assert not [message for message in sent if "evil" in message["body"].lower()], poison


def test_looking_at_a_link_any_number_of_times_does_not_use_it(service: RunningService, people: Cast) -> None:
    invited = add_user(service, "ines@acme.example", account_id=people.acme, role=AccountRole.MEMBER, invited=True)
    link = make_link(service, LinkKind.INVITE, invited.id, people.acme)

    for method in ("GET", "HEAD", "GET", "OPTIONS", "GET"):
        reply = service.public.request(method, f"{ACCOUNT}/invite/{link}")
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert "no-store" in reply.headers["cache-control"]

    body = {"token": link, "password": NEW_PASSWORD}
    assert service.new_public_client().post(f"{ACCOUNT}/invite/accept", json=body).status_code == 200
    assert service.new_public_client().post(f"{ACCOUNT}/invite/accept", json=body).status_code >= 400
    assert link not in service.log.getvalue()


def test_a_planted_cookie_is_never_taken_over(service: RunningService, people: Cast) -> None:
    planted = "A" * 43
    client = service.new_public_client()
    body = {"email": EMAILS["bob"], "password": PASSWORD}

    reply = client.post(f"{ACCOUNT}/login", json=body, headers={"Cookie": f"{ACCOUNT_COOKIE}={planted}"})

    assert reply.status_code == 200
    assert reply.cookies[ACCOUNT_COOKIE] != planted


def test_two_different_cookies_of_our_name_are_not_a_session(service: RunningService, people: Cast) -> None:
    own = headers_of(people.alice)["Cookie"]
    other = headers_of(people.carol)["Cookie"]
    tossed = [
        f"{own}; {other}",
        f"{other}; {own}",
        f"{own};{ACCOUNT_COOKIE}=",
        f"{ACCOUNT_COOKIE}=x; {own}",
        f"{own}; {ACCOUNT_COOKIE} = y",
        own.replace("=", '="') + '"',
        own.upper(),
        own.replace(ACCOUNT_COOKIE, f"__Host-{ACCOUNT_COOKIE}"),
        own.replace(ACCOUNT_COOKIE, "ag_admin"),
        own + "x",
        own[:-1],
    ]

    assert service.public.get(f"{ACCOUNT}/session", headers={"Cookie": own}).status_code == 200
    assert service.public.get(f"{ACCOUNT}/session", headers={"Cookie": f"{own}; {own}"}).status_code == 200
    for cookie in tossed:
        reply = service.public.get(f"{ACCOUNT}/session", headers={"Cookie": cookie})
        assert reply.status_code == 401, cookie


def test_every_rise_in_what_a_session_may_do_changes_its_cookie(service: RunningService, people: Cast) -> None:
    authenticator, _ = turn_mfa_on(service, people.alice)
    service.clock.advance(seconds=30)
    client = begin_with_mfa(service, EMAILS["alice"])
    steps = [
        ("login/mfa", {"code": code_now(service, authenticator)}),
        ("switch", {"accountId": people.acme}),
        ("accounts", {"name": "Second"}),
        ("password", {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD}),
    ]

    for path, body in steps:
        earlier = client.cookies[ACCOUNT_COOKIE]
        reply = client.post(f"{ACCOUNT}/{path}", json=body)
        assert reply.is_success, reply.text
        assert client.cookies[ACCOUNT_COOKIE] != earlier, path
        old = service.public.get(f"{ACCOUNT}/session", headers={"Cookie": f"{ACCOUNT_COOKIE}={earlier}"})
        assert old.status_code == 401, path
        client.headers["X-CSRF-Token"] = client.get(f"{ACCOUNT}/session").json()["csrfToken"]
    # Changing the password ends the sessions in other browsers, too.
    assert people.alice.get(f"{ACCOUNT}/session").status_code == 401


# C11: how a browser names the page that sends, and whether that page may.
SITES = {None: None, "same-origin": True, "none": True, "same-site": False, "cross-site": False, "": False, "x": False}
ORIGINS = {
    None: None,
    "own": True,
    "https://evil.example": False,
    "null": False,
    "http://127.0.0.1.evil.example": False,
}


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
@pytest.mark.parametrize("token", ["right", "another's", "none"])
@pytest.mark.parametrize("cookie", [True, False], ids=["cookie", "no cookie"])
def test_another_sites_page_changes_nothing_and_reads_nothing(
    service: RunningService, people: Cast, token: str, cookie: bool
) -> None:
    tokens = {"right": people.alice, "another's": people.adam}
    own = f"http://{service.public_url.partition('//')[2]}"
    routes = [("GET", "/v1/console/account"), ("PATCH", "/v1/console/account"), ("POST", "/v1/account/mfa/setup")]

    for (method, path), site, origin in itertools.product(routes, SITES, ORIGINS):
        headers = {"Cookie": headers_of(people.alice)["Cookie"]} if cookie else {}
        if token in tokens:
            headers["X-CSRF-Token"] = tokens[token].headers["X-CSRF-Token"]
        if site is not None:
            headers["Sec-Fetch-Site"] = site
        if origin is not None:
            headers["Origin"] = own if origin == "own" else origin
        # The relation that the browser reports decides; the origin decides only if the browser reports none.
        is_own = SITES[site] if site is not None else ORIGINS[origin] is not False
        body = {"json": {}} if method != "GET" else {}
        reply = service.public.request(method, path, headers=headers, **body)
        if not cookie:
            expected = (401, "unauthorized")
        elif not is_own:
            expected = (403, "cross_origin")
        elif method != "GET" and token != "right":
            expected = (403, "csrf")
        else:
            expected = (200, None)
        assert (reply.status_code, reply.json().get("error")) == expected, (method, path, headers)


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_another_sites_page_signs_no_one_in_and_a_form_neither(service: RunningService, people: Cast) -> None:
    body = {"email": EMAILS["bob"], "password": PASSWORD}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
        reply = service.public.post(f"{ACCOUNT}/login", json=body, headers=headers)
        assert (reply.status_code, reply.json()["error"]) == (403, "cross_origin")
        assert "set-cookie" not in reply.headers
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        with ApiClient(service.public_url) as client:
            content = b'{"email":"bob@acme.example","password":"' + PASSWORD.encode() + b'"}'
            reply = client.post(f"{ACCOUNT}/login", content=content, headers={"Content-Type": kind})
        assert reply.status_code == 400, kind
        assert "set-cookie" not in reply.headers
