"""ClickhouseDays: the days of events in ClickHouse, each a partition of every table."""

from agentgate.events.decision_ids import first_id
from agentgate.events.storage.clickhouse import schema
from agentgate.events.storage.days.days import EventDays, day_bounds
from agentgate.lib.clock import DAY_MS, Clock
from agentgate.storage.clickhouse.client import ClickhouseClient


class ClickhouseDays(EventDays):
    """Partitions of ClickHouse. An event is one wide row."""

    def __init__(self, client: ClickhouseClient, cluster: str = "") -> None:
        self._client = client
        self._cluster = cluster

    def session(self, day: int) -> ClickhouseClient:  # noqa: ARG002 - the bounds in the SQL say which day is meant
        """Return the client: ClickHouse finds the partition by the bounds on the ID."""
        return self._client

    async def days(self) -> list[int]:
        """Return the days that have events, oldest first."""
        return await self.partitions(schema.EVENT)

    async def newest_bounds(self) -> list[tuple[int, int]]:
        """Return the bounds of all days together: one statement may ask them."""
        days = await self.days()
        return [(day_bounds(days[0])[0], day_bounds(days[-1])[1])] if days else []

    async def partitions(self, table: schema.ClickHouseTable) -> list[int]:
        """Return the days of which a table has rows, or the first day of each partition that has several."""
        parts = f"clusterAllReplicas(`{self._cluster}`, system.parts)" if self._cluster else "system.parts"
        rows = await self._client.all(
            f"""SELECT DISTINCT toInt32(partition) * {table.days} AS day FROM {parts}
                WHERE active AND rows > 0 AND database = $1 AND table = $2 ORDER BY day""",  # noqa: S608
            self._client.database,
            schema.local_name(table, self._cluster),
        )
        return [day for (day,) in rows]

    async def drop(self, day: int) -> None:
        """Remove the events of a day, but keep its roll-ups."""
        await self.drop_partition(schema.EVENT, day)

    async def forget(self, table: schema.ClickHouseTable, first_kept: int) -> None:
        """Remove a table's rows of the days before one."""
        if table.day is None:
            await self._remove(table, first_kept, f"last_id < {first_id(first_kept * DAY_MS):d}")
            return
        for day in await self.partitions(table):
            if day + table.days <= first_kept:
                await self.drop_partition(table, day)
            elif day < first_kept:
                await self._remove(table, day, f"{table.day} < {first_kept:d}")

    async def drop_partition(self, table: schema.ClickHouseTable, day: int) -> None:
        await self._alter(table, f"DROP PARTITION {table.partition_of(day)}", alter_sync="2")

    async def _remove(self, table: schema.ClickHouseTable, day: int, condition: str) -> None:
        """Remove matching rows of a day's partition, if there are any. ClickHouse then rewrites the partition."""
        row = await self._client.one(f"SELECT count() FROM {table.name} WHERE {condition}")  # noqa: S608
        if row is not None and row[0]:
            await self._alter(
                table, f"DELETE IN PARTITION {table.partition_of(day)} WHERE {condition}", mutations_sync="2"
            )

    async def _alter(self, table: schema.ClickHouseTable, change: str, **settings: str) -> None:
        local = schema.local_name(table, self._cluster)
        await self._client.run(f"ALTER TABLE {local}{schema.on_cluster(self._cluster)} {change}", **settings)

    async def remove_site(self, site: int) -> None:
        """Remove a site's rows from every table, and return when they are gone everywhere."""
        for table in schema.TABLES:
            await self._alter(table, f"DELETE WHERE site = {site:d}", mutations_sync="2")

    async def pending(self) -> list[str]:
        """Return the names of schema changes that have not been made."""
        return await schema.pending(self._client, self._cluster)

    async def migrate(self, clock: Clock) -> None:
        """Make the tables and views that are missing."""
        await schema.migrate(self._client, self._cluster, clock)

    async def close(self) -> None:
        """Let go of all connections."""
        await self._client.close()
