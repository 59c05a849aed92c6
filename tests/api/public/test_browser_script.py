"""Challenge and program in one script: what it holds, for whom it is, and that nothing of the caller's gets into it."""

import json
import re
from typing import Any

import httpx
import pytest

from agentgate.lib import limits
from tests.support.browser_client import ORIGIN, BrowserClient, create_site
from tests.support.service import RunningService

SCRIPT = re.compile(r'globalThis\["agentgate:(\d+)"\]\(\[(\{.*?\}),(\(\)=>\{"use strict";.*\})\]\);\n', re.DOTALL)


@pytest.fixture(scope="module")
def site_key(shared_service: RunningService) -> str:
    return create_site(shared_service, allowedOrigins=[ORIGIN], actions={"login": {"browserRequired": True}})


@pytest.fixture
def page(shared_service: RunningService, site_key: str) -> BrowserClient:
    return BrowserClient(shared_service, site_key)


def script(page: BrowserClient, headers: dict[str, str] | None = None, **query: Any) -> httpx.Response:
    asked = {"schema": 1, "siteKey": page.site_key, "action": page.action, "hook": 7, **query}
    sent = {**page.headers, "Sec-Fetch-Dest": "script", **(headers or {})}
    return page.service.public.get("/v1/browser/challenge", params=asked, headers=sent)


def challenge_of(reply: httpx.Response) -> tuple[dict[str, Any], str]:
    found = SCRIPT.fullmatch(reply.text)
    assert found is not None, reply.text[:200]
    return json.loads(reply.text[reply.text.index("{") : reply.text.index(",()=>")]), found[3]


def error_of(reply: httpx.Response) -> tuple[int, str]:
    return reply.status_code, reply.json()["error"]


def test_the_script_has_a_challenge_and_its_program(page: BrowserClient) -> None:
    reply = script(page)

    challenge, program = challenge_of(reply)
    assert reply.headers["content-type"] == "text/javascript; charset=utf-8"
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["access-control-allow-origin"] == ORIGIN
    assert sorted(challenge) == sorted(page.challenge().json())
    assert f"({program})" in page.instrument(challenge["challengeId"]).text
    assert page.verify(challenge).json()["status"] == "passed"


def test_every_script_has_its_own_challenge(page: BrowserClient) -> None:
    found = [challenge_of(script(page)) for _ in range(2)]

    assert found[0][0]["challengeId"] != found[1][0]["challengeId"]
    assert found[0][1] != found[1][1]


def test_a_page_may_ask_for_more_than_the_site_does(page: BrowserClient) -> None:
    challenge, _ = challenge_of(script(page, widget="interactive"))

    assert challenge["show"] is True


@pytest.mark.parametrize("hook", ["", "x", '7"](0);alert(1);//', "-1", "1000000", "7.5", "1e3", "7]", "\u0667"])
def test_only_a_plain_number_can_be_in_the_script(page: BrowserClient, hook: str) -> None:
    assert error_of(script(page, hook=hook)) == (400, "bad_request")


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ({"schema": 2}, (400, "schema_unsupported")),
        ({"siteKey": "site_doesnotexist"}, (400, "site_invalid")),
        ({"action": "checkout"}, (400, "action_invalid")),
        ({"widget": "huge"}, (400, "bad_request")),
        ({"cData": "personal"}, (400, "bad_request")),
    ],
)
def test_what_a_post_rejects_the_script_rejects(
    page: BrowserClient, query: dict[str, Any], refused: tuple[int, str]
) -> None:
    assert error_of(script(page, **query)) == refused


@pytest.mark.parametrize(
    ("origin", "headers", "status"),
    [
        (ORIGIN, {}, 200),
        ("https://evil.example", {}, 403),
        ("https://evil.example", {"Referer": f"{ORIGIN}/"}, 403),
        ("null", {"Referer": f"{ORIGIN}/"}, 403),
        (None, {}, 403),
        (None, {"Sec-Fetch-Site": "same-origin"}, 403),
        (None, {"Referer": f"{ORIGIN}/", "Sec-Fetch-Site": "same-origin"}, 200),
        (None, {"Referer": "https://evil.example/"}, 403),
        (None, {"Referer": f"https://evil.example/{ORIGIN}/"}, 403),
    ],
)
def test_the_script_is_for_pages_of_the_site(
    page: BrowserClient, origin: str | None, headers: dict[str, str], status: int
) -> None:
    page.origin = origin

    assert script(page, headers).status_code == status


def test_a_post_needs_an_origin_whatever_the_referrer_shows(page: BrowserClient) -> None:
    page.origin = None
    body = {"schema": 1, "siteKey": page.site_key, "action": page.action}

    assert error_of(page.post("challenge", body, Referer=f"{ORIGIN}/")) == (403, "origin_denied")


def test_a_challenge_from_a_script_is_bound_like_any_other(page: BrowserClient) -> None:
    challenge, _ = challenge_of(script(page))
    solution = page.solution(challenge)

    assert error_of(BrowserClient(page.service, page.site_key).post("verify", solution)) == (400, "challenge_invalid")
    assert page.post("verify", solution).status_code == 200
    assert error_of(page.post("verify", solution)) == (409, "challenge_used")


def test_scripts_and_posts_share_one_limit(page: BrowserClient) -> None:
    for _ in range(limits.CHALLENGES_PER_MINUTE_PER_ADDRESS // 2):
        assert page.challenge().status_code == 200
        assert script(page).status_code == 200

    reply = script(page)

    assert error_of(reply) == (429, "rate_limited")
    assert reply.headers["retry-after"] == "60"


def test_custom_data_may_come_with_the_verification(page: BrowserClient) -> None:
    challenge, _ = challenge_of(script(page))

    token = page.verify(challenge, cData="order 7").json()["token"]
    assert cdata_of(page, token) == "order 7"


def test_custom_data_of_the_challenge_counts_where_the_verification_has_none(page: BrowserClient) -> None:
    token = page.verify(page.challenge(cData="order 8").json()).json()["token"]

    assert cdata_of(page, token) == "order 8"


def cdata_of(page: BrowserClient, token: str) -> Any:
    made = page.service.operator.post(f"/v1/admin/sites/{page.site_key}/credentials").json()
    body = {"token": token, "expectedAction": page.action, "secret": made["secret"]}
    return page.service.public.post("/v1/siteverify", json=body).json()["cData"]
