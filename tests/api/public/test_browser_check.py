"""The browser check from challenge to token: required data, issued tokens, and what they are bound to."""

import re
from itertools import product
from typing import Any

import pytest

from agentgate.browser_check.tokens.receipts import read_receipt
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.moment import Moment
from tests.support.browser_client import (
    DRIVEN,
    ORIGIN,
    BrowserClient,
    create_site,
    get_token,
    new_address,
)
from tests.support.service import RunningService

OTHER_ORIGIN = "https://www.shop.example"
LIBRARY = "python-requests/2.32.5"


@pytest.fixture(scope="module")
def site_key(shared_service: RunningService) -> str:
    actions = {name: {"browserRequired": True} for name in ("login", "signup")}
    actions["search"] = {"browserRequired": False, "clearance": True}
    return create_site(shared_service, allowedOrigins=[ORIGIN, OTHER_ORIGIN], actions=actions)


@pytest.fixture
def page(shared_service: RunningService, site_key: str) -> BrowserClient:
    return BrowserClient(shared_service, site_key)


def claims_of(page: BrowserClient, token: str) -> Any:
    return read_receipt(token, page.service.application.signing_keys).claims


def error_of(reply: Any) -> tuple[int, str]:
    return reply.status_code, reply.json()["error"]


def test_a_challenge_shows_what_to_do(page: BrowserClient) -> None:
    challenge = page.challenge().json()

    assert re.fullmatch(r"ch_[0-9a-hjkmnp-tv-z]{26}", challenge["challengeId"])
    assert re.fullmatch(r"[0-9a-f]{32}", challenge["work"]["salt"])
    assert challenge == {
        "challengeId": challenge["challengeId"],
        "schema": 1,
        "expiresAt": Moment(page.service.clock.now_ms() + 5 * MINUTE_MS).text(),
        "attempts": 4,
        "widget": "invisible",
        "show": False,
        "work": {"algorithm": "SHA-256", "salt": challenge["work"]["salt"], "count": 16, "bits": 10},
        "instrument": f"/v1/browser/instrument?challengeId={challenge['challengeId']}",
        "probes": challenge["probes"],
    }


def test_passing_gives_a_token_for_exactly_this_visit(page: BrowserClient) -> None:
    verified = page.verify(page.challenge(cData="order 7").json()).json()

    assert set(verified) == {"status", "token", "expiresAt", "decisionId"}
    assert verified["status"] == "passed"
    claims = claims_of(page, verified["token"])
    assert (claims.aud, claims.action, claims.origin, claims.c_data) == (page.site_key, "login", ORIGIN, "order 7")
    assert (claims.kind, claims.decision_id) == ("browser", verified["decisionId"])
    assert re.fullmatch(r"[0-9a-f]{16}", claims.sub)
    assert verified["expiresAt"] == Moment(page.service.clock.now_ms() + 120_000).text()


def test_the_subject_is_the_visitor_that_the_decision_names(page: BrowserClient) -> None:
    first, second = (claims_of(page, get_token(page.service, page.site_key, address=page.address)) for _ in range(2))
    other = claims_of(page, get_token(page.service, page.site_key))

    assert first.sub == second.sub != other.sub
    assert first.jti != second.jti


def test_the_service_knows_who_its_visitors_are_only_by_pseudonym(page: BrowserClient) -> None:
    page.verify(page.challenge().json())

    assert page.address not in page.service.log.getvalue()


def test_the_program_is_a_script_that_may_be_kept_as_long_as_the_challenge(page: BrowserClient) -> None:
    challenge_id = page.challenge().json()["challengeId"]
    page.service.clock.advance(seconds=60)

    reply = page.instrument(challenge_id)

    assert reply.status_code == 200
    assert reply.headers["content-type"] == "text/javascript; charset=utf-8"
    assert reply.headers["cache-control"] == "private, max-age=240, immutable"
    assert reply.headers["access-control-allow-origin"] == ORIGIN
    assert reply.headers["cross-origin-resource-policy"] == "cross-origin"
    assert challenge_id in reply.text
    assert reply.text == page.instrument(challenge_id).text


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"origin": "https://evil.example"}, (403, "origin_denied")),
        ({"origin": OTHER_ORIGIN}, (403, "origin_denied")),
        ({"origin": "null"}, (403, "origin_denied")),
        ({"origin": None}, (403, "origin_denied")),
        ({"address": "81.255.0.1"}, (400, "challenge_invalid")),
    ],
)
def test_the_program_is_for_the_page_that_got_the_challenge(
    page: BrowserClient, change: dict[str, Any], refused: tuple[int, str]
) -> None:
    challenge_id = page.challenge().json()["challengeId"]
    for name, value in change.items():
        setattr(page, name, value)

    assert error_of(page.instrument(challenge_id)) == refused


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "same-origin"}, {"Referer": f"{ORIGIN}/login"}])
def test_within_one_origin_the_program_is_read_without_an_origin(page: BrowserClient, headers: dict[str, str]) -> None:
    challenge_id = page.challenge().json()["challengeId"]
    page.origin = None

    assert page.instrument(challenge_id, **headers).status_code == 200


