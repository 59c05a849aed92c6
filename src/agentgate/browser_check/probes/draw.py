"""Drawing the programs of a challenge by its secret: four deep ones and one of each of four simple families."""

from collections.abc import Container, Sequence

from msgspec import Struct

from agentgate.browser_check.probes.dice import Dice
from agentgate.browser_check.probes.generate import DEEP, SIMPLE
from agentgate.browser_check.probes.pool import AnsweredProgram, Pool

DEEP_PROGRAMS = 4
SIMPLE_PROGRAMS = 4
# Retries before a program is taken that the network has had.
TRIES = 24
MOST_NETWORKS = 20_000
MOST_NUMBERS = 2_048
HOUR_MS = 3_600_000


class DrawnProgram(Struct, frozen=True):
    """A program of a pool."""

    pool: Pool
    known: AnsweredProgram

    @property
    def key(self) -> tuple[str, int]:
        return self.pool.key, self.known.number


class RecentPrograms:
    """Programs that each network had within the hour, in bounded memory: the oldest network is evicted.

    Each worker has its own: with several, a network may see a program once from each.
    """

    def __init__(self) -> None:
        self._networks: dict[str, dict[tuple[str, int], int]] = {}

    def had(self, network: str, now_ms: int) -> Container[tuple[str, int]]:
        """Return the programs that a network had within the hour."""
        seen = self._networks.get(network)
        if seen is None:
            return ()
        while seen and next(iter(seen.values())) <= now_ms - HOUR_MS:
            del seen[next(iter(seen))]
        return seen

    def note(self, network: str, drawn: Sequence[DrawnProgram], now_ms: int) -> None:
        """Note the programs that a network was given."""
        seen = self._networks.pop(network, {})
        for one in drawn:
            seen.pop(one.key, None)
            seen[one.key] = now_ms
        while len(seen) > MOST_NUMBERS:
            del seen[next(iter(seen))]
        self._networks[network] = seen
        if len(self._networks) > MOST_NETWORKS:
            del self._networks[next(iter(self._networks))]

    def __len__(self) -> int:
        return len(self._networks)


def draw_programs(
    pools: Sequence[Pool],
    seed: bytes,
    *,
    engine: str | None,
    left_out: Container[str] = (),
    had: Container[tuple[str, int]] = (),
) -> list[DrawnProgram]:
    """Return the programs of a challenge, none twice, in a drawn order. `left_out` names families that drifted."""
    dice = Dice(seed, 0, purpose=b"draw")
    families = [family for family in SIMPLE if family not in left_out]
    wanted = [DEEP] * (0 if DEEP in left_out else DEEP_PROGRAMS)
    wanted += dice.some(families, SIMPLE_PROGRAMS if wanted else len(families))
    drawn: dict[tuple[str, int], DrawnProgram] = {}
    for family in wanted:
        fallback = None
        for _ in range(TRIES):
            found = _one(dice, pools, family)
            if found is None or found.key in drawn or found.known.answer_of(engine) is None:
                continue
            # A program that the network has had is used where no other is found.
            fallback = found
            if found.key not in had:
                break
        if fallback is not None:
            drawn[fallback.key] = fallback
    return dice.shuffled(list(drawn.values()))


def _one(dice: Dice, pools: Sequence[Pool], family: str) -> DrawnProgram | None:
    pool = dice.pick(pools)
    numbers = pool.by_family.get(family, ())
    return DrawnProgram(pool, pool.programs[dice.pick(numbers)]) if numbers else None
