"""API tokens: made with scopes, shown once, good until revoked or expired, and never for more than their scopes."""

from typing import Any

from agentgate.lib.moment import Moment
from tests.api.console.steps import CONSOLE, at_once, refusal, set_limits, told, trail
from tests.support.api_client import ApiClient
from tests.support.cast import Cast
from tests.support.service import NOON_MS, RunningService

TOKENS = f"{CONSOLE}/tokens"
NOON = Moment(NOON_MS).text()
UNKNOWN = "tok_0000000000000000"


def create(client: ApiClient, **changes: Any) -> Any:
    return client.post(TOKENS, json={"name": "CI", "scopes": ["sites:read"], **changes})


def bearer(service: RunningService, secret: str) -> ApiClient:
    client = service.new_public_client()
    client.headers["Authorization"] = f"Bearer {secret}"
    return client


def test_a_token_is_shown_with_its_secret_once(service: RunningService, people: Cast) -> None:
    made = create(people.adam, scopes=["sites:read", "members:read"], expiresAt="2026-12-01T00:00:00Z")

    assert made.status_code == 201
    token, secret = made.json()["token"], made.json()["secret"]
    assert secret.startswith("agt_")
    assert len(secret) == 47
    assert token == {
        "id": token["id"],
        "name": "CI",
        "scopes": ["sites:read", "members:read"],
        "createdAt": NOON,
        "createdBy": "adam@acme.example",
        "expiresAt": "2026-12-01T00:00:00.000Z",
    }
    assert people.alice.get(TOKENS).json() == {"items": [token]}
    detail = {"name": "CI", "scopes": ["sites:read", "members:read"], "expiresAt": "2026-12-01T00:00:00.000Z"}
    assert [told(event) for event in trail(people, "token")] == [
        ("adam@acme.example", "token.create", token["id"], detail)
    ]
    database = service.application.stores.databases["config"]
    for table in ("api_token", "audit_entry"):
        assert secret.removeprefix("agt_") not in repr(service.run(database.all(f"SELECT * FROM {table}")))


def test_a_token_works_without_a_csrf_token_and_is_named_in_the_trail(service: RunningService, people: Cast) -> None:
    made = create(people.alice, scopes=["sites:read", "sites:write"]).json()
    client = bearer(service, made["secret"])

    site = client.post(f"{CONSOLE}/sites", json={"name": "Shop"})

    assert site.status_code == 201
    assert "role" not in client.get(f"{CONSOLE}/account").json()
    newest = trail(people)[0]
    assert (newest["actor"], newest["actorKind"], newest["action"]) == (made["token"]["id"], "token", "site.create")
    assert people.alice.get(TOKENS).json()["items"][0]["lastUsedAt"] == NOON


def test_a_malformed_token_is_rejected(people: Cast) -> None:
    malformed: tuple[dict[str, Any], ...] = (
        {"scopes": []},
        {"scopes": ["sites:read", "sites:read"]},
        {"scopes": ["members:write"]},
        {"scopes": ["tokens:write"]},
        {"scopes": ["account:delete"]},
        {"scopes": ["*"]},
        {"scopes": "sites:read"},
        {"name": ""},
        {"name": " "},
        {"name": "x" * 101},
        {"name": "a\nb"},
        {"expiresAt": NOON},
        {"expiresAt": "2020-01-01T00:00:00Z"},
        {"expiresAt": "tomorrow"},
        {"expiresAt": None},
        {"id": "tok_1"},
    )
    for changes in malformed:
        assert refusal(create(people.alice, **changes)) == (400, "invalid_request"), changes
    assert people.alice.get(TOKENS).json() == {"items": []}


def test_a_revoked_token_is_dead_at_once_and_told_once(service: RunningService, people: Cast) -> None:
    made = create(people.alice).json()
    client = bearer(service, made["secret"])
    assert client.get(f"{CONSOLE}/account").status_code == 200

    revoked = people.adam.delete(f"{TOKENS}/{made['token']['id']}")
    again = people.adam.delete(f"{TOKENS}/{made['token']['id']}")

    assert (revoked.status_code, revoked.content, again.status_code) == (204, b"", 204)
    assert refusal(client.get(f"{CONSOLE}/account")) == (401, "invalid_token")
    assert people.alice.get(TOKENS).json()["items"][0]["revokedAt"] == NOON
    assert [told(event) for event in trail(people, "token.revoke")] == [
        ("adam@acme.example", "token.revoke", made["token"]["id"], {"name": "CI"})
    ]


def test_a_token_is_dead_from_the_moment_it_expires(service: RunningService, people: Cast) -> None:
    client = bearer(service, create(people.alice, expiresAt=Moment(NOON_MS + 1000).text()).json()["secret"])

    service.clock.advance(ms=999)
    assert client.get(f"{CONSOLE}/account").status_code == 200
    service.clock.advance(ms=1)
    assert refusal(client.get(f"{CONSOLE}/account")) == (401, "invalid_token")


def test_another_accounts_token_responds_like_an_unknown_one(service: RunningService, people: Cast) -> None:
    made = create(people.alice).json()

    foreign = people.carol.delete(f"{TOKENS}/{made['token']['id']}")
    unknown = people.carol.delete(f"{TOKENS}/{UNKNOWN}")

    assert refusal(foreign) == (404, "not_found")
    assert foreign.content == unknown.content
    assert people.carol.get(TOKENS).json() == {"items": []}
    assert bearer(service, made["secret"]).get(f"{CONSOLE}/account").status_code == 200


def test_only_live_tokens_count_against_the_limit(service: RunningService, people: Cast) -> None:
    set_limits(service, people.acme, tokens=2)
    first = create(people.alice).json()["token"]
    create(people.alice, expiresAt=Moment(NOON_MS + 1000).text())
    assert refusal(create(people.alice)) == (409, "token_limit")

    people.alice.delete(f"{TOKENS}/{first['id']}")
    service.clock.advance(seconds=1)

    assert [create(people.alice).status_code for _ in range(3)] == [201, 201, 409]


def test_the_limit_holds_under_parallel_creation(service: RunningService, people: Cast) -> None:
    statuses = at_once(service, people.alice, lambda client, _: create(client))

    assert statuses == [201] * 25 + [409] * 39
    assert len(people.alice.get(TOKENS).json()["items"]) == 25
    assert len(trail(people, "token.create")) == 25