@pytest.mark.parametrize("query", ["", "?challengeId=", "?challengeId=ch_1", "?challengeId=%00", "?challengeId=a&x=1"])
def test_an_unknown_program_is_blocked(page: BrowserClient, query: str) -> None:
    reply = page.service.public.get(f"/v1/browser/instrument{query}", headers=page.headers)

    assert reply.json()["error"] in {"bad_request", "challenge_invalid"}
    assert reply.status_code == 400


def test_an_expired_challenge_is_useless(page: BrowserClient) -> None:
    challenge = page.challenge().json()
    solution = page.solution(challenge)
    page.service.clock.advance(ms=5 * MINUTE_MS - 1)
    assert page.instrument(challenge["challengeId"]).status_code == 200

    page.service.clock.advance(ms=1)

    assert error_of(page.instrument(challenge["challengeId"])) == (410, "challenge_expired")
    assert error_of(page.post("verify", solution)) == (410, "challenge_expired")


def test_a_challenge_gives_one_token(page: BrowserClient) -> None:
    solution = page.solution(page.challenge().json())

    assert page.post("verify", solution).json()["status"] == "passed"
    assert error_of(page.post("verify", solution)) == (409, "challenge_used")


def test_a_challenge_can_be_tried_four_times(page: BrowserClient) -> None:
    challenge = page.challenge().json()
    wrong = page.solution(challenge, work=[0] * 16)
    for _ in range(4):
        assert error_of(page.post("verify", wrong)) == (403, "challenge_failed")

    assert error_of(page.post("verify", wrong)) == (429, "too_many_attempts")
    assert error_of(page.verify(challenge)) == (429, "too_many_attempts")


def test_the_fourth_attempt_still_counts(page: BrowserClient) -> None:
    challenge = page.challenge().json()
    for _ in range(3):
        page.verify(challenge, work=[0] * 16)

    assert page.verify(challenge).json()["status"] == "passed"


def test_an_unknown_challenge_is_invalid(page: BrowserClient) -> None:
    solution = page.solution(page.challenge().json())

    for challenge_id in ("ch_" + "0" * 26, "ch_1", "", "x" * 5_000, "dec_0000000000000"):
        assert error_of(page.post("verify", {**solution, "challengeId": challenge_id})) == (400, "challenge_invalid")


def test_a_solved_challenge_is_good_for_no_one_alone(page: BrowserClient) -> None:
    other_site = create_site(page.service, allowedOrigins=[ORIGIN, OTHER_ORIGIN])
    challenge = page.challenge().json()
    solution = page.solution(challenge)
    mine = (page.site_key, "login", ORIGIN, page.address)
    others = (other_site, "signup", OTHER_ORIGIN, new_address())

    for choice in list(product(*zip(mine, others, strict=True)))[1:]:
        site_key, action, origin, address = choice
        thief = BrowserClient(page.service, site_key, action=action, origin=origin, address=address)
        reply = thief.post("verify", {**solution, "siteKey": site_key, "action": action})
        only_origin = choice == (page.site_key, "login", OTHER_ORIGIN, page.address)
        assert error_of(reply) == ((403, "origin_denied") if only_origin else (400, "challenge_invalid"))

    # Fifteen who are not meant have not used up one attempt.
    assert page.post("verify", solution).json()["status"] == "passed"


@pytest.mark.parametrize(
    "change",
    [
        {"instrument": {"page": "0" * 32}},
        {"instrument": {"page": ""}},
        {"work": [1] * 16},
        {"work": [4_294_967_295] * 16},
    ],
)
def test_a_wrong_proof_fails(page: BrowserClient, change: dict[str, Any]) -> None:
    reply = page.verify(page.challenge().json(), **change)

    assert error_of(reply) == (403, "challenge_failed")
    assert re.fullmatch(r"dec_[0-9a-z]{13}", reply.json()["decisionId"])
    assert set(reply.json()) == {"error", "message", "decisionId"}


