"""Workers at twice their capacity, for minutes: goodput, waiting times, ledger and memory.

`OVERLOAD_SECONDS` sets the duration. Default: five minutes.
"""

import os
import sys
from pathlib import Path

import pytest

from tests.support.load import ask, check_answers, open_sites, resident_mb, settled_ledger, stored_events
from tests.support.processes import serving

SECONDS = int(os.environ.get("OVERLOAD_SECONDS", "300"))
pytestmark = [pytest.mark.soak, pytest.mark.timeout(SECONDS + 300)]

# The load generator needs a CPU too. If it has none, it measures its own wait for one.
WORKERS = max(1, min(4, (os.cpu_count() or 1) - 1))
AT_PEAK, CONNECTIONS = 64, 1_600
PEAK_S = min(10.0, SECONDS / 5)
LEAST_FULL, LEAST_GOODPUT, MOST_MS = 0.8, 0.8, 50.0
MOST_MB, MOST_GROWTH_MB = 300, 60


def test_at_twice_what_can_be_handled_most_of_it_is_and_soon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path, AGENTGATE_WORKERS=str(WORKERS), AGENTGATE_DRAIN_SECONDS="0") as process:
        secrets = open_sites(process)
        # The first requests are slower, so this run is not measured.
        first = ask(process, secrets, rate=0, seconds=PEAK_S, connections=AT_PEAK)
        before = ask(process, secrets, rate=0, seconds=PEAK_S, connections=AT_PEAK)
        rate = round(2 * before.good_per_s)
        start = ask(process, secrets, rate=rate, seconds=SECONDS / 5, connections=CONNECTIONS)
        start_mb = resident_mb(process)
        over = ask(process, secrets, rate=rate, seconds=SECONDS, connections=CONNECTIONS)
        over_mb = resident_mb(process)
        ledger = settled_ledger(process, WORKERS, within_s=60)
        after = ask(process, secrets, rate=0, seconds=PEAK_S, connections=AT_PEAK)
        last = settled_ledger(process, WORKERS, within_s=60)
        assert process.stop() == 0

    # A check costs more as the events of the day become more.
    peak_per_s, p99_ms = (before.good_per_s + after.good_per_s) / 2, over.p_ms(0.99)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{SECONDS} s of {rate} due/s over {CONNECTIONS} connections, {over.in_flight:.0f} of them full: "
            f"{over.asked_per_s:.0f} answered/s, {over.good_per_s:.0f} decided/s of {before.good_per_s:.0f} at peak "
            f"before and {after.good_per_s:.0f} after, p99 {p99_ms:.1f} ms, {dict(ledger)}, "
            f"{start_mb:.0f} then {over_mb:.0f} MB\n"
        )
    for outcome in (first, before, start, over, after):
        check_answers(outcome)
    assert last["sent"] == sum(outcome.decided for outcome in (first, before, start, over, after))
    assert last["sent"] == last["stored"] + last["failures"]
    assert stored_events(tmp_path) == last["stored"]
    assert over_mb < MOST_MB
    assert over_mb - start_mb < MOST_GROWTH_MB
    assert over.good_per_s >= LEAST_GOODPUT * peak_per_s
    assert p99_ms < MOST_MS
    # The schedule is twice the peak rate. Requests that were not sent lacked a free connection, not time of the load
    # generator.
    assert over.in_flight >= LEAST_FULL * CONNECTIONS
