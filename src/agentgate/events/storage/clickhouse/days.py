"""ClickhouseDays: the days of events in ClickHouse, each a partition of every table."""

from agentgate.events.storage.clickhouse import schema
from agentgate.events.storage.days.days import EventDays, Layout
from agentgate.lib.clock import Clock
from agentgate.storage.clickhouse.client import ClickhouseClient

LAYOUT = Layout(patterns=False, rows="event", details="event", event_tables=("event",), days_together=True)


class ClickhouseDays(EventDays):
    """Partitions of ClickHouse. An event is one wide row."""

    layout = LAYOUT

    def __init__(self, client: ClickhouseClient, cluster: str = "") -> None:
        self._client = client
        self._cluster = cluster

    def session(self, day: int) -> ClickhouseClient:  # noqa: ARG002 - the bounds in the SQL say which day is meant
        """Return the client: ClickHouse finds the partition by the bounds on the ID."""
        return self._client

    async def days(self) -> list[int]:
        """Return the days that have events, oldest first."""
        return await self.partitions(schema.EVENT)

    async def partitions(self, table: schema.ClickHouseTable) -> list[int]:
        """Return the days of which a table has rows."""
        parts = f"clusterAllReplicas(`{self._cluster}`, system.parts)" if self._cluster else "system.parts"
        rows = await self._client.all(
            f"""SELECT DISTINCT toInt32(partition) AS day FROM {parts}
                WHERE active AND rows > 0 AND database = $1 AND table = $2 ORDER BY day""",  # noqa: S608
            self._client.database,
            schema.local_name(table, self._cluster),
        )
        return [day for (day,) in rows]

    async def drop(self, day: int) -> None:
        """Remove the events of a day. Its roll-ups stay."""
        await self.drop_partition(schema.EVENT, day)

    async def drop_partition(self, table: schema.ClickHouseTable, day: int) -> None:
        """Remove a table's rows of a day."""
        local = schema.local_name(table, self._cluster)
        await self._client.run(
            f"ALTER TABLE {local}{schema.on_cluster(self._cluster)} DROP PARTITION {day}", alter_sync="2"
        )

    async def remove_site(self, site: int) -> None:
        """Remove a site's rows from every table, and return when they are gone everywhere."""
        for table in schema.TABLES:
            local = schema.local_name(table, self._cluster)
            await self._client.run(
                f"ALTER TABLE {local}{schema.on_cluster(self._cluster)} DELETE WHERE site = {site:d}",
                mutations_sync="2",
            )

    async def pending(self) -> list[str]:
        """Return the names of schema changes that have not been made."""
        return await schema.pending(self._client, self._cluster)

    async def migrate(self, clock: Clock) -> None:
        """Make the tables and views that are missing."""
        await schema.migrate(self._client, self._cluster, clock)

    async def close(self) -> None:
        """Let go of all connections."""
        await self._client.close()