def test_the_programs_response_of_another_challenge_fails(page: BrowserClient) -> None:
    first, second = page.challenge().json(), page.challenge().json()

    reply = page.verify(first, instrument=page.program_answer(second["challengeId"]))

    assert error_of(reply) == (403, "challenge_failed")


def test_a_right_page_with_a_wrong_worker_fails(page: BrowserClient) -> None:
    challenge = page.challenge().json()
    answer = page.program_answer(challenge["challengeId"])

    assert error_of(page.verify(challenge, instrument={**answer, "worker": answer["page"]})) == (
        403,
        "challenge_failed",
    )


def test_a_page_without_a_worker_passes(page: BrowserClient) -> None:
    challenge = page.challenge().json()
    answer = page.program_answer(challenge["challengeId"])

    assert page.verify(challenge, instrument={"page": answer["page"]}).json()["status"] == "passed"


@pytest.mark.parametrize("count", [0, 15, 17, 64])
def test_another_number_of_solutions_is_a_bad_request(page: BrowserClient, count: int) -> None:
    assert error_of(page.verify(page.challenge().json(), work=[0] * count)) == (400, "bad_request")


def test_a_driven_browser_is_declined_and_told_under_which_decision(page: BrowserClient) -> None:
    reply = page.verify(page.challenge().json(), signals=DRIVEN)

    assert error_of(reply) == (403, "challenge_failed")
    assert "decisionId" in reply.json()


def test_a_rejection_does_not_show_what_was_wrong(page: BrowserClient) -> None:
    bodies = [
        page.verify(page.challenge().json(), **change).json()
        for change in ({"work": [0] * 16}, {"instrument": {"page": "x"}}, {"signals": DRIVEN})
    ]

    assert len({tuple(sorted({**body, "decisionId": ""}.items())) for body in bodies}) == 1


def test_an_action_with_clearance_gives_a_cookie_for_the_page_to_set(page: BrowserClient) -> None:
    page.action = "search"

    clearance = page.verify(page.challenge().json()).json()["clearance"]

    assert set(clearance) == {"name", "value", "expiresAt"}
    assert re.fullmatch(r"ag_clearance_[0-9a-f]{8}", clearance["name"])
    assert clearance["value"].startswith("agc2.")


def test_the_worse_a_visitor_looks_the_more_proof_of_work_there_is(page: BrowserClient) -> None:
    body = {"schema": 1, "siteKey": page.site_key, "action": "login"}
    amounts = [
        (work["count"], work["bits"])
        for headers in ({}, {"User-Agent": LIBRARY}, {"User-Agent": "HeadlessChrome/142"})
        for work in [page.post("challenge", body, **headers).json()["work"]]
    ]

    assert amounts == [(16, 10), (128, 11), (448, 11)]


def test_anyone_who_asks_for_very_many_challenges_gets_the_most_proof_of_work(page: BrowserClient) -> None:
    challenges = [page.challenge().json() for _ in range(60)]

    assert challenges[0]["work"]["bits"] == 10
    # Not the last challenge: a new minute may begin during the loop.
    assert max(challenge["work"]["count"] for challenge in challenges) == 448
    assert [challenge["work"]["bits"] for challenge in challenges[:29]] == [10] * 29


def test_evidence_of_any_shape_is_taken(page: BrowserClient) -> None:
    for signals in ({}, {"webdriver": "no", "screen": 7, "languages": {"a": 1}}, {"x" * 500: [[[]]] * 50, "n": 1e300}):
        reply = page.verify(page.challenge().json(), signals=signals, interaction={"keys": [], "untrusted": "1"})
        assert reply.status_code in {200, 403}


@pytest.mark.parametrize(("origin", "passed"), [("http://plain.example", True), (ORIGIN, False)])
def test_only_pages_of_a_plain_origin_need_no_fetch_metadata_behind_tls(
    shared_service: RunningService, origin: str, passed: bool
) -> None:
    page = BrowserClient(
        shared_service, create_site(shared_service, allowedOrigins=[ORIGIN, "http://plain.example"]), origin=origin
    )
    headers = {name: value for name, value in page.headers.items() if not name.startswith("Sec-Fetch")}
    headers["X-Forwarded-Proto"] = "https"

    asked = {"schema": 1, "siteKey": page.site_key, "action": page.action}
    challenge = shared_service.public.post("/v1/browser/challenge", json=asked, headers=headers).json()
    reply = shared_service.public.post("/v1/browser/verify", json=page.solution(challenge), headers=headers)

    assert ("token" in reply.json()) is passed, reply.text
