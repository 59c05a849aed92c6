"""Parallel requests on either store: one challenge gives one token, and at most four attempts are checked."""

import asyncio
import ssl
from collections import Counter
from typing import Any

import httpx
import pytest

from agentgate.lib import limits
from tests.support.browser_client import BrowserClient, create_site, new_address
from tests.support.servers import PostgresServer
from tests.support.service import RunningService

AT_ONCE = 64


@pytest.fixture
def page(service: RunningService) -> BrowserClient:
    return BrowserClient(service, create_site(service))


def all_at_once(page: BrowserClient, bodies: list[Any], route: str = "verify") -> list[tuple[int, Any]]:
    """Send all requests at once, each on a separate connection."""

    async def send() -> list[tuple[int, Any]]:
        # Nothing here speaks TLS, and reading the machine's certificates takes longer than the test.
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        async with httpx.AsyncClient(base_url=page.service.public_url, timeout=30, verify=tls) as client:
            replies = await asyncio.gather(
                *(client.post(f"/v1/browser/{route}", json=body, headers=page.headers) for body in bodies)
            )
        return [(reply.status_code, reply.json()) for reply in replies]

    return asyncio.run(send())


def test_of_64_who_verify_one_solved_challenge_one_gets_a_token(page: BrowserClient) -> None:
    for _ in range(3):
        page.address = new_address()
        solution = page.solution(page.challenge().json())

        replies = all_at_once(page, [solution] * AT_ONCE)

        found = Counter(body.get("error", body.get("status")) for _, body in replies)
        assert found == {"passed": 1, "challenge_used": AT_ONCE - 1}


def test_of_100_wrong_responses_at_once_four_are_inspected(page: BrowserClient) -> None:
    challenge = page.challenge().json()

    replies = all_at_once(page, [page.solution(challenge, work=[0] * 16)] * 100)

    assert Counter(body["error"] for _, body in replies) == {"challenge_failed": 4, "too_many_attempts": 96}


# On one store only: on a busy machine Redis may respond late, and each worker then counts separately.
@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_no_more_than_60_of_100_challenges_at_once_are_issued(page: BrowserClient) -> None:
    body = {"schema": 1, "siteKey": page.site_key, "action": page.action}

    replies = all_at_once(page, [body] * 100, "challenge")

    assert Counter(status for status, _ in replies) == {200: limits.CHALLENGES_PER_MINUTE_PER_ADDRESS, 429: 40}


@pytest.mark.parametrize("settings", ["postgres"], indirect=True)
def test_without_the_store_the_check_is_unavailable_and_nothing_is_half_done(
    page: BrowserClient, postgres: PostgresServer
) -> None:
    challenge = page.challenge().json()
    solution = page.solution(challenge)
    sent = page.service.application.recorder.ledger()
    postgres.stop()
    try:
        replies = [page.challenge(), page.post("verify", solution), page.instrument(challenge["challengeId"])]
        assert [(reply.status_code, reply.json()["error"]) for reply in replies] == [(503, "unavailable")] * 3
        assert {reply.headers["retry-after"] for reply in replies} == {"5"}
        assert page.service.application.recorder.ledger()["sent"] == sent["sent"]
    finally:
        postgres.start()

    assert page.post("verify", solution).json()["status"] == "passed"
