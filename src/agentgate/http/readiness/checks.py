"""The checks behind `/readyz`. A required one that fails makes the service not ready; an optional one, degraded."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

from msgspec import Struct

from agentgate.lib.records import Record

ReadinessLevel = Literal["ready", "degraded", "unavailable"]

CHECK_S = 1.0


class ReadinessReport(Record, frozen=True, kw_only=True):
    """Whether decisions can be made, and the result of each check."""

    status: ReadinessLevel
    checks: dict[str, str]


class ReadinessCheck(Struct, frozen=True):
    """One dependency to probe. The probe raises, or returns a text to show."""

    name: str
    required: bool
    probe: Callable[[], Awaitable[str]]


class ReadinessChecks:
    """Runs the checks. While the service drains it is not ready, so that proxies send traffic elsewhere."""

    def __init__(self, checks: tuple[ReadinessCheck, ...]) -> None:
        self._checks = checks
        self._look: asyncio.Task[dict[str, str]] | None = None
        self.draining = False

    async def report(self) -> ReadinessReport:
        """Run every check and put the state together."""
        found = await self._find()
        failed = [check for check in self._checks if found[check.name].startswith("failed")]
        status: ReadinessLevel = "degraded" if failed else "ready"
        if any(check.required for check in failed):
            status = "unavailable"
        if self.draining:
            return ReadinessReport(status="unavailable", checks={**found, "drain": "the service is stopping"})
        return ReadinessReport(status=status, checks=found)

    async def _find(self) -> dict[str, str]:
        # Any client may call this, so simultaneous calls share one run: a flood must not use up the stores'
        # connections.
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(self._run_all())
        return await asyncio.shield(self._look)

    async def _run_all(self) -> dict[str, str]:
        return dict(await asyncio.gather(*(_run(check) for check in self._checks)))


async def _run(check: ReadinessCheck) -> tuple[str, str]:
    try:
        return check.name, await asyncio.wait_for(check.probe(), CHECK_S)
    except Exception as failure:  # noqa: BLE001 - a probe may fail in any way; that it failed is the answer
        return check.name, f"failed: {type(failure).__name__}"
