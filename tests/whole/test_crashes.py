"""An acknowledged change survives `kill -9`. The long version is in tests/soak."""

import sys
from pathlib import Path

import pytest

from tests.crashes import crash_repeatedly

SEED = 20_261_115


# About 10 s on a quiet machine; a busy one may take several times as long to start a process ten times.
@pytest.mark.timeout(300)
def test_nothing_acknowledged_is_lost_and_nothing_is_half_written_when_the_process_is_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = crash_repeatedly(tmp_path, kills=10, seed=SEED)

    with capsys.disabled():
        sys.stdout.write(f"\ncrashes: {report}\n")
    assert report.problems == (), f"seed {SEED}"
    # Fewer would mean that the kills came before the writes, and that nothing was tried.
    assert report.acknowledged >= 10 * 5, report
