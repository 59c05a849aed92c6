"""Every workload under every fault, and long mixtures of faults, with a new seed each time.

`FAULT_SEED=7` repeats a run; `FAULT_ROUNDS=20` makes the mixtures longer.
"""

import os
import random
import secrets
import sys
from pathlib import Path

import pytest

from tests.faults.faults import FAULTS
from tests.faults.place import CLICKHOUSE, EMBEDDED, SERVERS
from tests.faults.plan import make_plan
from tests.faults.run import pairs, run
from tests.faults.workloads import WORKLOADS

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1_800)]

STRIKES = 3
ROUNDS = int(os.environ.get("FAULT_ROUNDS") or 10)
# They put an older state in place, or move to another store: what comes after them is another installation.
ALONE = {"backup and restore", "copy", "disk full", "upgrade"}


@pytest.fixture
def seed() -> int:
    return int(os.environ.get("FAULT_SEED") or secrets.randbelow(2**32))


@pytest.mark.parametrize(("workload", "fault", "kind"), list(pairs()))
def test_a_workload_survives_a_fault(workload: str, fault: str, kind: str, seed: int, tmp_path: Path) -> None:
    strikes = 1 if fault in ALONE else STRIKES

    report = run(make_plan(seed, (fault,) * strikes, (workload,)), kind, tmp_path)

    assert report.problems == (), report
    assert report.acknowledged[workload] >= 10, report


@pytest.mark.parametrize("kind", [EMBEDDED, SERVERS, CLICKHOUSE])
def test_everything_survives_a_mixture_of_faults(
    kind: str, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usable = sorted(name for name, fault in FAULTS.items() if kind in fault.kinds and name not in ALONE)
    faults = tuple(random.Random(seed).choices(usable, k=ROUNDS))

    report = run(make_plan(seed, faults, tuple(WORKLOADS)), kind, tmp_path)

    with capsys.disabled():
        sys.stdout.write(f"\nfaults: {report}\n")
    assert report.problems == (), report


def test_an_upgrade_of_two_nodes_one_after_the_other_fails_no_check(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run(make_plan(seed, ("upgrade",), tuple(WORKLOADS)), SERVERS, tmp_path)

    with capsys.disabled():
        sys.stdout.write(f"\nupgrade: {report}\n")
    assert report.problems == (), report
    assert report.failed_checks == 0, report
