"""Opens the databases that the settings name, and the repositories over them."""

import contextlib
import multiprocessing
import socket
from dataclasses import dataclass

from agentgate.agents.handoff.repository import GrantStore, HandoffStore
from agentgate.agents.signing.repository import ReplayStore
from agentgate.agents.submission_repository import SubmissionStore
from agentgate.browser_check.repository import ChallengeStore
from agentgate.browser_check.tokens.repository import RedemptionStore, SpendMarks
from agentgate.events.labels.repository import KeptEvents, LabelStore
from agentgate.events.queries.ports import TrafficStore
from agentgate.events.queries.replays import ClientReplay, DecisionReplay, ScoreSamples
from agentgate.events.storage.clickhouse.days import ClickhouseDays
from agentgate.events.storage.clickhouse.events import ClickhouseEvents
from agentgate.events.storage.clickhouse.read_models import ClickhouseTraffic
from agentgate.events.storage.clickhouse.spool import Spool
from agentgate.events.storage.days.days import EventDays, SegmentDays
from agentgate.events.storage.days.postgres import PostgresSegments
from agentgate.events.storage.days.sqlite import EVENTS, SqliteSegments
from agentgate.events.storage.dictionary import KnownWords
from agentgate.events.storage.events import SqlEvents
from agentgate.events.storage.queries.kept_events import DecisionFeed, SqlKeptEvents
from agentgate.events.storage.queries.read_models import SqlSiteSums, SqlTraffic
from agentgate.events.storage.queries.replays import SqlClientReplay, SqlDecisionReplay, SqlScoreSamples
from agentgate.lib.clock import Clock
from agentgate.lib.database import Reader, StoreUnavailable
from agentgate.lib.settings.schema import Settings
from agentgate.lib.shared_cache import SharedCache
from agentgate.lib.tasks.fair_threads import FairThreads
from agentgate.server.stores.files import check_files
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.sites.repository import ActivityStore, SiteHealthStore
from agentgate.storage.clickhouse.client import ClickhouseClient
from agentgate.storage.migrate import MigratedDatabase, apply
from agentgate.storage.postgres.database import PostgresDatabase
from agentgate.storage.shared_cache.fallback import FallbackSharedCache
from agentgate.storage.shared_cache.memory import MemorySharedCache
from agentgate.storage.shared_cache.owned import OwnedSharedCache
from agentgate.storage.sqlite.database import SqliteDatabase

# The sets of migrations. Embedded, each set has its own file, hence its own lock. PostgreSQL holds all of them, and
# also the set for events, which embedded storage applies to each day's file.
CONFIG, STATS, HOT = "config", "stats", "hot"
SETS = (CONFIG, STATS, HOT)
# Reads of events and statistics take milliseconds. So few at a time leave the event loop its share of the interpreter.
READING_THREADS, READS_OF_ACCOUNT = 4, 2
# The folder of events that wait for ClickHouse.
SPOOL = "events-spool"
MEGABYTE = 1_000_000
# How long Redis may take for its first response. Later calls have a shorter timeout.
REDIS_START_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Stores:
    """The opened databases and repositories. Several sets of migrations may share one database."""

    databases: dict[str, MigratedDatabase]
    store: SqlStore
    activity: ActivityStore
    segments: EventDays
    words: KnownWords
    events: SqlEvents | ClickhouseEvents
    evidence: KeptEvents
    challenges: ChallengeStore
    feed: DecisionFeed
    redemptions: RedemptionStore
    agent_replays: ReplayStore
    agent_grants: GrantStore
    handoffs: HandoffStore
    replay: DecisionReplay
    client_replay: ClientReplay
    score_samples: ScoreSamples
    submissions: SubmissionStore
    traffic: TrafficStore
    site_health: SiteHealthStore
    shared_cache: SharedCache
    reads: FairThreads

    async def migrate_databases(self, clock: Clock) -> None:
        """Bring the databases up to this release's schema; the days of events are left as they are."""
        for name, database in self.databases.items():
            await apply(database, name, clock=clock)

    async def migrate(self, clock: Clock) -> None:
        """Bring everything up to this release's schema."""
        await self.migrate_databases(clock)
        await self.segments.migrate(clock)

    async def close(self) -> None:
        """Finish accepted writes and close everything."""
        await self.segments.close()
        for database in {id(database): database for database in self.databases.values()}.values():
            await database.close()
        await self.shared_cache.close()
        self.reads.shutdown(wait=False)


