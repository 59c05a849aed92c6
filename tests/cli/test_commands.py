"""The commands that need no store: help, version, check-config, and their error messages."""

import json
import subprocess

import apsw
import pytest

from agentgate import __version__
from agentgate.server.cli.about import settings_page
from tests.cli.commands import agentgate, command, environment

COMMANDS = [
    "serve", "migrate", "routes", "openapi", "check-config", "backup", "version", "keys", "keys list", "keys rotate",
    "adapter",
]  # fmt: skip
JSON_COMMANDS = [
    "adapter", "apply", "backup", "copy", "intel update", "keys rotate-root", "labels export", "probes make", "restore",
    "train",
]  # fmt: skip
SECRET = "CANARY-correct-horse-battery"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_an_example(tmp_path, name):
    result = agentgate(tmp_path, *name.split(), "--help")

    assert result.returncode == 0
    assert f"Example: {'AGENTGATE_WORKERS=4 ' if name == 'check-config' else ''}agentgate {name}" in result.stdout


def test_every_command_serves_programs_too(tmp_path):
    mute = [name for name in JSON_COMMANDS if "--json" not in agentgate(tmp_path, *name.split(), "--help").stdout]

    assert mute == []
    printed = json.loads(agentgate(tmp_path, "adapter", "caddy", "--json").stdout)
    assert printed["text"] == agentgate(tmp_path, "adapter", "caddy").stdout
    assert printed["file"] == "Caddyfile"


def test_without_a_command_the_commands_are_listed(tmp_path):
    result = agentgate(tmp_path)

    assert result.returncode == 0
    assert all(name.split()[0] in result.stdout for name in COMMANDS)


def test_version_names_the_library_versions_in_use(tmp_path):
    versions = json.loads(agentgate(tmp_path, "version", "--json").stdout)

    assert versions["agentgate"] == __version__
    assert versions["sqlite"] == apsw.sqlite_lib_version()
    assert set(versions) == {"agentgate", "python", "sqlite", "uvicorn"}


def test_the_module_runs_as_a_program(tmp_path):
    result = subprocess.run(
        command("version"), env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=True
    )

    assert result.stdout.splitlines()[0] == f"agentgate {__version__}"


def test_the_exit_code_of_the_program_matches_the_command(tmp_path):
    result = subprocess.run(
        command("nope"), env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False
    )

    assert result.returncode == 2


def test_check_config_prints_settings_without_secrets(tmp_path):
    result = agentgate(tmp_path, "check-config", AGENTGATE_ADMIN_KEY=SECRET, AGENTGATE_WORKERS="3")

    assert result.returncode == 0
    assert "AGENTGATE_WORKERS" in result.stdout
    assert "(hidden)" in result.stdout
    assert SECRET not in result.stdout


def test_check_config_prints_json_for_programs(tmp_path):
    (tmp_path / "agentgate.toml").write_text("event_days = 7\n")

    rows = json.loads(agentgate(tmp_path, "check-config", "--json", AGENTGATE_WORKERS="3").stdout)

    by_name = {row["name"]: row for row in rows}
    assert (by_name["AGENTGATE_WORKERS"]["value"], by_name["AGENTGATE_WORKERS"]["source"]) == ("3", "environment")
    assert (by_name["AGENTGATE_EVENT_DAYS"]["value"], by_name["AGENTGATE_EVENT_DAYS"]["source"]) == (
        "7",
        "agentgate.toml",
    )


def test_check_config_reads_the_file_it_is_instructed_to(tmp_path):
    (tmp_path / "other.toml").write_text("event_days = 8\n")

    rows = json.loads(agentgate(tmp_path, "check-config", "--json", "--config", "other.toml").stdout)

    assert {row["value"] for row in rows if row["name"] == "AGENTGATE_EVENT_DAYS"} == {"8"}


def test_check_config_prints_the_settings_page(tmp_path):
    assert agentgate(tmp_path, "check-config", "--page").stdout == settings_page()


@pytest.mark.parametrize("name", ["check-config", "serve", "migrate"])
def test_every_problem_of_the_settings_is_reported_on_a_line(tmp_path, name):
    result = agentgate(tmp_path, name, AGENTGATE_WORKERS="x", AGENTGATE_ADMIN_KEY="CANARY", AGENTGATE_NOPE="1")

    assert result.returncode == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 4
    assert "Traceback" not in result.stderr
    assert "CANARY" not in result.stderr


def test_a_missing_settings_file_is_reported(tmp_path):
    result = agentgate(tmp_path, "check-config", "--config", "missing.toml")

    assert result.returncode == 2
    assert "missing.toml: cannot be read" in result.stderr


def test_a_group_without_a_command_prints_its_help(tmp_path):
    result = agentgate(tmp_path, "keys")

    assert result.returncode == 2
    assert "rotate" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nope"], "No such command 'nope'"),
        (["serve", "--nope"], "No such option '--nope'"),
        (["keys", "rotate", "nope"], "unknown purpose 'nope'; give one of"),
        (["openapi"], "Missing argument"),
    ],
)
def test_wrong_use_is_one_line_and_code_two(tmp_path, arguments, told):
    result = agentgate(tmp_path, *arguments)

    assert result.returncode == 2
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_unexpected_error_is_shown_in_short_and_with_debug_in_full(tmp_path):
    (tmp_path / "data").write_text("a file where a folder belongs")

    short = agentgate(tmp_path, "migrate")
    full = agentgate(tmp_path, "migrate", "--debug")

    assert (short.returncode, full.returncode) == (2, 2)
    assert "Traceback" not in short.stderr
    assert short.stderr.startswith("agentgate: ")
    assert "Traceback" in full.stderr
