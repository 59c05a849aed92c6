"""The gateway middleware before real applications on uvicorn and wsgiref, with the real service behind it."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from agentgate_client.down_page import DOWN_PAGE
from agentgate_client.gateway_asgi import GatewayMiddleware
from tests.site_server.gate import Gate, answering, odd_server, silent
from tests.site_server.gateway_apps import asgi_site, ask_once, gated_site
from tests.support.browser_client import create_site, get_token
from tests.support.ports import free_port

ORIGIN = "https://shop.example"
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
# Much longer than the timeout of 0.3 seconds on a busy machine, and still finite.
LONGEST_WAIT_S = 10.0
XHR = {
    "User-Agent": CHROME,
    "Accept": "application/json",
    "Accept-Encoding": "gzip",
    "Accept-Language": "en",
    "Sec-Fetch-Site": "same-origin",
    "Sec-Fetch-Mode": "cors",
    "Sec-Fetch-Dest": "empty",
    "X-Visitor": "81.2.69.160",
}


class Shop:
    """A site of the running service: `POST /login` needs a token, the rest does not."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.site_key = create_site(
            gate.service,
            mode="enforce",
            actions={
                "login": {"browserRequired": True},
                "members": {"browserRequired": True, "clearance": True},
                "search": {"browserRequired": False},
            },
            routes=[
                {"method": "POST", "path": "/login", "action": "login"},
                {"method": "GET", "pathPrefix": "/members/", "action": "members"},
            ],
        )
        made = gate.service.operator.post(f"/v1/admin/sites/{self.site_key}/credentials", json={"name": "gate"})
        self.options = {
            "service": gate.url,
            "secret": made.json()["secret"],
            "origin": ORIGIN,
            "address_header": "X-Visitor",
        }

    def token(self, action: str = "login") -> str:
        return get_token(self.gate.service, self.site_key, action, ORIGIN, address=XHR["X-Visitor"])


@pytest.fixture(scope="module")
def shop(gate: Gate) -> Shop:
    return Shop(gate)


