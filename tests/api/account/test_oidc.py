"""Sign-in with an identity provider: admitted users, reachable accounts, the effect of "only"."""

from collections.abc import Iterator

import httpx
import pytest

from agentgate.lib.settings.schema import Settings
from tests.api.account.oidc_steps import GROUP, ISSUER, PAGES, begin, choose, claims_for, come_back, service_of, sign_in
from tests.api.account.steps import ACCOUNT, log_in, refusal
from tests.api.console.steps import outbox
from tests.support.cast import EMAILS, PASSWORD, Cast, cast
from tests.support.issuer import CLIENT, SECRET, Issuer, running_issuer, signed
from tests.support.service import RunningService

CONSOLE = "/v1/console"
OWN = f"{CONSOLE}/account"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with running_issuer() as running:
        yield running


@pytest.fixture
def service(settings: Settings, issuer: Issuer) -> Iterator[RunningService]:
    with service_of(settings, issuer.url) as running:
        yield running


@pytest.fixture
def people(service: RunningService) -> Cast:
    return cast(service)


def accounts_of(client: httpx.Client) -> list[str]:
    return [each["name"] for each in client.get(f"{ACCOUNT}/session").json()["accounts"]]


def test_a_member_signs_in_with_the_verified_address_after_the_account_chose_the_issuer(
    service: RunningService, issuer: Issuer, people: Cast
) -> None:
    refused = sign_in(service, issuer)[1]
    assert choose(people.alice).status_code == 200

    client, reply = sign_in(service, issuer)

    assert (refused.status_code, reply.status_code, reply.headers["location"]) == (403, 303, "/console")
    session = client.get(f"{ACCOUNT}/session").json()
    assert (session["user"]["email"], session["account"]["id"]) == (EMAILS["alice"], people.acme)
    entry = client.get(f"{CONSOLE}/audit", params={"action": "signin"}).json()["items"][0]
    assert entry["detail"]["method"] == "oidc"
    assert "ag_device" not in str(reply.headers.get_list("set-cookie"))


def test_the_code_is_exchanged_with_pkce_and_the_secret_in_the_header(
    service: RunningService, issuer: Issuer, people: Cast
) -> None:
    choose(people.alice)
    client = service.new_public_client()
    asked = begin(client, next="/console/sites")
    issuer.token = signed(claims_for(issuer, service, asked))

    reply = come_back(client, asked)

    assert reply.headers["location"] == "/console/sites"
    assert asked["code_challenge_method"] == "S256"
    form = issuer.forms[0]
    assert (form["code"], form["redirect_uri"]) == (["c0de"], [asked["redirect_uri"]])
    assert 43 <= len(form["code_verifier"][0]) <= 128
    assert "client_secret" not in form
    assert SECRET not in issuer.authorizations[0]
    assert asked["tenant"] == "1"


def test_a_session_reaches_only_the_accounts_that_chose_its_issuer(
    service: RunningService, issuer: Issuer, people: Cast
) -> None:
    own = people.alice.post(f"{ACCOUNT}/accounts", json={"name": "Private"}).json()
    people.alice.headers["X-CSRF-Token"] = own["csrfToken"]
    other = own["account"]["id"]
    people.alice.post(f"{ACCOUNT}/switch", json={"accountId": people.acme})
    people.alice.headers["X-CSRF-Token"] = people.alice.get(f"{ACCOUNT}/session").json()["csrfToken"]
    choose(people.alice)

    client, _ = sign_in(service, issuer)

    assert accounts_of(client) == ["Acme"]
    assert sorted(accounts_of(people.alice)) == ["Acme", "Private"]
    assert refusal(client.post(f"{ACCOUNT}/switch", json={"accountId": other})) == (404, "not_member")
    for path, body in (
        ("mfa/setup", None),
        ("mfa/enable", {"code": "000000"}),
        ("mfa/disable", {"password": PASSWORD, "code": "000000"}),
        ("password", {"currentPassword": PASSWORD, "newPassword": "eleven quiet lanterns sway"}),
        ("accounts", {"name": "Mine"}),
        ("invitations/x/accept", None),
    ):
        assert refusal(client.post(f"{ACCOUNT}/{path}", json=body)) == (403, "forbidden"), path
    assert len(client.get(f"{ACCOUNT}/sessions").json()["items"]) == 1
    assert client.post(f"{ACCOUNT}/sessions/revoke-others").status_code == 204
    assert people.alice.get(f"{ACCOUNT}/session").status_code == 200


