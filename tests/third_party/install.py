"""Installs the packages of others that tests run, each once, into a cache outside of the tree."""

import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.third_party.browser_packages import PACKAGES

HERE = Path(__file__).parent
SECONDS = 500
_FAILED: dict[Path, str] = {}


def cache(*parts: Path | str) -> Path:
    """Return the folder of what is made from these files and texts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.read_bytes() if isinstance(part, Path) else part.encode())
    base = os.environ.get("AGENTGATE_TEST_CACHE") or Path.home() / ".cache" / "agentgate-tests"
    return Path(base) / digest.hexdigest()[:16]


def made(folder: Path, *commands: list[str]) -> Path:
    """Run commands in a new folder, unless they have been; skip the test when one fails, and do not try again."""
    if folder in _FAILED:
        pytest.skip(_FAILED[folder])
    if (folder / "done").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    for command in commands:
        try:
            subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            _FAILED[folder] = f"{command[0]} cannot get the packages of others: {str(error.stderr)[-300:]}"
            pytest.skip(_FAILED[folder])
    (folder / "done").touch()
    return folder


@functools.cache
def node_modules() -> Path:
    """Return the folder with the packages of npm."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")
    files = [HERE / name for name in ("package.json", "package-lock.json")]
    folder = cache(*files)
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copy(file, folder)
    quiet = ["--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund", "--silent"]
    return made(folder, ["npm", "ci", *quiet])


@functools.cache
def python() -> Path:
    """Return the Python that has the packages of the index."""
    lock = HERE / "requirements.lock"
    folder = cache(lock, sys.version)
    pip = [str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", "--require-hashes"]
    made(folder, [sys.executable, "-m", "venv", "venv"], [*pip, "--requirement", str(lock)])
    return folder / "venv" / "bin" / "python"


@functools.cache
def debian() -> Path:
    """Return the folder into which Debian's packages are unpacked."""
    if shutil.which("apt-get") is None:
        pytest.skip("there is no apt-get")
    names = (HERE / "debian.txt").read_text(encoding="utf-8").split()
    unpack = "for each in *.deb; do dpkg-deb -x $each .; done"
    return made(cache(*names), ["apt-get", "download", "-qq", *names], ["sh", "-ec", unpack])


@functools.cache
def bundles() -> Path:
    """Return the folder with a page's script for each package."""
    programs = json.dumps({row.name: row.program for row in PACKAGES})
    modules = node_modules()
    folder = cache(str(modules), HERE / "bundle.mjs", programs)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "programs.json").write_text(programs, encoding="utf-8")
    bundle = f'cd "{modules}" && node "{HERE / "bundle.mjs"}" "{folder}/programs.json" "{folder}"'
    return made(folder, ["sh", "-ec", bundle])
