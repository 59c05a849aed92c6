"""The self-test: known results on every interpreter of this machine, and its report of a wrong one."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentgate.lib import base64url
from agentgate.server.selftest import check
from agentgate.server.selftest.check import (
    FunctionResult,
    SelfTestFailed,
    known_answers,
    refuse_wrong_results,
    run_selftest,
)
from agentgate.server.selftest.functions import FUNCTIONS
from agentgate.sites import targets
from tests.cli.commands import agentgate
from tests.tidy.sources import ROOT

VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def interpreters() -> list[str]:
    """Return the supported interpreters of this machine: this one, on the PATH, and in pyenv's folder."""
    named = [shutil.which(f"python{version}") for version in VERSIONS]
    installed = [
        str(path)
        for version in VERSIONS
        for path in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    ]
    # The shims of pyenv name versions that are not chosen in this folder, too.
    direct = [path for path in named if path is not None and "shims" not in Path(path).parts]
    found = {sys.executable: sys.executable, **{str(Path(path).resolve()): path for path in [*direct, *installed]}}
    return list(found.values())


@pytest.fixture(scope="module")
def results() -> dict[str, FunctionResult]:
    return {each.name: each for each in run_selftest().results}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_its_known_results(results: dict[str, FunctionResult], name: str) -> None:
    result = results[name.replace(":", ".")]

    assert result.cases > 0
    assert result.wrong == ()


def test_each_function_of_the_table_is_called_and_has_a_response_to_distinguish() -> None:
    table = known_answers()

    assert table.keys() == FUNCTIONS.keys()
    # A function that returns a constant must not pass.
    alone = [name for name, cases in table.items() if len({json.dumps(case[-1]) for case in cases}) == 1]
    assert all(len(table[name]) == 1 for name in alone)


def test_the_self_test_takes_less_than_100_milliseconds() -> None:
    run_selftest()
    took = []
    for _ in range(5):
        started_s = time.process_time()
        run_selftest()
        took.append(time.process_time() - started_s)

    assert min(took) < 0.1


@pytest.mark.parametrize("interpreter", interpreters())
def test_every_interpreter_of_this_machine_gives_the_known_results(interpreter: str, tmp_path: Path) -> None:
    path = os.pathsep.join(["src", *sys.path]) if interpreter == sys.executable else "src"
    done = subprocess.run(
        [interpreter, "-m", "agentgate", "selftest"],
        cwd=ROOT,
        # Bytecode of other versions belongs somewhere else than in the checkout.
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(tmp_path), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    counted = re.search(r"^(\d+) functions, (\d+) cases, 0 wrong\b", done.stdout, re.MULTILINE)
    assert counted is not None, done.stdout
    # Without our dependencies at least targets, base64url, MACs and globs are checked.
    assert int(counted[1]) >= (len(FUNCTIONS) if interpreter == sys.executable else 10)


def test_the_start_is_rejected_with_function_input_and_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "_PLAIN", re.compile(rb"/[!-~\x80-\xff]*\Z"))

    with pytest.raises(SelfTestFailed) as refused:
        refuse_wrong_results()

    message = str(refused.value)
    assert message.startswith("self-test failed: sites.targets.is_plain gave true instead of false for ")
    assert '"//"' in message
    assert f"CPython {sys.version.split()[0]} (" in message
    assert sys.executable in message
    assert "\n" not in message


def test_a_function_that_cannot_be_imported_rejects_the_start_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agentgate.lib.mac", None)

    with pytest.raises(SelfTestFailed, match=r"lib\.mac\.PreparedMac\.tag needs agentgate\.lib\.mac"):
        refuse_wrong_results()


def test_the_command_lists_functions_and_wrong_responses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = agentgate(tmp_path, "selftest")
    monkeypatch.setattr(base64url, "encode", lambda _: "AA==")
    wrong = agentgate(tmp_path, "selftest")
    told = agentgate(tmp_path, "selftest", "--json")

    assert right.returncode == 0
    assert f"{len(FUNCTIONS)} functions, " in right.stdout
    assert "Wrong results" not in right.stdout
    assert (wrong.returncode, told.returncode) == (1, 1)
    assert re.search(r"lib\.base64url\.encode +wrong", wrong.stdout)
    assert re.search(r'lib\.base64url\.encode +"fbff" +"AA==" +"-_8"', wrong.stdout)
    answer = json.loads(told.stdout)
    assert answer["interpreter"] == check.interpreter()
    states = {each["name"]: each["state"] for each in answer["functions"]}
    assert len(states) == len(FUNCTIONS)
    assert (states["lib.base64url.encode"], states["lib.base64url.decode"]) == ("wrong", "right")
