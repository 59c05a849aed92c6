"""Results of the challenge page: a token becomes a clearance, a capsule a form, and a wait a ticket."""

from typing import Any

import pytest

from agentgate.gateway.challenge_page.challenge_pass import MOST_PASSES
from agentgate.lib.clock import MINUTE_MS, SECOND_MS
from agentgate.lib.ids import write_visitor
from tests.api.public.challenge_page import NAVIGATION, ORIGIN, SCRIPT, Visitor, cookie_of, facts_of
from tests.support.service import RunningService
from tests.support.tokens import mint


@pytest.fixture(scope="module")
def visitor(shared_service: RunningService) -> Visitor:
    return Visitor(shared_service)


@pytest.fixture(scope="module")
def patient(shared_service: RunningService) -> Visitor:
    """A visitor of a site that lets wait who has no JavaScript."""
    return Visitor(shared_service, clearanceWithoutScript=True)


def test_a_token_becomes_a_clearance_that_opens_the_route(visitor: Visitor) -> None:
    assert visitor.check() == (401, "receipt_required")

    reply = visitor.script("pass", {"token": visitor.token(), "return": "/members?a=b"})

    assert reply.json() == {"return": f"{ORIGIN}/members?a=b"}
    parts = reply.headers["set-cookie"].split("; ")
    assert parts[1:] == ["Path=/", "HttpOnly", "SameSite=Lax", "Max-Age=1800", "Secure"]
    assert visitor.check(Cookie=cookie_of(reply)) == (204, "allowed")


def test_a_token_is_redeemed(visitor: Visitor) -> None:
    token = visitor.token()

    assert visitor.script("pass", {"token": token}).status_code == 200
    reply = visitor.script("pass", {"token": token})
    assert (reply.status_code, reply.json()["reason"]) == (401, "token_used")
    assert "set-cookie" not in reply.headers


def test_what_is_not_a_token_for_this_gives_no_clearance(visitor: Visitor, shared_service: RunningService) -> None:
    other = Visitor(shared_service)
    refused = {
        "invalid_token": ("x.y.z", other.token(), visitor.token(address="198.51.100.77")),
        "action_mismatch": (visitor.token("pay"), visitor.token("look")),
    }

    for reason, tokens in refused.items():
        for token in tokens:
            reply = visitor.script("pass", {"token": token})
            assert (reply.status_code, reply.json()["reason"]) == (401, reason)
            assert "set-cookie" not in reply.headers


def test_a_token_that_names_the_visitor_and_another_site_gives_no_clearance(
    visitor: Visitor, shared_service: RunningService
) -> None:
    application = shared_service.application
    number = application.refresher.decider.visitors.find(visitor.site_key, visitor.address)
    made = {"now_ms": application.clock.now_ms(), "action": "read", "subject": write_visitor(number)}
    tokens = [mint(application.signing_keys, key, **made) for key in ("site_of_another", visitor.site_key)]

    assert [visitor.script("pass", {"token": token}).status_code for token in tokens] == [401, 200]


def test_an_expired_token_gives_no_clearance(visitor: Visitor) -> None:
    token = visitor.token()
    visitor.service.clock.advance(ms=3 * MINUTE_MS)

    assert visitor.script("pass", {"token": token}).json()["reason"] == "expired_token"


def test_a_token_of_the_future_gives_no_clearance(visitor: Visitor) -> None:
    token = visitor.token()
    visitor.service.clock.advance(seconds=-10)
    try:
        reply = visitor.script("pass", {"token": token})
    finally:
        visitor.service.clock.advance(seconds=10)

    assert (reply.status_code, reply.json()["reason"]) == (401, "invalid_token")


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example", "http://shop.example"])
@pytest.mark.parametrize("route", ["pass", "replay"])
def test_other_origins_bring_nothing_back(visitor: Visitor, route: str, origin: str | None) -> None:
    reply = visitor.script(route, {"token": "x", "capsule": "x"}, Origin=origin)

    assert (reply.status_code, reply.json()["reason"]) == (403, "invalid_request")


@pytest.mark.parametrize("route", ["pass", "replay"])
@pytest.mark.parametrize("body", [None, [], "x", {}, {"token": 1}, {"capsule": 1}, {"token": "x", "more": 1}])
def test_a_body_that_makes_no_sense_is_rejected(visitor: Visitor, route: str, body: object) -> None:
    reply = visitor.script(route, body)

    assert (reply.status_code, reply.json()["reason"]) == (403, "invalid_request")


@pytest.mark.parametrize("route", ["pass", "replay"])
@pytest.mark.parametrize("body", [b'{"x":' * 3_000, b'{"token":"\xff"}'], ids=["deep", "not UTF-8"])
def test_a_body_that_cannot_be_read_is_rejected(visitor: Visitor, route: str, body: bytes) -> None:
    path = f"/.agentgate/v1/gateway/{route}"
    headers: dict[str, Any] = {**SCRIPT, "Content-Type": "application/json"}

    reply = visitor.call("POST", route, path=path, headers=headers, content=body)

    assert (reply.status_code, reply.json()["reason"]) == (403, "invalid_request")


