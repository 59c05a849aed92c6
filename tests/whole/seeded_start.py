"""Starts the service once for each self-tested function, with a wrong result seeded into that function.

`python -m tests.whole.seeded_start` prints JSON: by seed, the exit code and what went to standard error. Modules are
imported once, and each start is a fork of this process.
"""

import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from agentgate.lib.settings.schema import read_process_settings
from agentgate.server.cli import run
from agentgate.server.cli.serve import run_worker
from agentgate.server.selftest.check import SelfTestFailed
from agentgate.server.selftest.functions import FUNCTIONS

START_S = 60
# The faults of Python 3.11.2: a pattern that accepts too much, and one that matches nothing.
PATTERNS = {
    "sites.targets:_PLAIN": re.compile(rb"(?=/)(?:/[!-~\x80-\xff]*)*\Z"),
    "http.connection.head:_WHOLE": re.compile(rb"(?!)"),
}


def wrong(value: Any) -> Any:
    """Return something else of the same type as far as that is possible."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, bytes):
        return value[:-1] + bytes([value[-1] ^ 1]) if value else b"x"
    if isinstance(value, tuple):
        return value[:-1] if value else ("x",)
    return {} if isinstance(value, dict) else None if value is not None else b"x"


def seed(name: str) -> None:
    """Replace a function by one whose results are wrong, or a pattern by another one."""
    module, _, path = name.partition(":")
    holder: Any = import_module(f"agentgate.{module}")
    if name in PATTERNS:
        setattr(holder, path, PATTERNS[name])
        return
    *owners, attribute = path.split(".")
    for owner in owners:
        holder = getattr(holder, owner)
    original: Callable[..., Any] = getattr(holder, attribute)

    def seeded(*arguments: Any, **named: Any) -> Any:
        return wrong(original(*arguments, **named))

    # A class method has its class already.
    is_bound = owners and getattr(original, "__self__", None) is holder
    setattr(holder, attribute, staticmethod(seeded) if is_bound else seeded)


def serve() -> int:
    return run(["serve"])


def serve_as_worker() -> int:
    """Run the body of a worker process. It tests itself before it inspects its sockets."""
    try:
        run_worker(replace(read_process_settings(None), workers=2), None, None)  # type: ignore[arg-type]
    except SelfTestFailed as failed:
        sys.stderr.write(f"agentgate: {failed}")
        return 2
    return 0


def start(name: str | None, body: Callable[[], int] = serve) -> tuple[int, str]:
    """Run a program in a fork of this process; return its exit code and its standard error."""
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(errors.fileno(), 2)
            # End a service that starts in spite of the seed.
            signal.alarm(START_S)
            if name is not None:
                seed(name)
            code = body()
            sys.stderr.flush()
            os._exit(code)
        _, status = os.waitpid(child, 0)
        errors.seek(0)
        return os.waitstatus_to_exitcode(status), errors.read().decode()


if __name__ == "__main__":
    # Every start needs these modules: import them once.
    for function in FUNCTIONS:
        import_module(f"agentgate.{function.partition(':')[0]}")
    found = {str(name): start(name) for name in (None, *PATTERNS, *FUNCTIONS)}
    json.dump({**found, "worker": start(next(iter(PATTERNS)), serve_as_worker)}, sys.stdout)
