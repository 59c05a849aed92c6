"""Leases and the times of jobs in SQL."""

from typing import Protocol

from msgspec import Struct

from agentgate.lib.database import RecordTable, Repository


class Lease(Struct, frozen=True):
    """The owner of a lease, and its expiry."""

    owner: str
    expires_ms: int


class JobRun(Struct, frozen=True, kw_only=True):
    """When a job was last run, and until when it waits after a jump of the clock."""

    name: str
    last_ms: int
    held_until_ms: int = 0


class JobResult(Struct, frozen=True, kw_only=True):
    """How the last run of a job ended; `failure` names the kind of failure and is empty after a success."""

    name: str
    started_ms: int
    took_ms: int
    failure: str = ""


_RUNS, _RESULTS = RecordTable("job_run", JobRun), RecordTable("job_result", JobResult)


class JobStore(Repository):
    """Leases, and the times of jobs."""

    async def find_lease(self, name: str) -> Lease | None:
        """Return a lease, expired or not; None if it was never taken."""
        row = await self._session.one("SELECT owner, expires_ms FROM job_lease WHERE name = $1", name)
        return Lease(*row) if row else None

    async def take_lease(self, name: str, lease: Lease, *, now_ms: int, believable_ms: int) -> bool:
        """Take or renew a lease; return False if another process holds it until a plausible time."""
        taken = await self._session.run(
            """INSERT INTO job_lease (name, owner, expires_ms) VALUES ($1, $2, $3)
                ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_ms = excluded.expires_ms
                    WHERE job_lease.owner = excluded.owner OR job_lease.expires_ms <= $4
                        OR job_lease.expires_ms > $5""",
            name,
            lease.owner,
            lease.expires_ms,
            now_ms,
            believable_ms,
        )
        return taken == 1

    async def release_lease(self, name: str, owner: str) -> None:
        """End a lease, if this owner holds it."""
        await self._session.run("DELETE FROM job_lease WHERE name = $1 AND owner = $2", name, owner)

    async def list_runs(self) -> list[JobRun]:
        """Return what is known of each job's runs."""
        return [_RUNS.read(row) for row in await self._session.all(_RUNS.select)]

    async def save_run(self, run: JobRun) -> None:
        """Note a run, over an earlier one of the same name."""
        await _RUNS.save(self._session, run, "name")

    async def list_results(self) -> list[JobResult]:
        """Return how the last run of each job ended."""
        return [_RESULTS.read(row) for row in await self._session.all(_RESULTS.select)]

    async def save_result(self, result: JobResult) -> None:
        """Note how a run ended, over an earlier one of the same name."""
        await _RESULTS.save(self._session, result, "name")


class JobStores(Protocol):
    """The repository that timed work uses."""

    jobs: JobStore
