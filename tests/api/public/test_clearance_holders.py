"""A clearance belongs to one browser in one network, lifts no block, and shares one rate with its neighbors.

The clients here have read the source: they copy cookies, forge headers and earn clearances under any name.
"""

import pytest

from agentgate.browser_check.tokens.clearance import ClearanceHolder, Clearances
from agentgate.lib.enums import ClearanceLevel
from tests.support.browser_client import BrowserClient, get_token
from tests.support.gateway import CHROME, ORIGIN, Gate, said
from tests.support.service import RunningService

HERE, NEAR, FAR = "203.0.113.9", "203.0.113.250", "198.51.100.9"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
OTHER_CHROME = CHROME.replace("142", "141")
JA4, PYTHON_JA4 = "t13d1516h2_8daaf6152771_02713d6af862", "t13d1812h2_85036bcba153_b26ce05bbdd6"
ALLOWED = (204, "allow", "allowed")
WRONG_VISITOR = (401, "challenge", "invalid_clearance")


@pytest.fixture
def gate(shared_service: RunningService) -> Gate:
    return Gate(shared_service)


def forged_for(
    gate: Gate,
    user_agent: str,
    address: str = HERE,
    ja4: str | None = None,
    level: ClearanceLevel = ClearanceLevel.CHECKED,
) -> str:
    """Return a clearance that was earned under any name, whatever the check thinks of it."""
    application = gate.service.application
    issuer = application.settings.public_base_url.rstrip("/") or f"http://{application.settings.public_listen}"
    issued = Clearances(application.keyring, 1800, issuer=issuer).issue(
        site_key=gate.site_key,
        origin=ORIGIN,
        holder=ClearanceHolder(address, user_agent.encode(), ja4),
        level=level,
        now_ms=gate.service.clock.now_ms(),
    )
    return f"{issued.name}={issued.value}"


def show(gate: Gate, cookie: str, address: str = HERE, path: str = "/login", **headers: str) -> tuple[int, str, str]:
    sent = {"User_Agent": CHROME, **headers}
    return said(gate.check("POST", path, X_Original_Address=address, Cookie=cookie, **sent))


def test_a_visitor_who_roams_within_the_network_keeps_the_clearance(gate: Gate) -> None:
    cookie = forged_for(gate, CHROME)

    assert [show(gate, cookie, address) for address in (HERE, NEAR, HERE)] == [ALLOWED] * 3
    assert show(gate, cookie, FAR) == WRONG_VISITOR


@pytest.mark.parametrize("client", [FIREFOX, OTHER_CHROME, "", "Mozilla/5.0", f"{CHROME} "[:-2]])
def test_another_client_at_the_same_address_is_challenged(gate: Gate, client: str) -> None:
    cookie = forged_for(gate, CHROME)

    # Also after the clearance was cached with the address.
    assert show(gate, cookie) == ALLOWED
    assert show(gate, cookie, User_Agent=client) == WRONG_VISITOR
    assert show(gate, cookie) == ALLOWED


def test_the_check_gives_a_clearance_to_its_own_browser_only(gate: Gate) -> None:
    page = BrowserClient(gate.service, gate.site_key, address=HERE)
    clearance = page.verify(page.challenge().json()).json()["clearance"]
    cookie = f"{clearance['name']}={clearance['value']}"

    assert show(gate, cookie, NEAR, User_Agent=page.headers["User-Agent"]) == ALLOWED
    assert show(gate, cookie, NEAR, User_Agent=FIREFOX) == WRONG_VISITOR


def test_another_tls_library_is_challenged_where_the_proxy_knows_it(gate: Gate) -> None:
    cookie = forged_for(gate, CHROME, ja4=JA4)

    assert show(gate, cookie, X_JA4=JA4) == ALLOWED
    assert show(gate, cookie) == ALLOWED
    assert show(gate, cookie, X_JA4=PYTHON_JA4) == WRONG_VISITOR
    assert show(gate, cookie, X_JA4=JA4) == ALLOWED


@pytest.mark.parametrize("path", ["/", "/login"])
def test_a_persons_clearance_lifts_no_block(gate: Gate, path: str) -> None:
    cookie = forged_for(gate, CHROME)
    assert show(gate, cookie) == ALLOWED

    assert said(gate.check("GET", "/", X_Original_Address=HERE, Cookie=cookie, User_Agent="sqlmap/1.8"))[0] == 403


@pytest.mark.parametrize(
    "program",
    [
        "sqlmap/1.8",
        "python-requests/2.32.3",
        CHROME.replace("Chrome/", "HeadlessChrome/"),
        "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)",
    ],
)
def test_a_clearance_earned_under_a_programs_name_exempts_it_from_no_rule(gate: Gate, program: str) -> None:
    def ask(cookie: str) -> tuple[int, str, str]:
        return said(gate.check("GET", "/", X_Original_Address=HERE, Cookie=cookie, User_Agent=program))

    without = ask("session=1")

    assert without[1] in {"block", "challenge"}
    assert ask(forged_for(gate, program)) == without


def test_the_clearances_of_an_address_share_one_rate(gate: Gate) -> None:
    """A farm of cookies at one address gets the rate of one."""
    address = "203.0.114.7"
    names = [f"{CHROME[:-1]}{number}" for number in range(8)]
    cookies = [(forged_for(gate, name, address), name) for name in names]

    answers = []
    for number in range(620):
        cookie, name = cookies[number % len(cookies)]
        answers.append(
            said(gate.check("GET", f"/p{number}", X_Original_Address=address, Cookie=cookie, User_Agent=name))[1]
        )

    assert answers[:590] == ["allow"] * 590
    assert answers[600:] == ["block"] * 20


@pytest.mark.parametrize(
    ("level", "address", "blocked"),
    [(ClearanceLevel.CHECKED, "203.0.115.7", 0), (ClearanceLevel.LOW, "203.0.115.8", 21)],
)
def test_a_pool_of_clearances_raises_the_limit_by_what_its_checks_paid_for(
    gate: Gate, level: ClearanceLevel, address: str, blocked: int
) -> None:
    names = [f"{CHROME[:-1]}{number}" for number in range(70)]
    cookies = [(forged_for(gate, name, address, level=level), name) for name in names]

    answers = []
    for number in range(620):
        cookie, name = cookies[number % len(cookies)]
        answers.append(
            said(gate.check("GET", f"/p{number}", X_Original_Address=address, Cookie=cookie, User_Agent=name))[1]
        )

    assert answers == ["allow"] * (len(answers) - blocked) + ["block"] * blocked


def test_a_program_does_not_turn_a_browsers_token_into_a_clearance(gate: Gate) -> None:
    page = BrowserClient(gate.service, gate.site_key, address=HERE)
    token = get_token(gate.service, gate.site_key, "login", ORIGIN, address=HERE)

    def exchange(user_agent: str) -> tuple[int, str]:
        sent = {
            "X-AgentGate-Secret": gate.secret,
            "X-Original-Method": "POST",
            "X-Original-URL": f"{ORIGIN}/.agentgate/v1/gateway/pass",
            "X-Original-Address": HERE,
            "Origin": ORIGIN,
            "User-Agent": user_agent,
        }
        reply = gate.service.public.post("/v1/gateway/pass", json={"token": token}, headers=sent)
        return reply.status_code, reply.json().get("reason", "")

    assert exchange("python-requests/2.32.3") == (401, "visitor_mismatch")
    assert exchange(page.headers["User-Agent"])[0] == 200
