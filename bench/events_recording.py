"""What recording one decision costs the processor: from `make_event` to committed, with every counter and label.

    python -m bench.events_recording [--events 10000]

Traffic is like a gateway's: one site, visitors with a few kinds of browsers. The reference in the same run is a plain
insert of the same rows.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from agentgate.decision.engine import EngineDecision, Views, decide
from agentgate.decision.event import Answered, make_event
from agentgate.decision.scoring.score import ModelView
from agentgate.decision.signals.facts import RequestFacts
from agentgate.decision.threat_data.intel import load_intel
from agentgate.events.decision_ids import DecisionIds, id_day
from agentgate.events.recorder import Recorder
from agentgate.events.records import Event
from agentgate.events.storage.encoding import EventEncoder
from agentgate.lib.clock import SystemClock
from agentgate.lib.enums import ModelKind
from agentgate.server.worker_tuning import tune_worker
from bench.decide import bench_site, requests
from bench.model_trees import bench_model
from tests.support.events import EventPlace, embedded_events

ROUNDS = 7
# Requests between two event-loop iterations.
AT_ONCE = 25
# Spreads visitors over all 64 bits, as hashes are.
SPREAD = 0x9E37_79B9_7F4A_7C15

Decided = list[tuple[RequestFacts, EngineDecision]]


def decided(count: int) -> Decided:
    """Return requests with what was decided about them."""
    site, models, intel = bench_site(), ModelView({ModelKind.BOT: bench_model()}, {}), load_intel(None)
    return [(facts, decide(facts, site, Views(intel, models))) for facts in requests(count, strange=False)]


async def record(place: EventPlace, made: Decided) -> float:
    """Record all of it; return the CPU time of one event."""
    site, ids, recorder = bench_site(), DecisionIds(SystemClock(), 1), Recorder(place.events)
    await recorder.start()
    began_s = time.process_time()
    for number, (facts, decision) in enumerate(made):
        answered = Answered(id=ids.next(), visitor=number % 5_000 * SPREAD % 2**64, status=204)
        recorder.put(make_event(facts, site, decision, answered))
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
    await recorder.stop()
    used_s = time.process_time() - began_s
    if recorder.stored != len(made):
        raise RuntimeError(f"not every event was stored: {recorder.ledger()}")
    return used_s / len(made) * 1e6


async def insert(place: EventPlace, events: list[Event], batch: int = 1_000) -> float:
    """Insert only encoded events; return the CPU time of one."""
    parts = [events[start : start + batch] for start in range(0, len(events), batch)]
    encoded = [EventEncoder(place.words).encode(part) for part in parts]
    began_s = time.process_time()
    for rows in encoded:
        day = id_day(rows.events[0][1])
        await place.segments.write(day, lambda transaction, rows=rows: place.segments.insert(transaction, rows))
    return (time.process_time() - began_s) / len(events) * 1e6


async def measure(count: int) -> dict[str, float]:
    """Measure both alternately, each round on a separate store; return the quickest of each."""
    made, site = decided(count), bench_site()
    found: dict[str, list[float]] = {"recorded_us": [], "plain_insert_us": []}
    tune_worker()
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(prefix="agentgate-bench-") as folder:
            async with embedded_events(Path(folder) / "one") as place:
                found["recorded_us"].append(await record(place, made))
            ids = DecisionIds(SystemClock(), 1)
            events = [
                make_event(facts, site, decision, Answered(id=ids.next(), visitor=number * SPREAD % 2**63, status=204))
                for number, (facts, decision) in enumerate(made)
            ]
            async with embedded_events(Path(folder) / "two") as place:
                found["plain_insert_us"].append(await insert(place, events))
    return {name: min(times) for name, times in found.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000)
    arguments = parser.parse_args()
    for name, value in asyncio.run(measure(arguments.events)).items():
        print(f"{name:16} {value:8.2f}")


if __name__ == "__main__":
    main()
