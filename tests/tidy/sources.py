"""The files the tidy tests look at: all that is tracked, and all that would be with the next `git add`."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
# The service with its tools, and the client for sites' servers.
PYTHON_SOURCES = ("src/", "packages/python-client/src/")


@cache
def listed_paths() -> tuple[str, ...]:
    """Return the paths, relative to the root, of tracked and of untracked but not ignored files that exist."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    answer = subprocess.run(command, check=True, capture_output=True, timeout=30)
    names = sorted(set(answer.stdout.decode().split("\0")) - {""})
    found = tuple(name for name in names if (ROOT / name).is_file())
    # A listing that misses this very file would let every check pass on nothing.
    assert Path(__file__).relative_to(ROOT).as_posix() in found
    return found


def sources(*suffixes: str, under: str | tuple[str, ...] = "") -> dict[str, str]:
    """Return path -> text of the listed files with one of these endings, below one of the folders."""
    chosen = [path for path in listed_paths() if path.endswith(suffixes) and path.startswith(under)]
    return {path: _text(path) for path in chosen}


@cache
def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")
