"""The contents of a release: notes, the list of components, and builds that are the same to the byte."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from tools.release import ROOT, build_twice, main, notes, sbom


def test_the_notes_are_a_versions_part_of_the_changelog():
    text = "# Changelog\n\n## Unreleased\n\n- b\n\n## 0.1.0\n\n- a ([rules](docs/rules.md#lists))\n\n## 0.0.9\n\n- z\n"

    assert notes(text, "0.1.0") == "# AgentGate 0.1.0\n\n- a ([rules](/docs/rules#lists))\n"
    with pytest.raises(SystemExit, match="no part for 3"):
        notes(text, "3")
    assert main(["notes", "Unreleased"]) == 0


def test_the_list_of_components_names_every_pinned_package_with_its_hashes():
    lock = (ROOT / "requirements/run.lock").read_text(encoding="utf-8")
    node = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))

    made = sbom(lock, node, "0.1.0")

    pinned = set(re.findall(r"^([a-z0-9._-]+)==", lock, re.MULTILINE))
    python = {each["name"]: each for each in made["components"] if each["purl"].startswith("pkg:pypi/")}
    assert python.keys() == pinned
    assert all(each["properties"] for each in python.values())
    assert len({each["bom-ref"] for each in made["components"]}) == len(made["components"])
    assert made["serialNumber"] == sbom(lock, node, "0.1.0")["serialNumber"]
    assert {"pkg:npm/%40hcaptcha/loader@2.4.2"} <= {each["purl"] for each in made["components"]}


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_two_builds_are_the_same_and_the_wheel_has_the_documentation(tmp_path: Path):
    assert build_twice(tmp_path / "built") == []

    [wheel] = (tmp_path / "built" / "first").glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
    pages = "agentgate/pages/documentation/built/"
    assert {f"{pages}{name}" for name in ("index.html", "readme.md", "openapi/public.json", "search/all.html")} <= names
    built = "agentgate/pages/reference/built/"
    assert {
        f"{built}index-public.html",
        f"{built}console.html",
        f"{built}index-admin.html",
        f"{built}admin.html",
    } <= names
    assert "agentgate/pages/documentation/docs.css" in names
