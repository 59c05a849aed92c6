"""A store that hangs: siteverify reports in time that the result is unknown, and a repeated call returns it later."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from agentgate.lib.settings.schema import read_settings
from tests.api.public.shop import SITES, SITEVERIFY, Shop, code, open_shop
from tests.support.servers import PostgresServer, postgres_server
from tests.support.service import ADMIN_KEY, running_service

# The second that a response may take, and the delay that a busy machine adds.
LEAST_S, MOST_S, BACK_S = 0.9, 2.5, 10.0
UNKNOWN = (503, "unavailable")
# One takes the fast path, the other the slow one.
WAYS = {"hot": {}, "cold": {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01"}}


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A separate server, because these tests stop it."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[Shop]:
    """A site of a service on that server."""
    environ = {
        "AGENTGATE_DATA_DIR": str(tmp_path_factory.mktemp("hung") / "data"),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_DRAIN_SECONDS": "0",
        "AGENTGATE_DATABASE_URL": postgres.url,
    }
    with running_service(read_settings(environ)) as service:
        yield open_shop(service)


def ask(shop: Shop, token: str, request_id: str, way: str = "hot") -> tuple[httpx.Response, float]:
    """Redeem a token on a separate connection; return the response and how long it took."""
    body = {"token": token, "expectedAction": "login", "requestId": request_id, "secret": shop.secret}
    began_s = time.monotonic()
    with shop.service.new_public_client() as client:
        answer = client.post(SITEVERIFY, json=body, headers=WAYS[way])
    return answer, time.monotonic() - began_s


def ask_until_known(shop: Shop, token: str, request_id: str) -> httpx.Response:
    """Repeat a call as a site's server does."""
    deadline_s = time.monotonic() + BACK_S
    while True:
        answer, _ = ask(shop, token, request_id)
        if code(answer) != UNKNOWN:
            return answer
        assert time.monotonic() < deadline_s, "the store is back and nobody knows what became of the token"
        time.sleep(0.05)


@pytest.mark.parametrize("way", WAYS)
def test_a_hung_store_is_reported_within_a_second_or_so_and_the_same_call_converges(
    shop: Shop, postgres: PostgresServer, way: str
) -> None:
    tokens = [shop.token() for _ in range(8)]
    # So that there are connections which can hang.
    assert code(ask(shop, shop.token(), "first", way)[0]) == (200, None)

    with postgres.frozen(), ThreadPoolExecutor(len(tokens)) as threads:
        told = list(threads.map(lambda token: ask(shop, token, "mine", way), tokens))

    assert {code(answer) for answer, _ in told} == {UNKNOWN}
    assert {answer.headers["retry-after"] for answer, _ in told} == {"5"}
    assert all(LEAST_S < took_s < MOST_S for _, took_s in told)
    for token in tokens:
        known = ask_until_known(shop, token, "mine")
        assert code(known) == (200, None)
        assert ask(shop, token, "mine")[0].content == known.content
        assert code(ask(shop, token, "other")[0]) == (409, "token_used")


def test_a_hung_store_is_shown_in_the_form_of_another_service(shop: Shop, postgres: PostgresServer) -> None:
    token = shop.token()
    with postgres.frozen():
        began_s = time.monotonic()
        form = {"secret": shop.secret, "response": token}
        answer = shop.service.public.post("/compat/turnstile/v0/siteverify", data=form)
        took_s = time.monotonic() - began_s

    assert (answer.status_code, answer.json()["success"]) == (200, False)
    assert answer.json()["error-codes"] == ["internal-error"]
    assert took_s < MOST_S


def counted(shop: Shop) -> dict[str, int]:
    """Return the results of the calls so far. A range that ends now excludes the moment that begins now."""
    shop.service.clock.advance(seconds=1)
    found = shop.service.operator.get(f"{SITES}/{shop.site_key}/analytics").json()["siteverify"]
    return {
        "redeemed": found["tokensRedeemed"],
        "success": found["success"],
        "unknown": found["failures"].get("unavailable", 0),
    }


def test_what_was_redeemed_too_late_to_be_reported_is_counted_as_redeemed(shop: Shop, postgres: PostgresServer) -> None:
    late = open_shop(shop.service, "site_late")
    assert code(ask(late, late.token(), "first")[0]) == (200, None)
    with postgres.frozen():
        assert code(ask(late, late.token(), "mine")[0]) == UNKNOWN

    deadline_s = time.monotonic() + BACK_S
    while counted(late) != {"redeemed": 2, "success": 1, "unknown": 1}:
        assert time.monotonic() < deadline_s, counted(late)
        time.sleep(0.1)
