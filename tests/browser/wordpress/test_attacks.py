"""The plug-in in a real WordPress, attacked by programs that read its source; and what its owner can still do.

WooCommerce is not installed: `woo-stand-in.php` calls its documented hooks and has the routes of its Store API.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.wordpress.blog import PASSWORD, Blog
from tests.browser.wordpress.conftest import send_sign_in, sign_in

pytestmark = pytest.mark.soak

Mint = Callable[[str], str]
FIELD = "agentgate-token"
UNREACHABLE = "http://127.0.0.1:9"
WRONG = "not the password"


def test_without_a_good_token_no_response_depends_on_the_password(client: httpx.Client, token: Mint) -> None:
    spent = token("login")
    assert send_sign_in(client, "ann", PASSWORD, **{FIELD: spent})[0] is True
    tokens: list[dict[str, Any]] = [
        {},
        {FIELD: ""},
        {FIELD: "none.none.none"},
        {FIELD: "x" * 5000},
        {FIELD: spent},
        {FIELD: token("register")},
        {f"{FIELD}[]": token("login")},
    ]

    found = [
        send_sign_in(client, name, password, **fields)
        for fields in tokens
        for name in ("ann", "ann@example.com", "nobody")
        for password in (PASSWORD, WRONG)
    ]

    assert {is_in for is_in, _ in found} == {False}
    assert len({error for _, error in found}) == 1
    assert "did not pass" in found[0][1]
    # With a token the password is what counts.
    assert "incorrect" in send_sign_in(client, "ann", WRONG, **{FIELD: token("login")})[1]


def test_other_plug_ins_forms_do_not_check_a_password_without_a_token(client: httpx.Client, token: Mint) -> None:
    def shop_sign_in(password: str, **fields: str) -> str:
        body = {"username": "ann", "password": password, **fields}
        found: str = client.post("/?stand-in=login", data=body).json()["user"]
        return found

    assert {shop_sign_in(PASSWORD), shop_sign_in(WRONG)} == {"agentgate"}
    assert shop_sign_in(PASSWORD, **{FIELD: token("login")}) == "ann"


def xml_call(client: httpx.Client, method: str, *values: str) -> str:
    given = "".join(f"<param><value><string>{value}</string></value></param>" for value in values)
    body = f"<?xml version='1.0'?><methodCall><methodName>{method}</methodName><params>{given}</params></methodCall>"
    return client.post("/xmlrpc.php", content=body, headers={"content-type": "text/xml"}).text


def test_one_token_is_good_for_one_password_of_a_request(client: httpx.Client, token: Mint) -> None:
    def guess(*passwords: str) -> Any:
        sent = {"username": "ann", "passwords[]": list(passwords), FIELD: token("login")}
        return client.post("/?stand-in=logins", data=sent).json()

    assert guess(WRONG, PASSWORD) == ["incorrect_password", "agentgate"]
    assert guess(PASSWORD, PASSWORD) == ["ann", "ann"]


def test_xml_rpc_takes_application_passwords_and_no_others(wordpress: Blog, client: httpx.Client) -> None:
    made = wordpress.ask(
        "echo WP_Application_Passwords::create_new_application_password("
        "get_user_by('login', 'ann')->ID, ['name' => 'Tool'])[0];"
    )

    right, wrong = (xml_call(client, "wp.getUsersBlogs", "ann", password) for password in (PASSWORD, WRONG))
    assert "isAdmin" not in right
    assert right == wrong
    assert "isAdmin" in xml_call(client, "wp.getUsersBlogs", "ann", made)
    many = "<value><struct><member><name>methodName</name><value>wp.getUsersBlogs</value></member><member>"
    many += f"<name>params</name><value><array><data><value>ann</value><value>{PASSWORD}</value></data></array></value>"
    many += "</member></struct></value>"
    body = "<?xml version='1.0'?><methodCall><methodName>system.multicall</methodName><params><param><value><array>"
    body += f"<data>{many * 3}</data></array></value></param></params></methodCall>"
    told = client.post("/xmlrpc.php", content=body, headers={"content-type": "text/xml"}).text
    assert "faultCode" in told
    assert "isAdmin" not in told


def test_fail_open_opens_only_if_this_server_cannot_reach_the_service(
    wordpress: Blog, client: httpx.Client, token: Mint
) -> None:
    with wordpress.settings(AGENTGATE_FAIL_OPEN=True):
        # The service is available, so no input and no omission of a client opens the form.
        for fields in ({}, {FIELD: "none.none.none"}, {FIELD: "x"}, {FIELD: token("register")}):
            assert send_sign_in(client, "ann", PASSWORD, **fields)[0] is False
        assert send_sign_in(client, "ann", PASSWORD, **{FIELD: token("login")})[0] is True
    with wordpress.settings(AGENTGATE_FAIL_OPEN=True, AGENTGATE_URL=UNREACHABLE):
        assert send_sign_in(client, "ann", PASSWORD)[0] is True
        assert send_sign_in(client, "ann", WRONG)[0] is False
        assert client.post("/?stand-in=checkout").json() == {"placed": True, "account": True}
    with wordpress.settings(AGENTGATE_URL=UNREACHABLE):
        assert send_sign_in(client, "ann", PASSWORD)[0] is False
        assert send_sign_in(client, "ann", PASSWORD, **{FIELD: token("login")})[0] is False
        assert client.post("/?stand-in=checkout").json() == {"placed": False, "account": False}


@pytest.mark.parametrize(
    "wrong", [{"AGENTGATE_SECRET": "ags_wrong"}, {"AGENTGATE_URL": "http://127.0.0.1:9/?x"}], ids=["secret", "address"]
)
@pytest.mark.parametrize("fail_open", [False, True])
def test_while_the_settings_are_wrong_only_an_administrator_gets_in(
    wordpress: Blog, client: httpx.Client, token: Mint, wrong: dict[str, str], fail_open: bool
) -> None:
    with wordpress.settings(AGENTGATE_FAIL_OPEN=fail_open, **wrong):
        assert client.get("/wp-login.php").status_code == 200
        fields = {FIELD: token("login")}
        assert send_sign_in(client, "ann", PASSWORD, **fields)[0] is True
        refused = {
            send_sign_in(client, "ann", WRONG, **fields),
            send_sign_in(client, "ben", PASSWORD, **fields),
            send_sign_in(client, "ben", WRONG, **fields),
            send_sign_in(client, "nobody", WRONG, **fields),
        }
        assert len(refused) == 1
        assert refused.pop()[0] is False
        assert client.post("/?stand-in=checkout", data={FIELD: token("checkout")}).json()["placed"] is False


def test_an_owner_who_locked_everyone_out_turns_the_plug_in_off(wordpress: Blog, client: httpx.Client) -> None:
    with wordpress.settings(AGENTGATE_OFF=True, AGENTGATE_URL=UNREACHABLE):
        assert send_sign_in(client, "ben", PASSWORD)[0] is True


def test_lost_password_and_registration_show_programs_nothing(client: httpx.Client) -> None:
    def errors(action: str, **fields: str) -> str:
        reply = client.post(f"/wp-login.php?action={action}", data=fields)
        return reply.text.partition('id="login_error"')[2].partition("</div>")[0]

    lost = {errors("lostpassword", user_login=name) for name in ("ann", "ann@example.com", "nobody", "")}
    names = [("ann", "new@example.com"), ("new", "ann@example.com"), ("new", "new@example.com")]
    taken = {errors("register", user_login=name, user_email=email) for name, email in names}

    assert len(lost) == len(taken) == 1
    assert "did not pass" in (lost | taken).pop()


def test_an_author_replies_to_a_comment_in_the_dashboard(wordpress: Blog, page: Page) -> None:
    sign_in(wordpress, page, "ben")
    page.goto(f"{wordpress.url}/wp-admin/edit-comments.php")
    row = page.locator("tr", has_text="Why?")
    row.hover()
    row.get_by_role("button", name="Reply").click()
    page.fill("#replycontent", "Because.")
    page.click("#replyrow .save")
    expect(page.locator("#the-comment-list")).to_contain_text("Because.")

    assert wordpress.ask("echo count(get_comments(['search' => 'Because.']));") == "1"


def test_a_signed_in_reader_needs_the_check_in_the_form_and_at_the_rest_api(wordpress: Blog, page: Page) -> None:
    sign_in(wordpress, page, "sue")
    send = """async ([place, type, body, nonce]) => (await fetch(place, {method: "POST", body,
        headers: {"Content-Type": type, ...(nonce ? {"X-WP-Nonce": nonce} : {})}})).status"""
    form = "comment=Buy&comment_post_ID=1&comment_parent=0"
    nonce = page.evaluate("async () => (await fetch('/wp-admin/admin-ajax.php?action=rest-nonce')).text()")
    body = json.dumps({"post": 1, "content": "Buy"})

    by_form = page.evaluate(send, ["/wp-comments-post.php", "application/x-www-form-urlencoded", form, ""])
    by_rest = page.evaluate(send, ["/?rest_route=/wp/v2/comments", "application/json", body, nonce])

    assert (by_form, by_rest) == (403, 403)
    assert wordpress.ask("echo count(get_comments(['search' => 'Buy']));") == "0"


def test_trackbacks_and_comments_by_xml_rpc_are_blocked(wordpress: Blog, client: httpx.Client, token: Mint) -> None:
    spam = {"title": "Spam", "url": "http://spam.example/", "blog_name": "Spam", "excerpt": "Spam spam"}
    for fields in (spam, {**spam, FIELD: token("comment")}):
        assert client.post("/wp-trackback.php?p=1", data=fields).status_code == 403
    xml_call(client, "wp.newComment", "1", "", "", "1", "Spam spam")
    xml_call(client, "wp.newComment", "1", "sue", PASSWORD, "1", "Spam spam")

    assert wordpress.ask("echo count(get_comments(['search' => 'Spam']));") == "0"


def test_a_checkout_and_its_account_need_one_token(client: httpx.Client, token: Mint) -> None:
    def sent(step: str, **fields: str) -> Any:
        return client.post(f"/?stand-in={step}", data=fields).json()

    assert sent("checkout") == {"placed": False, "account": False}
    assert sent("checkout", **{FIELD: token("login")}) == {"placed": False, "account": False}
    assert sent("checkout", **{FIELD: token("checkout")}) == {"placed": True, "account": True}
    assert sent("register") == {"account": False}
    assert sent("register", **{FIELD: token("checkout")}) == {"account": False}
    assert sent("register", **{FIELD: token("register")}) == {"account": True}
    assert sent("pay") == {"paid": False}
    assert sent("pay", **{FIELD: token("checkout")}) == {"paid": True}


def test_the_store_api_places_no_order_without_a_token(client: httpx.Client, token: Mint) -> None:
    def ask(method: str, route: str, query: str = "", **headers: str) -> int:
        place = f"/index.php?rest_route={route}{query}"
        return client.request(method, place, json={"payment_method": "cod"}, headers=headers).status_code

    places = ["/wc/store/v1/checkout", "/wc/store/checkout", "/wc/store/v1/checkout/12", "/WC/Store/V1/Checkout"]
    assert {ask("POST", place) for place in [*places, "/wc/store/v1/checkout/"]} == {403}
    assert ask("GET", "/wc/store/v1/checkout", "&_method=POST") == 403
    assert ask("PUT", "/wc/store/v1/checkout", **{"X-HTTP-Method-Override": "POST"}) == 403
    assert ask("PUT", "/wc/store/v1/checkout") == 200
    batch = {"requests": [{"path": "/wc/store/v1/checkout", "method": "POST"}]}
    assert "order" not in client.post("/index.php?rest_route=/wc/store/v1/batch", json=batch).text
    three = {"requests": batch["requests"] * 3}
    several = client.post(
        "/index.php?rest_route=/wc/store/v1/batch", json=three, headers={"X-AgentGate-Token": token("checkout")}
    )
    assert several.text.count('"order"') == 1
    good = {"X-AgentGate-Token": token("checkout")}
    assert ask("POST", "/wc/store/v1/checkout", **good) == 200
    assert ask("POST", "/wc/store/v1/checkout", **good) == 403
    # A request for the cart is not an order, so it needs no token.
    assert {ask("GET", "/wc/store/v1/cart"), ask("POST", "/wc/store/v1/cart")} == {200}


def test_the_checkout_block_sends_a_token_by_itself(wordpress: Blog, page: Page) -> None:
    page.goto(f"{wordpress.url}/?stand-in=block")
    place = "wp.apiFetch({path: '/wc/store/v1/checkout', method: 'POST', data: {}})"
    page.wait_for_function("window.wp?.apiFetch && window.agentgate && window.agentgateCheckout")

    answers = page.evaluate(f"async () => [await {place}, await {place}]")

    assert [answer["order"] for answer in answers] == [1, 1]


def test_the_settings_page_keeps_what_worked(wordpress: Blog, page: Page) -> None:
    sign_in(wordpress, page)
    kept = json.dumps({"url": wordpress.gate["AGENTGATE_URL"], "site_key": wordpress.gate["AGENTGATE_SITE_KEY"]})
    secret = wordpress.gate["AGENTGATE_SECRET"]
    wordpress.ask(f"update_option('agentgate', json_decode('{kept}', true) + ['secret' => '{secret}']);")
    read = "echo json_encode(get_option('agentgate'));"
    before = json.loads(wordpress.ask(read))
    with wordpress.settings(AGENTGATE_URL=None, AGENTGATE_SITE_KEY=None, AGENTGATE_SECRET=None):
        for field, value, told in (
            ("url", "http://gate.example/?x=1", "without ? and #"),
            ("secret", "ags_wrong", "rejects this secret"),
        ):
            page.goto(f"{wordpress.url}/wp-admin/options-general.php?page=agentgate")
            page.fill(f"#ag-{field}", value)
            page.click("#submit")
            expect(page.locator(".notice-error").first).to_contain_text(told)
        after = json.loads(wordpress.ask(read))

    assert (after["url"], after["secret"]) == (before["url"], before["secret"])
    assert re.search(r"ags_\w", page.content().replace("ags_...", "")) is None
