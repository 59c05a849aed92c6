"""Forms and JSON bodies that name another method, and tokens on routes that overlap, behind real proxies."""

from collections.abc import Iterator

import pytest

from tests.proxies.visiting import BROWSER, ORIGIN, Installed, new_address
from tests.support.browser_client import get_token

BODIES = {
    "application/x-www-form-urlencoded": b"_method=GET&x=1",
    "application/json": b'{"_method": "GET"}',
}


def post(installed: Installed, target: str, content_type: str, *, address: str | None = None, token: str | None = None):
    """Send a body that names GET."""
    headers = [("Content-Type", content_type), *([("X-AgentGate-Token", token)] if token else [])]
    return installed.visit("POST", target, usual=BROWSER, headers=headers, body=BODIES[content_type], address=address)


@pytest.fixture
def below_a_catch_all(site: Installed) -> Iterator[None]:
    """A catch-all that a clearance opens, over a route for tokens, for the length of a test."""
    before = site.service.operator.get(f"/v1/admin/sites/{site.site_key}").json()
    site.change(
        actions={"browse": {"browserRequired": True, "clearance": True}, "pay": {"browserRequired": True}},
        routes=[
            {"method": "GET", "pathPrefix": "/", "action": "browse"},
            {"method": "POST", "path": "/pay", "action": "pay"},
        ],
    )
    yield
    site.change(actions=before["actions"], routes=before["routes"])


@pytest.mark.parametrize("content_type", BODIES)
def test_a_body_that_names_get_does_not_reach_what_get_reads(installed: Installed, content_type: str) -> None:
    # `GET /members` needs a clearance; no route names `POST /members`.
    assert post(installed, "/members", content_type).status == 401
    assert post(installed, "/elsewhere", content_type).status == 200

    installed.change(formMethodOverride=False)
    try:
        assert post(installed, "/members", content_type).status == 200
    finally:
        installed.change(formMethodOverride=True)


@pytest.mark.parametrize("content_type", BODIES)
def test_a_token_opens_its_form_below_a_catch_all_once(
    installed: Installed, below_a_catch_all: None, content_type: str
) -> None:
    address = new_address()
    token = get_token(installed.service, installed.site_key, "pay", ORIGIN, address=address)

    assert post(installed, "/pay", content_type, address=address).status == 401
    assert post(installed, "/pay", content_type, address=address, token=token).status == 200
    assert post(installed, "/pay", content_type, address=address, token=token).status == 401
