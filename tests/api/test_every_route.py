"""Every route is called once on PostgreSQL with full permissions and real IDs: PostgreSQL accepts its SQL.

The responses of each route to each caller are tested on the embedded store (`authorization/test_table.py`), and most
tests of the API run on that store only; `tests/conftest.py` lists the tests that run on both.
"""

import pytest

from tests.support.every_route import ADMIN_ROUTES, PUBLIC_ROUTES, ask, listener_of
from tests.support.servers import RedisServer
from tests.support.service import RunningService
from tests.support.two_accounts import set_scene

ROUTES = {**PUBLIC_ROUTES, **ADMIN_ROUTES}
# Whatever takes things or sessions away comes after what needs them.
TAKES_AWAY = (
    "logout",
    "switch",
    "suspend",
    "revoke",
    "reset",
    "password",
    "mfa",
    "move",
    "transfer",
    "decline",
    "delete",
)
ANYBODY = (
    *("POST /v1/account/login", "POST /v1/account/invite/accept"),
    *("POST /v1/account/password/forgot", "POST /v1/account/password/reset"),
)
# At most this many routes that change something may fail here: forms, used-up data, missing tokens.
MOST_REFUSED = 60


def harm_of(name: str) -> tuple[bool, bool, bool]:
    """Return how late a route is to be called."""
    method, _, path = name.partition(" ")
    return method != "GET", any(word in path for word in TAKES_AWAY), method == "DELETE"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("settings", ["postgres"], indirect=True)
def test_every_route_is_handled_on_postgresql(service: RunningService, redis: RedisServer) -> None:
    scene = set_scene(service)
    config, answers = service.application.stores.databases["config"], {}
    for name in sorted(ROUTES, key=harm_of):
        caller = "anonymous" if name in ANYBODY else "owner" if name in PUBLIC_ROUTES else "operator key"
        answers[name] = ask(listener_of(service, name), ROUTES[name], scene, scene.callers[caller])
        redis.flush()
        # Some routes replace the session that is used here.
        service.run(config.run("UPDATE user_session SET ended_ms = NULL, account_id = $1", scene.acme.account))

    assert {name: reply.text for name, reply in answers.items() if reply.status_code >= 500} == {}
    refused = [name for name, reply in answers.items() if reply.status_code >= 400]
    assert len([name for name in refused if not name.startswith("GET")]) <= MOST_REFUSED, refused
    assert len([name for name in refused if name.startswith("GET")]) <= 14, refused
