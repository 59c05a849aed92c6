"""A few faults with a fixed seed, all workloads at once; tests/soak/test_faults.py runs the product.

0 double spends, 0 lost acknowledged writes, 0 checks failed open, the ledger exact, every event counted.
"""

import sys
from pathlib import Path

import pytest

from tests.faults.place import CLICKHOUSE, EMBEDDED, SERVERS
from tests.faults.plan import make_plan
from tests.faults.run import run
from tests.faults.workloads import WORKLOADS

SEED = 20_261_117
FEW = {
    EMBEDDED: ("kill worker", "answers lost", "kill supervisor"),
    SERVERS: ("commit answers lost", "kill database", "redis stale", "hung database"),
    CLICKHOUSE: ("kill event store", "kill worker", "hung event store"),
}


# About 15 s each on a quiet machine.
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", FEW)
def test_whatever_breaks_nothing_is_lost_doubled_or_allowed(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run(make_plan(SEED, FEW[kind], tuple(WORKLOADS)), kind, tmp_path)

    with capsys.disabled():
        sys.stdout.write(f"\nfaults: {report}\n")
    assert report.problems == (), report
    # Fewer would mean that the faults came before the load, and that nothing was tried.
    assert min(report.acknowledged.values()) >= 10, report
