"""The browser check below `/.agentgate/`: only a site's adapter can name the addresses of its visitors."""

import pytest

from tests.api.public.challenge_page import SCRIPT, Visitor
from tests.support.browser_client import BrowserClient, decision_of
from tests.support.service import RunningService


@pytest.fixture(scope="module")
def visitor(shared_service: RunningService) -> Visitor:
    return Visitor(shared_service)


def token_through(visitor: Visitor, adapter: dict[str, str], *, forwarded: str = "198.51.100.1") -> str:
    """Pass the check through an adapter; the connection itself has another address."""
    browser = BrowserClient(visitor.service, visitor.site_key, action="read", address=forwarded)
    challenge = browser.post("challenge", {"schema": 1, "siteKey": visitor.site_key, "action": "read"}, **adapter)
    assert challenge.status_code == 200, challenge.text
    program = browser.instrument(challenge.json()["challengeId"], **{**SCRIPT, **adapter})
    assert program.status_code == 200, program.text
    verified = browser.post("verify", browser.solution(challenge.json()), **adapter)
    assert verified.status_code == 200, verified.text
    return str(verified.json()["token"])


def test_the_adapter_shows_whose_check_it_is(visitor: Visitor) -> None:
    token = token_through(visitor, visitor.adapter("POST", "/.agentgate/v1/browser/verify"))

    assert visitor.script("pass", {"token": token}).status_code == 200


def test_a_secret_as_a_bearer_will_do(visitor: Visitor) -> None:
    adapter = visitor.adapter("POST", "/.agentgate/v1/browser/verify")
    adapter["Authorization"] = f"Bearer {adapter.pop('X-AgentGate-Secret')}"

    assert visitor.script("pass", {"token": token_through(visitor, adapter)}).status_code == 200


def test_no_one_else_shows_who_comes(visitor: Visitor, shared_service: RunningService) -> None:
    usual = visitor.adapter("POST", "/.agentgate/v1/browser/verify")
    wrong = [
        {**usual, "X-AgentGate-Secret": "ags_" + "x" * 43},
        {**usual, "X-AgentGate-Secret": Visitor(shared_service).secret},
        {**usual, "X-Original-Address": "nobody"},
        {name: value for name, value in usual.items() if name != "X-AgentGate-Secret"},
    ]

    for adapter in wrong:
        reply = visitor.script("pass", {"token": token_through(visitor, adapter)})
        assert (reply.status_code, reply.json()["reason"]) == (401, "invalid_token")


# A handshake of OpenSSL as curl makes it.
CURL = "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6"


def test_the_handshake_counts_where_the_adapter_passes_it_on_and_from_no_one_else(visitor: Visitor) -> None:
    adapter = visitor.adapter("POST", "/.agentgate/v1/browser/verify")

    def labels(headers: dict[str, str]) -> set[str]:
        browser = BrowserClient(visitor.service, visitor.site_key, action="read", address="198.51.100.9")
        body = {"schema": 1, "siteKey": visitor.site_key, "action": "read"}
        challenge = browser.post("challenge", body, **headers).json()
        verified = browser.post("verify", browser.solution(challenge), **headers).json()
        if "decisionId" not in verified:
            return {"asked"}
        return set(decision_of(visitor.service, visitor.site_key, verified["decisionId"])["labels"])

    assert "http.tls_mismatch" not in labels({"X-JA4": CURL})
    assert labels({**adapter, "X-JA4": CURL}) & {"http.tls_mismatch", "asked"}