def test_an_invited_address_joins_and_an_unverified_one_does_not(
    service: RunningService, issuer: Issuer, people: Cast
) -> None:
    choose(people.alice)
    people.alice.post(f"{CONSOLE}/members", json={"email": "new@acme.example", "role": "member"})

    for unverified in ({"email_verified": False}, {"email_verified": None}, {"email_verified": "true"}):
        assert sign_in(service, issuer, email="new@acme.example", **unverified)[1].status_code == 401
    stranger = sign_in(service, issuer, email="stranger@acme.example")[1]
    client, _ = sign_in(service, issuer, email="new@acme.example")

    assert stranger.status_code == 403
    assert client.get(f"{ACCOUNT}/session").json()["account"]["role"] == "member"
    joined = next(
        each for each in people.alice.get(f"{CONSOLE}/members").json()["items"] if each["email"] == "new@acme.example"
    )
    assert joined["status"] == "active"


def test_a_subject_remains_one_user_and_an_address_has_one_subject(
    service: RunningService, issuer: Issuer, people: Cast
) -> None:
    choose(people.alice)
    sign_in(service, issuer)

    renamed, _ = sign_in(service, issuer, email="bob@acme.example")
    taken = sign_in(service, issuer, sub="another person")[1]

    assert renamed.get(f"{ACCOUNT}/session").json()["user"]["email"] == EMAILS["alice"]
    assert taken.status_code == 401


def test_an_invitation_is_for_the_address_that_the_provider_confirms_now(
    service: RunningService, issuer: Issuer, people: Cast
) -> None:
    """A person keeps the sign-in, and the provider has given the address to the next person, whom the owner invites."""
    choose(people.alice)
    address, members = "desk@acme.example", f"{CONSOLE}/members"
    people.alice.post(members, json={"email": address, "role": "member"})
    first, _ = sign_in(service, issuer, sub="first", email=address)
    user_id = first.get(f"{ACCOUNT}/session").json()["user"]["id"]
    assert people.alice.delete(f"{members}/{user_id}").status_code == 204
    people.alice.post(members, json={"email": address, "role": "admin"})

    assert sign_in(service, issuer, sub="first", email="left@acme.example")[1].status_code == 403
    assert sign_in(service, issuer, sub="first", email=address)[1].status_code == 303


def test_a_group_admits_people_and_they_leave_with_it(service: RunningService, issuer: Issuer, people: Cast) -> None:
    choose(people.alice, group=GROUP, role="member")
    eve = {"sub": "eve", "email": "eve@acme.example"}

    before = sign_in(service, issuer, **eve, groups=["others"])[1]
    client, _ = sign_in(service, issuer, **eve, groups=["others", GROUP])
    role = client.get(f"{ACCOUNT}/session").json()["account"]["role"]
    after = sign_in(service, issuer, **eve, groups="others")[1]

    assert (before.status_code, role, after.status_code) == (403, "member", 403)
    assert refusal(client.get(OWN)) == (403, "no_account")
    assert "eve@acme.example" not in str(people.alice.get(f"{CONSOLE}/members").json())
    # A member by invitation needs no group.
    assert sign_in(service, issuer)[1].status_code == 303


def test_only_closes_the_account_to_passwords_and_needs_a_sign_in_with_the_issuer(
    service: RunningService, issuer: Issuer, people: Cast
) -> None:
    locked_out = choose(people.alice, only=True)
    choose(people.alice)
    client, _ = sign_in(service, issuer)

    assert choose(client, only=True).status_code == 200

    assert refusal(locked_out) == (409, "invalid_state")
    assert refusal(people.alice.get(OWN)) == (403, "oidc_required")
    assert refusal(people.bob.get(f"{CONSOLE}/sites")) == (403, "oidc_required")
    assert refusal(log_in(service.new_public_client())) == (403, "oidc_required")
    assert client.get(OWN).json()["oidc"]["only"] is True
    # No reset link, and the response does not differ.
    sent = len(outbox(service))
    forgot = service.public.post(f"{ACCOUNT}/password/forgot", json={"email": EMAILS["alice"]})
    assert (forgot.status_code, len(outbox(service))) == (202, sent)


