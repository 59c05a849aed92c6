"""From settings to stores: the table of backends, and everything that is opened with them."""

import contextlib
import multiprocessing
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from agentgate.events.storage.days.days import Segments
from agentgate.events.storage.days.postgres import PostgresSegments
from agentgate.events.storage.days.sqlite import EVENTS, SqliteSegments
from agentgate.events.storage.dictionary import Words
from agentgate.events.storage.events import SqlEvents
from agentgate.events.storage.queries.decision_feed import SqlDecisionFeed
from agentgate.events.storage.queries.read_models import SqlTraffic
from agentgate.lib.clock import HOUR_MS, SECOND_MS, Clock
from agentgate.lib.limits import REDEMPTION_KEPT_HOURS
from agentgate.lib.settings.schema import Settings
from agentgate.lib.shared_cache import FastStore
from agentgate.protection.agents.handoff.repository import GrantStore, HandoffStore
from agentgate.protection.agents.signing.repository import ReplayStore
from agentgate.protection.agents.submission_repository import SubmissionStore
from agentgate.protection.browser_check.repository import SqlChallenges
from agentgate.protection.lists.repositories.replay import SqlClientReplay
from agentgate.protection.rules.repositories.replay import SqlReplay
from agentgate.protection.scoring.repositories.evidence import SqlEvidence
from agentgate.protection.scoring.repositories.score_samples import SqlScoreSamples
from agentgate.protection.sites.repositories.health import SiteHealthStore
from agentgate.protection.sites.repositories.sites import ActivityStore
from agentgate.protection.tokens.repositories.redemptions import SqlRedemptions
from agentgate.protection.tokens.repositories.spend_marks import SpendMarks
from agentgate.server.stores.files import check_files
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.storage.migrate import MigratedDatabase
from agentgate.storage.postgres.database import PostgresDatabase
from agentgate.storage.shared_cache.fallback import FallbackFastStore
from agentgate.storage.shared_cache.memory import MemoryFastStore
from agentgate.storage.shared_cache.owned import OwnedFastStore
from agentgate.storage.sqlite.database import SqliteDatabase

# The sets of migrations. Embedded, each has a file of its own, hence a lock of its own; PostgreSQL holds all of them,
# and the one for events besides, which embedded is that of each day's file.
CONFIG, STATS, HOT = "config", "stats", "hot"
SETS = (CONFIG, STATS, HOT)
# Reads of events and statistics take milliseconds. Two at a time leave the event loop its share of the interpreter.
READING_THREADS = 2


@dataclass(frozen=True, kw_only=True)
class Stores:
    """What was opened. Several sets may share one database."""

    databases: dict[str, MigratedDatabase]
    store: SqlStore
    activity: ActivityStore
    segments: Segments
    words: Words
    events: SqlEvents
    evidence: SqlEvidence
    challenges: SqlChallenges
    feed: SqlDecisionFeed
    redemptions: SqlRedemptions
    agent_replays: ReplayStore
    agent_grants: GrantStore
    handoffs: HandoffStore
    replay: SqlReplay
    client_replay: SqlClientReplay
    score_samples: SqlScoreSamples
    submissions: SubmissionStore
    traffic: SqlTraffic
    site_health: SiteHealthStore
    fast: FastStore
    reads: ThreadPoolExecutor

    async def close(self) -> None:
        """Finish what was accepted and let go."""
        await self.segments.close()
        for database in {id(database): database for database in self.databases.values()}.values():
            await database.close()
        await self.fast.close()
        self.reads.shutdown(wait=False)


async def open_stores(settings: Settings, clock: Clock, cache_end: socket.socket | None = None) -> Stores:
    """Open the stores that the settings name. Nothing is migrated here.

    `cache_end`: a worker's end of the socket pair with the owner of the fast store, where there is one.
    """
    reads = ThreadPoolExecutor(READING_THREADS, thread_name_prefix="sqlite-reader")
    databases, segments = _postgres(settings) if settings.database_url else _sqlite(settings, clock, reads)
    stats = databases[STATS]
    words = Words(stats)
    store = SqlStore(databases[CONFIG])
    marks = _spend_marks(settings)
    return Stores(
        databases=databases,
        store=store,
        activity=ActivityStore(databases[CONFIG], stats, segments, hot=databases[HOT]),
        segments=segments,
        words=words,
        events=SqlEvents(stats, segments, words),
        evidence=SqlEvidence(stats, segments, words),
        challenges=SqlChallenges(databases[HOT]),
        feed=SqlDecisionFeed(segments, words),
        redemptions=SqlRedemptions(databases[HOT], marks, clock=clock),
        agent_replays=ReplayStore(databases[HOT], lambda: marks.lost_ms),
        agent_grants=GrantStore(databases[HOT]),
        handoffs=HandoffStore(databases[HOT]),
        replay=SqlReplay(databases[CONFIG], segments, words),
        client_replay=SqlClientReplay(databases[CONFIG], segments, words),
        score_samples=SqlScoreSamples(stats, segments, words),
        submissions=SubmissionStore(databases[HOT]),
        site_health=SiteHealthStore(stats, segments),
        traffic=SqlTraffic(stats, segments, words, store.read.decision_labels),
        fast=_fast_store(settings, clock, cache_end),
        reads=reads,
    )


def _sqlite(
    settings: Settings, clock: Clock, reads: ThreadPoolExecutor
) -> tuple[dict[str, MigratedDatabase], Segments]:
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


def _postgres(settings: Settings) -> tuple[dict[str, MigratedDatabase], Segments]:
    database = PostgresDatabase(settings.database_url)
    return dict.fromkeys((*SETS, EVENTS), database), PostgresSegments(database)


def _spend_marks(settings: Settings) -> SpendMarks:
    # Beside PostgreSQL too: a server that was restored, or a standby that took over, does not know what it lacks.
    with contextlib.suppress(OSError):
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    longest_ms = settings.token_seconds * SECOND_MS + REDEMPTION_KEPT_HOURS * HOUR_MS
    return SpendMarks(settings.data_dir, multiprocessing.current_process().name, longest_ms=longest_ms)


def _fast_store(settings: Settings, clock: Clock, cache_end: socket.socket | None) -> FastStore:
    memory = MemoryFastStore(clock, workers=settings.workers)
    if settings.redis_url:
        # A third of the time of a start.
        from agentgate.storage.shared_cache.redis import RedisFastStore  # noqa: PLC0415
        from agentgate.storage.shared_cache.redis_cluster import RedisClusterFastStore, is_cluster  # noqa: PLC0415

        kind = RedisClusterFastStore if is_cluster(settings.redis_url) else RedisFastStore
        return FallbackFastStore(kind(settings.redis_url), memory, clock=clock)
    return memory if cache_end is None else FallbackFastStore(OwnedFastStore(cache_end), memory, clock=clock)
