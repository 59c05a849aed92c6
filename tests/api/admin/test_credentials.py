"""Backend credentials: made, rotated with an overlap, revoked; never more than the limit; the secret shown once."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentgate.lib.clock import SECOND_MS
from agentgate.lib.moment import Moment
from tests.support.api_client import ApiClient
from tests.support.service import ADMIN_KEY, NOON_MS, RunningService

SITE = "/v1/admin/sites/site_shop"
CREDENTIALS = f"{SITE}/credentials"


@pytest.fixture(autouse=True)
def site(service: RunningService) -> dict[str, Any]:
    return service.operator.post("/v1/admin/sites", json={"name": "Shop", "siteKey": "site_shop"}).json()


def create(service: RunningService, **body: Any) -> dict[str, Any]:
    reply = service.operator.post(CREDENTIALS, json=body)
    assert reply.status_code == 201, reply.text
    return reply.json()


def listed(service: RunningService) -> list[dict[str, Any]]:
    return service.operator.get(SITE).json()["credentialList"]


def test_a_credential_is_made_with_a_secret_that_is_shown_once(service: RunningService, site: dict[str, Any]) -> None:
    made = create(service, name="Web servers")

    assert re.fullmatch(r"cred_[0-9a-f]{16}", made["credential"]["id"])
    assert re.fullmatch(r"ags_[A-Za-z0-9_-]{43}", made["secret"])
    assert made["credential"] == {
        "id": made["credential"]["id"],
        "siteId": site["id"],
        "name": "Web servers",
        "createdAt": Moment(NOON_MS).text(),
    }
    assert listed(service) == [made["credential"]]
    assert made["secret"] not in service.operator.get(SITE).text


def test_only_a_digest_of_the_secret_is_stored(service: RunningService) -> None:
    secret = create(service)["secret"]

    config = service.application.stores.databases["config"]
    tables = ("credential", "audit_entry", "site", "account")
    for table in tables:
        rows = service.run(config.all(f"SELECT * FROM {table}"))
        assert secret not in repr(rows)
        assert secret.removeprefix("ags_") not in repr(rows)


def test_a_name_is_optional_and_bounded(service: RunningService) -> None:
    assert service.operator.post(CREDENTIALS).json()["credential"]["name"] == "Backend"

    for name in ("x" * 101, "", "  ", "a\nb"):
        reply = service.operator.post(CREDENTIALS, json={"name": name})
        assert (reply.status_code, reply.json()["error"]) == (400, "invalid_request")


def test_making_one_is_in_the_trail(service: RunningService) -> None:
    made = create(service, name="Web")

    newest = service.operator.get(f"{SITE}/changes").json()["items"][0]

    assert (newest["kind"], newest["detail"]) == ("credential.create", {"name": "Web"})
    assert made["secret"] not in repr(newest)


def test_a_fourth_live_credential_is_rejected_until_one_is_revoked(service: RunningService) -> None:
    first = create(service)["credential"]
    create(service)
    create(service)

    refused = service.operator.post(CREDENTIALS)
    assert (refused.status_code, refused.json()["error"]) == (409, "credential_limit")

    service.operator.post(f"{CREDENTIALS}/{first['id']}/revoke")
    assert service.operator.post(CREDENTIALS).status_code == 201


def test_the_limit_holds_under_parallel_creation(service: RunningService) -> None:
    def create_one(_: int) -> int:
        with ApiClient(service.admin_url, headers={"X-Admin-Key": ADMIN_KEY}) as client:
            # On a busy machine the store may have no free connection for a second. The service then returns 503.
            return next(status for _ in range(20) if (status := client.post(CREDENTIALS).status_code) != 503)

    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(create_one, range(64)))

    assert sorted(statuses) == [201] * 3 + [409] * 61
    assert len(listed(service)) == 3


def test_rotating_keeps_the_old_one_for_the_overlap(service: RunningService) -> None:
    old = create(service, name="Web")

    replaced = service.operator.post(f"{CREDENTIALS}/{old['credential']['id']}/rotate", json={"overlapSeconds": 60})

    assert replaced.status_code == 201
    new = replaced.json()
    assert new["secret"] != old["secret"]
    assert new["credential"]["name"] == "Web"
    by_id = {credential["id"]: credential for credential in listed(service)}
    assert by_id[old["credential"]["id"]]["expiresAt"] == Moment(NOON_MS + 60 * SECOND_MS).text()
    assert service.operator.get(SITE).json()["credentials"] == {"active": 2, "total": 2}
    service.clock.advance(seconds=60)
    assert service.operator.get(SITE).json()["credentials"] == {"active": 1, "total": 2}


@pytest.mark.parametrize(("body", "seconds"), [(None, 86_400), ({}, 86_400), ({"overlapSeconds": 0}, 0)])
def test_the_overlap_is_a_day_by_default(service: RunningService, body: dict[str, int] | None, seconds: int) -> None:
    old = create(service)["credential"]

    service.operator.post(f"{CREDENTIALS}/{old['id']}/rotate", **({} if body is None else {"json": body}))

    by_id = {credential["id"]: credential for credential in listed(service)}
    assert by_id[old["id"]]["expiresAt"] == Moment(NOON_MS + seconds * SECOND_MS).text()


@pytest.mark.parametrize("overlap", [-1, 604_801, 1.5, "60", None, True])
def test_an_overlap_out_of_bounds_is_rejected(service: RunningService, overlap: Any) -> None:
    old = create(service)["credential"]

    reply = service.operator.post(f"{CREDENTIALS}/{old['id']}/rotate", json={"overlapSeconds": overlap})

    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_request")
    assert listed(service) == [old]


def test_rotating_works_at_the_limit_but_not_without_end(service: RunningService) -> None:
    ids = [create(service)["credential"]["id"] for _ in range(3)]

    replies = [service.operator.post(f"{CREDENTIALS}/{each}/rotate") for each in ids]
    again = service.operator.post(f"{CREDENTIALS}/{replies[0].json()['credential']['id']}/rotate")

    assert [reply.status_code for reply in replies] == [201] * 3
    assert (again.status_code, again.json()["error"]) == (409, "credential_limit")
    service.clock.advance(days=2)
    assert service.operator.post(f"{CREDENTIALS}/{replies[0].json()['credential']['id']}/rotate").status_code == 201


def test_a_replaced_or_revoked_credential_cannot_be_rotated(service: RunningService) -> None:
    old = create(service)["credential"]["id"]
    new = service.operator.post(f"{CREDENTIALS}/{old}/rotate").json()["credential"]["id"]
    service.operator.post(f"{CREDENTIALS}/{new}/revoke")

    for each in (old, new):
        reply = service.operator.post(f"{CREDENTIALS}/{each}/rotate")
        assert (reply.status_code, reply.json()["error"]) == (409, "invalid_state")


def test_parallel_rotations_of_one_credential_make_one_replacement(service: RunningService) -> None:
    old = create(service)["credential"]["id"]

    def rotate(_: int) -> int:
        with ApiClient(service.admin_url, headers={"X-Admin-Key": ADMIN_KEY}) as client:
            return client.post(f"{CREDENTIALS}/{old}/rotate").status_code

    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(rotate, range(16)))

    assert sorted(statuses) == [201] + [409] * 15
    assert len(listed(service)) == 2


def test_revoking_is_at_once_and_again_changes_nothing(service: RunningService) -> None:
    made = create(service)["credential"]

    revoked = service.operator.post(f"{CREDENTIALS}/{made['id']}/revoke")
    service.clock.advance(seconds=9)
    again = service.operator.post(f"{CREDENTIALS}/{made['id']}/revoke")

    assert revoked.json() == {**made, "revokedAt": Moment(NOON_MS).text()}
    assert again.json() == revoked.json()
    kinds = [item["kind"] for item in service.operator.get(f"{SITE}/changes").json()["items"]]
    assert kinds == ["credential.revoke", "credential.create", "site.create"]


@pytest.mark.parametrize("step", ["rotate", "revoke"])
def test_another_sites_credential_responds_like_an_unknown_one(service: RunningService, step: str) -> None:
    made = create(service)["credential"]["id"]
    service.operator.post("/v1/admin/sites", json={"name": "Other", "siteKey": "site_other"})
    before = service.operator.get(SITE).json()

    foreign = service.operator.post(f"/v1/admin/sites/site_other/credentials/{made}/{step}")
    unknown = service.operator.post(f"/v1/admin/sites/site_other/credentials/cred_0000000000000000/{step}")
    malformed = service.operator.post(f"/v1/admin/sites/site_other/credentials/x/{step}")

    assert foreign.status_code == 404
    assert foreign.content == unknown.content == malformed.content
    assert service.operator.get(SITE).json() == before


def test_a_rotation_next_to_it_never_undoes_a_revocation(service: RunningService) -> None:
    def act(step: str) -> int:
        with ApiClient(service.admin_url, headers={"X-Admin-Key": ADMIN_KEY}) as client:
            return client.post(f"{CREDENTIALS}/{made}/{step}").status_code

    for _ in range(10):
        made = create(service)["credential"]["id"]
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(act, ("rotate", "revoke")))
        credential = next(each for each in listed(service) if each["id"] == made)
        assert "revokedAt" in credential
        for each in listed(service):
            service.operator.post(f"{CREDENTIALS}/{each['id']}/revoke")
