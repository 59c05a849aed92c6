"""Drift guard: families that a version of an engine has begun to answer otherwise are left out for it.

Engines change by family and all at once. Counted are sessions that show nothing odd, one for each network and day. Over
2% wrong of at least 200 networks, and the family is left out for that version; at most three in a day, more need the
operator, who makes a new pool. Each worker counts by itself, in bounded memory.
"""

from msgspec import Struct, field

from agentgate.lib.clock import DAY_MS
from agentgate.protection.browser_check.probes.judge import Judgement, State

LEAST_NETWORKS, MOST_NETWORKS = 200, 5_000
MOST_WRONG_PERCENT = 2
MOST_A_DAY = 3
MOST_KEYS = 256
# For so many days a family stays out; a browser's release lives about as long.
KEPT_DAYS = 30

# Family, engine, version.
Key = tuple[str, str, int]
JUDGED = frozenset((State.RIGHT, State.DRIFT, State.UNPROVEN))


class Tally(Struct):
    """The networks that were asked within the day, and how many of them were wrong."""

    networks: set[str] = field(default_factory=set)
    wrong: int = 0


class DriftGuard:
    """Counts wrong answers, and says which families to leave out."""

    def __init__(self) -> None:
        self._day = 0
        self._tallies: dict[Key, Tally] = {}
        self._left_out: dict[Key, int] = {}
        # Families that would have been left out beyond what a day allows.
        self.waiting: set[Key] = set()

    def left_out(self, engine: str | None, version: int | None) -> frozenset[str]:
        """Return the families that are not asked of a version."""
        return frozenset(family for family, of, number in self._left_out if (of, number) == (engine, version))

    def all_left_out(self) -> list[Key]:
        """Return everything that is left out."""
        return sorted(self._left_out)

    def note(self, judged: Judgement, network: str, now_ms: int) -> None:
        """Count the answers of a session that shows nothing odd."""
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

    def _check_drift(self, key: Key, tally: Tally) -> None:
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
