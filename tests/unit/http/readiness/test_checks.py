"""Readiness: required checks decide, optional ones degrade, slow ones fail, and a flood of questions is one look."""

import asyncio

import pytest

from agentgate.http.readiness import checks
from agentgate.http.readiness.checks import ReadinessCheck, ReadinessChecks

pytestmark = pytest.mark.anyio


async def fine() -> str:
    return "fine"


async def broken() -> str:
    raise OSError("password=hunter2")


@pytest.mark.parametrize(
    ("required", "optional", "status"),
    [
        (fine, fine, "ready"),
        (fine, broken, "degraded"),
        (broken, fine, "unavailable"),
        (broken, broken, "unavailable"),
    ],
)
async def test_a_required_check_decides_and_an_optional_one_degrades(required, optional, status: str) -> None:
    readiness = ReadinessChecks((ReadinessCheck("a", True, required), ReadinessCheck("b", False, optional)))

    assert (await readiness.report()).status == status


async def test_a_failure_is_named_by_its_kind_and_never_by_its_text() -> None:
    report = await ReadinessChecks((ReadinessCheck("a", True, fine), ReadinessCheck("b", False, broken))).report()

    assert report.checks == {"a": "fine", "b": "failed: OSError"}


async def test_a_check_that_does_not_respond_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "CHECK_S", 0.05)

    async def silent() -> str:
        await asyncio.sleep(60)
        return "never"

    report = await ReadinessChecks((ReadinessCheck("a", True, silent),)).report()

    assert (report.status, report.checks) == ("unavailable", {"a": "failed: TimeoutError"})


async def test_a_service_that_stops_is_unavailable_and_shows_why() -> None:
    readiness = ReadinessChecks((ReadinessCheck("a", True, fine),))
    readiness.draining = True

    report = await readiness.report()

    assert (report.status, report.checks) == ("unavailable", {"a": "fine", "drain": "the service is stopping"})


class Counted:
    """A probe that counts its calls and returns when the test allows it."""

    def __init__(self) -> None:
        self.asked = 0
        self.go_on = asyncio.Event()

    async def probe(self) -> str:
        self.asked += 1
        await self.go_on.wait()
        return "fine"


async def test_users_who_ask_at_once_share_one_look_and_the_next_has_a_new_one() -> None:
    counted = Counted()
    readiness = ReadinessChecks((ReadinessCheck("a", True, counted.probe),))

    asking = [asyncio.create_task(readiness.report()) for _ in range(50)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    counted.go_on.set()
    reports = await asyncio.gather(*asking)

    assert counted.asked == 1
    assert {report.status for report in reports} == {"ready"}
    await readiness.report()
    assert counted.asked == 2


async def test_one_who_goes_away_does_not_spoil_the_look_for_the_others() -> None:
    counted = Counted()
    readiness = ReadinessChecks((ReadinessCheck("a", True, counted.probe),))
    first, second = (asyncio.create_task(readiness.report()) for _ in range(2))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    first.cancel()
    counted.go_on.set()

    assert (await second).status == "ready"
    assert counted.asked == 1
    with pytest.raises(asyncio.CancelledError):
        await first
