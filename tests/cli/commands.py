"""Runs the real command line: in this process, which is quick, or as a program, where signals or exits matter."""

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import NamedTuple

from agentgate.server.cli import run


class Result(NamedTuple):
    """Exit code and output of a command."""

    returncode: int
    stdout: str
    stderr: str


def command(*arguments: str) -> list[str]:
    """Return the command line of `agentgate`."""
    return [sys.executable, "-m", "agentgate", *arguments]


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """Return an environment with a separate data directory, free ports, and none of the caller's settings."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("AGENTGATE_")}
    kept.pop("PUBLIC_BASE_URL", None)
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(sys.path),
        # Rich would fold tables and help to the width of the terminal the tests happen to run in.
        "COLUMNS": "200",
        "NO_COLOR": "1",
        "AGENTGATE_DATA_DIR": str(folder / "data"),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        **settings,
    }


def agentgate(folder: Path, *arguments: str, **settings: str) -> Result:
    """Run a command to its end, in the folder, with a separate environment."""
    before = dict(os.environ)
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        os.environ.clear()
        os.environ.update(environment(folder, **settings))
        try:
            code = run(arguments)
        finally:
            os.environ.clear()
            os.environ.update(before)
    return Result(code, stdout.getvalue(), stderr.getvalue())
