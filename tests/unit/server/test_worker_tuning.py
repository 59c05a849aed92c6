"""Garbage is not collected while a worker loads, and is collected afterwards."""

import subprocess
import sys

PROGRAM = """
import gc
from agentgate.server.worker_tuning import begin_loading, tune_worker
begin_loading()
before = gc.isenabled(), gc.get_freeze_count()
tune_worker()
print(before, gc.isenabled(), gc.get_freeze_count() > 0)
"""


def test_a_worker_collects_garbage_only_once_it_has_loaded() -> None:
    # In its own process, because the tests have their own setting of the collector.
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.split() == ["(False,", "0)", "True", "True"]
