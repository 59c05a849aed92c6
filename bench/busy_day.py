"""Challenged visitors on a day with a flood: `python -m bench.busy_day`.

People visit a site with `wholeSiteWhen: busy` at a rate that changes over the day; from 14:00 to 14:30 a flood of 20
times the usual page loads comes from many addresses with a browser's headers. All requests pass the gateway check of a
running service, whose clock the bench moves, and the service's own counters and job find the flood.
"""

import math
import random
import tempfile
from collections import Counter
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentgate.events.records import Count, CounterName
from agentgate.gateway.site_load import INTERVAL_MS, SiteLoads
from agentgate.lib.clock import DAY_MS, HOUR_MS, FixedClock
from agentgate.lib.settings.schema import read_settings
from tests.population.gate import status_of, write_check
from tests.population.sent import Sent, Should
from tests.support.service import ADMIN_KEY, NOON_MS, RunningService, running_service
from tests.support.traffic_site import Site, visitor_of

MIDNIGHT_MS = NOON_MS - NOON_MS % DAY_MS
# Page loads of people in a minute: on average, and at most above and below it over the day.
USUAL, SWING = 40, 25
FLOOD_TIMES, FLOOD_FROM_S, FLOOD_UNTIL_S = 20, 14 * 3_600, 14 * 3_600 + 1_800
COOL_DOWN_S = 300
STEP_S = INTERVAL_MS // 1000


def usual_at(second: int) -> float:
    """Return the people's page loads a minute at a time of the day."""
    return USUAL - SWING * math.cos(2 * math.pi * second / 86_400)


def main() -> None:
    """Replay the day, and print the challenged share of people and of the flood in each part of it."""
    environ = {
        "AGENTGATE_DATA_DIR": str(Path(tempfile.mkdtemp(prefix="busy-day-"))),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_CONFIRM_CRAWLERS": "off",
    }
    with running_service(read_settings(environ), FixedClock(MIDNIGHT_MS)) as service:
        site = Site(service, wholeSite=True, wholeSiteWhen="busy")
        _replay(service, site)


def _replay(service: RunningService, site: Site) -> None:
    application, chance = service.application, random.Random(60)
    number = application.refresher.sites.find(site.key).number
    before = [
        Count(
            number,
            (MIDNIGHT_MS - day * DAY_MS) // HOUR_MS + hour,
            CounterName.PAGES,
            "",
            round(usual_at(hour * 3_600) * 60),
        )
        for day in range(1, 8)
        for hour in range(24)
    ]
    service.run(application.stores.events.add_counts(before))
    loads = SiteLoads(
        application.stores.store, application.stores.site_health, application.refresher.sites, service.clock
    )
    shares: dict[str, Counter[str]] = {part: Counter() for part in ("before", "during", "cool-down", "after")}
    person = visitor_of("81.2.0.1")
    states = []
    for second in range(0, 86_400, STEP_S):
        is_flood = FLOOD_FROM_S <= second < FLOOD_UNTIL_S
        part = _part_of(second)
        people = _rounded(usual_at(second) * STEP_S / 60, chance)
        flood = _rounded(FLOOD_TIMES * usual_at(second) * STEP_S / 60, chance) if is_flood else 0
        sent = [("people", f"81.2.{chance.randrange(64, 128)}.{chance.randrange(1, 255)}") for _ in range(people)]
        sent += [
            ("flood", f"185.{chance.randrange(256)}.{chance.randrange(256)}.{chance.randrange(1, 255)}")
            for _ in range(flood)
        ]
        chance.shuffle(sent)
        statuses = service.run(_check_all(application, site.secret, person, [address for _, address in sent]))
        for (who, _), status in zip(sent, statuses, strict=True):
            shares[part][who] += 1
            shares[part][f"{who} challenged"] += status == 401
            shares[part][f"{who} blocked"] += status not in {204, 401}
        service.run(_written(application))
        service.clock.advance(seconds=STEP_S)
        service.run(loads.compare())
        service.run(application.refresher.refresh())
        load = application.refresher.sites.find(site.key).load
        state = "normal" if load is None else load.state.value
        if not states or states[-1][1] != state:
            states.append((second + STEP_S, state))
    print("| part | page loads of people | challenged | of the flood | challenged |")
    print("| --- | --- | --- | --- | --- |")
    for part, counted in shares.items():
        shown = " | ".join(f"{counted[who]:,} | {_share(counted, who)}" for who in ("people", "flood"))
        print(f"| {part} | {shown} |")
        assert not counted["people blocked"]
    for second, state in states:
        print(f"{second // 3_600:02}:{second // 60 % 60:02}:{second % 60:02} {state}")


def _part_of(second: int) -> str:
    if second < FLOOD_FROM_S:
        return "before"
    if second < FLOOD_UNTIL_S:
        return "during"
    return "cool-down" if second < FLOOD_UNTIL_S + COOL_DOWN_S else "after"


def _rounded(number: float, chance: random.Random) -> int:
    whole = int(number)
    return whole + (chance.random() < number - whole)


def _share(counted: Counter[str], who: str) -> str:
    challenged = counted[f"{who} challenged"]
    return f"{challenged:,} ({100 * challenged / counted[who]:.1f}%)" if counted[who] else "none"


async def _check_all(application: Any, secret: str, person: Any, addresses: list[str]) -> list[int]:
    statuses = []
    for address in addresses:
        visit = replace(person, address=address).navigation(1)
        sent = Sent("", "", "GET", visit.url, visit.headers, address, Should.PASS)
        answer = application.gateway.check.take(write_check(sent, secret))
        if answer is None:
            await application.refresher.refresh()
            answer = application.gateway.check.take(write_check(sent, secret))
        statuses.append(status_of(await answer if isinstance(answer, Awaitable) else answer))
    return statuses


async def _written(application: Any) -> None:
    """Write what the recorder still has, so that the replay may be faster than the time that it replays."""
    # ruff: noqa: SLF001
    recorder = application.recorder
    while recorder._queue:
        await recorder._keep(recorder._take())
    recorder._counts_written_s = 0.0
    await recorder._flush_counts()


if __name__ == "__main__":
    main()
