"""The schema of events in ClickHouse: one table, and roll-ups that materialized views fill with each insert.

On one server, `event` is the table itself. On a cluster, each shard has the replicated table `event_local`, and `event`
combines all of these. Readers query the views `site_hour`, `site_day`, `dimension_hour` and `event_label`, which have
the same names and columns as in the other databases.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from agentgate.events.decision_ids import EPOCH_MS, TIME_SHIFT
from agentgate.events.records import Dimension
from agentgate.events.storage.codes import KIND_CODES
from agentgate.events.storage.encoding import COUNT_COLUMNS
from agentgate.events.storage.queries.counts import COUNT_EXPRESSIONS
from agentgate.events.storage.rollups import VISITOR_EXPRESSIONS
from agentgate.lib.clock import DAY_MS, HOUR_MS, Clock
from agentgate.lib.enums import DecisionKind
from agentgate.storage.clickhouse.client import ClickhouseClient
from agentgate.storage.migrate import MigrationRefused

# The number of inserts that ClickHouse remembers by their tokens, and on a cluster for how long.
REMEMBERED_INSERTS = 10_000
REMEMBERED_S = 7 * 24 * 3600

TIME_MS = f"(bitShiftRight(id, {TIME_SHIFT}) + {EPOCH_MS})"
HOUR = f"intDiv({TIME_MS}, {HOUR_MS})"
DAY = f"intDiv({TIME_MS}, {DAY_MS})"
_IS_REQUEST = f"kind = {KIND_CODES[DecisionKind.REQUEST]}"
_REFUSED, _WOULD = f"{_IS_REQUEST} AND outcome <> 0", f"{_IS_REQUEST} AND ifNull(would, 0) <> 0"
# Which dimensions an event has how often, as pairs of dimension and value.
PAIRS = f"""arrayConcat(
    if(isNull(action), [], [({Dimension.ACTION:d}, assumeNotNull(action))]),
    if({_IS_REQUEST}, [({Dimension.ROUTE:d}, route)], []),
    if({_IS_REQUEST} AND isNotNull(agent), [({Dimension.AGENT:d}, assumeNotNull(agent))], []),
    if(isNull(rule), [], [({Dimension.RULE:d}, assumeNotNull(rule))]),
    if(isNull(solve_type), [], [({Dimension.SOLVE_TYPE:d}, toInt32(assumeNotNull(solve_type)))]),
    if({_IS_REQUEST}, arrayMap(value -> ({Dimension.REASON:d}, value), reasons), []),
    arrayMap(value -> ({Dimension.LABEL:d}, value), labels),
    if({_REFUSED} AND isNull(rule), arrayMap(value -> ({Dimension.REFUSED_REASON:d}, value), reasons), []),
    if({_REFUSED} AND isNotNull(rule), [({Dimension.REFUSED_RULE:d}, assumeNotNull(rule))], []),
    if({_WOULD} AND isNull(rule), arrayMap(value -> ({Dimension.WOULD_REASON:d}, value), reasons), []),
    if({_WOULD} AND isNotNull(rule), [({Dimension.WOULD_RULE:d}, assumeNotNull(rule))], []),
    if({_IS_REQUEST}, [], arrayMap(value -> ({Dimension.CHECK_LABEL:d}, value), labels)),
    if({_IS_REQUEST} OR isNull(action), [], [({Dimension.CHECK_ACTION:d}, assumeNotNull(action))]))"""
# Different visitors: exact to more than 2,048, then within a percent.
SOURCES = "uniqCombined64(16)"
SOURCES_STATE, SOURCES_MERGED = "uniqCombined64State(16)", "uniqCombined64Merge(16)"
# The totals of a visitor as one value, by position: a look-up reads one column instead of eight.
_SUMS_TYPE = "Tuple(Array(UInt8), Array(Int64))"
_SUM_EXPRESSIONS = tuple(VISITOR_EXPRESSIONS.values())[2:]
SUMS = len(_SUM_EXPRESSIONS)
VISITOR_SUMS = f"CAST((range({SUMS}), [{', '.join(_SUM_EXPRESSIONS)}]), '{_SUMS_TYPE}')"


class ClickHouseTable(NamedTuple):
    """A table that stores rows, unlike a view."""

    name: str
    columns: str
    order: str
    # The expression that gives the UTC day; none where rows are of all days.
    day: str | None
    engine: str = "AggregatingMergeTree"
    # The expression that assigns rows to shards. All events of a visitor are on one shard, so that each shard alone can
    # find visitors that came again.
    shard: str = "cityHash64(site)"
    # The number of days in a partition.
    days: int = 1
    # The part of `order` that is searched, where it is not all of it.
    key: str = ""
    settings: str = ""

    @property
    def partition(self) -> str:
        """The expression that gives a row's partition."""
        return "tuple()" if self.day is None else f"intDiv({self.day}, {self.days})" if self.days > 1 else self.day

    def partition_of(self, day: int) -> str:
        return "tuple()" if self.day is None else str(day // self.days)


# Many reads open every day of a month: a day that has ended is merged into one part.
_ENDED_DAY = "min_age_to_force_merge_seconds = 7200, min_age_to_force_merge_on_partition_only = 1"
# Store all columns of a granule in one file, because each look-up of a row reads a whole granule.
_COMPACT = f"min_bytes_for_wide_part = {1 << 60}, min_rows_for_wide_part = {1 << 60}"

EVENT = ClickHouseTable(
    "event",
    """site Int32, id Int64, visitor Nullable(Int64), duration_us Int64 CODEC(T64, ZSTD(1)), kind UInt8, mode UInt8,
    outcome UInt8, would Nullable(UInt8), method Int32, route Int32, action Nullable(Int32), status Int16, ruled UInt8,
    rule Nullable(Int32), rule_set_version Nullable(Int32), agent Nullable(Int32), stage Nullable(UInt8),
    solve_type Nullable(UInt8), error UInt8, reasons Array(Int32), labels Array(Int32), model_versions Nullable(Int32),
    scores Nullable(String), shadow_scores Nullable(String), request_id Nullable(String), trace_id Nullable(String),
    solve_ms Nullable(Int64),
    INDEX by_visitor visitor TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_label labels TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_request request_id TYPE bloom_filter(0.01) GRANULARITY 1""",
    "(site, id)",
    DAY,
    "MergeTree",
    "cityHash64(site, coalesce(visitor, id))",
    settings=f"index_granularity = 1024, {_COMPACT}, {_ENDED_DAY}",
)
SITE_HOUR = ClickHouseTable(
    "site_hour_part",
    "site Int32, hour Int32, "
    + ", ".join(f"{name} SimpleAggregateFunction(sum, Int64)" for name in COUNT_COLUMNS)
    + ", last_event_ms SimpleAggregateFunction(max, Int64)",
    "(site, hour)",
    "intDiv(hour, 24)",
    settings=_ENDED_DAY,
)
VALUE_HOUR = ClickHouseTable(
    "dimension_part",
    "site Int32, hour Int32, dimension UInt8, value Int32, events SimpleAggregateFunction(sum, Int64)",
    "(site, hour, dimension, value)",
    "intDiv(hour, 24)",
    settings=_ENDED_DAY,
)
SOURCE_DAY = ClickHouseTable(
    "source_part",
    f"site Int32, day Int32, sources AggregateFunction({SOURCES}, Int64)",
    "(site, day)",
    "day",
    # A state has up to 64 KB. A granule of several states would include states of other sites.
    settings=f"index_granularity = 1, {_ENDED_DAY}",
)
# Few partitions, because a list of visitors reads all days of its range.
VISITOR_DAY = ClickHouseTable(
    "visitor_part",
    "site Int32, visitor Int64, day Int32, first_id SimpleAggregateFunction(min, Int64),"
    f" last_id SimpleAggregateFunction(max, Int64), sums SimpleAggregateFunction(sumMap, {_SUMS_TYPE}),"
    " actions SimpleAggregateFunction(groupUniqArrayArray, Array(Int32)),"
    " agents SimpleAggregateFunction(groupUniqArrayArray, Array(Int32))",
    "(site, visitor, day)",
    "day",
    shard="cityHash64(site, visitor)",
    days=30,
    key="(site, visitor)",
    settings=f"index_granularity = 128, {_COMPACT}",
)
# Visitors by their newest event of all.
VISITOR_LAST = ClickHouseTable(
    "visitor_last",
    "site Int32, visitor Int64, last_id SimpleAggregateFunction(max, Int64)",
    "(site, visitor)",
    None,
    shard="cityHash64(site, visitor)",
)
TABLES = (EVENT, SITE_HOUR, VALUE_HOUR, SOURCE_DAY, VISITOR_DAY, VISITOR_LAST)
ROLL_UPS = (SITE_HOUR, VALUE_HOUR, SOURCE_DAY)

# A column that is summed under its own name is written with its table: otherwise the sum would be summed.
_COUNTED = ", ".join(
    f"{expression.replace('duration_us', 'made.duration_us')} AS {name}"
    for name, expression in zip(COUNT_COLUMNS, COUNT_EXPRESSIONS, strict=True)
)
# Roll-up -> the query that fills it.
_FILLED: dict[ClickHouseTable, str] = {
    SITE_HOUR: f"""SELECT site, toInt32({HOUR}) AS hour, {_COUNTED}, max({TIME_MS}) AS last_event_ms
        FROM {{event}} AS made GROUP BY site, hour""",  # noqa: S608
    VALUE_HOUR: f"""SELECT site, toInt32({HOUR}) AS hour, toUInt8(pair.1) AS dimension, toInt32(pair.2) AS value,
            count() AS events
        FROM {{event}} ARRAY JOIN {PAIRS} AS pair GROUP BY site, hour, dimension, value""",  # noqa: S608
    VISITOR_DAY: f"""SELECT site, assumeNotNull(made.visitor) AS visitor, toInt32({DAY}) AS day,
            min(id) AS first_id, max(id) AS last_id, {VISITOR_SUMS} AS sums,
            groupUniqArray(action) AS actions, groupUniqArray(agent) AS agents
        FROM {{event}} AS made WHERE isNotNull(made.visitor) GROUP BY site, visitor, day""",  # noqa: S608
    VISITOR_LAST: """SELECT site, assumeNotNull(made.visitor) AS visitor, max(id) AS last_id
        FROM {event} AS made WHERE isNotNull(made.visitor) GROUP BY site, visitor""",
    SOURCE_DAY: f"""SELECT site, toInt32({DAY}) AS day, {SOURCES_STATE}(assumeNotNull(visitor)) AS sources
        FROM {{event}} WHERE isNotNull(visitor) GROUP BY site, day""",  # noqa: S608
}
_SUMS = ", ".join(f"sum(part.{name}) AS {name}" for name in COUNT_COLUMNS)
_VIEWS = {
    "site_hour": f"""SELECT site, hour, {_SUMS}, max(part.last_event_ms) AS last_event_ms
        FROM site_hour_part AS part GROUP BY site, hour""",  # noqa: S608
    "site_day": f"""SELECT site, intDiv(hour, 24) AS day, {_SUMS}, max(part.last_event_ms) AS last_event_ms
        FROM site_hour_part AS part GROUP BY site, day""",  # noqa: S608
    "dimension_hour": """SELECT site, hour, dimension, value, sum(part.events) AS events
        FROM dimension_part AS part GROUP BY site, hour, dimension, value""",
    "event_label": "SELECT site, id, arrayJoin(labels) AS label FROM event",
}
_APPLIED = """CREATE TABLE IF NOT EXISTS schema_migration{cluster} (name String, checksum String, applied_ms Int64)
    ENGINE = {engine} ORDER BY name"""


def local_name(table: ClickHouseTable, cluster: str) -> str:
    """Return the name of the table that holds the rows on each server."""
    return f"{table.name}_local" if cluster else table.name


def on_cluster(cluster: str) -> str:
    """Return the clause of a statement for all servers of a cluster."""
    return f" ON CLUSTER `{cluster}`" if cluster else ""


def statements(cluster: str) -> list[str]:
    """Return the statements that make the schema. Each may be repeated."""
    made = [statement for table in TABLES for statement in _create(table, cluster)]
    for table, filled in _FILLED.items():
        view = filled.format(event=local_name(EVENT, cluster))
        made.append(
            f"CREATE MATERIALIZED VIEW IF NOT EXISTS {table.name}_view{on_cluster(cluster)}"
            f" TO {local_name(table, cluster)} AS {view}"
        )
    made += [f"CREATE VIEW IF NOT EXISTS {name}{on_cluster(cluster)} AS {select}" for name, select in _VIEWS.items()]
    return made


def migrations(cluster: str) -> dict[str, Sequence[str]]:
    """Return the migrations by name, in order. One that was released is never edited."""
    return {"0001_events": statements(cluster)}


async def pending(client: ClickhouseClient, cluster: str) -> list[str]:
    """Return the names of the migrations that have not been applied yet."""
    known = await client.all("SELECT name FROM system.tables WHERE database = $1", client.database)
    applied: dict[str, str] = (
        dict(await client.all("SELECT name, checksum FROM schema_migration")) if ("schema_migration",) in known else {}
    )
    wanted = {name: _checksum(made) for name, made in migrations(cluster).items()}
    for name, checksum in applied.items():
        if wanted.get(name) != checksum:
            raise MigrationRefused(f"ClickHouse has {name} as created by another release or for another cluster")
    return [name for name in wanted if name not in applied]


async def migrate(client: ClickhouseClient, cluster: str, clock: Clock) -> None:
    """Apply pending migrations. Several processes may do this at once: each statement is repeatable."""
    missing = await pending(client, cluster)
    for name in missing:
        made = migrations(cluster)[name]
        engine = "ReplicatedMergeTree('/clickhouse/tables/{uuid}', '{replica}')" if cluster else "MergeTree"
        for statement in (_APPLIED.format(cluster=on_cluster(cluster), engine=engine), *made):
            await client.run(statement)
        line = f'["{name}","{_checksum(made)}",{clock.now_ms()}]'.encode()
        await client.insert("schema_migration", ("name", "checksum", "applied_ms"), line, token=name)


def _create(table: ClickHouseTable, cluster: str) -> list[str]:
    window = f"non_replicated_deduplication_window = {REMEMBERED_INSERTS}"
    engine = table.engine
    if cluster:
        engine = f"Replicated{engine}('/clickhouse/tables/{{shard}}/{{database}}/{table.name}', '{{replica}}')"
        window = (
            f"replicated_deduplication_window = {REMEMBERED_INSERTS},"
            f" replicated_deduplication_window_seconds = {REMEMBERED_S}"
        )
    local = local_name(table, cluster)
    made = [
        f"""CREATE TABLE IF NOT EXISTS {local}{on_cluster(cluster)} ({table.columns}) ENGINE = {engine}
            PARTITION BY {table.partition} PRIMARY KEY {table.key or table.order} ORDER BY {table.order}
            SETTINGS {", ".join(filter(None, (window, table.settings)))}"""
    ]
    if cluster:
        made.append(
            f"CREATE TABLE IF NOT EXISTS {table.name}{on_cluster(cluster)} AS {local}"
            f" ENGINE = Distributed(`{cluster}`, currentDatabase(), {local}, {table.shard})"
        )
    return made


def _checksum(made: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(made).encode()).hexdigest()
