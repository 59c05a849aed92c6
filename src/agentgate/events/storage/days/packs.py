"""Counts by value of an SQLite day: one row for each batch, site and hour, merged regularly."""

from agentgate.lib.database import Transaction

# So many hours of sites in one transaction: events must not wait for long.
PACKED_TOGETHER = 8

_SEVERAL = f"""SELECT site, hour FROM dimension_pack GROUP BY site, hour HAVING count(*) > 1
    LIMIT {PACKED_TOGETHER}"""  # noqa: S608
_SUMS = """SELECT json_group_object(key, events) FROM (
    SELECT key, sum(listed.value) AS events FROM dimension_pack CROSS JOIN json_each(counts) AS listed
    WHERE site = $1 AND hour = $2 GROUP BY key)"""


async def pack_some(transaction: Transaction) -> bool:
    """Put the rows of some hours together; return whether there may be more."""
    several = await transaction.all(_SEVERAL)
    for site, hour in several:
        row = await transaction.one(_SUMS, site, hour)
        assert row is not None, "a sum has a row"
        await transaction.run("DELETE FROM dimension_pack WHERE site = $1 AND hour = $2", site, hour)
        await transaction.run(
            "INSERT INTO dimension_pack (site, hour, counts) VALUES ($1, $2, $3)", site, hour, str(row[0])
        )
    return len(several) == PACKED_TOGETHER
