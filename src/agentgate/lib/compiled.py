"""Compiled modules: used only if they were built from the very code that runs. Without them Python does the same.

A compiled module repeats what some Python files do. Built from other files, it could decide differently and nothing
would show it. So the build writes an ID of these files into the module, and a module with another ID is never loaded.

`setup.py` runs this file by its path, so it imports the standard library only.
"""

from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).parents[1]
MODULES = ("http.connection._head", "gateway._check")
# The sources of the modules, and the Python code that they repeat or whose objects they read.
SOURCES = (
    *(f"{name.replace('.', '/')}.pyx" for name in MODULES),
    "http/connection/_head.pxd",
    "lib/_slots.pxd",
    "decision/rates/part_budget.py",
    "decision/rates/sharing.py",
    "decision/rates/windows.py",
    "events/correlation.py",
    "events/count_buffer.py",
    "events/decision_ids.py",
    "events/recorder.py",
    "events/records.py",
    "gateway/check.py",
    "gateway/decisions.py",
    "gateway/event_log.py",
    "gateway/header_fingerprints.py",
    "gateway/pages.py",
    "gateway/pending_check.py",
    "gateway/request/described_request.py",
    "gateway/rule_limits.py",
    "gateway/site_snapshot.py",
    "gateway/snapshot.py",
    "gateway/visitors.py",
    "http/connection/head.py",
    "http/connection/head_names.py",
    "http/connection/loop_budget.py",
    "lib/bounded_cache.py",
    "lib/telemetry/tracing.py",
    "sites/directory.py",
)


@cache
def build_id(package: Path = PACKAGE) -> str:
    """Return the ID of the sources; of a file that is not there, its absence."""
    digest = sha256()
    for name in SOURCES:
        path = package / name
        content = path.read_bytes() if path.is_file() else b""
        digest.update(b"%b %d\n%b" % (name.encode(), len(content), content))
    return f"agentgate-build-{digest.hexdigest()[:32]}"


def is_stale(name: str) -> bool:
    """Return whether a compiled module was built from other sources. The module is not loaded."""
    spec = find_spec(f"agentgate.{name}")
    if spec is None or spec.origin is None:
        return False
    return build_id().encode() not in Path(spec.origin).read_bytes()


def load_compiled(name: str) -> ModuleType | None:
    """Return a compiled module; None if it was not built, or if one of them was built from other sources."""
    try:
        return None if any(map(is_stale, MODULES)) else import_module(f"agentgate.{name}")
    except ImportError:
        return None
