"""The front doors, account pages and shells of the consoles over HTTP: who may send a form, what goes out."""

import re

import httpx
import pytest

from agentgate.pages.account.endpoints import safe_next_path, secret_of
from tests.support.cast import EMAILS, PASSWORD, Cast
from tests.support.service import RunningService

OWN = {"Sec-Fetch-Site": "same-origin"}
FORMS = (
    "/v1/pages/sign-in",
    "/v1/pages/code",
    "/v1/pages/forgot",
    "/v1/pages/reset",
    "/v1/pages/invite",
    "/v1/pages/request-access",
    "/v1/pages/accounts",
)
STRANGERS: tuple[dict[str, str], ...] = (
    {},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
)
ELSEWHERE = (
    "https://evil.example",
    "//evil.example",
    "/console/../../evil",
    "/\\evil.example",
    "/console//evil",
    "/v1/x",
)
CANARY = '"><script>alert(1)</script>'
on_sqlite = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


def send(service: RunningService, path: str, fields: dict[str, str], headers: dict[str, str] = OWN) -> httpx.Response:
    client = service.new_public_client()
    return client.post(path, data=fields, headers=headers)


def sign_in(service: RunningService, who: str = "alice", **more: str) -> httpx.Response:
    return send(service, "/v1/pages/sign-in", {"email": EMAILS[who], "password": PASSWORD, **more})


@on_sqlite
def test_a_form_of_another_site_is_rejected_and_so_is_one_that_does_not_show(service: RunningService) -> None:
    fields = {"email": "a@b.example", "password": PASSWORD}

    for path in FORMS:
        for headers in STRANGERS:
            assert send(service, path, fields, headers).status_code == 403, (path, headers)


@on_sqlite
def test_signing_in_sets_the_cookie_of_the_api_and_leads_to_the_console(service: RunningService, people: Cast) -> None:
    reply = sign_in(service)

    assert reply.status_code == 303
    assert reply.headers["location"].startswith(("/console", "/v1/pages/accounts"))
    assert "Path=/v1; HttpOnly; SameSite=Lax" in reply.headers["set-cookie"]


@on_sqlite
def test_a_wrong_password_is_reported_like_an_unknown_address_and_what_was_typed_remains(
    service: RunningService, people: Cast
) -> None:
    fields = [{"email": email, "password": "wrong " * 3} for email in (EMAILS["alice"], "nobody@acme.example")]
    replies = [send(service, "/v1/pages/sign-in", each) for each in fields]

    assert {reply.status_code for reply in replies} == {401}
    texts = [reply.text.replace(each["email"], "EMAIL") for reply, each in zip(replies, fields, strict=True)]
    assert texts[0] == texts[1]
    assert f'value="{EMAILS["alice"]}"' in replies[0].text
    assert "wrong " * 3 not in replies[0].text


@on_sqlite
def test_no_one_is_led_to_another_host_after_signing_in(service: RunningService, people: Cast) -> None:
    for place in ELSEWHERE:
        shown = service.public.get("/console/sign-in", params={"next": place})
        assert 'name="next" value=""' in shown.text
        reply = sign_in(service, next=place)
        assert reply.headers["location"] in {"/console", "/v1/pages/accounts"}, place


def test_where_someone_wanted_to_go_is_kept() -> None:
    assert safe_next_path("/console/sites/site_1/decisions?open=dec_1") == "/console/sites/site_1/decisions?open=dec_1"
    assert [safe_next_path(each) for each in ("/console", "", "/console/\n", "/console//x", "javascript:alert(1)")] == [
        ""
    ] * 5


def test_a_link_may_be_pasted_as_a_whole() -> None:
    assert secret_of(" http://gate.example/console/reset#abc ") == "abc"
    assert secret_of("abc") == "abc"


@on_sqlite
def test_what_was_typed_is_never_markup(service: RunningService) -> None:
    pages = [
        send(service, "/v1/pages/sign-in", {"email": CANARY, "password": "x", "next": CANARY}),
        send(service, "/v1/pages/invite", {"token": CANARY, "password": "short", "name": CANARY}),
        send(
            service, "/v1/pages/request-access", {"email": CANARY, "name": CANARY, "company": CANARY, "message": CANARY}
        ),
        service.public.get(
            "/console/sign-in", params={"next": CANARY}, headers={"Cookie": 'ag_theme="><b>; ag_lang=<'}
        ),
    ]

    assert [page for page in pages if "<script>alert" in page.text or "<b>" in page.text] == []


@on_sqlite
def test_pages_carry_a_policy_that_allows_nothing_inline_and_no_other_host(service: RunningService) -> None:
    for client, path in ((service.public, "/console/sites"), (service.public, "/"), (service.anonymous, "/operator")):
        reply = client.get(path)
        policy = reply.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "http" not in policy.replace("https", "")
        assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy
        assert re.search(r"<script(?![^>]*\bsrc=)|\bstyle=|\bon\w+=", reply.text) is None
        assert re.findall(r'(?:src|href)="(?!/)', reply.text) == []


@on_sqlite
def test_built_files_are_kept_for_a_year_and_each_listener_has_its_own(service: RunningService) -> None:
    shell = service.public.get("/console").text
    names = re.findall(r'/console/assets/([\w.-]+)"', shell)
    assert len(names) >= 4
    for name in names:
        reply = service.public.get(f"/console/assets/{name}", headers={"Accept-Encoding": "gzip"})
        assert reply.status_code == 200
        if "-" in name:
            assert "immutable" in reply.headers["cache-control"]
            assert reply.headers["content-encoding"] == "gzip"
    [script] = re.findall(r'src="/operator/assets/([\w.-]+)"', service.anonymous.get("/operator").text)
    assert service.anonymous.get(f"/operator/assets/{script}").status_code == 200
    assert service.public.get(f"/operator/assets/{script}").status_code == 404
    assert service.anonymous.get(f"/console/assets/{names[0]}").status_code == 404


@on_sqlite
def test_the_language_is_the_chosen_one_else_the_browsers(service: RunningService) -> None:
    german = service.public.get("/console/sign-in", headers={"Accept-Language": "fr, de;q=0.8, en;q=0.5"})
    chosen = service.public.get("/console/sign-in", headers={"Accept-Language": "de", "Cookie": "ag_lang=en"})

    assert '<html lang="de">' in german.text
    assert '<html lang="en">' in chosen.text


@on_sqlite
def test_switching_the_account_from_the_page_needs_the_forms_token(service: RunningService, people: Cast) -> None:
    client = service.new_public_client()
    client.post("/v1/pages/sign-in", data={"email": EMAILS["alice"], "password": PASSWORD}, headers=OWN)
    page = client.get("/v1/pages/accounts").text
    fields = dict(re.findall(r'name="(accountId|csrf)" value="([^"]+)"', page))

    assert client.post("/v1/pages/accounts", data={**fields, "csrf": "x"}, headers=OWN).status_code == 403
    assert client.post("/v1/pages/accounts", data=fields, headers=OWN).headers["location"] == "/console"
