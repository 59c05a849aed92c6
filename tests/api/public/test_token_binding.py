"""Only the visitor who earned a token redeems it: by address, browser and clearance, at siteverify by address."""

import base64
import json

import pytest

from agentgate.events.recorder import Recorder
from agentgate.events.records import CounterName
from tests.support.browser_client import CHROME, ORIGIN, BrowserClient, get_token
from tests.support.gateway import Gate, said

PASSED = (204, "allow", "allowed")
REFUSED = (401, "challenge", "visitor_mismatch")
HERE, NEAR, FAR = "203.0.113.9", "203.0.113.250", "198.51.100.9"
HERE_V6, NEAR_V6, FAR_V6 = "2001:db8:7:1::1", "2001:db8:7:ffff::2", "2001:db8:8:1::1"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
OTHER_CHROME = CHROME.replace("142", "141")


def spend(gate: Gate, earned: str, spent: str, **headers: str):
    token = get_token(gate.service, gate.site_key, "login", ORIGIN, address=earned)
    sent = {"User_Agent": CHROME, **headers}
    return said(gate.check("POST", "/login", X_Original_Address=spent, X_AgentGate_Token=token, **sent))


def bind(gate: Gate, how: str) -> None:
    changed = gate.service.operator.patch(f"/v1/admin/sites/{gate.site_key}", json={"tokenBinding": how})
    assert changed.status_code == 200, changed.text


@pytest.mark.parametrize(("earned", "spent"), [(HERE, HERE), (HERE, NEAR), (HERE_V6, NEAR_V6)])
def test_the_same_network_redeems_a_token(gate: Gate, earned: str, spent: str) -> None:
    assert spend(gate, earned, spent) == PASSED


@pytest.mark.parametrize(("earned", "spent"), [(HERE, FAR), (HERE, "203.0.114.9"), (HERE_V6, FAR_V6)])
def test_another_network_does_not(gate: Gate, earned: str, spent: str) -> None:
    assert spend(gate, earned, spent) == REFUSED


@pytest.mark.parametrize("program", ["curl/8.11.0", FIREFOX, "python-requests/2.32.3", ""])
def test_a_program_or_another_browser_does_not_spend_it_from_the_same_address(gate: Gate, program: str) -> None:
    assert spend(gate, HERE, HERE, User_Agent=program)[2] == "visitor_mismatch"


def test_a_browser_that_was_updated_meanwhile_spends_it(gate: Gate) -> None:
    assert spend(gate, HERE, HERE, User_Agent=OTHER_CHROME) == PASSED


@pytest.mark.parametrize(
    ("earned", "spent"), [(HERE, HERE_V6), (HERE_V6, HERE), (HERE, "10.0.0.7"), ("10.0.0.7", HERE)]
)
def test_networks_that_cannot_be_compared_need_the_same_user_agent(gate: Gate, earned: str, spent: str) -> None:
    assert spend(gate, earned, spent) == PASSED
    assert spend(gate, earned, spent, User_Agent=OTHER_CHROME) == REFUSED
    bind(gate, "strict")
    assert spend(gate, earned, spent) == REFUSED


def test_who_roams_spends_it_with_the_clearance_that_came_with_it(gate: Gate) -> None:
    page = BrowserClient(gate.service, gate.site_key, address=HERE)
    other = BrowserClient(gate.service, gate.site_key, address=HERE)
    passed, others = (each.verify(each.challenge().json()).json() for each in (page, other))
    mine, foreign = (f"{each['clearance']['name']}={each['clearance']['value']}" for each in (passed, others))

    def show(cookie: str, user_agent: str = CHROME):
        sent = {"X_AgentGate_Token": passed["token"], "Cookie": cookie, "User_Agent": user_agent}
        return said(gate.check("POST", "/login", X_Original_Address=FAR, **sent))

    assert show("a=b") == REFUSED
    assert show(foreign) == REFUSED
    assert show(mine[:-2]) == REFUSED
    assert show(mine, FIREFOX) == REFUSED
    assert show(f"a=b; {foreign}; {mine}") == PASSED


def test_a_rejected_token_is_not_spent_and_the_decision_shows_why(gate: Gate) -> None:
    token = get_token(gate.service, gate.site_key, "login", ORIGIN, address=HERE)

    refused = gate.check("POST", "/login", X_Original_Address=FAR, X_AgentGate_Token=token, User_Agent=CHROME)
    assert said(refused) == REFUSED
    taken = gate.check("POST", "/login", X_Original_Address=HERE, X_AgentGate_Token=token, User_Agent=CHROME)
    assert said(taken) == PASSED


