"""The recipes of a rule condition and a signal, followed literally in a copy of the checkout."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tidy.sources import ROOT

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

DETECTOR = '''"""Labels of the header of the recipe."""

from agentgate.decision.signals.signal_input import Labels, SignalInput


def recipe_labels(request: SignalInput) -> Labels:
    """Return `http.recipe` for requests with the header."""
    return ("http.recipe",) if "x-recipe" in request.headers else ()
'''
SIGNAL_CASE = {
    "name": "the header of the recipe",
    "address": "81.2.69.160",
    "headers": [["host", "shop.example"], ["user-agent", "curl/8.5.0"], ["accept", "*/*"], ["x-recipe", "1"]],
    "labels": ["http.accept_encoding_missing", "http.accept_language_missing", "http.recipe", "ua.http_library"],
}
# `make quick` runs these and more.
TESTS = (
    *("tests/unit/sites/rules/test_cases.py", "tests/unit/sites/rules/test_reference.py"),
    *("tests/unit/decision/signals/test_signal_cases.py", "tests/unit/decision/signals/test_labels.py"),
    *("tests/tidy/test_docs.py", "tests/tidy/test_generated.py", "tests/tidy/test_sizes.py"),
)


def insert(file: Path, before: str, text: str) -> None:
    """Insert text before a part that the file has once."""
    old = file.read_text(encoding="utf-8")
    assert old.count(before) == 1, f"{file} has {old.count(before)} times: {before}"
    file.write_text(old.replace(before, text + before), encoding="utf-8")


def run(checkout: Path, *command: str) -> None:
    """Run a module or a script of the copy, which has to succeed."""
    environ = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    done = subprocess.run(
        [sys.executable, *command], cwd=checkout, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    copy = tmp_path / "checkout"
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name, follow_symlinks=False)
    (copy / "node_modules").symlink_to(ROOT / "node_modules")
    for extension in (ROOT / "src").rglob("_head.*.so"):
        shutil.copy(extension, copy / extension.relative_to(ROOT))
    subprocess.run(["git", "init", "--quiet"], cwd=copy, check=True)
    return copy


def add_condition(checkout: Path) -> None:
    """Follow the steps of "Add a rule condition"."""
    rules = checkout / "src/agentgate/sites/rules"
    insert(
        rules / "conditions.py",
        "    *REQUEST_CONDITIONS,\n",
        '    _of_labels(\n        "recipe_labels",\n        "All of these labels are present.",\n'
        "        lambda labels, terms: terms.needed.update(labels),\n        _miss_all,\n    ),\n",
    )
    insert(rules / "records.py", "    any_labels: list[str]", "    recipe_labels: list[str] | UnsetType = UNSET\n")
    case = (checkout / "tests/cases/rules/all_labels.json").read_text(encoding="utf-8")
    (checkout / "tests/cases/rules/recipe_labels.json").write_text(
        case.replace('"all_labels"', '"recipe_labels"'), encoding="utf-8"
    )
    insert(
        checkout / "tests/support/rule_reference.py",
        '    "any_labels": lambda',
        '    "recipe_labels": lambda given, _, request: all(label in request["labels"] for label in given),\n',
    )
    insert(
        checkout / "docs/write-rules.md", "| `any_labels` |", "| `recipe_labels` | all of these labels are present |\n"
    )


def add_signal(checkout: Path) -> None:
    """Follow the steps of "Add a signal"."""
    detectors = checkout / "src/agentgate/decision/signals/detectors"
    (detectors / "recipe.py").write_text(DETECTOR, encoding="utf-8")
    package = detectors / "__init__.py"
    insert(
        package,
        "from agentgate.decision.signals.detectors.search_crawler ",
        "from agentgate.decision.signals.detectors.recipe import recipe_labels\n",
    )
    insert(package, "tool_labels, tls_labels)\n", "recipe_labels, ")
    insert(
        checkout / "src/agentgate/sites/rules/labels.toml",
        "few_headers = ",
        'recipe = "The header of the recipe is present"\n',
    )
    file = checkout / "tests/cases/signals/programs.json"
    cases = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps([*cases, SIGNAL_CASE], indent=1) + "\n", encoding="utf-8")


def test_the_recipes_lead_to_a_condition_and_a_signal_that_pass(checkout: Path) -> None:
    add_condition(checkout)
    add_signal(checkout)

    run(checkout, "tools/generate.py")

    assert "http.recipe" in (checkout / "docs/labels.md").read_text(encoding="utf-8")
    assert "recipe_labels" in (checkout / "console/src/api/types.gen.ts").read_text(encoding="utf-8")
    run(checkout, "-m", "ruff", "check", "--quiet", "src", "tests")
    run(checkout, "-m", "ruff", "format", "--check", "--quiet", "src", "tests")
    run(checkout, "tools/prose.py")
    run(checkout, "-m", "pytest", "-q", "-m", "not soak", *TESTS)
