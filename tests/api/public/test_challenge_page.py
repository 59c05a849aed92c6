"""The challenge page over HTTP: who is shown what, with which status, and that nothing foreign gets into it."""

import html
import re

import httpx
import pytest

from tests.api.public.challenge_page import ORIGIN, SCRIPT, Visitor, cookie_of, facts_of
from tests.support.service import RunningService

DECISION = "dec_0123456789abc"
HOSTILE = "\"'><script>alert(1)</script><!--"


@pytest.fixture(scope="module")
def visitor(shared_service: RunningService) -> Visitor:
    return Visitor(shared_service)


def test_a_navigation_is_shown_the_page_with_the_status_of_the_decision(visitor: Visitor) -> None:
    reply = visitor.page(query=f"?reason=receipt_required&decisionId={DECISION}")

    assert reply.status_code == 401
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-robots-tag"] == "noindex"
    assert reply.headers["referrer-policy"] == "same-origin"
    assert DECISION in reply.text
    assert ">Shop</p>" in reply.text
    facts = facts_of(reply)
    assert (facts["action"], facts["return"], facts["stuck"]) == ("read", f"{ORIGIN}/members", False)


def test_the_policy_allows_only_what_carries_its_nonce(visitor: Visitor) -> None:
    reply, other = visitor.page(), visitor.page()
    policy = reply.headers["content-security-policy"]
    [nonce] = set(re.findall(r"'nonce-([^']+)'", policy))

    assert policy.startswith("default-src 'none'; base-uri 'none'; ")
    assert "unsafe" not in policy
    assert nonce not in other.text
    executed = re.findall(r"<script(?! type=\"application/json\")([^>]*)>", reply.text)
    assert len(executed) == 2
    assert all(f'nonce="{nonce}"' in attributes for attributes in executed)
    assert not re.search(r"(?:src|href|url)=[\"']?(?:https?:)?//(?!shop\.example)", reply.text)


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec_Fetch_Mode": "cors", "Sec_Fetch_Dest": "empty"},
        {"Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"},
        {"Sec_Fetch_Mode": None, "Sec_Fetch_Dest": None, "Sec_Fetch_Site": None, "Accept": "*/*"},
        {"Sec_Fetch_Mode": None, "Sec_Fetch_Dest": None, "X_Requested_With": "XMLHttpRequest"},
    ],
)
def test_what_is_no_navigation_never_gets_html(visitor: Visitor, headers: dict[str, str]) -> None:
    reply = visitor.page(query=f"?reason=expired_clearance&decisionId={DECISION}", **headers)

    assert reply.status_code == 401
    assert reply.json() == {"decision": "challenge", "reason": "expired_clearance"}
    assert reply.headers["x-service-decision-id"] == DECISION


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_scripts_request_of_any_method_gets_the_denial(visitor: Visitor, method: str) -> None:
    reply = visitor.call(method, "challenge?reason=invalid_token", path="/members", headers=SCRIPT, content=b"x=1")

    assert (reply.status_code, reply.json()["reason"]) == (401, "invalid_token")


def test_a_browser_without_fetch_metadata_is_shown_the_page(visitor: Visitor) -> None:
    reply = visitor.page(Sec_Fetch_Mode=None, Sec_Fetch_Dest=None, Sec_Fetch_Site=None)

    assert facts_of(reply)["action"] == "read"


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"X_AgentGate_Secret": "ags_" + "x" * 43}, "invalid_credential"),
        ({"X_AgentGate_Secret": None}, "invalid_credential"),
        ({"X_Original_URL": None}, "invalid_request"),
        ({"X_Original_URL": "https://a.example/, https://b.example/"}, "invalid_request"),
        ({"X_Original_Address": "nobody"}, "invalid_request"),
    ],
)
def test_without_a_sound_adapter_there_is_no_page(visitor: Visitor, headers: dict[str, str], reason: str) -> None:
    for reply in (visitor.page(**headers), visitor.script("pass", {"token": "x"}, **headers)):
        assert (reply.status_code, reply.json()) == (403, {"decision": "block", "reason": reason})


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("?reason=policy&decision=block", 403, "rules of this site"),
        ("?reason=agent_denied", 403, "rules of this site"),
        ("?reason=rate_limited", 403, "Too many requests"),
        ("?reason=service_unavailable", 503, "right now"),
        ("?reason=policy&decision=challenge", 401, "Security check"),
        ("?reason=policy", 401, "Security check"),
        ("?reason=allowed", 401, "Security check"),
        ("?reason=nonsense&decision=allow", 401, "Security check"),
        ("", 401, "Security check"),
    ],
)
def test_each_decision_is_shown_in_plain_words(visitor: Visitor, query: str, status: int, words: str) -> None:
    reply = visitor.page(query=query)

    assert reply.status_code == status
    assert words in reply.text


def test_a_rejection_runs_no_script(visitor: Visitor) -> None:
    reply = visitor.page(query="?reason=policy&decision=block&decisionId=" + DECISION)

    assert "<script" not in reply.text
    assert "script-src" not in reply.headers["content-security-policy"]
    assert DECISION in reply.text


def test_who_asks_too_often_is_shown_when_to_come_back(visitor: Visitor) -> None:
    assert visitor.page(query="?reason=rate_limited").headers["retry-after"] == "60"


def test_an_action_that_takes_a_token_each_time_is_explained(visitor: Visitor) -> None:
    reply = visitor.post_form(b"amount=1", path="/pay")

    assert reply.status_code == 401
    assert "must be sent from its own page" in reply.text
    assert "agentgate.fetch()" in reply.text
    assert facts_of(reply) == {}


