"""A machine's clock that a test puts forward or back: `sitecustomize` of a process, which moves Python's clock."""

import os
from pathlib import Path

_CUSTOMIZE = """
import os, time
_offset_ns = int(os.environ["TEST_CLOCK_OFFSET_S"]) * 1_000_000_000
_time_ns = time.time_ns
time.time_ns = lambda: _time_ns() + _offset_ns
time.time = lambda: time.time_ns() / 1_000_000_000
"""


def moved_clock(folder: Path, offset_s: int) -> dict[str, str]:
    """Return the settings of a process whose machine's clock is so many seconds ahead, or behind."""
    (folder / "customize").mkdir(exist_ok=True)
    (folder / "customize" / "sitecustomize.py").write_text(_CUSTOMIZE)
    path = os.pathsep.join([str(folder / "customize"), os.environ.get("PYTHONPATH", "")])
    return {"PYTHONPATH": path, "TEST_CLOCK_OFFSET_S": str(offset_s)}
