# ruff: noqa: INP001, T201 - a script outside of the package
"""Additional files of a release: `release.py notes` from the changelog, `release.py sbom` from the lock files.

`release.py build FOLDER` builds wheel and sdist twice and checks whether both builds are the same to the byte.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)(?:\s*;\s*([^\\]+))?", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def notes(changelog: str, version: str) -> str:
    """Return a version's part of the changelog, with links that lead from anywhere; an unknown version is an error."""
    found = re.search(rf"^## \[?{re.escape(version)}\]?.*?\n(.*?)(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE)
    if found is None:
        raise SystemExit(f"CHANGELOG.md has no part for {version}")
    # Outside of the repository its files are found in the documentation of the release.
    text = re.sub(r"\]\(docs/([\w/-]+)\.md(#[\w-]+)?\)", r"](/docs/\1\2)", found[1].strip())
    return f"# AgentGate {version}\n\n{text}\n"


def sbom(lock: str, node_lock: dict[str, Any], version: str) -> dict[str, Any]:
    """Return a CycloneDX document: what is installed with the service, and what its browser files are built with."""
    components = [*_python(lock), *_node(node_lock)]
    named = uuid.uuid5(uuid.NAMESPACE_URL, f"agentgate-server@{version}:{json.dumps(components, sort_keys=True)}")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{named}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": f"pkg:pypi/agentgate-server@{version}",
                "name": "agentgate-server",
                "version": version,
                "purl": f"pkg:pypi/agentgate-server@{version}",
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": components,
    }


def _python(lock: str) -> Iterator[dict[str, Any]]:
    parts = re.split(r"^(?=[A-Za-z0-9._-]+==)", lock, flags=re.MULTILINE)
    for part in parts:
        found = _PINNED.match(part)
        if found is None:
            continue
        name, version = found[1].lower().replace("_", "-"), found[2]
        purl = f"pkg:pypi/{name}@{version}"
        # One hash for each file of the release: which of them is installed depends on the machine.
        files = [{"name": "sha256", "value": value} for value in _HASH.findall(part)]
        yield {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, "properties": files}


def _node(lock: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path, package in sorted(lock["packages"].items()):
        if not path or package.get("link"):
            continue
        name = package.get("name") or path.rpartition("node_modules/")[2]
        purl = f"pkg:npm/{name.replace('@', '%40', 1)}@{package['version']}"
        component = {"type": "library", "bom-ref": f"{purl}#{path}", "name": name, "version": package["version"]}
        # Nothing of npm is installed with the service: its browser files are built with it.
        yield {**component, "purl": purl, "scope": "excluded"}


def build_twice(folder: Path) -> list[str]:
    """Build wheel and sdist in two copies of the source; return the names of the files that differ."""
    made = [_build(folder / name) for name in ("first", "second")]
    names = sorted({name for digests in made for name in digests})
    for name in names:
        print(f"{made[0].get(name, 'missing')}  {name}")
    return [name for name in names if made[0].get(name) != made[1].get(name)]


def _build(target: Path) -> dict[str, str]:
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "source"
        for name in _git("ls-files").splitlines():
            copy = source / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy)
        # The time in archives is the last commit's, so that a later build is identical.
        at = _git("log", "-1", "--format=%ct").strip()
        environment = {**os.environ, "SOURCE_DATE_EPOCH": at, "PYTHONHASHSEED": "0"}
        for hook in ("build_sdist", "build_wheel"):
            call = f"import setuptools.build_meta as b; b.{hook}({str(target)!r})"
            subprocess.run([sys.executable, "-c", call], cwd=source, env=environment, check=True, capture_output=True)  # noqa: S603
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in target.iterdir()}


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S603


def main(arguments: list[str]) -> int:
    """Run one of the three commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["notes", "sbom", "build"])
    parser.add_argument("value", help="the version, such as 0.1.0 or Unreleased; for build, a new folder")
    given = parser.parse_args(arguments)
    if given.what == "notes":
        print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), given.value), end="")
    elif given.what == "sbom":
        lock = (ROOT / "requirements/run.lock").read_text(encoding="utf-8")
        node = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
        print(json.dumps(sbom(lock, node, given.value), indent=2))
    else:
        different = build_twice(Path(given.value))
        print(f"different: {', '.join(different)}" if different else "both builds are the same")
        return 1 if different else 0
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
