"""The operators' side: unreachable on the public listener (D1), apart from the customers' (D4), told (D10)."""

import itertools
import socket

import pytest

from agentgate.people.identity.guards import ADMIN_COOKIE
from agentgate.people.identity.sessions import ACCOUNT_COOKIE
from tests.api.account.steps import trail
from tests.support.cast import Cast
from tests.support.service import ADMIN_KEY, RunningService

pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)

STARTS = ["/v1/admin", "//v1/admin", "/v1//admin", "/./v1/admin", "/v1/./admin", "/x/../v1/admin", "/v1/x/../admin"]
STARTS += ["/v1%2fadmin", "/v1%2Fadmin", "/%761/admin", "/v1/%61dmin", "/v1/adm%69n", "/v1%252fadmin", "/V1/ADMIN"]
STARTS += ["/v1/Admin", "/v1;x/admin", "/v1/admin;x=1", "/v1\\admin", "/v1%5cadmin", "/v1/admin%00", "/v1/admin%20"]
STARTS += ["/v1/console/../admin", "/v1/account/..%2fadmin", "/v1/%2e%2e/v1/admin", "/v1/admin.", "/v1/\u0430dmin"]
STARTS += ["http://127.0.0.1/v1/admin", "http://admin.example/v1/admin", "https://x/v1/admin", "/v1/admin/."]
ENDS = ["/sites", "/session", "/customers", "/outbox", "/accounts", "", "/", "//sites"]
ENDS += ["/sites/", "/sites?x=/../", "/sites#x"]


def raw_status(service: RunningService, target: str, method: str) -> tuple[int, bytes]:
    """Send a request line exactly as it is; return status and body. An empty response is a rejection, too."""
    host, port = service.application.public_address
    request = (
        f"{method} {target} HTTP/1.1\r\nHost: {host}:{port}\r\nX-Admin-Key: {ADMIN_KEY}\r\n"
        "Content-Length: 0\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection((host, port), timeout=10) as connection:
        connection.sendall(request.encode())
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    return (int(head.split(b" ", 2)[1]), body) if head else (0, b"")


def test_no_spelling_of_an_admin_path_means_anything_on_the_public_listener(service: RunningService) -> None:
    spellings = [start + end for start, end in itertools.product(STARTS, ENDS)]
    assert len(spellings) >= 300
    unknown = raw_status(service, "/v1/nothing", "GET")
    assert unknown[0] == 404

    for number, target in enumerate(spellings):
        status, body = raw_status(service, target, ("GET", "POST", "DELETE")[number % 3])
        # Not found like anything else, or malformed before it is looked for.
        assert status in {404, 400, 0}, target
        assert status != 404 or body == unknown[1], target


def test_neither_sides_session_opens_the_other(service: RunningService, people: Cast) -> None:
    user, operator = people.alice.cookies[ACCOUNT_COOKIE], people.olga.cookies[ADMIN_COOKIE]
    crossed = [f"{name}={value}" for name in (ACCOUNT_COOKIE, ADMIN_COOKIE) for value in (user, operator)]
    right = {f"{ACCOUNT_COOKIE}={user}": "public", f"{ADMIN_COOKIE}={operator}": "admin"}
    doors = {"public": (service.public, "/v1/account/session"), "admin": (service.anonymous, "/v1/admin/session")}

    for cookie in crossed:
        for name, (client, path) in doors.items():
            expected = 200 if right.get(cookie) == name else 401
            assert client.get(path, headers={"Cookie": cookie}).status_code == expected, (cookie[:10], name)
    for header in ({"X-Admin-Key": ADMIN_KEY}, {"Authorization": f"Bearer {ADMIN_KEY}"}):
        assert service.public.get("/v1/console/account", headers=header).status_code == 401


@pytest.mark.parametrize(
    ("step", "body", "action"),
    [("suspend", {}, "user.suspend"), ("reset-link", None, "user.reset_link"), ("mfa/reset", None, "user.mfa_reset")],
)
def test_what_an_operator_does_to_a_user_is_reported_with_the_operators_name(
    service: RunningService, people: Cast, step: str, body: dict[str, str] | None, action: str
) -> None:
    bob = people.user_ids["bob"]
    if step == "mfa/reset":
        sql = "UPDATE users SET mfa_enabled_ms = 1, mfa_secret = $1 WHERE id = $2"
        service.run(service.application.stores.databases["config"].run(sql, b"x", bob))
    before = len(trail(service))

    assert people.olga.post(f"/v1/admin/users/{bob}/{step}", json=body).status_code == 200

    assert [entry[:4] for entry in trail(service)[before:]] == [("Olga", action, people.acme, bob)]


def test_a_suspended_user_gets_no_reset_link(service: RunningService, people: Cast) -> None:
    user = f"/v1/admin/users/{people.user_ids['bob']}"
    assert people.olga.post(f"{user}/suspend", json={}).status_code == 200
    before = len(trail(service))

    reply = people.olga.post(f"{user}/reset-link")

    assert (reply.status_code, reply.json()["error"]) == (409, "invalid_state")
    assert len(trail(service)) == before