@pytest.mark.parametrize("asked", ["https://evil.example/", "//evil.example/", "/.agentgate/x", "javascript:x", ""])
def test_a_pass_leads_nowhere_else(visitor: Visitor, asked: str) -> None:
    assert visitor.script("pass", {"token": visitor.token(), "return": asked}).json() == {"return": f"{ORIGIN}/"}


@pytest.mark.parametrize(("framed", "said"), [("same", "SameSite=Lax"), ("cross", "SameSite=None")])
def test_the_cookie_of_a_frame_is_partitioned(visitor: Visitor, framed: str, said: str) -> None:
    parts = visitor.script("pass", {"token": visitor.token(), "framed": framed}).headers["set-cookie"].split("; ")

    assert {said, "Secure", "HttpOnly", "Partitioned"} <= set(parts)


def test_a_clearance_is_useless_to_another_visitor(visitor: Visitor) -> None:
    cookie = cookie_of(visitor.script("pass", {"token": visitor.token()}))

    assert visitor.check(Cookie=cookie, X_Original_Address="198.51.100.9") == (401, "invalid_clearance")


def test_a_bad_clearance_before_a_good_one_does_no_harm(visitor: Visitor) -> None:
    good = cookie_of(visitor.script("pass", {"token": visitor.token()}))
    name = good.partition("=")[0]

    assert visitor.check(Cookie=f"{name}=agc2.planted; {good}") == (204, "allowed")
    assert visitor.check(Cookie=f"{good}; {name}=agc2.planted") == (204, "allowed")


def test_the_page_asked_for_again_at_once_explains_and_does_not_run_again(visitor: Visitor) -> None:
    body = {"token": visitor.token(), "return": "/members?again"}
    assert visitor.script("pass", body).status_code == 200
    again = {"path": "/members?again", "Sec_Fetch_Site": "same-origin"}

    assert facts_of(visitor.page(**again))["stuck"] is True
    assert facts_of(visitor.page("/members?other", Sec_Fetch_Site="same-origin"))["stuck"] is False
    # Another visitor behind the same address: they come from another site or use another browser.
    assert facts_of(visitor.page("/members?again", Sec_Fetch_Site="cross-site"))["stuck"] is False
    assert facts_of(visitor.page(**again, User_Agent="Mozilla/5.0 Firefox/140.0"))["stuck"] is False


def test_a_form_is_given_back_once(visitor: Visitor) -> None:
    page = visitor.post_form(b"a=1&b=%C3%A9&a=2", path="/members?x=1")
    capsule = facts_of(page)["capsule"]
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
    assert "%C3%A9" not in page.text

    reply = visitor.script("replay", {"capsule": capsule})

    assert reply.json() == {
        "url": f"{ORIGIN}/members?x=1",
        "enctype": "application/x-www-form-urlencoded",
        "fields": [["a", "1"], ["b", "é"], ["a", "2"]],
    }
    assert visitor.script("replay", {"capsule": capsule}).status_code == 403


def test_a_form_is_given_to_its_sender_only(visitor: Visitor, shared_service: RunningService) -> None:
    capsule = facts_of(visitor.post_form(b"a=1"))["capsule"]
    www = "https://www.shop.example"

    assert visitor.script("replay", {"capsule": capsule}, X_Original_Address="198.51.100.9").status_code == 403
    elsewhere = {"Origin": www, "X_Original_URL": f"{www}/.agentgate/v1/gateway/replay"}
    assert visitor.script("replay", {"capsule": capsule}, **elsewhere).status_code == 403
    assert Visitor(shared_service).script("replay", {"capsule": capsule}).status_code == 403
    assert visitor.script("replay", {"capsule": capsule}).status_code == 200


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example"])
def test_a_form_of_another_site_is_never_repeated(visitor: Visitor, origin: str | None) -> None:
    facts = facts_of(visitor.post_form(b"a=1", Origin=origin, Sec_Fetch_Site="cross-site"))

    assert (facts["capsule"], facts["resend"]) == (None, True)


def test_a_form_that_is_too_large_has_to_be_sent_again(visitor: Visitor) -> None:
    fits = facts_of(visitor.post_form(b"a=" + b"x" * (64 * 1024 - 2)))
    too_large = visitor.post_form(b"a=" + b"x" * (64 * 1024 - 1))

    assert fits["capsule"] is not None
    assert visitor.script("replay", {"capsule": fits["capsule"]}).status_code == 200
    assert too_large.status_code == 401
    assert (facts_of(too_large)["capsule"], facts_of(too_large)["resend"]) == (None, True)
    assert "could not be kept" in too_large.text


def test_without_the_setting_no_one_gets_on_by_waiting(visitor: Visitor) -> None:
    page = visitor.page("/look", query="?reason=policy")

    assert 'http-equiv="refresh"' not in page.text
    assert 'name="ticket"' not in page.text
    assert "set-cookie" not in page.headers


