"""Costs of rules: one evaluation compared with a naive evaluator, and a backtest over stored events.

`python -m bench.rules [--events 200000]`

Ratios in one run; microseconds are CPU time.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace

from agentgate.events.storage.queries.replays import SqlDecisionReplay
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, FixedClock
from agentgate.server.stores.open import CONFIG
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.sites.rules.backtest import Backtests
from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.effective import effective_set, read_set
from agentgate.storage.migrate import apply
from agentgate.storage.sqlite.database import SqliteDatabase
from tests.store.sql_objects import add_two_tenants
from tests.support.events import DAY, NOON_MS, embedded_events, many_events
from tests.support.rule_reference import LABELS, decide, new_match, new_request

RULES = 30
REQUESTS = 500
ROUNDS = 7
BATCH = 5_000


def thirty_rules(chance: Random) -> dict[str, Any]:
    """Return thirty rules of which most do not match most requests, as in real sets."""
    rules = []
    for number in range(RULES):
        match = {"all_labels": [chance.choice(LABELS)], **new_match(chance)}
        rules.append({"name": f"r{number}", "match": match, "action": "count" if number < 25 else "challenge"})
    return {"version": "1", "rules": rules, "default_action": "allow"}


def measure_evaluation() -> dict[str, float]:
    """Return microseconds for each request: remembered, new each time, and by the reference."""
    chance = Random(1)
    rule_set = thirty_rules(chance)
    requests = [new_request(chance) for _ in range(REQUESTS)]
    compiled = compile_rules(effective_set(read_set(rule_set), {}))

    def evaluate(request: dict[str, Any]) -> None:
        compiled.evaluate(request["labels"], request["scores"], route=request["route"], action=request["action"])

    def evaluate_anew(request: dict[str, Any]) -> None:
        compiled._verdicts.clear()  # noqa: SLF001 - what is measured is the work that remembering saves
        evaluate(request)

    return {
        "remembered": _best_us(evaluate, requests),
        "anew": _best_us(evaluate_anew, requests),
        "reference": _best_us(lambda request: decide(rule_set, {}, request), requests),
    }


def _best_us(work: Callable[[dict[str, Any]], object], requests: list[dict[str, Any]]) -> float:
    times = []
    for _ in range(ROUNDS):
        began_s = time.process_time()
        for request in requests:
            work(request)
        times.append(time.process_time() - began_s)
    return min(times) / len(requests) * 1e6


async def measure_backtest(folder: Path, count: int) -> tuple[int, float, float]:
    """Return how many events were decided again, and how many seconds that took: wall-clock time and CPU time."""
    config = SqliteDatabase(folder / "config.db")
    await apply(config, CONFIG, clock=FixedClock(NOON_MS))
    await add_two_tenants(SqlStore(config))
    async with embedded_events(folder / "data") as place:
        events = [replace(event, site=1) for event in many_events(count)]
        for start in range(0, count, BATCH):
            await place.events.write(events[start : start + BATCH])
        rules = effective_set(read_set(thirty_rules(Random(2))), {})
        backtests = Backtests(SqlDecisionReplay(config, place.segments, place.words))
        began_s, used_s = time.perf_counter(), time.process_time()
        report = await backtests.run("st_1", rules, TimeRange(DAY * DAY_MS, (DAY + 1) * DAY_MS), "acc_1")
        wall_s, processor_s = time.perf_counter() - began_s, time.process_time() - used_s
    await config.close()
    return report.evaluated, wall_s, processor_s


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=200_000)
    count = parser.parse_args().events
    figures = measure_evaluation()
    for name, microseconds in figures.items():
        print(f"evaluate {RULES} rules, {name:<10} {microseconds:8.2f} us, {microseconds / figures['reference']:.3f}")
    with tempfile.TemporaryDirectory(prefix="agentgate-bench-") as folder:
        evaluated, *seconds = asyncio.run(measure_backtest(Path(folder), count))
    wall, processor = (each / evaluated * 1e6 for each in seconds)
    print(f"backtest of a million events: {wall:.2f} s, {processor:.2f} s of processor time ({evaluated:,} measured)")


if __name__ == "__main__":
    main()