def test_an_operator_opens_an_account_whose_issuer_is_lost(
    service: RunningService, issuer: Issuer, people: Cast
) -> None:
    choose(people.alice)
    choose(sign_in(service, issuer)[0], only=True)

    detail = people.olga.patch(f"/v1/admin/customers/{people.acme}", json={"oidcOnly": False}).json()

    assert detail["oidc"] == {"issuer": ISSUER, "group": "", "role": "readonly", "only": False}
    assert detail["audit"][0]["action"] == "account.oidc"
    assert people.alice.get(OWN).status_code == 200


def test_the_second_factor_of_the_account_is_the_issuers_task(
    service: RunningService, issuer: Issuer, people: Cast
) -> None:
    choose(people.alice)
    client, _ = sign_in(service, issuer)

    assert client.patch(OWN, json={"requireMfa": True}).status_code == 200

    assert client.get(OWN).status_code == 200
    assert refusal(people.alice.get(OWN)) == (403, "mfa_setup_required")


def test_only_owners_choose_and_a_group_makes_no_owners(service: RunningService, people: Cast) -> None:
    assert refusal(choose(people.adam)) == (403, "forbidden")
    assert refusal(choose(people.alice, role="owner")) == (400, "invalid_request")
    assert refusal(people.alice.patch(OWN, json={"oidc": {"issuer": "other"}})) == (400, "invalid_request")
    assert refusal(people.alice.patch(OWN, json={"oidc": {"issuer": "", "only": True}})) == (400, "invalid_request")
    assert people.alice.get(OWN).json()["oidcIssuers"] == [ISSUER]


def test_a_suspended_user_cannot_sign_in(service: RunningService, issuer: Issuer, people: Cast) -> None:
    choose(people.alice)
    people.olga.post(f"/v1/admin/users/{people.user_ids['alice']}/suspend", json={"reason": "left"})

    assert sign_in(service, issuer)[1].status_code == 403


def test_the_user_information_completes_a_token_without_an_address(
    service: RunningService, issuer: Issuer, people: Cast
) -> None:
    choose(people.alice)
    known = {"email": EMAILS["alice"], "email_verified": True}
    issuer.userinfo = {"sub": "somebody else", **known}
    wrong = sign_in(service, issuer, email=None, email_verified=None, sub="new")[1]
    issuer.userinfo = {"sub": "new", **known, "iss": "https://evil.example"}

    right = sign_in(service, issuer, email=None, email_verified=None, sub="new")[1]

    assert (wrong.status_code, right.status_code) == (401, 303)


def test_a_group_operates_the_installation(service: RunningService, issuer: Issuer, people: Cast) -> None:
    path = "/operator/oidc"
    offered = service.anonymous.get(path).text
    replies = []
    for groups in (["gate-people"], ["gate-operators"]):
        client = service.new_client()
        asked = begin(client, path)
        assert asked["redirect_uri"] == f"{service.admin_url}{path}/callback"
        issuer.token = signed(claims_for(issuer, service, asked, groups=groups, email="o+p@acme.example"))
        replies.append((client, come_back(client, asked, path)))
    (stranger, refused), (operator, accepted) = replies

    assert f'href="{path}?issuer={ISSUER}"' in offered
    assert (refused.status_code, accepted.status_code) == (403, 303)
    assert refusal(stranger.get("/v1/admin/session")) == (401, "unauthorized")
    assert operator.get("/v1/admin/session").json()["operator"] == "o-p@acme.example"


def test_a_customers_sign_in_is_none_of_an_operator(service: RunningService, issuer: Issuer, people: Cast) -> None:
    customer = service.new_public_client()
    asked = begin(customer)
    issuer.token = signed(claims_for(issuer, service, asked, groups=["gate-operators"]))
    operator = service.new_client()
    operator.cookies.set("ag_oidc", customer.cookies["ag_oidc"])

    assert come_back(operator, asked, "/operator/oidc").status_code == 401


def test_the_sign_in_page_offers_the_issuer(service: RunningService) -> None:
    page = service.public.get("/console/sign-in?next=/console/sites").text

    assert f'href="{PAGES}?issuer={ISSUER}&amp;next=%2Fconsole%2Fsites"' in page
    assert service.public.get(PAGES, params={"issuer": "unknown"}).status_code == 404
    assert CLIENT not in page
