"""The state of the probes over HTTP, for operators."""

from collections.abc import Iterable

from agentgate.browser_check.probes.checker import ProbeChecker
from agentgate.browser_check.probes.learning import FamilyKey
from agentgate.browser_check.probes.pool import count_families
from agentgate.http.call import Call
from agentgate.lib.records import Record


class ProbePool(Record, frozen=True, kw_only=True):
    """An active probe pool: number of programs per family, and the tested versions of each engine."""

    key: str
    made: str
    # The pool is part of the release, and its results are public.
    shipped: bool
    programs: dict[str, int]
    seen: dict[str, list[int]]


class LeftOut(Record, frozen=True, kw_only=True):
    """A probe family with changed results in a browser version."""

    family: str
    engine: str
    version: int


class ProbesState(Record, frozen=True, kw_only=True):
    """State of the responding worker. Each worker learns and counts separately."""

    pools: list[ProbePool]
    # Programs that visitors taught within the day, by engine.
    learned: dict[str, int]
    left_out: list[LeftOut]
    # Families beyond the daily limit of exclusions: a new pool is needed.
    waiting: list[LeftOut]
    # Verifications since the start, by state.
    judged: dict[str, int]


async def read_probes(call: Call, probes: ProbeChecker) -> ProbesState:
    """Show the active probe pools, the learned programs, and the families that browser updates changed."""
    return ProbesState(
        pools=[
            ProbePool(
                key=pool.key,
                made=pool.made,
                shipped=pool.shipped,
                programs=count_families(pool.programs),
                seen={engine: list(versions) for engine, versions in pool.seen.items()},
            )
            for pool in probes.pools.live(call.now)
        ],
        learned=probes.learner.count(call.now),
        left_out=_shown(probes.guard.all_left_out()),
        waiting=_shown(sorted(probes.guard.waiting)),
        judged=dict(probes.judged),
    )


def _shown(keys: Iterable[FamilyKey]) -> list[LeftOut]:
    return [LeftOut(family=family, engine=engine, version=version) for family, engine, version in keys]
