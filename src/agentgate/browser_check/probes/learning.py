"""Learning the results of fresh programs from visitors, so that Safari and new browsers are covered too.

Each hour has 200 programs of a new secret seed. Voters had right results for the known programs of the same draw and
show nothing suspicious; a network has one vote. A result counts from 20 votes with 90% agreement; other programs are
dropped. Each worker learns separately, in bounded memory, and deletes the results after a day.
"""

import secrets
from collections.abc import Container, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from agentgate.browser_check.probes.dice import Dice
from agentgate.browser_check.probes.engines import BrowserClaim
from agentgate.browser_check.probes.generate import SIMPLE, family_of
from agentgate.browser_check.probes.judge import Judgment, ProbeState, is_right
from agentgate.browser_check.probes.pool import SEED_BYTES, AnsweredProgram, Pool, PoolAnswer
from agentgate.lib.clock import DAY_MS, HOUR_MS

LEAST_NETWORKS, MOST_NETWORKS = 200, 5_000
MOST_WRONG_PERCENT = 2
MOST_A_DAY = 3
MOST_KEYS = 256
# For so many days a family stays out; a browser's release lives about as long.
KEPT_DAYS = 30

# Family, engine, version.
FamilyKey = tuple[str, str, int]
JUDGED = frozenset((ProbeState.RIGHT, ProbeState.DRIFT, ProbeState.UNPROVEN))


class Tally(Struct):
    """The networks that reported results within the day, and how many of them were wrong."""

    networks: set[str] = field(default_factory=set)
    wrong: int = 0


