"""Parallel requests: one-time actions happen once, and no limit is exceeded, on either store.

Races over sites, tokens, members and credentials are next to their other tests. This file has races over limits, with
the other ways to grow, and races over people.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentgate.lib.enums import AccountRole
from agentgate.people.identity.records import LinkKind
from tests.api.account.steps import NEW_PASSWORD, begin_with_mfa, make_link, next_code, turn_mfa_on
from tests.api.console.steps import PARALLEL
from tests.support.api_client import ApiClient
from tests.support.cast import EMAILS, Cast, add_user, cast, sign_in, signed_in_client
from tests.support.service import RunningService

CONSOLE, ACCOUNT = "/v1/console", "/v1/account"


@pytest.fixture
def people(service: RunningService) -> Cast:
    return cast(service)


def all_at_once(acts: list[Callable[[], Any]]) -> list[int]:
    """Do all of it at once; return the statuses in the given order."""
    with ThreadPoolExecutor(16) as pool:
        return [reply.status_code for reply in pool.map(lambda act: act(), acts)]


def twin_of(service: RunningService, client: ApiClient) -> ApiClient:
    """Return another client with the same session, so that two requests do not wait for one connection."""
    twin = service.new_public_client()
    twin.cookies.update(client.cookies)
    if "X-CSRF-Token" in client.headers:
        twin.headers["X-CSRF-Token"] = client.headers["X-CSRF-Token"]
    return twin


def count(service: RunningService, sql: str, *values: Any) -> int:
    row = service.run(service.application.stores.databases["config"].one(sql, *values))
    assert row is not None
    return int(row[0])


def test_of_many_who_accept_an_invitation_at_once_one_gets_a_session(service: RunningService, people: Cast) -> None:
    invited = add_user(service, "ines@acme.example", account_id=people.acme, role=AccountRole.MEMBER, invited=True)
    link = make_link(service, LinkKind.INVITE, invited.id, people.acme)
    clients = [service.new_public_client() for _ in range(PARALLEL)]
    body = {"token": link, "password": NEW_PASSWORD}

    statuses = all_at_once([lambda c=c: c.post(f"{ACCOUNT}/invite/accept", json=body) for c in clients])

    # The others find the link used, or too many passwords being hashed at once.
    assert statuses.count(200) == 1
    assert set(statuses) <= {200, 404, 410, 400, 429}
    assert count(service, "SELECT count(*) FROM user_session WHERE user_id = $1", invited.id) == 1


@pytest.mark.parametrize("kind", ["code", "recoveryCode"])
def test_a_code_that_many_send_at_once_signs_one_in(service: RunningService, people: Cast, kind: str) -> None:
    authenticator, recovery_codes = turn_mfa_on(service, people.alice)
    # Each source may fail a few times only, and there are as many pre-sessions as a person may have browsers.
    begun = [begin_with_mfa(service, EMAILS["alice"]) for _ in range(4)]
    code = recovery_codes[0] if kind == "recoveryCode" else next_code(service, authenticator)
    before = count(service, "SELECT count(*) FROM user_session WHERE stage = 'full'")

    def send(number: int) -> Any:
        return twin_of(service, begun[number % len(begun)]).post(f"{ACCOUNT}/login/mfa", json={kind: code})

    statuses = all_at_once([lambda n=n: send(n) for n in range(PARALLEL)])

    assert statuses.count(200) == 1
    assert set(statuses) <= {200, 401, 429}
    assert count(service, "SELECT count(*) FROM user_session WHERE stage = 'full'") == before + 1


CREATIONS = {
    "site": ("SELECT count(*) FROM site WHERE account_id = $1", 5, "sites", lambda n: {"name": f"Site {n}"}),
    "member": (
        # Invitations count against the limit until they are accepted.
        (
            "SELECT (SELECT count(*) FROM membership WHERE account_id = $1)"
            " + (SELECT count(*) FROM invitation WHERE account_id = $1)"
        ),
        10,
        "members",
        lambda n: {"email": f"person{n}@acme.example", "role": "member"},
    ),
    "token": (
        "SELECT count(*) FROM api_token WHERE account_id = $1",
        25,
        "tokens",
        lambda n: {"name": f"Token {n}", "scopes": ["sites:read"]},
    ),
}


@pytest.mark.parametrize("what", CREATIONS)
def test_two_people_who_create_at_once_do_not_pass_the_accounts_limit(
    service: RunningService, people: Cast, what: str
) -> None:
    sql, limit, path, body = CREATIONS[what]
    start = count(service, sql, people.acme)

    def create(number: int) -> Any:
        return twin_of(service, (people.alice, people.adam)[number % 2]).post(f"{CONSOLE}/{path}", json=body(number))

    statuses = all_at_once([lambda n=n: create(n) for n in range(PARALLEL)])

    assert count(service, sql, people.acme) == limit
    assert 1 <= statuses.count(201) <= limit - start
    # On a busy machine, a request that waits too long gets 503, although it may have succeeded.
    assert {201, 409} <= set(statuses) <= {201, 409, 503}


def test_one_person_with_many_sessions_founds_three_accounts_only(service: RunningService) -> None:
    user = add_user(service, "fred@founder.example")
    sessions = [signed_in_client(service, user, account_id=None) for _ in range(8)]

    def found(number: int) -> Any:
        client = twin_of(service, sessions[number % len(sessions)])
        replies = (client.post(f"{ACCOUNT}/accounts", json={"name": f"Account {number}"}) for _ in range(20))
        # On a busy machine the store may have no free connection for a second. The service then returns 503.
        return next(reply for reply in replies if reply.status_code != 503)

    statuses = all_at_once([lambda n=n: found(n) for n in range(PARALLEL)])

    # Founding changes the session's cookie, so that the others who used the same one are out.
    assert statuses.count(201) <= 3
    assert set(statuses) <= {201, 401, 409}
    owned = "SELECT count(*) FROM membership WHERE user_id = $1 AND role = 'owner'"
    assert count(service, owned, user.id) == statuses.count(201) == 3


def test_owners_who_demote_remove_and_transfer_at_once_leave_an_owner(service: RunningService, people: Cast) -> None:
    owners = [people.alice]
    ids = [people.user_ids["alice"]]
    for number in range(3):
        user = add_user(service, f"owner{number}@acme.example", account_id=people.acme)
        owners.append(signed_in_client(service, user, account_id=people.acme))
        ids.append(user.id)
    acts: list[Callable[[], Any]] = []
    for client in owners:
        for other in ids:
            members = f"{CONSOLE}/members/{other}"
            twins = [twin_of(service, client) for _ in range(3)]
            acts += [
                lambda c=twins[0], url=members: c.patch(url, json={"role": "admin"}),
                lambda c=twins[1], url=members: c.delete(url),
                lambda c=twins[2], to=other: c.post(f"{CONSOLE}/account/transfer-ownership", json={"userId": to}),
            ]

    statuses = all_at_once(acts)

    assert count(service, "SELECT count(*) FROM membership WHERE account_id = $1 AND role = 'owner'", people.acme) >= 1
    assert 500 not in statuses
    assert statuses.count(200) + statuses.count(204) >= 1


def test_a_member_who_is_made_owner_and_removed_at_once_is_one_or_the_other(
    service: RunningService, people: Cast
) -> None:
    bob = people.user_ids["bob"]
    twins = [twin_of(service, people.alice) for _ in range(2)]

    transferred, removed = all_at_once(
        [
            lambda: twins[0].post(f"{CONSOLE}/account/transfer-ownership", json={"userId": bob}),
            lambda: twins[1].delete(f"{CONSOLE}/members/{bob}"),
        ]
    )

    owners = count(service, "SELECT count(*) FROM membership WHERE account_id = $1 AND role = 'owner'", people.acme)
    # If the transfer is first, the giver is an admin, who may not remove an owner. If the removal is first, the
    # receiver is no longer a member.
    assert (transferred, removed, owners) in {(200, 403, 1), (404, 204, 1)}


def test_a_sign_in_and_a_suspension_at_once_leave_no_session(service: RunningService, people: Cast) -> None:
    bob = people.user_ids["bob"]

    def enter() -> Any:
        return service.new_public_client().post(
            f"{ACCOUNT}/login", json={"email": EMAILS["bob"], "password": "seven purple bicycles hum"}
        )

    acts: list[Callable[[], Any]] = [enter] * 4
    acts.insert(2, lambda: service.operator.post(f"/v1/admin/users/{bob}/suspend", json={}))
    statuses = all_at_once(acts)

    assert statuses[2] == 200
    assert set(statuses) <= {200, 403}
    assert count(service, "SELECT count(*) FROM user_session WHERE user_id = $1 AND ended_ms IS NULL", bob) == 0


def test_two_resets_with_one_link_and_a_sign_in_leave_the_sessions_of_the_new_password_only(
    service: RunningService, people: Cast
) -> None:
    link = make_link(service, LinkKind.RESET, people.user_ids["bob"])
    sign_in(service, EMAILS["bob"])
    body = {"token": link, "password": NEW_PASSWORD}
    clients = [service.new_public_client() for _ in range(8)]

    statuses = all_at_once([lambda c=c: c.post(f"{ACCOUNT}/password/reset", json=body) for c in clients])

    assert statuses.count(200) == 1
    live = "SELECT count(*) FROM user_session WHERE user_id = $1 AND ended_ms IS NULL"
    assert count(service, live, people.user_ids["bob"]) == 1
