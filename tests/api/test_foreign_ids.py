"""Foreign IDs look like unknown IDs, on every route that takes an ID: same bytes, no trace.

The routes come from the route tables, so that a new one is covered, or fails here, from its first day.
"""

from dataclasses import asdict

import httpx
import pytest

from agentgate.http.endpoint import Endpoint
from tests.support.every_route import ADMIN_ROUTES, PUBLIC_ROUTES, ask, parameters, placeholders, unknown_value
from tests.support.service import RunningService
from tests.support.tables import contents
from tests.support.two_accounts import Scene, set_scene

MALFORMED = ["x", "site_", "usr_ZZZZZZZZZZZZZZZZ", "%00", "a" * 300, "..%2f..", "%F0%9F%92%A9", "1%20OR%201=1"]
# A link belongs to any holder of its secret, so it cannot be foreign. Models are shared by all accounts.
SECRETS = {"token", "kind", "role", "proxy"}
# Files of the SDK, pages of the documentation and kinds of proxies are shared, too: an ID can only be unknown.
PUBLISHED = {"file", "proxy", "folder", "page"}
# These cannot be foreign either: a site's tools are for every agent, and the page of a handoff for any holder of its
# ID.
EVERYBODYS = {
    "GET /v1/sites/{siteKey}/robots.txt",
    "GET /v1/sites/{siteKey}/license.xml",
    "GET /v1/sites/{siteKey}/ai-headers",
    "GET /v1/agent-tools/{siteKey}",
    "GET /handoff/{id}",
    "POST /handoff/{id}",
}
# The page that loads a console is the same at every address; what it then asks for is not.
SHELLS = ("GET /console", "GET /operator")
ROUTES = {
    name: row
    for name, row in {**PUBLIC_ROUTES, **ADMIN_ROUTES}.items()
    if set(placeholders(row.path)) - SECRETS and name not in EVERYBODYS and not name.startswith(SHELLS)
}
OPERATOR_ROUTES = {name: row for name, row in ROUTES.items() if name in ADMIN_ROUTES}
CUSTOMER_ROUTES = {name: row for name, row in ROUTES.items() if name in PUBLIC_ROUTES}

on_sqlite = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


@pytest.fixture
def scene(service: RunningService) -> Scene:
    return set_scene(service)


def told(reply: httpx.Response) -> tuple[int, bytes, list[tuple[str, str]]]:
    """Return the content of a response without the headers that always differ."""
    own = {"x-request-id", "date"}
    headers = sorted((name, value) for name, value in reply.headers.items() if name not in own)
    return reply.status_code, reply.content, headers


def foreign_value(row: Endpoint, scene: Scene, name: str) -> str:
    """Return Globex's value for a parameter of Acme."""
    if row.path.endswith(("mfa/reset", "users/{userId}/reactivate")):
        return scene.globex.member
    return parameters(row, scene, scene.globex)[name]


def test_the_tables_have_routes_with_ids_on_both_sides() -> None:
    assert len(CUSTOMER_ROUTES) >= 11
    assert len(OPERATOR_ROUTES) >= 22


def ids_of(row: Endpoint) -> list[str]:
    """Return the IDs in a path. The name of a new network list is not one: its owner chooses it."""
    return [name for name in placeholders(row.path) if (row.method, name) != ("PUT", "listName")]


@on_sqlite
def test_another_accounts_things_respond_like_unknown_ones_and_nothing_is_written(
    service: RunningService, scene: Scene
) -> None:
    before = contents(service)
    for row in CUSTOMER_ROUTES.values():
        for name in set(ids_of(row)) - PUBLISHED:
            unknown = ask(service.public, row, scene, scene.callers["owner"], **{name: unknown_value(row.path, name)})
            foreign = ask(service.public, row, scene, scene.callers["owner"], **{name: foreign_value(row, scene, name)})
            assert unknown.status_code == 404, row
            assert told(foreign) == told(unknown), row

    assert contents(service) == before


@on_sqlite
def test_a_thing_of_another_customer_is_not_found_under_this_one(service: RunningService, scene: Scene) -> None:
    nested = [row for row in OPERATOR_ROUTES.values() if len(set(ids_of(row)) - PUBLISHED) > 1]
    before = contents(service)
    for row in nested:
        name = ids_of(row)[-1]
        operator = scene.callers["operator key"]
        unknown = ask(service.anonymous, row, scene, operator, **{name: unknown_value(row.path, name)})
        foreign = ask(service.anonymous, row, scene, operator, **{name: foreign_value(row, scene, name)})
        assert unknown.status_code == 404, row
        assert told(foreign) == told(unknown), row

    assert len(nested) >= 6
    assert contents(service) == before


@on_sqlite
def test_unknown_and_malformed_ids_are_not_found_and_nothing_is_written(service: RunningService, scene: Scene) -> None:
    before = contents(service)
    for name, row in ROUTES.items():
        client, caller = (service.public, "owner") if name in CUSTOMER_ROUTES else (service.anonymous, "operator key")
        for parameter in ids_of(row):
            for value in [unknown_value(row.path, parameter), *MALFORMED]:
                reply = ask(client, row, scene, scene.callers[caller], **{parameter: value})
                assert reply.status_code == 404, (name, value)
                assert reply.json()["error"] in {"not_found", "site_not_found"}, (name, value)

    assert contents(service) == before


@on_sqlite
def test_what_was_deleted_responds_like_an_unknown_thing(service: RunningService, scene: Scene) -> None:
    owner = {"headers": scene.callers["owner"]}
    assert service.public.delete(f"/v1/console/members/{scene.acme.member}", **owner).status_code == 204
    assert service.public.delete(f"/v1/console/members/{scene.acme.invited}", **owner).status_code == 204
    moved = service.operator.post(f"/v1/admin/sites/{scene.acme.site}/move", json={"customerId": scene.globex.account})
    assert moved.status_code == 200
    before = contents(service)

    for row in CUSTOMER_ROUTES.values():
        for name in ids_of(row):
            if name not in {"userId", "siteKey"}:
                continue
            deleted = ask(service.public, row, scene, scene.callers["owner"])
            unknown = ask(service.public, row, scene, scene.callers["owner"], **{name: unknown_value(row.path, name)})
            assert told(deleted) == told(unknown), row

    assert contents(service) == before


@on_sqlite
def test_a_token_that_was_revoked_is_not_revoked_again(service: RunningService, scene: Scene) -> None:
    owner = {"headers": scene.callers["owner"]}
    token = f"/v1/console/tokens/{scene.acme.token}"
    assert service.public.delete(token, **owner).status_code == 204
    before = contents(service)

    service.public.delete(token, **owner)

    assert contents(service) == before


@on_sqlite
def test_both_accounts_have_different_things(service: RunningService, scene: Scene) -> None:
    acme, globex = asdict(scene.acme), asdict(scene.globex)

    assert all(acme[name] != globex[name] for name in acme)
