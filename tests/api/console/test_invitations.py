"""Invitations of customers: no response shows whether an address is known, and no user joins without consent."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest

from agentgate.lib.clock import DAY_MS
from agentgate.lib.enums import AccountRole
from agentgate.lib.moment import Moment
from tests.api.account.steps import NEW_PASSWORD, code_now, link_in, log_in, messages, turn_mfa_on
from tests.api.console.steps import CONSOLE, at_once, outbox, refusal, set_limits, told, trail
from tests.support.api_client import ApiClient
from tests.support.cast import PASSWORD, Cast, add_user, sign_in
from tests.support.service import NOON_MS, RunningService

ACCOUNT, MEMBERS = "/v1/account", f"{CONSOLE}/members"
FORM = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
KNOWN, UNKNOWN = "carol@globex.example", "chloe@globex.example"


def invite(client: ApiClient, email: str, role: str = "readonly") -> dict[str, Any]:
    reply = client.post(MEMBERS, json={"email": email, "role": role})
    assert reply.status_code == 201, reply.text
    return reply.json()


def secret_for(service: RunningService, email: str) -> str:
    """Return the secret of the newest link that was sent to an address."""
    return next(link_in(each)[1] for each in messages(service) if each["to"] == email and each["body"])


def offers(client: ApiClient) -> list[dict[str, Any]]:
    return client.get(f"{ACCOUNT}/session").json().get("invitations", [])


def accept(client: ApiClient, invitation_id: str) -> Any:
    return client.post(f"{ACCOUNT}/invitations/{invitation_id}/accept")


def send_form(client: ApiClient, path: str, **fields: str) -> Any:
    return client.post(f"/v1/pages/{path}", content=urlencode(fields), headers=FORM)


def without_names(value: Any) -> str:
    """Return a text without what differs between any two invitations: address, ID and moment."""
    text = re.sub(r"carol|chloe|suse|nora", "NAME", str(value))
    return re.sub(r"usr_[0-9a-f]{16}", "ID", text)


def test_known_unknown_suspended_and_newly_added_people_look_alike_until_they_accept(
    service: RunningService, people: Cast
) -> None:
    turn_mfa_on(service, people.carol)
    suse = add_user(service, "suse@globex.example", account_id=people.globex)
    add_user(service, "nora@globex.example", account_id=people.globex, invited=True)
    assert service.operator.post(f"/v1/admin/users/{suse.id}/suspend", json={"reason": "x"}).status_code == 200
    emails = [KNOWN, UNKNOWN, "suse@globex.example", "nora@globex.example"]

    def told_of(email: str) -> list[Any]:
        """Return all that an administrator gets by inviting an address, in every way the API has."""
        path = f"{MEMBERS}/{{}}"
        told_now: list[Any] = []

        def note(reply: Any) -> Any:
            told_now.append((reply.status_code, reply.text, sorted(reply.headers)))
            return reply

        member = note(people.adam.post(MEMBERS, json={"email": email, "role": "readonly"})).json()["member"]
        note(people.adam.post(MEMBERS, json={"email": email.upper(), "role": "member"}))
        note(people.adam.patch(path.format(member["userId"]), json={"role": "member"}))
        note(people.adam.post(f"{path.format(member['userId'])}/resend-invite"))
        [(kind, text)] = [(kind, text) for to, kind, text in outbox(service) if to == email and text]
        told_now.append((kind, re.sub(r"#\S+", "#", text)))
        told_now.append([each for each in people.adam.get(MEMBERS).json()["items"] if each["email"] == email])
        note(people.alice.post(f"{CONSOLE}/account/transfer-ownership", json={"userId": member["userId"]}))
        note(people.adam.delete(path.format(member["userId"])))
        note(people.adam.delete(path.format(member["userId"])))
        told_now.append([told(event) for event in trail(people, "member")[:4]])
        return told_now

    found = {email: told_of(email) for email in emails}

    assert [reply[0] for reply in found[KNOWN] if len(reply) == 3] == [201, 409, 200, 200, 404, 204, 404]
    assert found[KNOWN][5][0]["status"] == "invited"
    assert {without_names(each) for each in found.values()} == {without_names(found[UNKNOWN])}
    # Not even the ID of a known user: each invitation has its own.
    assert people.user_ids["carol"] not in str(found)
    assert len(set(re.findall(r"usr_[0-9a-f]{16}", str(found)))) == len(emails)


def test_the_response_shows_only_what_was_typed(people: Cast) -> None:
    invited = invite(people.adam, KNOWN)

    user_id = invited["member"].pop("userId")
    assert user_id != people.user_ids["carol"]
    assert invited == {
        "member": {
            "email": KNOWN,
            "role": "readonly",
            "status": "invited",
            "mfaEnabled": False,
            "joinedAt": Moment(NOON_MS).text(),
        },
        "expiresAt": Moment(NOON_MS + 7 * DAY_MS).text(),
    }


def test_no_one_belongs_to_an_account_before_they_accept(service: RunningService, people: Cast) -> None:
    invite(people.alice, KNOWN, "owner")

    session = people.carol.get(f"{ACCOUNT}/session").json()
    assert [account["id"] for account in session["accounts"]] == [people.globex]
    switched = people.carol.post(f"{ACCOUNT}/switch", json={"accountId": people.acme})
    assert refusal(switched) == (404, "not_member")
    # An invited user is not an owner yet, so the last owner cannot be removed.
    alice = people.user_ids["alice"]
    assert refusal(people.alice.delete(f"{MEMBERS}/{alice}")) == (409, "last_owner")


def test_a_user_accepts_with_the_session_and_works_in_the_account(service: RunningService, people: Cast) -> None:
    invited = invite(people.adam, KNOWN, "member")["member"]["userId"]
    [offer] = offers(people.carol)
    assert offer == {
        "id": invited,
        "accountName": "Acme",
        "role": "member",
        "expiresAt": Moment(NOON_MS + 7 * DAY_MS).text(),
    }
    earlier = people.carol.cookies["ag_account"]

    joined = accept(people.carol, invited)

    assert joined.status_code == 200
    assert (joined.json()["account"]["id"], joined.json()["account"]["role"]) == (people.acme, "member")
    assert "invitations" not in joined.json()
    assert people.carol.cookies["ag_account"] != earlier
    carol = people.user_ids["carol"]
    assert told(trail(people, "member")[0]) == (KNOWN, "member.join", carol, {})
    listed = {each["email"]: each for each in people.adam.get(MEMBERS).json()["items"]}
    assert (listed[KNOWN]["userId"], listed[KNOWN]["status"], listed[KNOWN]["name"]) == (carol, "active", "Carol")
    # The invitation is used up, and so is its link.
    people.carol.headers["X-CSRF-Token"] = joined.json()["csrfToken"]
    assert refusal(accept(people.carol, invited)) == (404, "not_found")
    assert outbox(service) == [(KNOWN, "invite", "")]
    assert refusal(people.adam.post(f"{MEMBERS}/{carol}/resend-invite")) == (409, "already_active")


def test_only_the_invited_person_accepts(service: RunningService, people: Cast) -> None:
    invited = invite(people.adam, KNOWN)["member"]["userId"]

    for client in (people.bob, people.adam):
        assert refusal(accept(client, invited)) == (404, "not_found")
    assert refusal(accept(people.carol, "usr_0000000000000000")) == (404, "not_found")
    assert refusal(accept(service.new_public_client(), invited)) == (401, "unauthorized")
    del people.carol.headers["X-CSRF-Token"]
    assert refusal(accept(people.carol, invited)) == (403, "csrf")
    assert offers(people.bob) == []


def test_the_link_sets_no_second_password_and_starts_no_session_for_a_user_who_has_one(
    service: RunningService, people: Cast
) -> None:
    invite(people.adam, KNOWN)
    secret = secret_for(service, KNOWN)
    stranger = service.new_public_client()

    info = stranger.get(f"{ACCOUNT}/invite/{secret}").json()
    reply = stranger.post(f"{ACCOUNT}/invite/accept", json={"token": secret, "password": NEW_PASSWORD})

    assert (info["email"], info["hasPassword"]) == (KNOWN, True)
    assert refusal(reply) == (409, "already_active")
    assert "set-cookie" not in reply.headers
    assert log_in(stranger, KNOWN, NEW_PASSWORD).status_code == 401
    assert log_in(stranger, KNOWN, PASSWORD).status_code == 200
    # The link was not used by that.
    assert len(offers(people.carol)) == 1


def test_a_new_person_joins_with_the_link_under_the_id_that_was_listed(service: RunningService, people: Cast) -> None:
    invited = invite(people.adam, UNKNOWN, "member")["member"]["userId"]
    secret = secret_for(service, UNKNOWN)
    client = service.new_public_client()
    assert client.get(f"{ACCOUNT}/invite/{secret}").json()["hasPassword"] is False

    reply = client.post(f"{ACCOUNT}/invite/accept", json={"token": secret, "password": NEW_PASSWORD})

    assert reply.status_code == 200
    assert reply.json()["user"]["id"] == invited
    assert reply.json()["account"]["role"] == "member"
    assert told(trail(people, "member")[0]) == (UNKNOWN, "member.join", invited, {})
    again = client.post(f"{ACCOUNT}/invite/accept", json={"token": secret, "password": NEW_PASSWORD})
    assert refusal(again) == (404, "invalid_link")


def test_a_second_invitation_waits_for_someone_who_joined_by_the_first(service: RunningService, people: Cast) -> None:
    invite(people.adam, UNKNOWN)
    first = secret_for(service, UNKNOWN)
    service.clock.advance(seconds=1)
    invite(people.carol, UNKNOWN)
    second = secret_for(service, UNKNOWN)
    client = service.new_public_client()

    joined = client.post(f"{ACCOUNT}/invite/accept", json={"token": first, "password": NEW_PASSWORD}).json()

    assert [offer["accountName"] for offer in joined["invitations"]] == ["Globex"]
    refused = client.post(f"{ACCOUNT}/invite/accept", json={"token": second, "password": NEW_PASSWORD})
    assert refusal(refused) == (409, "already_active")
    client.headers["X-CSRF-Token"] = joined["csrfToken"]
    assert accept(client, joined["invitations"][0]["id"]).json()["account"]["id"] == people.globex


def test_an_invitation_ends_when_it_expires_is_taken_back_or_its_account_is_deleted(
    service: RunningService, people: Cast
) -> None:
    invited = invite(people.adam, KNOWN)["member"]["userId"]
    service.clock.advance(ms=7 * DAY_MS)
    carol = sign_in(service, KNOWN)
    assert offers(carol) == []
    assert refusal(accept(carol, invited)) == (404, "not_found")
    adam = sign_in(service, "adam@acme.example")
    assert adam.post(f"{MEMBERS}/{invited}/resend-invite").status_code == 200
    assert len(offers(carol)) == 1

    assert adam.delete(f"{MEMBERS}/{invited}").status_code == 204
    assert refusal(accept(carol, invited)) == (404, "not_found")

    again = invite(adam, KNOWN)["member"]["userId"]
    alice = sign_in(service, "alice@acme.example")
    gone = alice.request("DELETE", f"{CONSOLE}/account", json={"confirm": "Acme"})
    assert gone.status_code == 200
    assert offers(carol) == []
    assert refusal(accept(carol, again)) == (404, "not_found")


def test_of_many_who_accept_at_once_one_joins(service: RunningService, people: Cast) -> None:
    invited = invite(people.adam, KNOWN)["member"]["userId"]

    statuses = at_once(service, people.carol, lambda client, _: accept(client, invited))

    assert statuses.count(200) == 1
    assert len(trail(people, "member.join")) == 1


def test_an_invitation_applies_towards_the_limit_of_members(service: RunningService, people: Cast) -> None:
    set_limits(service, people.acme, members=5)
    invite(people.adam, KNOWN)

    refused = people.adam.post(MEMBERS, json={"email": UNKNOWN, "role": "member"})

    assert refusal(refused) == (409, "member_limit")
    assert people.alice.get(f"{CONSOLE}/account").json()["usage"]["members"] == 5
    assert service.operator.get(f"/v1/admin/customers/{people.acme}").json()["members"] == 5


def test_only_owners_touch_an_invitation_of_an_owner(people: Cast) -> None:
    invited = invite(people.alice, KNOWN, "owner")["member"]["userId"]

    assert refusal(people.adam.patch(f"{MEMBERS}/{invited}", json={"role": "readonly"})) == (403, "forbidden")
    assert refusal(people.adam.delete(f"{MEMBERS}/{invited}")) == (403, "forbidden")
    other = invite(people.adam, UNKNOWN)["member"]["userId"]
    assert refusal(people.adam.patch(f"{MEMBERS}/{other}", json={"role": "owner"})) == (403, "forbidden")
    assert refusal(people.carol.delete(f"{MEMBERS}/{invited}")) == (404, "not_found")
    assert people.alice.delete(f"{MEMBERS}/{invited}").status_code == 204


def test_an_operator_gives_membership_at_once_also_to_who_is_invited(service: RunningService, people: Cast) -> None:
    invited = invite(people.adam, KNOWN)["member"]["userId"]
    place = f"/v1/admin/customers/{people.acme}/members"

    added = service.operator.post(place, json={"email": KNOWN, "role": "admin"})

    assert added.status_code == 201
    assert (added.json()["member"]["userId"], added.json()["member"]["status"]) == (people.user_ids["carol"], "active")
    assert people.carol.post(f"{ACCOUNT}/switch", json={"accountId": people.acme}).json()["account"]["role"] == "admin"
    emails = [each["email"] for each in people.adam.get(MEMBERS).json()["items"]]
    assert emails.count(KNOWN) == 1
    assert refusal(people.adam.post(f"{MEMBERS}/{invited}/resend-invite")) == (404, "not_found")


def test_one_address_gets_few_messages_also_when_invitations_are_removed_between(
    service: RunningService, people: Cast
) -> None:
    statuses = []
    for _ in range(7):
        reply = people.adam.post(MEMBERS, json={"email": UNKNOWN, "role": "readonly"})
        statuses.append(reply.status_code)
        if reply.status_code == 201:
            people.adam.delete(f"{MEMBERS}/{reply.json()['member']['userId']}")

    assert statuses == [201] * 5 + [429] * 2
    assert len(outbox(service)) == 5


@pytest.mark.parametrize("has_mfa", [False, True])
def test_a_user_accepts_on_the_pages(service: RunningService, people: Cast, has_mfa: bool) -> None:
    authenticator = turn_mfa_on(service, people.carol)[0] if has_mfa else None
    invited = invite(people.adam, KNOWN, "member")["member"]["userId"]
    client = service.new_public_client()

    # The link's page, without a script: it leads to signing in, and sets no password.
    secret = secret_for(service, KNOWN)
    refused = send_form(client, "invite", token=f"http://x/console/invite#{secret}", password=NEW_PASSWORD, name="")
    assert refused.status_code == 409
    assert 'href="/console/sign-in"' in refused.text
    assert "set-cookie" not in refused.headers
    step = send_form(client, "sign-in", email=KNOWN, password=PASSWORD, next="", checkToken="")
    if authenticator is not None:
        assert step.headers["location"] == "/console/code"
        service.clock.advance(seconds=30)
        step = send_form(client, "code", code=code_now(service, authenticator), next="")
    assert (step.status_code, step.headers["location"]) == (303, "/v1/pages/accounts")
    page = client.get("/v1/pages/accounts").text
    assert "Join Acme" in page
    csrf = re.search(r'name="csrf" value="([^"]+)"', page)
    assert csrf is not None

    assert send_form(client, "invitations", invitationId=invited, csrf="wrong").status_code == 403
    joined = send_form(client, "invitations", invitationId=invited, csrf=csrf[1])

    assert (joined.status_code, joined.headers["location"]) == (303, "/console")
    assert client.get(f"{CONSOLE}/account").json()["id"] == people.acme
    assert "Join Acme" not in client.get("/v1/pages/accounts").text


def test_a_new_person_joins_on_the_page(service: RunningService, people: Cast) -> None:
    invite(people.adam, UNKNOWN)
    client = service.new_public_client()

    joined = send_form(client, "invite", token=secret_for(service, UNKNOWN), password=NEW_PASSWORD, name="Chloe")

    assert (joined.status_code, joined.headers["location"]) == (303, "/console")
    assert client.get(f"{CONSOLE}/account").json()["id"] == people.acme


def test_another_sites_page_accepts_nothing(service: RunningService, people: Cast) -> None:
    invited = invite(people.adam, KNOWN)["member"]["userId"]
    content = urlencode({"invitationId": invited, "csrf": people.carol.headers["X-CSRF-Token"]})
    foreign = {**FORM, "sec-fetch-site": "cross-site"}

    reply = people.carol.post("/v1/pages/invitations", content=content, headers=foreign)

    assert reply.status_code == 403
    assert len(offers(people.carol)) == 1


def test_an_accounts_name_is_text_on_the_page(service: RunningService, people: Cast) -> None:
    assert people.alice.patch(f"{CONSOLE}/account", json={"name": "<b>Acme"}).status_code == 200
    invite(people.alice, KNOWN)

    page = people.carol.get("/v1/pages/accounts").text

    assert "<b>Acme" not in page.replace("<b>Join", "")
    assert "&lt;b&gt;Acme" in page


def test_an_invited_role_is_the_one_at_acceptance(people: Cast) -> None:
    invited = invite(people.adam, KNOWN, "admin")["member"]["userId"]
    assert people.adam.patch(f"{MEMBERS}/{invited}", json={"role": "readonly"}).status_code == 200

    joined = accept(people.carol, invited)

    assert joined.json()["account"]["role"] == AccountRole.READONLY
