"""A validator and three client generators accept the four OpenAPI documents, and the generated clients work."""

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site_server.conftest import gate
from tests.site_server.gate import Gate
from tests.third_party.install import HERE, cache, made, node_modules

__all__ = ["gate"]

# The first test also installs the generators, where they are not in the cache.
pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

DOCUMENTS = HERE.parents[1] / "docs" / "openapi"
NAMES = ("account", "admin", "console", "public")
SECONDS = 240

PROGRAM = """
import json, sys
from agent_gate_public_api_client import Client
from agent_gate_public_api_client.api.tokens import siteverify_verify_site_token as siteverify
from agent_gate_public_api_client.models import SiteverifyInput
public, token, secret = sys.argv[1:]
body = SiteverifyInput.from_dict({"token": token, "expectedAction": "signup", "secret": secret})
redeemed = [siteverify.sync(client=Client(base_url=public), body=body).to_dict() for _ in range(2)]
print(json.dumps(redeemed))
"""
RULES_PROGRAM = """
import json, sys
from agent_gate_admin_api_client.models import RuleSetDocument
rules = RuleSetDocument.from_dict(json.loads(sys.argv[1]))
print(json.dumps([[type(each).__name__ for each in rules.rules], rules.to_dict()]))
"""
RULES = {
    "version": "1",
    "rules": [
        {"name": "a", "match": {"any_labels": ["net.tor"], "headers": {"accept": ["*"]}}, "action": "block"},
        {"group": "automation", "version": 5, "overrides": {"headless": "challenge"}},
    ],
    "default_action": "allow",
}


@functools.cache
def generators() -> Path:
    """Return the folder of programs of the generators that are written in Python or come from its index."""
    lock = HERE / "generators.lock"
    folder = cache(lock, sys.version)
    pip = [str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", "--require-hashes"]
    made(folder, [sys.executable, "-m", "venv", "venv"], [*pip, "--requirement", str(lock)])
    return folder / "venv" / "bin"


def run(*command: str, folder: Path, **variables: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env={**os.environ, "PATH": f"{generators()}:{os.environ['PATH']}", **variables},
    )
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Python clients of all documents; a schema that the generator had to leave out fails."""
    folder = tmp_path_factory.mktemp("clients")
    # The generator formats what it has written, where it finds the formatter.
    ruff = f"{Path(sys.executable).parent}:{generators()}:{os.environ['PATH']}"
    for name in NAMES:
        document = str(DOCUMENTS / f"{name}.json")
        told = run("openapi-python-client", "generate", "--path", document, "--meta", "none", folder=folder, PATH=ruff)
        assert "arning" not in told
        assert "Unable" not in told
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_a_python_client_redeems_a_token_and_reads_the_rejection(clients: Path, gate: Gate) -> None:
    python = str(generators() / "python")

    told = run(python, "-c", PROGRAM, gate.url, gate.token(), gate.secret, folder=clients)

    first, second = json.loads(told)
    assert first["success"] is True
    assert second["error"] == "token_used"


def test_rules_and_references_to_groups_are_classes_of_a_python_client(clients: Path) -> None:
    python = str(generators() / "python")

    told = run(python, "-c", RULES_PROGRAM, json.dumps(RULES), folder=clients)

    assert json.loads(told) == [["RuleDocument", "ManagedGroupDocument"], RULES]


@pytest.mark.parametrize("name", NAMES)
def test_the_validator_of_openapi_finds_no_error(name: str, tmp_path: Path) -> None:
    python = str(generators() / "python")

    told = run(python, "-m", "openapi_spec_validator", str(DOCUMENTS / f"{name}.json"), folder=tmp_path)

    assert told.splitlines()[-1].endswith(": OK")


@pytest.mark.parametrize("name", NAMES)
def test_types_for_typescript_are_made_and_compile(name: str, tmp_path: Path) -> None:
    programs = node_modules() / "node_modules" / ".bin"

    run(str(programs / "openapi-typescript"), str(DOCUMENTS / f"{name}.json"), "-o", "types.ts", folder=tmp_path)

    run(str(programs / "tsc"), "--strict", "--noEmit", "types.ts", folder=tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_the_parser_of_openapi_generator_finds_no_error(name: str, tmp_path: Path) -> None:
    if shutil.which("java") is None:
        pytest.skip("there is no java")

    told = run("openapi-generator-cli", "validate", "-i", str(DOCUMENTS / f"{name}.json"), folder=tmp_path)

    assert "No validation issues detected" in told
