"""`agentgate_client.Client` against the real service, and against servers that misbehave."""

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentgate_client import AsyncClient, Client, Unavailable, VerificationFailed
from tests.site_server.gate import ORIGIN, SITE_KEY, answering, cutting, odd_server, proxy, silent, trickling
from tests.support.ports import free_port

SHAPED = "aa.bb.cc"
UNAVAILABLE = json.dumps({"success": False, "error": "unavailable", "message": "later"}).encode()


def echoing(handler, body):
    """Return success for any token, as the service does."""
    asked = json.loads(body)
    answer = {"success": True, "requestId": asked["requestId"], "action": asked["expectedAction"], "siteKey": "site_x"}
    answering(200, json.dumps(answer).encode())(handler, body)


def test_a_token_is_redeemed_with_what_the_service_knows_about_it(gate):
    verified = gate.client().verify(gate.token(c_data="basket 7"), expected_action="signup", expected_origin=ORIGIN)

    assert verified.source == "service"
    assert (verified.site_key, verified.action, verified.kind, verified.origin) == (
        SITE_KEY, "signup", "browser", ORIGIN,
    )  # fmt: skip
    assert (verified.visitor_id, verified.c_data, verified.decision_id) == ("f" * 16, "basket 7", "dec_0000000000000")
    assert verified.expires_at is not None
    assert verified.expires_at.timestamp() == gate.now_s() + 120


def test_a_second_redemption_is_rejected_and_a_repeated_one_is_not(gate):
    client, token = gate.client(), gate.token()
    first = client.verify(token, expected_action="signup", request_id="order-1")

    assert client.verify(token, expected_action="signup", request_id="order-1") == first
    with pytest.raises(VerificationFailed, match="token_used"):
        client.verify(token, expected_action="signup")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"expected_action": "login"}, "action_mismatch"),
        ({"expected_action": "signup", "expected_origin": "https://other.example"}, "origin_mismatch"),
        ({"expected_action": "signup", "content_digest": "sha-256=:AAAA:"}, "invalid_token"),
    ],
)
def test_a_token_for_something_else_is_rejected_with_its_code(gate, changes, code):
    with pytest.raises(VerificationFailed) as refused:
        gate.client().verify(gate.token(), **changes)

    assert refused.value.code == code
    assert refused.value.message
    assert not refused.value.is_misconfiguration


def test_an_expired_token_is_rejected(gate):
    token = gate.token()
    gate.service.clock.advance(seconds=120)

    with pytest.raises(VerificationFailed, match="expired_token"):
        gate.client().verify(token, expected_action="signup")


def test_a_wrong_secret_is_a_misconfiguration(gate):
    with pytest.raises(VerificationFailed) as refused:
        gate.client(secret="ags_" + "x" * 43).verify(gate.token(), expected_action="signup")

    assert refused.value.code == "invalid_credential"
    assert refused.value.is_misconfiguration


@pytest.mark.parametrize(
    ("secret", "code"), [("ags_test_always_fail", "invalid_token"), ("ags_test_token_spent", "token_used")]
)
def test_the_test_secrets_fail_as_they_show(gate, secret, code):
    with pytest.raises(VerificationFailed) as refused:
        gate.client(secret=secret).verify(gate.token(test=True), expected_action="signup")

    assert refused.value.code == code


def test_the_test_secret_that_passes_shows_that_it_was_a_test(gate):
    verified = gate.client(secret="ags_test_always_pass").verify(gate.token(test=True), expected_action="signup")

    assert verified.test


@pytest.mark.parametrize(
    "token", ["", "no token", "a.b", "a.b.c.d", "a.b.ü", "a.b.c\n", "a." * 2000 + "a", "a.b.c" * 999]
)
def test_what_cannot_be_a_token_is_rejected_without_a_call(token):
    client = Client(f"http://127.0.0.1:{free_port()}", "ags_x")

    with pytest.raises(VerificationFailed, match="invalid_token"):
        client.verify(token, expected_action="signup")


def test_one_request_id_is_kept_over_all_attempts():
    with odd_server(answering(503, UNAVAILABLE), answering(502, b"<html>"), echoing) as server:
        client = Client(server.url, "ags_x")
        verified = client.verify(SHAPED, expected_action="signup")
        client.close()

    asked = [json.loads(body)["requestId"] for body in server.bodies]
    assert asked == [verified.request_id] * 3
    assert server.paths == ["/v1/siteverify"] * 3


def test_a_response_lost_after_the_commit_still_ends_in_exactly_one_success(gate):
    with proxy(gate.url) as before:
        before.lost = 2
        token = gate.token()
        verified = gate.client(before.url, timeout_s=5).verify(token, expected_action="signup")

    assert before.connections == 3
    assert verified.source == "service"
    with pytest.raises(VerificationFailed, match="token_used"):
        gate.client().verify(token, expected_action="signup")


def test_of_many_threads_with_one_token_one_wins(gate):
    client, token = gate.client(timeout_s=10), gate.token()

    def attempt(_number):
        try:
            return client.verify(token, expected_action="signup").source
        except VerificationFailed as refused:
            return refused.code

    with ThreadPoolExecutor(16) as threads:
        outcomes = list(threads.map(attempt, range(64)))

    assert sorted(outcomes) == ["service"] + ["token_used"] * 63


