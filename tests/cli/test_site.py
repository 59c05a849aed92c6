"""`agentgate site`: one line for whole-site protection, one line to open a path to one sender."""

import pytest

from tests.cli.commands import agentgate
from tests.support.browser_client import create_site
from tests.support.service import ADMIN_KEY


@pytest.fixture
def run(service, tmp_path):
    return lambda *arguments: agentgate(
        tmp_path, "site", *arguments, "--url", service.admin_url, AGENTGATE_ADMIN_KEY=ADMIN_KEY
    )


def test_one_line_protects_a_site_as_a_whole_and_one_ends_it(service, run):
    key = create_site(service, mode="enforce")
    read = lambda: service.operator.get(f"/v1/admin/sites/{key}").json()["wholeSite"]  # noqa: E731

    told = run("protect", key)
    assert (told.returncode, told.stdout) == (0, f"{key}: whole-site protection is on, mode enforce\n")
    assert read() is True
    assert run("protect", key, "--off").returncode == 0
    assert read() is False


def test_monitor_mode_is_reported(service, run):
    assert "In monitor mode no visitor is challenged" in run("protect", create_site(service, mode="monitor")).stdout


def test_one_line_opens_a_path_to_one_sender_and_one_closes_it(service, run):
    key = create_site(service)
    read = lambda: service.operator.get(f"/v1/admin/sites/{key}").json()["openPaths"]  # noqa: E731

    assert run("open", key, "/hooks/stripe", "--to", "stripe", "--note", "payments").returncode == 0
    assert run("open", key, "/hooks/stripe", "--to", "203.0.113.7").returncode == 0
    assert run("open", key, "/hooks/stripe", "--to", "stripe").returncode == 0
    assert [(each["path"], each["sender"]) for each in read()] == [
        ("/hooks/stripe", "203.0.113.7"),
        ("/hooks/stripe", "stripe"),
    ]
    assert run("close", key, "/hooks/stripe").stdout == f"{key}: /hooks/stripe is no longer an allowed path\n"
    assert run("close", key, "/hooks/stripe").stdout == f"{key}: /hooks/stripe was not an allowed path\n"
    assert read() == []


def test_an_error_is_shown_in_one_line(service, run):
    key = create_site(service)

    told = run("open", key, "/hooks", "--to", "nobody")
    assert told.returncode == 2
    assert "invalid_site" in told.stderr
    assert "stripe" in told.stderr
    assert "site_not_found" in run("protect", "site_nowhere").stderr


def test_one_line_switches_decoys_on_and_prints_what_to_add(service, run):
    key = create_site(service)
    read = lambda: service.operator.get(f"/v1/admin/sites/{key}").json()  # noqa: E731

    told = run("decoys", key)
    assert told.returncode == 0, told.stderr
    found = read()
    assert found["decoys"] is True
    assert found["decoy"]["html"] in told.stdout
    assert found["decoy"]["robotsTxt"] in told.stdout
    assert run("decoys", key, "--off").stdout == f"{key}: decoys are off\n"
    assert read()["decoys"] is False


def test_one_line_shows_and_sets_the_ai_use(service, run):
    key = create_site(service)

    assert "training block" in run("ai", key).stdout
    assert run("ai", key, "--training", "price", "--price", "USD 0.01").returncode == 0
    assert run("ai", key, "--search", "challenge").returncode == 0
    assert run("ai", key, "--agent", "never").returncode == 2

    used = service.operator.get(f"/v1/admin/sites/{key}").json()["aiUse"]
    assert used == {"search": "challenge", "agent": "allow", "training": "price", "price": "USD 0.01"}


def test_one_line_chooses_the_application_and_one_ends_it(service, run):
    key = create_site(service, mode="enforce", actions={"submit": {"browserRequired": True}})
    read = lambda: service.operator.get(f"/v1/admin/sites/{key}/rules").json()["preset"]  # noqa: E731

    told = run("app", key, "mediawiki")
    assert (told.returncode, told.stdout) == (0, f"{key}: preset mediawiki\n"), told.stderr
    assert read() == "mediawiki"
    actions = service.operator.get(f"/v1/admin/sites/{key}").json()["actions"]
    assert actions == {"submit": {"browserRequired": True}, "visit": {"browserRequired": True, "clearance": True}}
    assert "preset: mediawiki" in run("export", key).stdout
    assert run("app", key, "none").returncode == 0
    assert read() == "none"
    assert run("app", key, "jira").returncode == 2


def test_a_file_with_a_preset_and_its_first_action_is_applied_to_a_site(service, run, tmp_path):
    key = create_site(service, mode="enforce", actions={"submit": {"browserRequired": True}})
    assert run("app", key, "cgit").returncode == 0
    (tmp_path / "site.yaml").write_text(run("export", key).stdout)
    assert run("app", key, "none").returncode == 0
    changed = service.operator.patch(f"/v1/admin/sites/{key}", json={"actions": {"submit": {"browserRequired": True}}})
    assert changed.status_code == 200, changed.text

    applied = agentgate(
        tmp_path, "apply", "site.yaml", "--yes", "--url", service.admin_url, AGENTGATE_ADMIN_KEY=ADMIN_KEY
    )

    assert applied.returncode == 0, applied.stderr
    assert service.operator.get(f"/v1/admin/sites/{key}/rules").json()["preset"] == "cgit"