def ticket_of(patient: Visitor, path: str = "/look") -> tuple[str, str]:
    """Return the ticket of the page, and its cookie."""
    page = patient.page(path, query="?reason=policy")
    ticket = page.text.partition('name="ticket" value="')[2].partition('"')[0]
    assert (f"pass?ticket={ticket}" in page.text) is bool(ticket)
    return ticket, cookie_of(page) if ticket else ""


def wait(patient: Visitor, ticket: tuple[str, str], **headers: str):
    text, cookie = ticket
    path = f"/.agentgate/v1/gateway/pass?ticket={text}"
    sent = {"Accept": "text/html", "User-Agent": NAVIGATION["User-Agent"], "Cookie": cookie, **headers}
    return patient.call("GET", f"pass?ticket={text}", path=path, headers=sent)


def test_who_waits_without_javascript_gets_a_low_clearance_once(patient: Visitor) -> None:
    ticket = ticket_of(patient, "/look?q=1")
    assert wait(patient, ticket).status_code == 401

    patient.service.clock.advance(ms=8 * SECOND_MS)
    reply = wait(patient, ticket)

    assert (reply.status_code, reply.headers["location"]) == (303, f"{ORIGIN}/look?q=1")
    assert "HttpOnly" in reply.headers["set-cookie"]
    # It is good for the rules, and not for a route that needs a browser, nor for one that takes a token each time.
    cookie = cookie_of(reply)
    assert patient.check(path="/members", Cookie=cookie) == (401, "receipt_required")
    assert patient.check("POST", path="/pay", Cookie=cookie) == (401, "receipt_required")
    again = wait(patient, ticket)
    assert again.status_code == 401
    assert facts_of(again)["stuck"] is True
    assert "Allow cookies" in again.text


def test_the_cookie_of_a_ticket_stays_below_our_own_paths(patient: Visitor) -> None:
    cookie = patient.page("/look", query="?reason=policy").headers["set-cookie"]

    assert cookie.startswith("agentgate-wait=")
    assert {"Path=/.agentgate/", "HttpOnly", "SameSite=Lax", "Secure"} <= set(cookie.split("; "))


def test_a_ticket_without_its_cookie_is_good_for_nothing(patient: Visitor) -> None:
    ticket, other = ticket_of(patient), ticket_of(patient)
    patient.service.clock.advance(ms=9 * SECOND_MS)

    for cookie in (None, "agentgate-wait=", other[1]):
        reply = wait(patient, ticket, Cookie=cookie)
        assert (reply.status_code, "set-cookie" in reply.headers) == (401, False)
    assert wait(patient, ticket).status_code == 303


def test_a_ticket_is_its_visitors_alone_and_not_good_forever(patient: Visitor) -> None:
    ticket, late = ticket_of(patient), ticket_of(patient)
    patient.service.clock.advance(ms=9 * SECOND_MS)

    assert wait(patient, ticket, **{"X-Original-Address": "198.51.100.9"}).status_code == 401
    assert wait(patient, ("", ticket[1])).status_code == 401
    assert wait(patient, ticket).status_code == 303
    patient.service.clock.advance(ms=6 * MINUTE_MS)
    assert wait(patient, late).status_code == 401


def test_an_address_gets_only_so_many_clearances_by_waiting(shared_service: RunningService) -> None:
    crowd = Visitor(shared_service, clearanceWithoutScript=True)
    tickets = [ticket_of(crowd, f"/look?{number}") for number in range(MOST_PASSES + 1)]
    crowd.service.clock.advance(ms=9 * SECOND_MS)

    statuses = [wait(crowd, ticket).status_code for ticket in tickets[:-1]]
    refused = wait(crowd, tickets[-1])

    assert statuses == [303] * MOST_PASSES
    assert (refused.status_code, refused.headers["retry-after"]) == (403, "60")
    assert "Too many requests" in refused.text
    assert "set-cookie" not in refused.headers


def test_waiting_is_not_offered_where_it_does_not_help(patient: Visitor) -> None:
    patient.service.clock.advance(ms=MINUTE_MS)
    assert ticket_of(patient, "/members") == ("", "")
    ticket = ticket_of(patient)
    patient.service.clock.advance(ms=9 * SECOND_MS)
    cookie = cookie_of(wait(patient, ticket))
    assert 'name="ticket"' not in patient.page("/look?2", query="?reason=policy", Cookie=cookie).text


def test_who_waited_with_a_form_is_led_back_to_it(patient: Visitor) -> None:
    page = patient.post_form(b"a=1", path="/look?form", Referer=f"{ORIGIN}/write")
    ticket = page.text.partition('name="ticket" value="')[2].partition('"')[0]
    assert "Send the form again" in page.text.partition('id="plain"')[2]
    patient.service.clock.advance(ms=9 * SECOND_MS)

    assert wait(patient, (ticket, cookie_of(page))).headers["location"] == f"{ORIGIN}/write"


def test_a_program_that_waited_in_vain_gets_no_html(patient: Visitor) -> None:
    reply = wait(patient, ("x", ""), **{"Accept": "*/*", "User-Agent": "curl/8.5.0"})

    assert (reply.status_code, reply.json()["reason"]) == (401, "invalid_clearance")
