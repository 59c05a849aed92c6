"""Packed counts by value (PostgreSQL): read as they lie and added up here, in a fraction of what the server takes."""

import asyncio
from collections.abc import Iterable

import msgspec

from agentgate.core.database import Row, Session
from agentgate.store.sql.event_encoding import packed_key, unpacked_key

_PACKS = "SELECT keys, counts FROM dimension_pack WHERE site = $1 AND hour >= $2 AND hour < $3"

_numbers = msgspec.json.Decoder(list[int]).decode


async def count_packed(session: Session, site: int, first_hour: int, end_hour: int) -> dict[tuple[int, int], int]:
    """Return how often each value occurred in some hours, by dimension and value."""
    rows = await session.all(_PACKS, site, first_hour, end_hour)
    # A day of a busy site is twenty thousand numbers: too many for the event loop.
    return await asyncio.to_thread(_add_up, rows)


async def count_packed_values(
    session: Session, site: int, hours: tuple[int, int], asked: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], int]:
    """Return the same of a few values."""
    rows = await session.all(_PACKS, site, *hours)
    found = dict.fromkeys(asked, 0)
    wanted = {str(packed_key(*value)): value for value in found}
    for keys, counts in rows:
        listed = keys[1:-1].split(",")
        for key, value in wanted.items():
            if key in listed:
                found[value] += int(counts[1:-1].split(",")[listed.index(key)])
    return found


def _add_up(rows: Iterable[Row]) -> dict[tuple[int, int], int]:
    sums: dict[int, int] = {}
    for keys, counts in rows:
        # Arrays are written as PostgreSQL does: `{1,2}`.
        pairs = zip(_numbers(f"[{keys[1:-1]}]"), _numbers(f"[{counts[1:-1]}]"), strict=True)
        if not sums:
            sums.update(pairs)
            continue
        for key, events in pairs:
            sums[key] = sums.get(key, 0) + events
    return {unpacked_key(key): events for key, events in sums.items()}
