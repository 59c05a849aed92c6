"""Tokens and clearances of monitor mode after the switch to enforce mode: a person's still count, a bot's do not."""

import pytest

from tests.support.browser_client import DRIVEN, BrowserClient
from tests.support.gateway import Gate, said
from tests.support.service import RunningService

HERE = "203.0.115.9"


@pytest.fixture
def gate(shared_service: RunningService) -> Gate:
    return Gate(shared_service, mode="monitor", address=HERE)


def pass_check(gate: Gate, **fields: object) -> dict[str, str]:
    """Return token, cookie and User-Agent of a browser that monitor mode let pass."""
    page = BrowserClient(gate.service, gate.site_key, address=HERE)
    passed = page.verify(page.challenge().json(), **fields).json()
    cookie = f"{passed['clearance']['name']}={passed['clearance']['value']}"
    return {"token": passed["token"], "cookie": cookie, "user_agent": page.headers["User-Agent"]}


def enforce(gate: Gate) -> None:
    changed = gate.service.operator.patch(f"/v1/admin/sites/{gate.site_key}", json={"mode": "enforce"})
    assert changed.status_code == 200, changed.text


def redeem(gate: Gate, token: str) -> tuple[int, str | None]:
    body = {"token": token, "expectedAction": "login", "secret": gate.secret}
    reply = gate.service.public.post("/v1/siteverify", json=body)
    return reply.status_code, reply.json().get("error")


def show(gate: Gate, proof: dict[str, str], **headers: str) -> tuple[int, str, str]:
    return said(gate.check("POST", "/login", User_Agent=proof["user_agent"], **headers))


def test_a_person_s_proofs_outlive_the_switch_and_a_bot_s_do_not(gate: Gate) -> None:
    person, other = pass_check(gate), pass_check(gate)
    bot, again, cleared = (pass_check(gate, signals=DRIVEN) for _ in range(3))
    assert redeem(gate, cleared["token"]) == (200, None)

    enforce(gate)

    assert redeem(gate, person["token"]) == (200, None)
    assert show(gate, other, X_AgentGate_Token=other["token"])[0] == 204
    assert show(gate, person, Cookie=person["cookie"])[0] == 204
    assert redeem(gate, bot["token"]) == (422, "invalid_token")
    assert show(gate, again, X_AgentGate_Token=again["token"])[2] == "invalid_token"
    assert show(gate, bot, Cookie=bot["cookie"]) == (401, "challenge", "invalid_clearance")


def test_a_bot_learns_nothing_from_its_token_or_cookie(gate: Gate) -> None:
    person, bot = pass_check(gate), pass_check(gate, signals=DRIVEN)

    assert len(person["token"]) == len(bot["token"])
    assert len(person["cookie"]) == len(bot["cookie"])


def test_the_pass_route_makes_no_valid_clearance_of_such_a_token(gate: Gate) -> None:
    bot = pass_check(gate, signals=DRIVEN)
    sent = {
        "X-AgentGate-Secret": gate.secret,
        "X-Original-Method": "POST",
        "X-Original-URL": "https://shop.example/.agentgate/v1/gateway/pass",
        "X-Original-Address": HERE,
        "Origin": "https://shop.example",
        "User-Agent": bot["user_agent"],
    }
    reply = gate.service.public.post("/v1/gateway/pass", json={"token": bot["token"]}, headers=sent)
    assert reply.status_code == 200
    cookie = reply.headers["set-cookie"].partition(";")[0]

    enforce(gate)

    assert show(gate, bot, Cookie=cookie) == (401, "challenge", "invalid_clearance")
