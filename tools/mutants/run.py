"""Seed one defect at a time in a temporary copy, run the test that must fail, and report which defects survived.

`python tools/mutants/run.py` runs all mutants. `--area people` selects a table, `--match text` the mutants whose file,
text or test contains the text, `--changed` the mutants in files that differ from git's merge base, `--seconds 20` as
many as begin within that time.
"""

import argparse
import compileall
import contextlib
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.mutants.mutants import COPIED, ROOT, Mutant, read_mutants

# A defect that makes a test hang is caught as well.
LONGEST_S = 180
LOOK_S = 0.05
# What nearly every test imports and no defect changes: imported once, and inherited by the process of each test.
PRELOADED = (
    *(
        "pytest",
        "anyio",
        "hypothesis",
        "httpx",
        "msgspec",
        "msgspec.json",
        "structlog",
        "apsw",
        "asyncpg",
        "redis.asyncio",
    ),
    *("argon2", "uvloop", "httptools", "http_sf", "click", "cryptography.hazmat.primitives.serialization"),
    *("cryptography.hazmat.primitives.asymmetric.ed25519", "cryptography.hazmat.primitives.ciphers.aead"),
)
KILLED, SURVIVED, BROKEN = "killed", "SURVIVED", "BROKEN"
MAIN_BRANCHES = ("origin/HEAD", "origin/main", "main", "master")
# pytest's exit codes if tests failed, and if it could not collect them.
FAILED, NOT_COLLECTED = 1, 4


def main() -> int:
    """Run what the command line asks for; return how many survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--area")
    parser.add_argument("--match")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    mutants = [each for each in read_mutants() if _is_asked_for(each, options)]
    if options.changed:
        files = changed_files()
        if files is None:
            print("mutants: skipped, as git cannot say what has changed")
            return 0
        mutants = [each for each in mutants if each.file in files]
    problems = [problem for each in mutants if (problem := each.problem())]
    if problems:
        print("\n".join(problems))
        return len(problems)
    return _run_all(mutants, options.seconds)


def changed_files() -> set[str] | None:
    """Return the files that differ from where this branch left the main one; None when git cannot say."""
    for branch in MAIN_BRANCHES:
        base = _git("merge-base", "HEAD", branch)
        if base:
            break
    else:
        return None
    changed = _git("diff", "--name-only", base.strip())
    return None if changed is None else set(changed.split())


def _git(*arguments: str) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    done = subprocess.run([git, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def _is_asked_for(mutant: Mutant, options: argparse.Namespace) -> bool:
    if options.area and mutant.area != options.area:
        return False
    return not options.match or any(options.match in text for text in (mutant.file, mutant.old, mutant.test))


def _run_all(mutants: list[Mutant], seconds: float | None) -> int:
    outcomes: dict[str, int] = {KILLED: 0, SURVIVED: 0, BROKEN: 0}
    ends_s = None if seconds is None else time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        copy = _copy(Path(folder) / "copy") if mutants else Path(folder)
        for number, mutant in enumerate(mutants, 1):
            if ends_s is not None and time.monotonic() >= ends_s:
                print(f"mutants: {len(mutants) - number + 1} of {len(mutants)} left out, for time")
                break
            outcome = run(mutant, copy)
            outcomes[outcome] += 1
            print(f"{number:4} {outcome:8} {mutant.file}: {_short(mutant.old)} -> {_short(mutant.new)}", flush=True)
            if outcome != KILLED:
                print(f"              must fail: {mutant.test}", flush=True)
    print(f"mutants: {outcomes[KILLED]} killed, {outcomes[SURVIVED]} survived, {outcomes[BROKEN]} broken")
    return outcomes[SURVIVED] + outcomes[BROKEN]


def run(mutant: Mutant, copy: Path) -> str:
    """Seed one defect, run its test, and put the file back."""
    before = mutant.seed(copy)
    try:
        return _outcome(mutant, copy)
    finally:
        (copy / mutant.file).write_text(before, encoding="utf-8")


def _outcome(mutant: Mutant, copy: Path) -> str:
    output = copy.parent / "output"
    code = _run_tests(mutant.tests, copy, output)
    if code is None or code == FAILED or (code == NOT_COLLECTED and b"ImportError" in output.read_bytes()):
        return KILLED
    return SURVIVED if code == 0 else BROKEN


def _run_tests(tests: list[str], copy: Path, output: Path) -> int | None:
    """Run tests in a separate process that has the imports of this one; return pytest's code, None after a timeout."""
    for name in PRELOADED:
        importlib.import_module(name)
    child = os.fork()
    if child == 0:
        _become_pytest(tests, copy, output)
    ends_s = time.monotonic() + LONGEST_S
    while time.monotonic() < ends_s:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            _end_group(child)
            return os.waitstatus_to_exitcode(status)
        time.sleep(LOOK_S)
    _end_group(child)
    os.waitpid(child, 0)
    return None


def _become_pytest(tests: list[str], copy: Path, output: Path) -> None:
    code = FAILED
    try:
        # A separate process group, so that the processes which tests start end with it.
        os.setsid()
        with output.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.chdir(copy)
        os.environ |= {"PYTHONPATH": f"{copy / 'src'}:{copy}", "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        sys.path[:0] = [str(copy / "src"), str(copy)]
        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-k", "not postgres or postgresql"]
        # Nothing that is imported before pytest starts can be rewritten, and need not be.
        code = sys.modules["pytest"].main([*options, "-W", "ignore::pytest.PytestAssertRewriteWarning", *tests])
    finally:
        sys.stdout.flush()
        os._exit(int(code))


def _end_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _copy(to: Path) -> Path:
    """Make a copy whose source can be changed; everything else is the repository's own, by links."""
    to.mkdir()
    for entry in ROOT.iterdir():
        if entry.name == COPIED:
            shutil.copytree(entry, to / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif not entry.name.startswith(".") or entry.name == ".venv":
            (to / entry.name).symlink_to(entry)
    # Each test starts with compiled modules; the one with the defect is newer than what was compiled of it.
    compileall.compile_dir(to / COPIED, quiet=2)
    return to


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."


if __name__ == "__main__":
    sys.exit(min(main(), 100))
