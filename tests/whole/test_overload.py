"""Two workers with twice their maximum throughput, for a moment. The soak test has the measurements."""

from pathlib import Path

from tests.support.load import ask, check_answers, open_sites, resident_mb, settled_ledger, stored_events
from tests.support.processes import serving

WORKERS = 2
CONNECTIONS = 400
PEAK_S, OVERLOAD_S = 0.5, 1.5
MOST_MB = 300


def test_twice_what_can_be_handled_opens_nothing_and_loses_no_event_uncounted(tmp_path: Path) -> None:
    with serving(tmp_path, AGENTGATE_WORKERS=str(WORKERS), AGENTGATE_DRAIN_SECONDS="0") as process:
        secrets = open_sites(process)
        peak = ask(process, secrets, rate=0, seconds=PEAK_S, connections=8)
        over = ask(process, secrets, rate=round(2 * peak.good_per_s), seconds=OVERLOAD_S, connections=CONNECTIONS)
        ledger = settled_ledger(process, WORKERS, within_s=20)

        for outcome in (peak, over):
            check_answers(outcome)
        assert over.decided > 0
        assert ledger["sent"] == peak.decided + over.decided
        assert ledger["sent"] == ledger["stored"] + ledger["failures"]
        assert resident_mb(process) < MOST_MB
        assert process.stop() == 0
    assert stored_events(tmp_path) == ledger["stored"]