@pytest.fixture(scope="module", params=["asgi", "wsgi"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def site(kind: str, shop: Shop) -> Iterator[httpx.Client]:
    with gated_site(kind, **shop.options) as url, httpx.Client(base_url=url, headers=XHR) as client:
        yield client


def test_an_open_page_runs_and_is_reported_the_decision(site: httpx.Client) -> None:
    seen = site.get("/articles?q=a%20b").json()

    assert seen["ran"] == "/articles"
    assert seen["headers"]["x-service-decision"] == "allow"
    assert seen["headers"]["x-service-decision-id"].startswith("dec_")


def test_a_protected_route_does_not_run_without_a_token(site: httpx.Client) -> None:
    reply = site.post("/login", json={})

    assert reply.status_code == 401
    assert reply.json() == {"decision": "challenge", "reason": "receipt_required"}
    assert reply.headers["x-service-reason"] == "receipt_required"
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-service-decision-id"].startswith("dec_")


def test_a_token_opens_it_once_and_the_body_arrives_whole(site: httpx.Client, shop: Shop) -> None:
    token = shop.token()

    first = site.post("/login", content="name=é" * 50_000, headers={"X-AgentGate-Token": token})
    second = site.post("/login", content="name=x", headers={"X-AgentGate-Token": token})

    assert first.status_code == 200
    assert first.json()["body"] == "name=é" * 50_000
    assert (second.status_code, second.json()["reason"]) == (401, "token_used")


def test_a_token_of_another_action_does_not_fit(site: httpx.Client, shop: Shop) -> None:
    reply = site.post("/login", headers={"X-AgentGate-Token": shop.token("search")})

    assert (reply.status_code, reply.json()["reason"]) == (401, "action_mismatch")


@pytest.mark.parametrize(
    "path",
    ["/members/1", "/members%2f1", "/x/../members/1", "/MEMBERS/1", "//members//1", "/%6dembers/1", "/members;a=b/1"],
)
def test_a_protected_route_is_protected_in_every_spelling(site: httpx.Client, path: str) -> None:
    url = httpx.URL(str(site.base_url)).copy_with(raw_path=path.encode())

    assert site.get(url).status_code == 401


@pytest.mark.parametrize(
    "forged",
    [
        {"X-Original-URL": f"{ORIGIN}/open", "X-Original-Method": "GET", "X-Original-Address": "192.0.2.1"},
        {"X_Original_URL": f"{ORIGIN}/open"},
        {"X-Service-Decision": "allow", "X-Service-Reason": "allowed"},
        {"X-AgentGate-Secret": "ags_test_always_pass", "Authorization": "Bearer ags_test_always_pass"},
        {"Connection": "X-Original-URL, X-Original-Method, X-AgentGate-Secret, close"},
        {"X-AgentGate-Request": f"GET 192.0.2.1 {ORIGIN}/open"},
        {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Uri": "/open", "X-Forwarded-Method": "GET"},
    ],
)
def test_a_visitors_own_headers_open_nothing(site: httpx.Client, forged: dict[str, str]) -> None:
    assert site.post("/login", headers=forged).json()["reason"] == "receipt_required"


def test_an_application_gets_no_forged_decision(site: httpx.Client) -> None:
    forged = {"X-Service-Decision-Id": "dec_forged", "x_service_reason": "mine", "X-Original-Url": "http://other/"}
    forged["X-AgentGate-Request"] = f"GET 192.0.2.1 {ORIGIN}/open"

    seen = site.get("/open", headers=[*XHR.items(), *forged.items(), ("X-Service-Decision", "block")]).json()["headers"]

    assert seen["x-service-decision"] == "allow"
    assert seen["x-service-decision-id"] != "dec_forged"
    assert not {"x_service_reason", "x-service-reason", "x-original-url", "x-agentgate-request"} & set(seen)


def test_a_visitors_own_authorization_reaches_the_application(site: httpx.Client) -> None:
    assert site.get("/open", headers={"Authorization": "Basic YTpi"}).json()["headers"]["authorization"] == "Basic YTpi"


def test_a_rule_blocks_with_a_plain_response(site: httpx.Client) -> None:
    reply = site.get("/", headers={"User-Agent": "sqlmap/1.8"})

    assert (reply.status_code, reply.json()) == (403, {"decision": "block", "reason": "policy"})


def test_head_gets_no_body(site: httpx.Client) -> None:
    reply = site.head("/members/1")

    assert (reply.status_code, reply.content) == (401, b"")


def test_many_requests_share_connections_and_threads(site: httpx.Client) -> None:
    statuses = {
        site.get(f"/open/{number}", headers={"X-Visitor": f"81.2.70.{number}"}).status_code for number in range(40)
    }

    assert statuses == {200}


def test_the_visitors_address_is_the_proxys_word(site: httpx.Client, shop: Shop) -> None:
    reply = site.get("/", headers={"X-Visitor": "not an address"})

    assert reply.status_code == 400
    assert site.get("/", headers={"X-Visitor": "198.51.100.1, 81.2.69.161"}).status_code == 200


def test_the_scripts_of_the_check_come_from_the_sites_own_origin(site: httpx.Client, shop: Shop) -> None:
    reply = site.get("/.agentgate/sdk/v1/agentgate.js")

    assert reply.status_code == 200
    assert "javascript" in reply.headers["content-type"]
    assert reply.content == shop.gate.service.public.get("/sdk/v1/agentgate.js").content


@pytest.mark.parametrize(
    "path",
    [
        "/.agentgate/v1/siteverify",
        "/.agentgate/v1/gateway/check",
        "/.agentgate/v1/account/session",
        "/.agentgate/v1/browser/../account/session",
        "/.agentgate/sdk/..%2f..%2fv1/siteverify",
        "/.agentgate/sdk//v1/agentgate.js",
        "/.agentgate/",
    ],
)
def test_nothing_else_of_the_service_can_be_reached(site: httpx.Client, path: str) -> None:
    url = httpx.URL(str(site.base_url)).copy_with(raw_path=path.encode())

    assert site.get(url).status_code == 404


def test_the_browser_check_can_be_challenged_for_on_the_sites_own_origin(site: httpx.Client, shop: Shop) -> None:
    asked = {"schema": 1, "siteKey": shop.site_key, "action": "login"}

    reply = site.post("/.agentgate/v1/browser/challenge", json=asked, headers={"Origin": ORIGIN})

    assert reply.status_code == 200, reply.text
    assert reply.json()["challengeId"]


def test_a_wrong_secret_closes_the_site_and_is_logged(kind: str, shop: Shop, caplog) -> None:
    reply = ask_once(kind, {**shop.options, "secret": "ags_wrong"}, headers=XHR)

    assert (reply.status_code, reply.json()["reason"]) == (503, "service_unavailable")
    assert "AgentGate rejects this server's checks" in caplog.text
    assert "ags_wrong" not in caplog.text


def test_without_the_service_the_site_is_closed(kind: str, shop: Shop) -> None:
    reply = ask_once(kind, {**shop.options, "service": f"http://127.0.0.1:{free_port()}"}, headers=XHR)

    assert (reply.status_code, reply.headers["retry-after"]) == (503, "5")
    assert reply.json() == {"decision": "block", "reason": "service_unavailable"}


def test_without_the_service_a_person_is_shown_a_page(kind: str, shop: Shop) -> None:
    options = {**shop.options, "service": f"http://127.0.0.1:{free_port()}"}
    phone = {"X-Visitor": "81.2.69.160", "Accept": "text/html", "X-Requested-With": "com.example.app"}
    for headers in (NAVIGATION, phone):
        reply = ask_once(kind, options, headers=headers)

        assert (reply.status_code, reply.headers["retry-after"]) == (503, "5")
        assert reply.headers["content-type"] == "text/html; charset=utf-8"
        assert reply.text == DOWN_PAGE


def test_without_the_service_the_site_is_open_where_it_was_instructed_to_be(kind: str, shop: Shop) -> None:
    options = {**shop.options, "service": f"http://127.0.0.1:{free_port()}", "fail_open": True}
    reply = ask_once(kind, options, headers=XHR | {"X-Service-Decision": "allow"})

    assert reply.status_code == 200
    assert "x-service-decision" not in reply.json()["headers"]


def test_a_service_that_does_not_respond_is_given_up_in_time(kind: str, shop: Shop) -> None:
    with odd_server(silent) as odd, gated_site(kind, **{**shop.options, "service": odd.url, "timeout_s": 0.3}) as url:
        # The first request of a new site is not timed: it may load modules.
        first, reply = httpx.get(url, headers=XHR, timeout=60), httpx.get(url, headers=XHR, timeout=60)

    assert first.status_code == reply.status_code == 503
    # Without the timeout of 0.3 seconds it would wait forever.
    assert reply.elapsed.total_seconds() < LONGEST_WAIT_S


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (answering(403, b"{}", X_Service_Decision="block", X_Service_Reason="rate_limited"), 429),
        (
            answering(403, b"{}", X_Service_Decision="block", X_Service_Reason="payment_required", Crawler_Price="1"),
            402,
        ),
        (answering(403, b"{}", X_Service_Decision="block", X_Service_Reason="policy", X_Service_Status="451"), 451),
        (answering(503, b"{}", X_Service_Decision="block", X_Service_Reason="service_unavailable"), 503),
        (answering(200, b"<h1>a page of something else</h1>"), 503),
        (answering(204, b"", X_Service_Decision="block", X_Service_Reason="policy"), 503),
        (answering(302, b"", Location="http://elsewhere/"), 503),
        (answering(500, b"oops"), 503),
        (answering(431, b""), 431),
    ],
)
def test_what_the_service_responds_becomes_the_visitors_status(kind: str, shop: Shop, answer: Any, status: int) -> None:
    with odd_server(answer) as odd:
        reply = ask_once(kind, {**shop.options, "service": odd.url}, headers=XHR)

    assert reply.status_code == status
    assert "ran" not in reply.text


def test_what_an_agent_was_charged_is_on_the_applications_response(kind: str, shop: Shop) -> None:
    charged = answering(204, b"", X_Service_Decision="allow", X_Service_Reason="allowed", Crawler_Charged="USD 0.01")
    with odd_server(charged) as odd:
        reply = ask_once(kind, {**shop.options, "service": odd.url}, headers=XHR)

    assert (reply.status_code, reply.headers["crawler-charged"]) == (200, "USD 0.01")


def test_a_dropped_request_gets_nothing(kind: str, shop: Shop) -> None:
    drop = answering(403, b"{}", X_Service_Decision="block", X_Service_Reason="policy", X_Service_Drop="1")
    with odd_server(drop) as odd:
        reply = ask_once(kind, {**shop.options, "service": odd.url}, headers=XHR)

    assert (reply.status_code, reply.content) == (403, b"")


def test_a_navigation_gets_the_page_of_the_service(kind: str, shop: Shop) -> None:
    denied = answering(
        401, b"{}", X_Service_Decision="challenge", X_Service_Reason="policy", X_Service_Decision_Id="dec_1"
    )
    page = answering(401, b"<h1>One moment</h1>", Content_Type="text/html; charset=utf-8", Set_Cookie="a=b")
    with odd_server(denied, page) as odd:
        options = {**shop.options, "service": odd.url}
        reply = ask_once(kind, options, "POST", "/form?x=1", content=b"name=Ada", headers=XHR)

    assert (reply.status_code, reply.text) == (401, "<h1>One moment</h1>")
    assert reply.headers["set-cookie"] == "a=b"
    assert reply.headers["x-service-decision-id"] == "dec_1"
    assert odd.bodies == [b"", b"name=Ada"]
    assert (
        odd.paths[1] == "/v1/gateway/challenge?return=%2Fform%3Fx%3D1&reason=policy&decision=challenge&decisionId=dec_1"
    )


NAVIGATION = XHR | {"Accept": "text/html", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def test_a_person_gets_through_the_page_with_a_clearance(site: httpx.Client, shop: Shop) -> None:
    page = site.get("/members/1", headers=NAVIGATION)
    token = get_token(shop.gate.service, shop.site_key, "members", ORIGIN, address=XHR["X-Visitor"])
    own = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"}
    passed = site.post("/.agentgate/v1/gateway/pass", json={"token": token, "return": "/members/1"}, headers=own)
    cookie = passed.headers["set-cookie"].partition(";")[0]

    assert page.status_code == 401
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["content-security-policy"]
    assert passed.json() == {"return": f"{ORIGIN}/members/1"}
    assert site.get("/members/1", headers=NAVIGATION | {"Cookie": cookie}).json()["ran"] == "/members/1"


def test_an_appeal_reaches_the_service(site: httpx.Client) -> None:
    assert "not_found" not in site.get("/.agentgate/v1/gateway/appeal", headers=NAVIGATION).text
    assert site.get("/.agentgate/v1/gateway/check", headers=NAVIGATION).status_code == 404


def test_a_websocket_is_checked_like_a_request(shop: Shop) -> None:
    def scope(path: str) -> dict[str, Any]:
        headers = [(name.lower().encode(), value.encode()) for name, value in XHR.items()]
        return {"type": "websocket", "scheme": "wss", "path": path, "query_string": b"", "headers": headers}

    async def play(path: str) -> list[str]:
        sent: list[str] = []

        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message["type"])

        made = GatewayMiddleware(asgi_site, **shop.options)
        await made(scope(path), receive, send)
        made.close()
        return sent

    assert asyncio.run(play("/live")) == ["websocket.accept", "websocket.close"]
    assert asyncio.run(play("/members/live")) == ["websocket.close"]


@pytest.mark.parametrize("secret", ["", "  ", "a\nb", "é"])
def test_a_secret_that_is_none_is_blocked_at_once(secret: str) -> None:
    with pytest.raises(ValueError, match="secret"):
        GatewayMiddleware(asgi_site, service="http://127.0.0.1:1", secret=secret)
