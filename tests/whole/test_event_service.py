"""Events in the whole service: recorded while it runs, kept after a restart, rolled up and deleted by its jobs."""

import asyncio
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentgate.events.jobs import event_jobs
from agentgate.lib.clock import DAY_MS, FixedClock
from agentgate.lib.enums import DecisionKind
from agentgate.lib.settings.schema import Settings
from agentgate.server.application import Application
from tests.cli.commands import agentgate
from tests.support.events import DAY, NOON_MS, embedded_events, many_events, new_event

pytestmark = pytest.mark.anyio


async def count(application: Application) -> int:
    row = await application.stores.segments.session(DAY).one("SELECT count(*) FROM event")
    return int(row[0]) if row else 0


async def test_events_survive_a_restart_and_the_metrics_report_them(settings: Settings) -> None:
    application = await Application.open(settings, clock=FixedClock(NOON_MS))
    await application.start()
    for number in range(50):
        assert application.recorder.put(new_event(number))
    await application.close()

    shown = application.metrics.exposition()[0].decode()
    figures = dict(
        re.findall(r"^agentgate_event(?:s|_write)_(\w+?)(?:_total)?(?:{[^}]*})? ([\d.]+)$", shown, re.MULTILINE)
    )
    assert figures == {"sent": "50.0", "stored": "50.0", "waiting": "0.0", "failures": "0.0"}

    again = await Application.open(settings, clock=FixedClock(NOON_MS))
    try:
        assert await count(again) == 50
    finally:
        await again.close()


async def test_the_jobs_close_days_and_discard_what_is_too_old(settings: Settings) -> None:
    clock = FixedClock(NOON_MS)
    application = await Application.open(settings, clock=clock)
    try:
        events = application.stores.events
        for day in (DAY - 3, DAY - 2, DAY):
            await events.write(many_events(10, day=day))
        kept = replace(settings, event_days=2, metric_days=400)
        jobs = {job.name: job for job in event_jobs(events, kept, clock)}
        assert all(job.guarded for job in jobs.values())

        await jobs["close-days"].work()
        closed = await application.stores.databases["stats"].all("SELECT day FROM segment ORDER BY day")
        await jobs["retention"].work()

        assert closed == [(DAY - 3,), (DAY - 2,)]
        assert await events.list_days() == [DAY - 2, DAY]
    finally:
        await application.close()


async def test_a_backup_holds_the_events_and_what_their_numbers_mean(tmp_path: Path) -> None:
    made = many_events(40)
    await asyncio.to_thread(agentgate, tmp_path, "migrate")
    async with embedded_events(tmp_path / "data") as place:
        await place.events.write(made)
        await place.events.write([new_event(1, time_ms=NOON_MS - DAY_MS)])

    result = await asyncio.to_thread(agentgate, tmp_path, "backup", "copy")

    assert result.returncode == 0, result.stderr
    copy = tmp_path / "copy"
    assert sorted(str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()) == [
        "config.db",
        "events/2026-11-14.db",
        "events/2026-11-15.db",
        "hot.db",
        "stats.db",
    ]
    async with embedded_events(copy) as place:
        assert await place.read() == made
        assert sum(event.kind is DecisionKind.REQUEST for event in await place.read(DAY - 1)) == 1
