"""`agentgate setup-link` and `reset-link`, and sites that are made before and after the first owner."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.commands import Result, agentgate
from tests.support.service import ADMIN_KEY, RunningService

pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
Command = Callable[..., Result]
OWNER = {"email": "owner@shop.example", "password": "correct horse battery staple"}


@pytest.fixture
def run(service: RunningService, tmp_path: Path) -> Command:
    return lambda *given: agentgate(tmp_path, *given, "--url", service.admin_url, AGENTGATE_ADMIN_KEY=ADMIN_KEY)


def set_up(run: Command, service: RunningService) -> str:
    """Create the first owner, and return the account's ID."""
    token = run("setup-link").stdout.strip().partition("#")[2]
    made = service.new_public_client().post("/v1/account/setup", json={"token": token, **OWNER})
    assert made.status_code == 200, made.text
    return str(made.json()["account"]["id"])


def test_sites_before_and_after_the_link_are_in_one_account(run: Command, service: RunningService) -> None:
    run("protect", "https://before.example", "--proxy", "nginx", "--no-watch")
    run("site", "create", "Second", "--origin", "https://second.example")
    account = set_up(run, service)
    run("protect", "https://after.example", "--proxy", "nginx", "--no-watch")

    sites = service.operator.get("/v1/admin/sites").json()["items"]
    owners = {each["allowedOrigins"][0]: each["customerId"] for each in sites if each["allowedOrigins"]}
    for name in ("before", "second", "after"):
        assert owners[f"https://{name}.example"] == account


def test_with_several_accounts_a_new_site_is_not_put_into_any_of_them(run: Command, service: RunningService) -> None:
    account = set_up(run, service)
    run("invite", "ann@shop.example", "--customer", "Ann")
    run("protect", "https://third.example", "--proxy", "nginx", "--no-watch")

    sites = service.operator.get("/v1/admin/sites").json()["items"]
    (third,) = [each for each in sites if "https://third.example" in each["allowedOrigins"]]
    assert third["customerId"] != account


def test_a_second_owner_is_not_made(run: Command, service: RunningService) -> None:
    set_up(run, service)

    told = run("setup-link")

    assert told.returncode == 2
    assert "agentgate reset-link EMAIL" in told.stderr


def test_a_reset_link_sets_a_new_password(run: Command, service: RunningService) -> None:
    set_up(run, service)
    told = json.loads(run("reset-link", "Owner@shop.example", "--json").stdout)
    token = told["resetUrl"].partition("#")[2]
    new = {"token": token, "password": "another horse battery staple"}

    assert service.new_public_client().post("/v1/account/password/reset", json=new).status_code == 200
    assert service.new_public_client().post("/v1/account/password/reset", json=new).status_code == 404
    unknown = run("reset-link", "nobody@shop.example")
    assert (unknown.returncode, "no user has the address" in unknown.stderr) == (2, True)