def test_a_site_can_let_anyone_redeem_its_tokens(gate: Gate) -> None:
    bind(gate, "none")

    assert spend(gate, HERE, FAR, User_Agent="curl/8.11.0") == PASSED
    detail = gate.service.operator.get(f"/v1/admin/sites/{gate.site_key}").json()
    assert detail["tokenBinding"] == "none"
    assert detail["changes"][0]["detail"] == {"tokenBinding": {"from": "network", "to": "none"}}
    wrong = gate.service.operator.patch(f"/v1/admin/sites/{gate.site_key}", json={"tokenBinding": "address"})
    assert (wrong.status_code, wrong.json()["error"]) == (400, "invalid_site")


def test_siteverify_rejects_another_network_under_strict_binding_only(gate: Gate) -> None:
    def redeem(earned: str, **fields: str) -> tuple[int, str | None]:
        token = get_token(gate.service, gate.site_key, "login", ORIGIN, address=earned)
        body = {"token": token, "expectedAction": "login", "secret": gate.secret, **fields}
        answer = gate.service.public.post("/v1/siteverify", json=body)
        return answer.status_code, answer.json().get("error")

    assert redeem(HERE) == redeem(HERE, remoteAddress=NEAR) == (200, None)
    # A server behind a CDN sends the CDN's address of every visitor.
    assert redeem(HERE, remoteAddress=FAR) == redeem(HERE_V6, remoteAddress=FAR_V6) == (200, None)
    assert redeem(HERE, remoteAddress="10.1.2.3") == redeem(HERE, remoteAddress=HERE_V6) == (200, None)
    assert redeem(HERE, remoteAddress=f"::ffff:{NEAR}") == (200, None)
    assert redeem(HERE, remoteAddress="unknown") == (400, "invalid_request")
    bind(gate, "strict")
    assert redeem(HERE, remoteAddress=NEAR) == (200, None)
    for far in (FAR, HERE_V6, "10.1.2.3"):
        assert redeem(HERE, remoteAddress=far) == (422, "invalid_token")
    bind(gate, "none")
    assert redeem(HERE, remoteAddress=FAR) == (200, None)


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        (NEAR, [CounterName.ADDRESS_SAME]),
        (FAR, [CounterName.ADDRESS_OTHER]),
        # That of a proxy in the server's own network.
        ("10.1.2.3", [CounterName.ADDRESS_OTHER]),
        ("::1", [CounterName.ADDRESS_OTHER]),
        (HERE_V6, []),
    ],
)
def test_siteverify_counts_addresses_that_are_not_the_visitors(
    gate: Gate, told: str, counted: list[CounterName], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, count = [], Recorder.count
    monkeypatch.setattr(
        Recorder,
        "count",
        lambda own, site, name, *args, **named: (found.append(name), count(own, site, name, *args, **named)),
    )
    token = get_token(gate.service, gate.site_key, "login", ORIGIN, address=HERE)
    body = {"token": token, "expectedAction": "login", "secret": gate.secret, "remoteAddress": told}

    assert gate.service.public.post("/v1/siteverify", json=body).status_code == 200
    assert [name for name in found if name.startswith("address_")] == counted


@pytest.mark.parametrize("path", ["/turnstile/v0/siteverify", "/recaptcha/api/siteverify", "/siteverify"])
def test_the_routes_for_other_services_reject_it_under_strict_binding_only(gate: Gate, path: str) -> None:
    def redeem(remoteip: str):
        token = get_token(gate.service, gate.site_key, "login", ORIGIN, address=HERE)
        form = {"secret": gate.secret, "response": token, "remoteip": remoteip}
        return gate.service.public.post(path, data=form).json()

    assert redeem(FAR)["success"] is True
    bind(gate, "strict")
    assert redeem(FAR)["error-codes"] == ["invalid-input-response"]
    assert [redeem(told)["success"] for told in (NEAR, f" {NEAR} ", "unknown", "")] == [True] * 4


def test_a_token_tells_no_one_where_it_was_earned(gate: Gate) -> None:
    first, second = (get_token(gate.service, gate.site_key, "login", ORIGIN, address=HERE) for _ in range(2))

    def binding(token: str) -> str:
        claims = token.split(".")[1]
        return str(json.loads(base64.urlsafe_b64decode(claims + "=="))["binding"])

    kind, network, engine, agent, clearance, verdict = binding(first).split(".")
    assert (kind, engine, len(network), len(agent), len(clearance)) == ("4", "chromium", 22, 22, 16)
    # Nothing by which two tokens of one visitor are known as such.
    assert not {network, agent, clearance, verdict} & set(binding(second).split("."))
