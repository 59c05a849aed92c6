"""Drift of scores: a week with nights and week-ends is quiet, and a shift is found within the hour."""

import asyncio
import math
import random
from bisect import bisect_left
from operator import itemgetter
from typing import Any, cast

import pytest

from agentgate.decision.scoring.drift import DRIFTED, DriftWatch
from agentgate.events.decision_ids import first_id, id_time_ms
from agentgate.events.queries.replays import ScorePoint
from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS, FixedClock
from agentgate.lib.enums import ModelKind

MONDAY_MS = 20_000 * DAY_MS
BOTS_AT_NIGHT, BOTS_BY_DAY = 0.12, 0.05


class Traffic:
    """Scores of two weeks of one site, made when they are read. From `shifted_ms`, a share comes from a new client."""

    def __init__(self, seed: int, an_hour: int, shifted_ms: int | None = None) -> None:
        self._random = random.Random(seed)
        self.now_ms = 0
        self.points: list[tuple[int, ScorePoint]] = []
        for minute in range(14 * 1440):
            at_ms = MONDAY_MS + minute * MINUTE_MS
            daylight = 0.55 - 0.45 * math.cos(2 * math.pi * (minute % 1440) / 1440)
            weekend = 0.6 if minute // 1440 % 7 >= 5 else 1.0
            expected = an_hour / 60 * daylight * weekend
            for _ in range(int(expected) + (self._random.random() < expected % 1)):
                is_shifted = shifted_ms is not None and at_ms >= shifted_ms and self._random.random() < 0.2
                score = 0.65 if is_shifted else self._score(daylight)
                self.points.append((first_id(at_ms), ScorePoint(1, {"bot": score}, {"bot": "v"})))

    def _score(self, daylight: float) -> float:
        bots = BOTS_AT_NIGHT + (BOTS_BY_DAY - BOTS_AT_NIGHT) * daylight
        return self._random.betavariate(8, 2) if self._random.random() < bots else self._random.betavariate(1.2, 9)

    async def days(self) -> list[int]:
        return sorted({id_time_ms(number) // DAY_MS for number, _ in self.points})

    async def spread(self, ids: range, limit: int) -> list[ScorePoint]:
        stop = min(ids.stop, first_id(self.now_ms))
        first, last = (bisect_left(self.points, number, key=itemgetter(0)) for number in (ids.start, stop))
        chosen = self.points[first : max(first, last)]
        return [point for _, point in chosen[:: len(chosen) // limit + 1]]


async def indexes(traffic: Traffic, times: range) -> list[tuple[int, float]]:
    clock = FixedClock(times.start)
    watch = DriftWatch(cast("Any", traffic), clock, lambda _: "site_shop")
    found = []
    for at_ms in times:
        clock.advance(ms=at_ms - clock.now_ms())
        traffic.now_ms = at_ms
        sites = (await watch.drift(ModelKind.BOT)).sites
        found += [(at_ms, site.index) for site in sites if site.index is not None]
    return found


@pytest.mark.parametrize(("seed", "an_hour"), [(1, 500), (2, 900)])
def test_a_quiet_week_is_never_drift(seed: int, an_hour: int) -> None:
    week = range(MONDAY_MS + 7 * DAY_MS, MONDAY_MS + 14 * DAY_MS, 3 * HOUR_MS)
    found = asyncio.run(indexes(Traffic(seed, an_hour), week))

    assert len(found) > 25
    assert max(index for _, index in found) < DRIFTED


@pytest.mark.parametrize("hour", [9, 20])
def test_a_shift_of_20_percent_of_the_traffic_is_drift_within_the_hour(hour: int) -> None:
    began = MONDAY_MS + 9 * DAY_MS + hour * HOUR_MS
    found = asyncio.run(indexes(Traffic(4, 1_200, shifted_ms=began), range(began, began + HOUR_MS + 1, 10 * MINUTE_MS)))

    # The alert waits 10 minutes, so that two measurements must exceed the limit.
    assert sum(index >= DRIFTED for _, index in found) >= 2
    assert found[0][1] < DRIFTED
