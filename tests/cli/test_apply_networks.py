"""Network lists in a site's file: exported, planned, and applied before the rules that name them."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.cli.commands import Result, agentgate
from tests.support.service import ADMIN_KEY, RunningService

Command = Callable[..., Result]


@pytest.fixture
def run(service: RunningService, tmp_path: Path) -> Command:
    """Return what runs a command against the service."""
    return lambda *given: agentgate(tmp_path, *given, "--url", service.admin_url, AGENTGATE_ADMIN_KEY=ADMIN_KEY)


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return name


def test_network_lists_are_exported_planned_and_applied_before_the_rules_that_name_them(
    run: Command, tmp_path: Path, service: RunningService
) -> None:
    own = {"name": "offices", "networks": ["203.0.113.9", "203.0.113.0/24", "2001:db8::/48"]}
    drop = {"name": "drop", "source": "url", "url": "https://lists.invalid/", "refreshMinutes": 60, "note": "daily"}
    wanted = {
        "siteKey": "site_cli_lists",
        "name": "Lists",
        "networkLists": [own, drop],
        "rules": {
            "version": "1",
            "rules": [{"name": "office", "match": {"network_lists": ["offices"]}, "action": "allow"}],
            "default_action": "allow",
        },
    }
    path = written(tmp_path, "lists.yaml", yaml.safe_dump(wanted))
    planned = run("apply", path, "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert "+ networkLists.offices: own, networks: 2 added, 0 removed" in planned.stdout
    assert service.operator.get("/v1/admin/sites/site_cli_lists").status_code == 404
    done = run("apply", path, "--yes")
    assert done.returncode == 0, done.stderr

    exported = run("site", "export", "site_cli_lists").stdout
    found = yaml.safe_load(exported)["networkLists"]
    assert found == [drop, {"name": "offices", "source": "own", "networks": ["203.0.113.0/24", "2001:db8::/48"]}]
    assert run("apply", written(tmp_path, "same.yaml", exported), "--yes").stdout == "no changes\n"

    # A list that a rule names is deleted only together with the rule, and an own list can become empty.
    without = {"siteKey": "site_cli_lists", "networkLists": [drop]}
    assert run("apply", written(tmp_path, "less.yaml", yaml.safe_dump(without)), "--yes").returncode == 2
    empty = {"siteKey": "site_cli_lists", "networkLists": [{**own, "networks": []}]}
    planned = run("apply", written(tmp_path, "less.yaml", yaml.safe_dump(empty)), "--yes")
    assert planned.returncode == 0, planned.stderr
    assert "- networkLists.drop: url" in planned.stdout
    assert "~ networkLists.offices: own, networks: 0 added, 2 removed" in planned.stdout
    items = service.operator.get("/v1/admin/sites/site_cli_lists/network-lists").json()["items"]
    assert [(each["name"], each["networks"]) for each in items] == [("offices", 0)]
    for wrong in ("x", [own, own], [{"name": "a", "networks": ["no"]}], [{"networks": []}]):
        text = yaml.safe_dump({"siteKey": "site_cli_lists", "networkLists": wrong})
        assert run("apply", written(tmp_path, "wrong.yaml", text), "--yes").returncode == 2