def test_a_page_outside_the_routes_uses_an_action_that_gives_a_clearance(visitor: Visitor) -> None:
    assert facts_of(visitor.page("/anything", query="?reason=policy"))["action"] == "read"
    assert facts_of(visitor.page("/look", query="?reason=policy"))["action"] == "read"


def test_a_site_without_clearances_explains_instead_of_checking(shared_service: RunningService) -> None:
    plain = Visitor(shared_service, actions={"pay": {"browserRequired": True}}, routes=[])

    assert facts_of(plain.page("/", query="?reason=policy")) == {}


def test_who_has_a_clearance_already_is_not_sent_round_in_circles(visitor: Visitor) -> None:
    cookie = cookie_of(visitor.script("pass", {"token": visitor.token()}))

    reply = visitor.page("/anything", query="?reason=policy", Cookie=cookie)

    assert facts_of(reply) == {}
    assert "rules of this site" in reply.text


def test_every_language_is_spoken_in_its_direction(visitor: Visitor) -> None:
    arabic = visitor.page(Accept_Language="ar-EG,en;q=0.5")
    german = visitor.page(Accept_Language="de")

    assert '<html lang="ar" dir="rtl">' in arabic.text
    assert '<html lang="de" dir="ltr">' in german.text
    assert "Ihr Browser wird geprüft" in german.text


def test_nothing_foreign_becomes_markup(shared_service: RunningService) -> None:
    hostile = Visitor(shared_service, name=f"Shop {HOSTILE}")
    reply = hostile.page(
        f"/members?x={HOSTILE.replace(' ', '%20')}",
        query=f"?reason={HOSTILE}&decisionId={HOSTILE}&return={HOSTILE}&decision={HOSTILE}",
        Accept_Language=HOSTILE,
        Referer=f"{ORIGIN}/{HOSTILE}",
        User_Agent=HOSTILE,
    )

    assert reply.status_code == 401
    assert "alert(1)</script>" not in reply.text
    assert reply.text.count("<script") == 3
    assert html.escape(HOSTILE) in reply.text
    assert HOSTILE in facts_of(reply)["return"]


@pytest.mark.parametrize("asked", ["https://evil.example/", "//evil.example", "/%5cevil.example", "javascript:x"])
def test_the_page_leads_nowhere_else(visitor: Visitor, asked: str) -> None:
    reply = visitor.page("/.agentgate/v1/gateway/challenge", query=f"?return={asked}")

    assert facts_of(reply)["return"].startswith(f"{ORIGIN}/")
    assert "evil" not in facts_of(reply)["return"]


def test_a_hostile_host_is_rejected(visitor: Visitor) -> None:
    reply = visitor.page(X_Original_URL=f"https://shop.example{HOSTILE}/")

    assert (reply.status_code, reply.json()["reason"]) == (403, "invalid_request")


def test_the_page_in_a_frame_knows_it(visitor: Visitor) -> None:
    inside = visitor.page(Sec_Fetch_Dest="iframe", Sec_Fetch_Site="same-origin")
    across = visitor.page(Sec_Fetch_Dest="iframe", Sec_Fetch_Site="cross-site")

    assert [facts_of(reply)["framed"] for reply in (visitor.page(), inside, across)] == ["", "same", "cross"]


OWN = "/.agentgate/v1/gateway/challenge?seen=1"


def _seen(visitor: Visitor, path: str = OWN, **headers: str) -> httpx.Response:
    return visitor.call("GET", "challenge?seen=1", path=path, headers={**SCRIPT, **headers})


def test_a_client_is_shown_how_the_adapter_described_it(visitor: Visitor) -> None:
    told = _seen(visitor)
    elsewhere = _seen(visitor, **{"X-Original-Address": "10.0.0.7"})

    assert told.status_code == 200
    assert told.headers["cache-control"] == "no-store"
    assert {"origin": ORIGIN, "network": "public"}.items() <= told.json().items()
    assert told.json()["timeMs"] == visitor.service.clock.now_ms()
    assert told.json()["visitor"] == _seen(visitor).json()["visitor"] != elsewhere.json()["visitor"]
    assert elsewhere.json()["network"] == "private"
    assert visitor.address not in told.text


def test_a_client_is_shown_the_site_of_the_secret_and_whether_cookies_arrive(visitor: Visitor) -> None:
    told = _seen(visitor)
    elsewhere = _seen(visitor, **{"X-Original-URL": f"https://other.example{OWN}"})
    cookie, *attributes = told.headers["set-cookie"].split("; ")

    assert {"siteKey": visitor.site_key, "listsOrigin": True, "hasCookie": False}.items() <= told.json().items()
    assert elsewhere.json()["listsOrigin"] is False
    assert _seen(visitor, Cookie=cookie).json()["hasCookie"] is True
    assert {"Path=/.agentgate/", "HttpOnly", "Max-Age=60"} <= set(attributes)


def test_how_it_was_described_is_reported_under_the_sites_own_path_and_to_no_stranger(visitor: Visitor) -> None:
    assert _seen(visitor, path="/members?seen=1").status_code == 401
    assert visitor.page(path=OWN, query="?seen=1").headers["content-type"].startswith("text/html")
    assert _seen(visitor, **{"X-AgentGate-Secret": "ags_" + "x" * 43}).json()["reason"] == "invalid_credential"
