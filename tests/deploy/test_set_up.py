"""Set-up on a machine that lacks something. `make fresh` tries the same on bare machines."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from agentgate.lib.compiled import MODULES, SOURCES, is_stale
from tools.install_locked import Downloads, missing, read_lock
from tools.release import ROOT

PACKAGES = ("", "http/", "http/connection/", "gateway/", "lib/")
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))


def build(folder: Path, compiler: str) -> list[str]:
    """Make an editable build of the package with a compiler; return the names of its compiled modules."""
    packages = [f"src/agentgate/{each}__init__.py" for each in PACKAGES]
    sources = [f"src/agentgate/{each}" for each in (*SOURCES, "lib/compiled.py")]
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", *packages, *sources):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    call = "import setuptools.build_meta as b; print(b.build_editable('.'))"
    done = run(sys.executable, "-c", call, cwd=folder, CC=compiler)

    assert done.returncode == 0, done.stderr
    assert list(folder.glob("*.whl")), done.stdout
    return sorted(file.name.partition(".")[0] for file in folder.glob("src/**/*.so"))


def program(folder: Path, name: str, text: str) -> None:
    """Write a shell script under the name of a program."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def run(*command: Path | str, cwd: Path = ROOT, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command with additional environment variables."""
    environ = {**os.environ, **environ}
    return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_an_editable_build_succeeds_without_a_working_compiler(tmp_path: Path, compiler: str) -> None:
    assert build(tmp_path, compiler) == []


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_an_editable_build_with_a_compiler_has_the_extensions(tmp_path: Path) -> None:
    assert build(tmp_path, "cc") == ["_check", "_head"]


def test_set_up_removes_modules_of_an_earlier_one_and_names_each_that_is_compiled(tmp_path: Path) -> None:
    stale = [tmp_path / f"src/agentgate/{name.replace('.', '/')}.cpython-311.so" for name in MODULES]
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "venv").mkdir()
    for name in ("pip", "python"):
        # Programs that come over standard input run; nothing is installed.
        program(tmp_path / "venv/bin", name, f'[ "$1" != - ] || exec {sys.executable} "$@"')

    done = run(ROOT / "scripts/setup", "venv", "requirements/run.lock", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert [path for path in stale if path.exists()] == []
    for name in MODULES:
        is_compiled = find_spec(f"agentgate.{name}") and not any(map(is_stale, MODULES))
        how = "compiled" if is_compiled else "plain Python: "
        assert f"setup: {name}: {how}" in done.stdout


def test_the_runtime_lock_has_no_package_that_only_builds_or_tests_need() -> None:
    runtime = read_lock((ROOT / "requirements/run.lock").read_text(encoding="utf-8"))

    names = {name.partition("==")[0] for name in runtime}
    assert names & {"cython", "pip", "pytest", "setuptools", "wheel"} == set()
    assert "uvicorn" in names


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_a_lock_pins_hashes_and_names_no_host(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    pinned = re.findall(r"^[a-z0-9._-]+==.*(?:\n    --hash=.*)*", text, re.MULTILINE)

    assert pinned
    assert all("--hash=sha256:" in each for each in pinned)
    assert "://" not in text


def test_a_package_for_another_platform_is_not_installed() -> None:
    text = (
        "one==1.0 \\\n    --hash=sha256:" + "a" * 64 + "\n    # via x\n"
        "two==2.0 ; sys_platform == 'win32' \\\n    --hash=sha256:" + "b" * 64 + "\n"
        "three==3.0 ; python_full_version >= '3.11' \\\n    --hash=sha256:" + "c" * 64 + "\n"
    )

    assert list(read_lock(text)) == ["one==1.0", "three==3.0"]


def test_a_file_is_downloaded_again_unless_its_hash_is_pinned(tmp_path: Path) -> None:
    (tmp_path / "one-1.0.whl").write_bytes(b"")
    of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    assert missing({"one==1.0": f"one==1.0 --hash=sha256:{of_nothing}"}, tmp_path) == {}
    assert list(missing({"one==1.0": f"one==1.0 --hash=sha256:{'a' * 64}"}, tmp_path)) == ["one==1.0"]


def test_each_download_prints_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    downloads = Downloads({"one==1.0": "", "two-b==2.0": ""}, tmp_path)

    for line in ("Collecting one==1.0\n", "Processing /wheels/two_b-2.0-py3-none-any.whl\n", "Saved x\n"):
        downloads.report(line)

    assert capsys.readouterr().out.splitlines() == ["setup: 1/2 one 1.0", "setup: 2/2 two_b 2.0"]


def test_an_old_node_is_reported_before_anything_is_installed(tmp_path: Path) -> None:
    program(tmp_path, "node", '[ "$1" != --version ] || echo v18.19.0\n[ "$1" = --version ]')

    done = run(ROOT / "scripts" / "test", PATH=f"{tmp_path}:/usr/bin:/bin")

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "node-packages: Node.js v18.19.0 is too old; install Node.js 20.19 or newer\n"


def test_a_failure_of_npm_shows_its_error_and_what_to_do(tmp_path: Path) -> None:
    program(tmp_path / "bin", "node", "exit 0")
    program(tmp_path / "bin", "npm", "echo npm error code E404 >&2; exit 1")

    done = run(ROOT / "scripts" / "node-packages", cwd=tmp_path, PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin")

    assert done.returncode == 1
    assert "npm error code E404" in done.stderr
    assert "npm ci failed; fix the error above" in done.stderr


def test_without_apt_the_packages_to_install_are_named(tmp_path: Path) -> None:
    done = run("/bin/sh", ROOT / "scripts" / "install-packages", "xvfb", "redis-server", PATH=str(tmp_path))

    assert done.returncode == 1
    assert done.stderr == "install-packages: this machine has no apt-get; install: xvfb redis-server\n"


def test_an_interpreter_that_is_too_old_is_named(tmp_path: Path) -> None:
    program(tmp_path, "python-old", "exit 1")

    done = run(
        ROOT / "scripts" / "setup", tmp_path / "venv", "requirements/run.lock", PYTHON=str(tmp_path / "python-old")
    )

    assert done.returncode == 1
    assert "python-old is too old or missing; install Python 3.11 to 3.14" in done.stderr


def test_the_interpreters_are_listed_with_their_versions() -> None:
    listed = run(ROOT / "scripts" / "interpreters", "all", PATH=f"{sys.base_exec_prefix}/bin:/usr/bin:/bin")

    rows = [line.split() for line in listed.stdout.splitlines()]
    assert listed.returncode == 0
    assert rows
    assert all(re.match(r"3\.1[1-4]\.", version) and Path(path).exists() for version, path in rows)


def test_a_user_without_root_learns_which_package_a_virtual_environment_needs(tmp_path: Path) -> None:
    program(tmp_path, "python-bare", 'case "$*" in *ensurepip*) exit 1 ;; esac')
    program(tmp_path, "id", "echo 1000")
    program(tmp_path, "sudo", "exit 1")
    program(tmp_path, "apt-get", "exit 1")
    python = tmp_path / "python-bare"

    done = run(
        *(ROOT / "scripts" / "setup", tmp_path / "venv", "requirements/run.lock"),
        PYTHON=str(python),
        PATH=f"{tmp_path}:/usr/bin:/bin",
    )

    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "install-packages: needs root, or sudo without a password; install: python3-venv",
        f"setup: {python} cannot create a virtual environment; run 'sudo apt install python3-venv', then try again",
    ]
    assert not (tmp_path / "venv").exists()
