"""The first owner's link: the one way to an account of an installation that has none, and no way afterwards."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentgate.lib.secrets import digest
from tests.support.service import RunningService

PASSWORD = "correct horse battery staple"
SETUP = "/v1/account/setup"


@pytest.fixture
def link(service: RunningService) -> str:
    """The secret of a new link."""
    made = service.operator.post("/v1/admin/setup-link")
    assert made.status_code == 201, made.text
    url, _, secret = made.json()["setupUrl"].partition("#")
    assert url.endswith("/console/setup")
    return secret


def body(secret: str, **changes: str) -> dict[str, str]:
    return {"token": secret, "email": "owner@shop.example", "password": PASSWORD, **changes}


def test_the_link_makes_an_owner_and_signs_in(service: RunningService, link: str) -> None:
    browser = service.new_public_client()
    done = browser.post(SETUP, json=body(link))

    assert done.status_code == 200, done.text
    assert done.json()["account"]["role"] == "owner"
    assert browser.get("/v1/account/session").json()["user"]["email"] == "owner@shop.example"
    actions = [each["action"] for each in service.operator.get("/v1/admin/audit").json()["items"]]
    assert "account.setup_link" in actions


def test_the_link_makes_an_owner_and_ends(service: RunningService, link: str) -> None:
    assert service.new_public_client().post(SETUP, json=body(link)).status_code == 200

    assert service.run(service.application.stores.store.read.setup_links.find_link(digest(link), 0)) is None


def test_a_link_works_once_and_ends_all_others(service: RunningService, link: str) -> None:
    other = service.operator.post("/v1/admin/setup-link").json()["setupUrl"].partition("#")[2]
    first = service.new_public_client().post(SETUP, json=body(link))
    again = service.new_public_client().post(SETUP, json=body(link, email="thief@evil.example"))
    late = service.new_public_client().post(SETUP, json=body(other, email="thief@evil.example"))

    assert first.status_code == 200
    assert (again.status_code, again.json()["error"]) == (404, "invalid_link")
    assert late.status_code == 404


def test_of_many_uses_at_once_one_succeeds(service: RunningService, link: str) -> None:
    def use(number: int) -> int:
        return service.new_public_client().post(SETUP, json=body(link, email=f"u{number}@shop.example")).status_code

    with ThreadPoolExecutor(4) as pool:
        statuses = sorted(pool.map(use, range(4)))

    assert statuses == [200, 404, 404, 404]


def test_a_link_expires_after_seven_days(service: RunningService, link: str) -> None:
    service.clock.advance(days=7)

    assert service.new_public_client().post(SETUP, json=body(link)).status_code == 404


def test_a_link_is_rejected_once_any_user_has_a_password(service: RunningService, link: str) -> None:
    invited = service.operator.post("/v1/admin/accounts", json={"email": "ann@shop.example", "customerName": "Ann"})
    token = invited.json()["inviteUrl"].partition("#")[2]
    accepted = service.new_public_client().post(
        "/v1/account/invite/accept", json={"token": token, "password": PASSWORD}
    )
    assert accepted.status_code == 200, accepted.text

    refused = service.new_public_client().post(SETUP, json=body(link))
    made = service.operator.post("/v1/admin/setup-link")

    assert refused.status_code == 404
    assert (made.status_code, made.json()["error"]) == (409, "invalid_state")


def test_a_link_is_rejected_once_a_user_signed_in_with_an_identity_provider(service: RunningService, link: str) -> None:
    service.operator.post("/v1/admin/accounts", json={"email": "ann@shop.example", "customerName": "Ann"})
    config = service.application.stores.databases["config"]
    service.run(
        config.run(
            "INSERT INTO oidc_identity (issuer, subject, user_id, created_ms) SELECT 'https://id.example', 's', id, 0 "
            "FROM users"
        )
    )

    assert service.new_public_client().post(SETUP, json=body(link)).status_code == 404
    assert service.operator.post("/v1/admin/setup-link").status_code == 409


def test_without_a_link_nothing_is_open(service: RunningService, link: str) -> None:
    client = service.new_public_client()
    assert client.post("/v1/admin/setup-link").status_code in {401, 404, 405}
    assert service.anonymous.post("/v1/admin/setup-link").status_code == 401
    for guess in ("", "x", link[:-1], link + "A", link.swapcase()):
        assert client.post(SETUP, json=body(guess)).status_code in {400, 404}
    cross = client.post(SETUP, json=body(link), headers={"Origin": "https://evil.example"})
    assert cross.status_code == 403
    assert client.post(SETUP, json=body(link, password="short")).json()["error"] == "weak_password"
    assert client.post(SETUP, json=body(link, email="no address")).status_code == 400
    assert client.post(SETUP, json=body(link)).status_code == 200


def test_the_account_gets_the_site_that_was_made_before(service: RunningService, link: str) -> None:
    site = service.operator.post("/v1/admin/sites", json={"name": "Before", "siteKey": "site_before0001"}).json()
    browser = service.new_public_client()
    done = browser.post(SETUP, json=body(link))

    assert done.json()["account"]["id"] == site["customerId"]
    assert [each["siteKey"] for each in browser.get("/v1/console/sites").json()["items"]] == ["site_before0001"]


def test_accounts_of_several_customers_are_not_taken_over(service: RunningService, link: str) -> None:
    for name in ("One", "Two"):
        service.operator.post("/v1/admin/sites", json={"name": name, "customerName": name})
    browser = service.new_public_client()
    browser.post(SETUP, json=body(link))

    assert browser.get("/v1/console/sites").json()["items"] == []


def test_an_account_with_members_is_not_taken_over(service: RunningService, link: str) -> None:
    invited = service.operator.post("/v1/admin/accounts", json={"email": "ann@shop.example", "customerName": "Ann"})
    done = service.new_public_client().post(SETUP, json=body(link))

    assert done.json()["account"]["id"] != invited.json()["customerId"]


def test_the_page_creates_the_account_and_leads_to_the_first_site(service: RunningService, link: str) -> None:
    browser = service.new_public_client()
    page = browser.get("/console/setup")
    form = {"token": f"http://127.0.0.1/console/setup#{link}", "email": "owner@shop.example", "password": PASSWORD}
    own = {"Origin": service.public_url, "Sec-Fetch-Site": "same-origin"}
    weak = browser.post("/v1/pages/setup", data=form | {"password": "short"}, headers=own)
    done = browser.post("/v1/pages/setup", data=form, headers=own)
    dead = browser.post("/v1/pages/setup", data=form, headers=own)

    assert page.status_code == 200
    assert 'action="/v1/pages/setup"' in page.text
    assert 'value="owner@shop.example"' in weak.text
    assert (done.status_code, done.headers["location"]) == (303, "/console/new-site?first=1")
    assert dead.status_code == 404
    assert not re.search(re.escape(link), dead.text)
