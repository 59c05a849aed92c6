"""Appeals from the visitor to the owner and back: who can file one, stored data, and the effect of a resolution."""

import html
import re
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest

from agentgate.gateway.appeals import endpoints, filing
from agentgate.gateway.appeals.filing import PER_VISITOR, SAME_MOST, clean, delete_appeals
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.limits import APPEAL_CHARACTERS, APPEAL_KEPT_DAYS
from tests.api.public.challenge_page import NAVIGATION, ORIGIN, Visitor
from tests.support.browser_client import decision_of, new_address
from tests.support.cast import Cast, cast
from tests.support.service import RunningService

HERE = "/.agentgate/v1/gateway/appeal"
HOSTILE = "\"'><script>alert(1)</script>\u202e<!--"
RULES = {"version": "1", "rules": [{"name": "all", "match": {}, "action": "block"}], "default_action": "allow"}


class Refused(Visitor):
    """A visitor whom a site's rules block."""

    def __init__(self, service: RunningService, **fields: Any) -> None:
        super().__init__(service, **fields)
        reply = service.operator.put(self.path("rules"), json={"ruleSet": RULES})
        assert reply.status_code == 200, reply.text

    def path(self, rest: str) -> str:
        """Return the operators' path of something of the site."""
        return f"/v1/admin/sites/{self.site_key}/{rest}"

    def refused(self, path: str = "/look") -> tuple[str, httpx.Response]:
        """Ask for a page; return the decision's ID and the page that is shown instead."""
        reply = self.call("GET", "check", path=path, headers=NAVIGATION)
        assert reply.status_code == 403, reply.text
        decision = reply.headers["x-service-decision-id"]
        decision_of(self.service, self.site_key, decision)
        shown = self.page(path, f"?reason=policy&decision=block&decisionId={decision}")
        return decision, shown

    def file(self, fields: dict[str, str], **headers: Any) -> httpx.Response:
        """Send the form."""
        sent = {
            **NAVIGATION,
            "Origin": ORIGIN,
            "Content-Type": "application/x-www-form-urlencoded",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return self.call("POST", "appeal", path=HERE, headers=sent, content=urlencode(fields).encode())

    def appeal(self, text: str = "I only want to pay.", **more: str) -> httpx.Response:
        """Get blocked, wait as long as a person takes to write, and send the form."""
        _, shown = self.refused()
        self.service.clock.advance(seconds=3)
        return self.file({"ticket": ticket_of(shown), "text": text, **more})

    def look(self, location: str) -> httpx.Response:
        """Open the link."""
        return self.call("GET", location.removeprefix("/.agentgate/v1/gateway/"), path=location, headers=NAVIGATION)

    def queue(self, state: str = "waiting") -> list[dict[str, Any]]:
        """Return the appeals in a state."""
        items: list[dict[str, Any]] = self.service.operator.get(self.path("appeals"), params={"state": state}).json()[
            "items"
        ]
        return items


def ticket_of(shown: httpx.Response) -> str:
    found = re.search(r'name="ticket" value="([^"]+)"', shown.text)
    assert found is not None, shown.text
    return found[1]


@pytest.fixture(scope="module")
def visitor(shared_service: RunningService) -> Refused:
    return Refused(shared_service)


@pytest.fixture
def person(visitor: Refused) -> Refused:
    """A visitor at a new address."""
    visitor.address = new_address()
    return visitor


def test_a_rejected_person_appeals_is_allowed_and_reads_so_at_the_same_link(person: Refused) -> None:
    decision, shown = person.refused("/look?a=1")
    assert "form-action 'self'" in shown.headers["content-security-policy"]
    assert "script-src" not in shown.headers["content-security-policy"]
    person.service.clock.advance(seconds=3)

    filed = person.file({"ticket": ticket_of(shown), "text": f"I want to pay. {HOSTILE}", "website": ""})

    assert filed.status_code == 303, filed.text
    location = filed.headers["location"]
    assert location.startswith(f"{HERE}?a=")
    waiting = person.look(location)
    assert (waiting.status_code, "Your message was sent" in waiting.text) == (200, True)
    assert "<script" not in waiting.text
    [appeal] = [each for each in person.queue() if each["decisionId"] == decision]
    assert (appeal["rule"], appeal["outcome"], appeal["route"]) == ("all", "block", "/look")
    assert appeal["message"] == "I want to pay. \"'><script>alert(1)</script> <!--"
    body = {"answer": "let_in", "hours": 2, "reply": f"Sorry! {HOSTILE}"}
    answered = person.service.operator.post(person.path(f"appeals/{appeal['id']}/answer"), json=body)
    assert answered.status_code == 200, answered.text
    assert answered.json()["state"] == "let_in"
    let_in = person.look(location)
    assert "You now have access" in let_in.text
    assert "<script" not in let_in.text
    assert f'href="{ORIGIN}/look?a=1"' in html.unescape(let_in.text)
    assert person.check("GET", "/look")[0] == 204

    taken_back = person.service.operator.delete(person.path(f"appeals/{appeal['id']}/answer"))
    assert taken_back.json()["state"] == "waiting"
    assert person.check("GET", "/look")[0] == 403
    assert "Your message was sent" in person.look(location).text


def test_the_form_speaks_the_visitors_language_and_direction(person: Refused) -> None:
    decision, _ = person.refused()
    shown = person.page("/look", f"?reason=policy&decision=block&decisionId={decision}", Accept_Language="fa")

    assert "من انسان هستم" in shown.text
    assert 'dir="rtl"' in shown.text


@pytest.mark.parametrize("reason", ["rate_limited", "service_unavailable"])
def test_who_only_has_to_wait_is_offered_no_appeal(person: Refused, reason: str) -> None:
    shown = person.page("/look", f"?reason={reason}&decision=block&decisionId=dec_0123456789abc")

    assert 'name="ticket"' not in shown.text


def test_a_page_without_a_number_offers_no_appeal(person: Refused) -> None:
    assert 'name="ticket"' not in person.page("/look", "?reason=policy&decision=block").text


def test_a_ticket_is_the_visitors_own_at_its_own_site_in_its_time(
    person: Refused, shared_service: RunningService
) -> None:
    _, shown = person.refused()
    ticket = ticket_of(shown)

    assert "could not be sent" in person.file({"ticket": ticket, "text": "x"}).text, "too quick"
    person.service.clock.advance(seconds=3)
    other_start = "B" if ticket.startswith("A") else "A"
    for changed in ("", ticket[:-2], other_start + ticket[1:], "x" * 5_000):
        assert person.file({"ticket": changed, "text": "x"}).status_code == 403
    other = Refused(shared_service)
    other.address = person.address
    assert other.file({"ticket": ticket, "text": "x"}).status_code == 403
    assert other.queue() == []
    here, person.address = person.address, new_address()
    others = person.file({"ticket": ticket, "text": "x"})
    # Not even a form to send it again, which a ticket of this visitor would give.
    assert (others.status_code, "ticket" in others.text) == (403, False)
    person.address = here
    assert person.file({"ticket": ticket, "text": "x"}, Origin="https://evil.example").status_code == 403
    person.service.clock.advance(seconds=7 * 3600)
    assert person.file({"ticket": ticket, "text": "x"}).status_code == 403


def test_a_decision_is_appealed_against_once_and_by_no_one_else(person: Refused) -> None:
    decision, shown = person.refused()
    person.service.clock.advance(seconds=3)
    assert person.file({"ticket": ticket_of(shown), "text": "me"}, Origin=None).status_code == 303
    again = person.file({"ticket": ticket_of(shown), "text": "me"})
    assert (again.status_code, "was sent" in again.text) == (403, True)
    person.address = new_address()
    # Another visitor opens the page by hand with the ID of a decision about the first visitor.
    spoofed = person.page("/look", f"?reason=policy&decision=block&decisionId={decision}")
    person.service.clock.advance(seconds=3)
    refused = person.file({"ticket": ticket_of(spoofed), "text": "<b>kept</b>"})
    assert refused.status_code == 403
    assert "&lt;b&gt;kept&lt;/b&gt;" in refused.text, "what was written is not lost"
    assert sum(each["decisionId"] == decision for each in person.queue()) == 1


def test_what_was_allowed_and_what_never_was_cannot_be_appealed_against(person: Refused) -> None:
    person.service.operator.patch(person.path("").rstrip("/"), json={"mode": "monitor"})
    reply = person.call("GET", "check", path="/look", headers=NAVIGATION)
    passed = reply.headers["x-service-decision-id"]
    decision_of(person.service, person.site_key, passed)
    person.service.operator.patch(person.path("").rstrip("/"), json={"mode": "enforce"})
    before = len(person.queue())
    for decision in (passed, "dec_0123456789abc"):
        shown = person.page("/look", f"?reason=policy&decision=block&decisionId={decision}")
        person.service.clock.advance(seconds=3)
        assert person.file({"ticket": ticket_of(shown), "text": "x"}).status_code == 403
    assert len(person.queue()) == before


def test_a_flood_from_one_address_and_of_one_site_ends(person: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    statuses = [person.appeal(f"number {each}").status_code for each in range(PER_VISITOR.most + 1)]
    assert statuses == [303] * PER_VISITOR.most + [403]
    person.address = new_address()
    assert person.appeal("somebody else").status_code == 303
    monkeypatch.setattr(filing, "MOST_OPEN", 1)
    person.address = new_address()
    full = person.appeal("one too many")
    assert (full.status_code, "Try again tomorrow" in full.text) == (403, True)


def test_what_looks_like_spam_waits_apart_and_learns_nothing(person: Refused) -> None:
    taken = [person.appeal("Cheap watches: www.watches.example").headers["location"]]
    person.address = new_address()
    taken.append(person.appeal("Hello", website="https://spam.example").headers["location"])
    for _ in range(SAME_MOST + 1):
        person.address = new_address()
        taken.append(person.appeal("The very same long sentence again").headers["location"])

    assert all("Your message was sent" in person.look(each).text for each in taken)
    suspects = [each["message"] for each in person.queue("suspect")]
    assert suspects == ["The very same long sentence again", "Hello", "Cheap watches: www.watches.example"]


def test_a_link_that_is_nobodys_or_another_sites_leads_nowhere(person: Refused, shared_service: RunningService) -> None:
    location = person.appeal().headers["location"]
    other = Refused(shared_service)

    for rest in (f"{HERE}?a=", f"{HERE}?a=AAAAAAAAAAAAAAAAAAAAAA", f"{HERE}?a={'x' * 900}", HERE):
        assert person.look(rest).status_code == 403
    assert other.look(location).status_code == 403
    evil = person.look(location.partition("&")[0] + "&return=" + quote("//evil.example/"))
    assert "evil.example" not in evil.text


def test_bodies_that_are_not_a_form_are_rejected(person: Refused) -> None:
    headers = {**NAVIGATION, "Origin": ORIGIN}
    for kind, content in (
        ("application/json", b'{"ticket": 1}'),
        ("application/json", b"\xff"),
        ("application/x-www-form-urlencoded", b"ticket=a&ticket=b"),
        ("application/x-www-form-urlencoded", b"text=" + b"x" * 70_000),
        ("text/plain", b""),
    ):
        sent = {**headers, "Content-Type": kind}
        assert person.call("POST", "appeal", path=HERE, headers=sent, content=content).status_code == 403
    assert (
        person.call("POST", "appeal", path=HERE, headers={**headers, "X-AgentGate-Secret": "ags_x"}).status_code == 403
    )


def test_text_becomes_one_line_that_hides_nothing() -> None:
    assert clean("  a\r\n\tb\x00\u202ec\u200bd  ") == "a b c d"
    assert clean("\u0645\u06cc\u200c\u062e") == "\u0645\u06cc\u200c\u062e"
    assert len(clean("x" * 5_000)) == APPEAL_CHARACTERS


@pytest.fixture(scope="module")
def people(shared_service: RunningService) -> Cast:
    return cast(shared_service)


@pytest.fixture(scope="module")
def shop(shared_service: RunningService, people: Cast) -> Refused:
    return Refused(shared_service, customerId=people.acme)


@pytest.fixture
def appeal(shop: Refused) -> dict[str, Any]:
    shop.address = new_address()
    shop.appeal(f"Please, {shop.address}")
    return shop.queue()[0]


def at(shop: Refused, rest: str = "") -> str:
    return f"/v1/console/sites/{shop.site_key}/appeals{rest}"


def test_roles_and_accounts_are_kept_apart(people: Cast, shop: Refused, appeal: dict[str, Any]) -> None:
    one = at(shop, f"/{appeal['id']}")
    assert people.rita.get(one).json() == {"appeal": appeal, "sameRule": 0, "sameVisitor": 0}
    assert people.rita.post(f"{one}/answer", json={"answer": "let_in"}).status_code == 403
    assert people.rita.put(f"{one}/label", json={"label": "human"}).status_code == 403
    assert people.rita.delete(f"{one}/answer").status_code == 403
    for method, rest, body in (
        ("GET", "", None),
        ("GET", f"/{appeal['id']}", None),
        ("POST", f"/{appeal['id']}/answer", {"answer": "let_in"}),
        ("DELETE", f"/{appeal['id']}/answer", None),
        ("PUT", f"/{appeal['id']}/label", {"label": "human"}),
    ):
        assert people.carol.request(method, at(shop, rest), json=body).status_code == 404
    own = people.carol.post("/v1/console/sites", json={"name": "Mart"}).json()["siteKey"]
    foreign = f"/v1/console/sites/{own}/appeals/{appeal['id']}"
    assert people.carol.get(foreign).status_code == 404
    assert people.carol.post(f"{foreign}/answer", json={"answer": "let_in"}).status_code == 404
    assert people.carol.put(f"{foreign}/label", json={"label": "human"}).status_code == 404
    for bad in ("apl_0000000000000000", "apl_x", "%00", appeal["decisionId"]):
        assert people.bob.get(at(shop, f"/{bad}")).status_code == 404
    assert people.bob.get(one).json()["appeal"]["state"] == "waiting"


def test_a_response_is_given_once_and_the_trail_shows_it(people: Cast, shop: Refused, appeal: dict[str, Any]) -> None:
    path = at(shop, f"/{appeal['id']}/answer")
    assert people.bob.delete(path).json()["error"] == "invalid_state"
    for wrong in (
        {"answer": "perhaps"},
        {"answer": "let_in", "hours": 0},
        {"answer": "refuse", "reply": "x" * 301},
    ):
        assert people.bob.post(path, json=wrong).status_code == 400

    made = people.bob.post(path, json={"answer": "refuse", "reply": "Use  the app."}).json()

    assert (made["state"], made["reply"], "listEntryId" in made) == ("refused", "Use the app.", False)
    assert people.alice.post(path, json={"answer": "let_in"}).json()["error"] == "invalid_state"
    trail = people.alice.get("/v1/console/audit", params={"action": "appeal"}).json()["items"]
    assert trail[0]["action"] == "appeal.answer"
    assert trail[0]["detail"]["reply"] == "Use the app."


def test_allowing_adds_one_entry_to_the_lists(people: Cast, shop: Refused, appeal: dict[str, Any]) -> None:
    lists = f"/v1/console/sites/{shop.site_key}/list-entries"
    shop.appeal("a second one")
    second = shop.queue()[0]
    first_answer = people.bob.post(at(shop, f"/{appeal['id']}/answer"), json={"answer": "let_in"}).json()
    entries = [each for each in people.bob.get(lists).json()["items"] if each["value"] == appeal["visitorId"]]
    assert [each["id"] for each in entries] == [first_answer["listEntryId"]]
    assert entries[0]["note"] == f"Appeal {appeal['id']}"
    again = people.bob.post(at(shop, f"/{second['id']}/answer"), json={"answer": "let_in", "hours": 48}).json()
    entries = [each for each in people.bob.get(lists).json()["items"] if each["value"] == appeal["visitorId"]]
    assert [each["id"] for each in entries] == [again["listEntryId"]]
    # The list entry of the first resolution no longer exists. Withdrawing the resolution does not delete the second
    # entry.
    people.bob.delete(at(shop, f"/{appeal['id']}/answer"))
    assert len([each for each in people.bob.get(lists).json()["items"] if not each["expired"]]) >= 1


def test_who_is_blocked_by_name_is_not_allow_by_accident(people: Cast, shop: Refused, appeal: dict[str, Any]) -> None:
    lists = f"/v1/console/sites/{shop.site_key}/list-entries"
    people.bob.post(lists, json={"kind": "visitor", "value": appeal["visitorId"], "outcome": "block"})
    refused = people.bob.post(at(shop, f"/{appeal['id']}/answer"), json={"answer": "let_in"})
    assert (refused.status_code, refused.json()["error"]) == (409, "invalid_state")
    assert people.bob.get(at(shop, f"/{appeal['id']}")).json()["appeal"]["state"] == "waiting"


def test_a_label_teaches_and_an_operators_label_counts_more(
    people: Cast, shop: Refused, appeal: dict[str, Any]
) -> None:
    path = at(shop, f"/{appeal['id']}/label")
    assert people.bob.put(path, json={"label": "human"}).json()["label"] == "human"
    found = shop.service.operator.get("/v1/admin/labels", params={"siteKey": shop.site_key, "limit": 1000}).json()
    [label] = [each for each in found["items"] if each["decisionId"] == appeal["decisionId"]]
    assert (label["label"], label["source"]) == ("human", "appeal")
    as_operator = f"/v1/admin/decisions/{appeal['decisionId']}/label"
    shop.service.operator.put(as_operator, params={"siteKey": shop.site_key}, json={"label": "bot"})
    assert people.bob.put(path, json={"label": "human"}).json()["error"] == "invalid_state"


def test_a_label_without_its_entry_in_the_trail_is_not_kept(
    people: Cast, shop: Refused, appeal: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise StoreUnavailable

    monkeypatch.setattr(endpoints, "record", fail)
    path = at(shop, f"/{appeal['id']}")
    assert people.bob.put(f"{path}/label", json={"label": "human"}).status_code == 503

    found = shop.service.operator.get("/v1/admin/labels", params={"siteKey": shop.site_key, "limit": 1000}).json()
    assert appeal["decisionId"] not in {each["decisionId"] for each in found["items"]}
    assert "label" not in people.bob.get(path).json()["appeal"]


def test_the_queue_has_pages_and_counts(people: Cast, shop: Refused, appeal: dict[str, Any]) -> None:
    shop.appeal("another")
    first = people.rita.get(at(shop), params={"limit": 1}).json()
    second = people.rita.get(at(shop), params={"limit": 1, "cursor": first["nextCursor"]}).json()
    assert first["counts"]["waiting"] >= 2
    assert [each["message"] for each in (*first["items"], *second["items"])] == ["another", appeal["message"]]
    bent = people.rita.get(at(shop), params={"state": "refused", "cursor": first["nextCursor"]})
    assert bent.json()["error"] == "invalid_cursor"


def test_appeals_are_discarded_in_time(people: Cast, shop: Refused, appeal: dict[str, Any]) -> None:
    shop.service.clock.advance(seconds=APPEAL_KEPT_DAYS * 86_400 + 1)
    shop.service.run(delete_appeals(shop.service.application.stores.store, shop.service.clock))
    assert shop.service.operator.get(shop.path(f"appeals/{appeal['id']}")).status_code == 404