@pytest.mark.parametrize("behavior", [silent, trickling])
def test_a_slow_service_costs_no_more_than_the_deadline(behavior):
    with odd_server(behavior) as server:
        client = Client(server.url, "ags_x", timeout_s=0.2, retries=1)
        started_s = time.monotonic()
        with pytest.raises(Unavailable) as problem:
            client.verify(SHAPED, expected_action="signup", request_id="mine")
        took_s = time.monotonic() - started_s

    assert problem.value.request_id == "mine"
    assert 0.2 <= took_s < 3


@pytest.mark.parametrize(
    "behavior",
    [
        answering(200, b"not json"),
        answering(200, b"[]"),
        answering(200, b'{"success": true, "requestId": "another", "action": "signup"}'),
        answering(200, b'{"success": "yes"}'),
        answering(302, b"", Location="http://127.0.0.1/"),
        answering(429, b'{"success": false, "error": "rate_limited"}'),
        answering(500, b'{"error": "internal_error"}'),
        answering(200, b"x" * 300_000),
        cutting,
    ],
)
def test_a_response_that_makes_no_sense_never_counts_as_success(behavior):
    with odd_server(behavior) as server:
        client = Client(server.url, "ags_x", retries=0)
        with pytest.raises(Unavailable):
            client.verify(SHAPED, expected_action="signup")
        client.close()


def test_no_one_there_is_unavailable_by_default_to_fail_open():
    url = f"http://127.0.0.1:{free_port()}"

    with pytest.raises(Unavailable):
        Client(url, "ags_x", retries=1).verify(SHAPED, expected_action="signup")
    verified = Client(url, "ags_x", retries=0, fail_open=True).verify(SHAPED, expected_action="signup")
    assert (verified.source, verified.action, verified.decision_id) == ("unchecked", "signup", "")


def test_fail_open_never_allows_a_rejected_token_or_a_wrong_secret(gate):
    client = gate.client(fail_open=True)

    with pytest.raises(VerificationFailed, match="action_mismatch"):
        client.verify(gate.token(), expected_action="login")
    with pytest.raises(VerificationFailed, match="invalid_credential"):
        gate.client(secret="ags_wrong", fail_open=True).verify(gate.token(), expected_action="signup")


def test_connections_are_kept(gate):
    with proxy(gate.url) as before:
        client = gate.client(before.url)
        for _ in range(5):
            client.verify(gate.token(), expected_action="signup")
        client.close()

    assert before.connections == 1


def test_a_kept_connection_that_was_closed_meanwhile_costs_no_attempt():
    with odd_server(echoing, echoing) as server:
        client = Client(server.url, "ags_x", retries=0)
        client.verify(SHAPED, expected_action="signup")
        # As a server does with a connection that was idle for long.
        for connection in client._connections._kept:
            connection.shutdown(2)
        client.verify(SHAPED, expected_action="signup")
        client.close()

    assert len(server.bodies) == 2


def test_a_child_process_does_not_use_its_parents_connections(monkeypatch):
    with odd_server(echoing) as server:
        client = Client(server.url, "ags_x", retries=0)
        client.verify(SHAPED, expected_action="signup")
        (parents,) = client._connections._kept
        monkeypatch.setattr("os.getpid", lambda: 1)
        client.verify(SHAPED, expected_action="signup")

        assert parents not in client._connections._kept
        assert len(client._connections._kept) == 1
        client.close()
        parents.close()


@pytest.mark.parametrize(
    "url", ["gate.example", "ftp://gate.example", "https://", "http://u:p@gate.example", "http://g/?x"]
)
def test_an_address_that_is_none_is_rejected_at_once(url):
    with pytest.raises(ValueError, match="not the address"):
        Client(url, "ags_x")


@pytest.mark.parametrize("secret", ["", " ", "ags_x\r\nX-Evil: 1", "ags_ü"])
def test_a_secret_that_cannot_be_one_is_rejected_at_once(secret):
    with pytest.raises(ValueError, match="secret"):
        Client("http://127.0.0.1:1", secret)


def test_a_path_before_the_service_is_kept():
    with odd_server(echoing) as server:
        client = Client(server.url + "/gate/", "ags_x")
        client.verify(SHAPED, expected_action="signup")
        client.close()

    assert server.paths == ["/gate/v1/siteverify"]


def test_the_asyncio_client_leaves_the_loop_free():
    async def run(url):
        client = AsyncClient(url, "ags_x", timeout_s=0.3, retries=0)
        ticks = 0
        call = asyncio.create_task(client.verify(SHAPED, expected_action="signup"))
        while not call.done():
            await asyncio.sleep(0.01)
            ticks += 1
        await client.close()
        return ticks, call.exception()

    with odd_server(silent) as server:
        ticks, problem = asyncio.run(run(server.url))

    assert isinstance(problem, Unavailable)
    assert ticks > 3


def test_many_asyncio_calls_at_once_are_all_handled(gate):
    async def run():
        client = gate.async_client(timeout_s=10)
        results = await asyncio.gather(
            *(client.verify(token, expected_action="signup") for token in [gate.token() for _ in range(50)])
        )
        await client.close()
        return results

    results = asyncio.run(run())
    assert len({verified.request_id for verified in results}) == 50