async def open_stores(settings: Settings, clock: Clock, cache_end: socket.socket | None = None) -> Stores:
    """Open the stores that the settings name. Nothing is migrated here.

    `cache_end`: a worker's end of the socket pair with the owner of the shared cache, where there is one.
    """
    reads = FairThreads(READING_THREADS, "sqlite-reader", most_of_account=READS_OF_ACCOUNT)
    databases, segments = _postgres(settings) if settings.database_url else _sqlite(settings, clock, reads)
    stats = databases[STATS]
    words = KnownWords(stats)
    store = SqlStore(databases[CONFIG])
    labels = store.read.decision_labels
    kept = (
        _clickhouse(settings, clock, stats, words, labels)
        if settings.events_url
        else _kept(stats, segments, words, labels)
    )
    days = kept.days
    marks = _spend_marks(settings)
    return Stores(
        databases=databases,
        store=store,
        activity=ActivityStore(
            databases[CONFIG],
            SqlSiteSums(kept.counted, kept.open_days),
            forget_site=kept.events.forget_site,
            hot=databases[HOT],
        ),
        segments=days,
        words=words,
        events=kept.events,
        evidence=SqlKeptEvents(stats, days, words),
        challenges=ChallengeStore(databases[HOT]),
        feed=DecisionFeed(days, words),
        redemptions=RedemptionStore(databases[HOT], marks, clock=clock),
        agent_replays=ReplayStore(databases[HOT], lambda: marks.lost_ms),
        agent_grants=GrantStore(databases[HOT]),
        handoffs=HandoffStore(databases[HOT]),
        replay=SqlDecisionReplay(databases[CONFIG], days, words),
        client_replay=SqlClientReplay(databases[CONFIG], days, words),
        score_samples=SqlScoreSamples(stats, days, words),
        submissions=SubmissionStore(databases[HOT]),
        site_health=SiteHealthStore(stats, kept.traffic.counts),
        traffic=kept.traffic,
        shared_cache=_shared_cache(settings, clock, cache_end),
        reads=reads,
    )


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """The storage of events: the same as for everything else, or ClickHouse."""

    days: EventDays
    events: SqlEvents | ClickhouseEvents
    traffic: SqlTraffic | ClickhouseTraffic
    # The reader of sites' hours and days, and the days that keep their hours themselves as long as they are open.
    counted: Reader
    open_days: EventDays | None


def _kept(stats: MigratedDatabase, segments: SegmentDays, words: KnownWords, labels: LabelStore) -> _Kept:
    return _Kept(
        days=segments,
        events=SqlEvents(stats, segments, words),
        traffic=SqlTraffic(stats, segments, words, labels),
        counted=stats,
        open_days=None if segments.hours_in_stats else segments,
    )


def _clickhouse(
    settings: Settings, clock: Clock, stats: MigratedDatabase, words: KnownWords, labels: LabelStore
) -> _Kept:
    client = open_clickhouse(settings.events_url, settings.events_cluster)
    days = ClickhouseDays(client, settings.events_cluster)
    spool = Spool(settings.data_dir / SPOOL, most_bytes=settings.events_spool_mb * MEGABYTE)
    return _Kept(
        days=days,
        events=ClickhouseEvents(stats, client, days, words, spool=spool, clock=clock),
        traffic=ClickhouseTraffic(stats, client, words, labels),
        counted=client,
        open_days=None,
    )


def open_clickhouse(url: str, cluster: str) -> ClickhouseClient:
    # A shard has all events of a visitor, so it can count returning visitors by itself; and an insert returns only when
    # all shards have it.
    settings = {"distributed_product_mode": "local", "distributed_foreground_insert": "1"} if cluster else {}
    return ClickhouseClient(url, settings=settings)


def _sqlite(settings: Settings, clock: Clock, reads: FairThreads) -> tuple[dict[str, MigratedDatabase], SegmentDays]:
    folder = settings.data_dir
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_files(folder, f"{CONFIG}.db", f"{STATS}.db", f"{HOT}.db", days=EVENTS)
    databases: dict[str, MigratedDatabase] = {
        CONFIG: SqliteDatabase(folder / f"{CONFIG}.db"),
        STATS: SqliteDatabase(folder / f"{STATS}.db", reads=reads),
        # What may happen once only: an acknowledged spend survives everything, so each commit reaches the disk.
        HOT: SqliteDatabase(folder / f"{HOT}.db"),
    }
    return databases, SqliteSegments(folder / EVENTS, clock, reads)


def _postgres(settings: Settings) -> tuple[dict[str, MigratedDatabase], SegmentDays]:
    database = PostgresDatabase(settings.database_url)
    return dict.fromkeys((*SETS, EVENTS), database), PostgresSegments(database)


def _spend_marks(settings: Settings) -> SpendMarks:
    # Also used with PostgreSQL: a restored server, or a standby that took over, does not know which redemptions it
    # lacks.
    with contextlib.suppress(OSError):
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    return SpendMarks(settings.data_dir, multiprocessing.current_process().name)


def _shared_cache(settings: Settings, clock: Clock, cache_end: socket.socket | None) -> SharedCache:
    memory = MemorySharedCache(clock, workers=settings.workers)
    if settings.redis_url:
        return FallbackSharedCache(_redis(settings.redis_url), memory, clock=clock)
    return memory if cache_end is None else FallbackSharedCache(OwnedSharedCache(cache_end), memory, clock=clock)


def _redis(url: str, timeout_s: float = 0.1) -> SharedCache:
    # Imported here because this import takes about 33% of the start time.
    from agentgate.storage.shared_cache.redis import RedisClusterSharedCache, RedisSharedCache, is_cluster  # noqa: PLC0415

    return (RedisClusterSharedCache if is_cluster(url) else RedisSharedCache)(url, timeout_s=timeout_s)


async def redis_problem(url: str) -> str:
    """Return why Redis cannot be used now; empty when it can."""
    store = _redis(url, timeout_s=REDIS_START_S)
    try:
        await store.get("start")
    except StoreUnavailable as error:
        return str(error.__cause__) or str(error)
    else:
        return ""
    finally:
        await store.close()
