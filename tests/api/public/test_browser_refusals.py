"""Every code of the browser table on every route that has it, and in which order they come."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentgate.browser_check.testing_sites import ALWAYS_PASS
from agentgate.lib import errors, limits
from tests.support.browser_client import ORIGIN, SIGNALS, BrowserClient, create_site, new_address
from tests.support.cast import add_account
from tests.support.service import RunningService

VERIFY: dict[str, Any] = {
    "challengeId": "ch_" + "0" * 26,
    "work": [0] * 16,
    "instrument": {"page": "x"},
    "signals": SIGNALS,
}
ROUTES = {"challenge": dict[str, Any](), "verify": VERIFY}
POSTS = pytest.mark.parametrize("route", ROUTES)


@pytest.fixture(scope="module")
def site_key(shared_service: RunningService) -> str:
    return create_site(shared_service)


@pytest.fixture
def page(shared_service: RunningService, site_key: str) -> BrowserClient:
    return BrowserClient(shared_service, site_key)


def body_for(page: BrowserClient, route: str, **changes: Any) -> dict[str, Any]:
    body = {"schema": 1, "siteKey": page.site_key, "action": page.action, **ROUTES[route], **changes}
    return {name: value for name, value in body.items() if value is not ...}


def refused(page: BrowserClient, route: str, **changes: Any) -> str:
    reply = page.post(route, body_for(page, route, **changes))
    assert reply.status_code == errors.BROWSER.lookup(reply.json()["error"]).status
    return str(reply.json()["error"])


@POSTS
@pytest.mark.parametrize(
    "key",
    ["site_doesnotexist", "", "shop", "site_", "st_0123456789abcdef", "site_\u00e9\u00e9\u00e9\u00e9", "x" * 60_000],
)
def test_an_unknown_or_malformed_site_key_is_site_invalid(page: BrowserClient, route: str, key: str) -> None:
    assert refused(page, route, siteKey=key) == "site_invalid"


@POSTS
@pytest.mark.parametrize("action", ["checkout", "", "Login", "log-in", "login ", "x" * 65, "\u0131"])
def test_an_action_that_the_site_does_not_have_is_action_invalid(page: BrowserClient, route: str, action: str) -> None:
    assert refused(page, route, action=action) == "action_invalid"


@POSTS
@pytest.mark.parametrize(
    "origin", [None, "null", "https://evil.example", "http://shop.example", f"{ORIGIN}.evil.example", f"{ORIGIN}:8443"]
)
def test_another_origin_is_denied_and_can_read_why(page: BrowserClient, route: str, origin: str | None) -> None:
    page.origin = origin

    reply = page.post(route, body_for(page, route))

    assert (reply.status_code, reply.json()["error"]) == (403, "origin_denied")
    assert reply.headers.get("access-control-allow-origin") == origin
    assert "access-control-allow-credentials" not in reply.headers
    assert "Origin" in reply.headers["vary"]


@pytest.mark.parametrize("origin", ["https://SHOP.example", "https://shop.example:443"])
def test_an_origin_in_another_spelling_is_the_same(page: BrowserClient, origin: str) -> None:
    page.origin = origin

    assert page.challenge().status_code == 200


@POSTS
@pytest.mark.parametrize("schema", [0, 2, -1, 10**30, 1.5, "2", True, None, [1], {"version": 1}])
def test_another_schema_is_unsupported_whatever_the_rest_looks_like(
    page: BrowserClient, route: str, schema: Any
) -> None:
    assert refused(page, route, schema=schema) == "schema_unsupported"
    assert refused(page, route, schema=schema, siteKey=..., work="?", brandNew={"a": 1}) == "schema_unsupported"


WRONG = {
    "challenge": [
        {"schema": ...},
        {"siteKey": ...},
        {"siteKey": 7},
        {"action": ...},
        {"action": None},
        {"widget": "huge"},
        {"widget": 1},
        {"locale": "x" * 65},
        {"cData": "x" * (limits.CUSTOM_DATA_CHARACTERS + 1)},
        {"cData": "a\0b"},
        {"cData": 5},
        {"unknown": 1},
    ],
    "verify": [
        {"schema": ...},
        {"challengeId": ...},
        {"challengeId": 5},
        {"work": ...},
        {"work": "0"},
        {"work": [0.5] * 16},
        {"work": ["0"] * 16},
        {"work": [-1] * 16},
        {"work": [2**32] * 16},
        {"work": [0] * 513},
        {"instrument": ...},
        {"instrument": "abc"},
        {"instrument": {}},
        {"instrument": {"page": 1}},
        {"instrument": {"page": "x" * 129}},
        {"instrument": {"page": "x", "frame": "y"}},
        {"signals": ...},
        {"signals": []},
        {"interaction": 5},
        {"answer": {}},
        {"answer": {"kind": "drag", "steps": [], "work": []}},
        {"answer": {"kind": "confirm", "steps": [{"input": "mind", "afterMs": 1, "trusted": True}], "work": []}},
        {"answer": {"kind": "confirm", "steps": [{"input": "pointer", "afterMs": -1, "trusted": True}], "work": []}},
        {"answer": {"kind": "confirm", "steps": [{"input": "pointer", "afterMs": 1, "trusted": 1}], "work": []}},
        {"unknown": 1},
    ],
}


@pytest.mark.parametrize(
    ("route", "change"), [(route, change) for route, changes in WRONG.items() for change in changes]
)
def test_a_body_of_another_shape_is_a_bad_request(page: BrowserClient, route: str, change: dict[str, Any]) -> None:
    assert refused(page, route, **change) == "bad_request"


@POSTS
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'"text"', b"\xff", b'{"schema":1,"schema":1}', b"[" * 2_000, b"{} {}"]
)
def test_what_is_no_json_object_is_a_bad_request(page: BrowserClient, route: str, content: bytes) -> None:
    reply = page.service.public.post(f"/v1/browser/{route}", content=content, headers=page.headers)

    assert (reply.status_code, reply.json()["error"]) == (400, "bad_request")


@POSTS
def test_a_body_over_64_kib_is_too_large(page: BrowserClient, route: str) -> None:
    reply = page.service.public.post(f"/v1/browser/{route}", content=b" " * (64 * 1024 + 1), headers=page.headers)

    assert (reply.status_code, reply.json()["error"]) == (413, "payload_too_large")
    assert reply.headers["access-control-allow-origin"] == ORIGIN


@POSTS
def test_the_checks_come_in_the_order_of_the_contract(page: BrowserClient, route: str) -> None:
    page.origin = "https://evil.example"
    wrong: dict[str, Any] = {"schema": 2, "siteKey": "site_unknown", "action": "unknown"}
    found = []
    for repair in ("schema", "siteKey", "action"):
        found.append(refused(page, route, **wrong))
        del wrong[repair]
    found.append(refused(page, route))

    assert found == ["schema_unsupported", "site_invalid", "action_invalid", "origin_denied"]


def test_the_text_plain_body_of_a_simple_request_is_read(page: BrowserClient) -> None:
    content = json.dumps(body_for(page, "challenge"))
    for media_type in ("text/plain;charset=UTF-8", "application/json", "application/x-www-form-urlencoded"):
        headers = {**page.headers, "Content-Type": media_type}
        assert page.service.public.post("/v1/browser/challenge", content=content, headers=headers).status_code == 200


@pytest.mark.parametrize("route", ["challenge", "verify", "instrument"])
def test_a_preflight_is_handled_for_any_origin(page: BrowserClient, route: str) -> None:
    method = "GET" if route == "instrument" else "POST"
    headers = {"Origin": ORIGIN, "Access-Control-Request-Method": method}

    reply = page.service.public.options(f"/v1/browser/{route}", headers=headers)

    assert reply.status_code == 204
    assert reply.headers["access-control-allow-origin"] == ORIGIN
    assert method in reply.headers["access-control-allow-methods"]
    assert reply.headers["access-control-allow-headers"] == "Content-Type"
    assert "set-cookie" not in reply.headers


def test_the_check_sets_no_cookie(page: BrowserClient) -> None:
    challenge = page.challenge()
    program = page.instrument(challenge.json()["challengeId"])
    verified = page.verify(challenge.json())

    assert verified.status_code == 200
    assert all("set-cookie" not in reply.headers for reply in (challenge, program, verified))


def test_a_site_of_a_deleted_account_is_disabled(shared_service: RunningService) -> None:
    operator = shared_service.operator
    account = add_account(shared_service, "Gone")
    page = BrowserClient(shared_service, create_site(shared_service, customerId=account, mode="monitor"))
    challenge = page.challenge().json()
    solution = page.solution(challenge)

    deleted = operator.request("DELETE", f"/v1/admin/customers/{account}", json={"confirm": "Gone"})
    assert deleted.status_code in {200, 204}, deleted.text
    shared_service.run(shared_service.application.refresher.refresh())

    assert page.challenge().json()["error"] == "site_disabled"
    assert page.post("verify", solution).json()["error"] == "site_disabled"
    assert page.instrument(challenge["challengeId"]).json()["error"] == "challenge_invalid"


def spend(act: Callable[[], Any], times: int) -> None:
    for _ in range(times):
        assert act().status_code != 429


def test_an_address_gets_60_challenges_a_minute(page: BrowserClient) -> None:
    spend(page.challenge, limits.CHALLENGES_PER_MINUTE_PER_ADDRESS)

    reply = page.challenge()

    assert (reply.status_code, reply.json()["error"]) == (429, "rate_limited")
    assert reply.headers["retry-after"] == "60"
    # Another site does not lift the limit; another address has a separate limit; the next minute resets it.
    assert BrowserClient(page.service, ALWAYS_PASS, address=page.address).challenge().status_code == 429
    assert BrowserClient(page.service, page.site_key).challenge().status_code == 200
    page.service.clock.advance(seconds=60)
    assert page.challenge().status_code == 200


def test_an_address_gets_120_verifications_a_minute(page: BrowserClient) -> None:
    solution = page.solution(page.challenge().json(), challengeId="ch_" + "0" * 26)
    spend(lambda: page.post("verify", solution), limits.VERIFICATIONS_PER_MINUTE_PER_ADDRESS)

    reply = page.post("verify", solution)

    assert (reply.status_code, reply.json()["error"]) == (429, "rate_limited")
    assert reply.headers["retry-after"] == "60"


def test_an_address_reads_so_many_programs_a_minute(page: BrowserClient) -> None:
    spend(lambda: page.instrument("ch_" + "0" * 26), limits.INSTRUMENTS_PER_MINUTE_PER_ADDRESS)

    assert page.instrument("ch_" + "0" * 26).json()["error"] == "rate_limited"


def test_a_64_of_ipv6_is_one_address(page: BrowserClient) -> None:
    for number in range(limits.CHALLENGES_PER_MINUTE_PER_ADDRESS):
        page.address = f"2001:db8:7:7::{number + 1:x}"
        assert page.challenge().status_code == 200
    page.address = "2001:db8:7:7:ffff::1"

    assert page.challenge().status_code == 429


def test_what_is_rejected_before_does_not_use_the_limit_up(page: BrowserClient) -> None:
    for _ in range(limits.CHALLENGES_PER_MINUTE_PER_ADDRESS + 1):
        assert refused(page, "challenge", action="unknown") == "action_invalid"

    assert page.challenge().status_code == 200


def test_a_site_has_a_limit_over_all_addresses(shared_service: RunningService) -> None:
    page = BrowserClient(shared_service, create_site(shared_service))
    shared_cache, now_ms = shared_service.application.stores.shared_cache, shared_service.clock.now_ms()
    for route in ("challenge", "verify"):
        key = f"limit:browser-{route}-site:{now_ms // 60_000}:{page.site_key}"
        shared_service.run(shared_cache.add(key, limits.CHALLENGES_PER_MINUTE_PER_SITE, ttl_ms=60_000))
        page.address = new_address()
        assert refused(page, route) == "rate_limited"