class DriftGuard:
    """Counts wrong results, and lists the families to exclude."""

    def __init__(self) -> None:
        self._day = 0
        self._tallies: dict[FamilyKey, Tally] = {}
        self._left_out: dict[FamilyKey, int] = {}
        # Families beyond the daily limit of exclusions.
        self.waiting: set[FamilyKey] = set()

    def left_out(self, engine: str | None, version: int | None) -> frozenset[str]:
        """Return the families that are not asked of a version."""
        return frozenset(family for family, of, number in self._left_out if (of, number) == (engine, version))

    def all_left_out(self) -> list[FamilyKey]:
        return sorted(self._left_out)

    def note(self, judged: Judgment, network: str, now_ms: int) -> None:
        """Count the results of a session that shows nothing suspicious."""
        self._turn(now_ms // DAY_MS)
        if judged.state not in JUDGED or judged.engine is None or judged.version is None:
            return
        for vote in judged.votes:
            if vote.asked.answer is None:
                continue
            key = (vote.asked.family, judged.engine, judged.version)
            tally = self._tallies.get(key)
            if tally is None:
                if len(self._tallies) >= MOST_KEYS:
                    continue
                tally = self._tallies[key] = Tally()
            if network in tally.networks or len(tally.networks) >= MOST_NETWORKS:
                continue
            tally.networks.add(network)
            tally.wrong += not vote.right
            self._check_drift(key, tally)

    def _check_drift(self, key: FamilyKey, tally: Tally) -> None:
        networks = len(tally.networks)
        if networks < LEAST_NETWORKS or 100 * tally.wrong <= MOST_WRONG_PERCENT * networks or key in self._left_out:
            return
        if list(self._left_out.values()).count(self._day) < MOST_A_DAY:
            self._left_out[key] = self._day
        else:
            self.waiting.add(key)

    def _turn(self, day: int) -> None:
        if day != self._day:
            self._day = day
            self._tallies.clear()
            self.waiting.clear()
            self._left_out = {key: since for key, since in self._left_out.items() if day - since < KEPT_DAYS}


PROGRAMS = 200
HOURS = 24
LEAST_VOTES, MOST_VOTES = 20, 100
LEAST_PERCENT = 90
LEAST_RIGHT = 7
# Voters that make a version count as seen.
LEAST_OF_VERSION = 3
# Votes go to the first open programs, so that a small site learns a few programs instead of none.
OPEN = 12
# With fewer programs, a client could record all results.
LEAST_PROGRAMS = 80


class Ballot(Struct):
    """The votes on one program by one engine's visitors."""

    networks: set[str] = field(default_factory=set)
    # Each different result and the versions of the browsers that had it.
    answers: list[tuple[PoolAnswer, list[int]]] = field(default_factory=list)


class LearningHour(Struct):
    """The programs of an hour: their seed, the open votes, and the results learned for each engine."""

    number: int
    seed: bytes
    ballots: dict[tuple[str, int], Ballot] = field(default_factory=dict)
    # By engine; dropped programs have the result None.
    closed: dict[str, dict[int, PoolAnswer | None]] = field(default_factory=dict)
    pools: dict[str, Pool] = field(default_factory=dict)


class Learner:
    """Hands out fresh programs and counts the votes on them."""

    def __init__(self) -> None:
        self._hours: list[LearningHour] = []

    def fresh(
        self, claim: BrowserClaim, seed: bytes, now_ms: int, had: Container[tuple[str, int]] = ()
    ) -> tuple[Pool, int] | None:
        """Return the seed's pool and the number of a program to send to a browser; None when all are learned.

        If the browser's network has had all open programs, it gets one of them again: its vote counts once.
        """
        hour = self._hour(now_ms)
        engine = claim.engine or ""
        closed = hour.closed.get(engine, {})
        still_open = [number for number in range(PROGRAMS) if number not in closed][:OPEN]
        if not still_open:
            return None
        pool = hour.pools.get(engine) or _pool(hour, engine)
        others = [number for number in still_open if (pool.key, number) not in had]
        return pool, Dice(seed, 0, purpose=b"fresh").pick(others or still_open)

    def pools(self, claim: BrowserClaim, now_ms: int) -> Sequence[Pool]:
        """Return the pools learned for an engine within the day."""
        self._hour(now_ms)
        return [pool for hour in self._hours if (pool := hour.pools.get(claim.engine or "")) is not None]

    def has_learned(self, claim: BrowserClaim, pools: Sequence[Pool]) -> bool:
        """Return whether enough was learned about a version to use learned programs only."""
        known = [pool for pool in pools if pool.has_seen(claim.engine, claim.version)]
        families = {family for pool in known for family in pool.by_family}
        return families > set(SIMPLE) and sum(len(pool.programs) for pool in known) >= LEAST_PROGRAMS

    def vote(self, judged: Judgment, network: str, now_ms: int) -> None:
        """Count the votes of a session that shows nothing odd."""
        if judged.state is not ProbeState.RIGHT or judged.right < LEAST_RIGHT or judged.engine is None:
            return
        hour = self._hour(now_ms)
        pool = _pool(hour, judged.engine).key
        for vote in judged.votes:
            if vote.asked.answer is None and vote.asked.pool == pool and vote.answer:
                self._count(hour, judged, network, (vote.asked.number, vote.answer))

    def _count(self, hour: LearningHour, judged: Judgment, network: str, given: tuple[int, PoolAnswer]) -> None:
        engine, (number, answer) = judged.engine or "", given
        if number in hour.closed.get(engine, {}):
            return
        ballot = hour.ballots.setdefault((engine, number), Ballot())
        if network in ballot.networks:
            return
        ballot.networks.add(network)
        for known, versions in ballot.answers:
            if is_right(known, answer):
                versions.append(judged.version or 0)
                break
        else:
            ballot.answers.append((answer, [judged.version or 0]))
        _close(hour, engine, number, ballot)

    def count(self, now_ms: int) -> dict[str, int]:
        """Return how many programs were learned for each engine within the day."""
        self._hour(now_ms)
        counted: dict[str, int] = {}
        for hour in self._hours:
            for engine, pool in hour.pools.items():
                counted[engine] = counted.get(engine, 0) + len(pool.programs)
        return counted

    def _hour(self, now_ms: int) -> LearningHour:
        number = now_ms // HOUR_MS
        if not self._hours or self._hours[-1].number != number:
            if self._hours:
                # Programs that were not learned within their hour are dropped.
                self._hours[-1].ballots.clear()
            self._hours.append(LearningHour(number=number, seed=secrets.token_bytes(SEED_BYTES)))
            self._hours = [hour for hour in self._hours if number - HOURS < hour.number <= number]
        return self._hours[-1]


def _close(hour: LearningHour, engine: str, number: int, ballot: Ballot) -> None:
    """Store a result with enough votes, or drop the program."""
    votes = len(ballot.networks)
    if votes < LEAST_VOTES:
        return
    answer, versions = max(ballot.answers, key=lambda one: len(one[1]))
    is_learned = 100 * len(versions) >= LEAST_PERCENT * votes
    if not is_learned and votes < MOST_VOTES:
        return
    hour.closed.setdefault(engine, {})[number] = answer if is_learned else None
    del hour.ballots[engine, number]
    if is_learned:
        pool = _pool(hour, engine)
        seen = {*pool.seen[engine], *(one for one in set(versions) if versions.count(one) >= LEAST_OF_VERSION)}
        programs = {**pool.programs, number: AnsweredProgram(number, family_of(number), {engine: answer})}
        hour.pools[engine] = replace(pool, seen={engine: tuple(sorted(seen - {0}))}, programs=programs)


def _pool(hour: LearningHour, engine: str) -> Pool:
    return hour.pools.get(engine) or Pool(seed=hour.seed, made="", seen={engine: ()}, programs={})
