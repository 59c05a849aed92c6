"""GatewayEventLog: every call of a site's server is counted once, whatever was written in between."""

from types import SimpleNamespace
from typing import Any

from agentgate.events.decision_ids import DecisionIds
from agentgate.events.recorder import Recorder
from agentgate.events.records import CounterName
from agentgate.gateway.event_log import GatewayEventLog
from agentgate.lib.clock import HOUR_MS, FixedClock

NOON_MS = 1_794_744_000_000 // HOUR_MS * HOUR_MS


def caller(site: int) -> Any:
    return SimpleNamespace(site=SimpleNamespace(number=site), credential_id=f"cred_{site}")


def counted(recorder: Recorder) -> dict[tuple[int, int], int]:
    found: dict[tuple[int, int], int] = {}
    for count in recorder._counts.take():
        assert count.name is CounterName.SERVER_CHECK
        found[count.site, count.hour] = count.counted
    return found


def test_calls_are_counted_once_before_and_after_they_are_written() -> None:
    # Nothing is written here.
    recorder = Recorder(None)  # type: ignore[arg-type]
    noted: list[str] = []
    uses: Any = SimpleNamespace(note=lambda credential, _now_ms: noted.append(credential))
    nothing: Any = SimpleNamespace(note=None)
    log = GatewayEventLog(
        recorder, DecisionIds(FixedClock(NOON_MS), 1), uses, suggestions=nothing, block_feed=nothing, decoys=nothing
    )
    one, other, hour = caller(1), caller(2), NOON_MS // HOUR_MS

    for _ in range(5):
        log.note_call(one, NOON_MS)
    assert counted(recorder) == {(1, hour): 5}
    for _ in range(3):
        log.note_call(one, NOON_MS)
        log.note_call(other, NOON_MS)
    assert counted(recorder) == {(1, hour): 3, (2, hour): 3}
    assert counted(recorder) == {}
    log.note_call(other, NOON_MS + HOUR_MS - 1)
    log.note_call(other, NOON_MS + HOUR_MS)
    assert counted(recorder) == {(2, hour): 1, (2, hour + 1): 1}
    assert set(noted) == {"cred_1", "cred_2"}
