"""Backend credentials in the console: the operators' handlers behind the members' guard."""

import pytest

from tests.api.console.steps import CONSOLE, at_once, refusal, set_limits, told, trail
from tests.support.cast import Cast
from tests.support.service import RunningService

SITES = f"{CONSOLE}/sites"


@pytest.fixture
def site_key(people: Cast) -> str:
    """The key of a site of Acme's."""
    key: str = people.alice.post(SITES, json={"name": "Shop"}).json()["siteKey"]
    return key


def test_a_credential_is_made_with_a_secret_that_is_shown_once(people: Cast, site_key: str) -> None:
    made = people.bob.post(f"{SITES}/{site_key}/credentials", json={"name": "Web"})

    assert made.status_code == 201
    credential, secret = made.json()["credential"], made.json()["secret"]
    assert secret.startswith("ags_")
    site = people.rita.get(f"{SITES}/{site_key}")
    assert site.json()["credentialList"] == [credential]
    assert secret not in site.text
    assert [told(event) for event in trail(people, "credential")] == [
        ("bob@acme.example", "credential.create", credential["id"], {"name": "Web"})
    ]


def test_a_credential_is_rotated_and_revoked(people: Cast, site_key: str) -> None:
    old = people.bob.post(f"{SITES}/{site_key}/credentials").json()["credential"]

    new = people.bob.post(f"{SITES}/{site_key}/credentials/{old['id']}/rotate", json={"overlapSeconds": 60})
    revoked = people.bob.post(f"{SITES}/{site_key}/credentials/{new.json()['credential']['id']}/revoke")

    assert (new.status_code, revoked.status_code) == (201, 200)
    assert people.alice.get(f"{SITES}/{site_key}").json()["credentials"] == {"active": 1, "total": 2}
    assert [told(event)[:3] for event in trail(people, "credential")] == [
        ("bob@acme.example", "credential.revoke", new.json()["credential"]["id"]),
        ("bob@acme.example", "credential.rotate", old["id"]),
        ("bob@acme.example", "credential.create", old["id"]),
    ]


def test_who_may_only_read_cannot_make_one(people: Cast, site_key: str) -> None:
    refused = people.rita.post(f"{SITES}/{site_key}/credentials")

    assert refusal(refused) == (403, "forbidden")
    assert "sites:write" in refused.json()["message"]
    assert trail(people, "credential") == []


def test_a_malformed_credential_is_rejected(people: Cast, site_key: str) -> None:
    for body in ({"name": ""}, {"name": "x" * 101}, {"secret": "ags_mine"}, []):
        reply = people.alice.post(f"{SITES}/{site_key}/credentials", json=body)
        assert refusal(reply) == (400, "invalid_request"), body


def test_the_limit_holds_under_parallel_creation(service: RunningService, people: Cast, site_key: str) -> None:
    set_limits(service, people.acme, credentials_per_site=2)

    statuses = at_once(service, people.bob, lambda client, _: client.post(f"{SITES}/{site_key}/credentials"))

    assert statuses == [201] * 2 + [409] * 62


def test_a_credential_of_another_of_the_accounts_sites_responds_like_an_unknown_one(
    people: Cast, site_key: str
) -> None:
    other = people.alice.post(SITES, json={"name": "Other"}).json()["siteKey"]
    credential = people.alice.post(f"{SITES}/{other}/credentials").json()["credential"]["id"]

    for step in ("rotate", "revoke"):
        foreign = people.alice.post(f"{SITES}/{site_key}/credentials/{credential}/{step}")
        unknown = people.alice.post(f"{SITES}/{site_key}/credentials/cred_0000000000000000/{step}")
        assert refusal(foreign) == (404, "not_found")
        assert foreign.content == unknown.content
