"""How a bot model does on rows that it has not seen: bots found, people found, and what it adds to the rules."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from agentgate.decision.scoring.model_file import ModelFile
from agentgate.decision.scoring.score import Scorer, make_scorer
from bench.bot_model.rows import Row

# From here on the default rules challenge.
ASKED = 0.9
LEAST_OF_FAMILY = 200
# 95%, one-sided on both ends of a Wilson interval.
_Z = 1.96


@dataclass(frozen=True)
class Share:
    """So many of so many, with a 95% interval."""

    found: int
    total: int

    @property
    def value(self) -> float:
        """The share; 0 of none."""
        return self.found / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval."""
        if not self.total:
            return 0.0, 1.0
        center = self.value + _Z**2 / (2 * self.total)
        half = _Z * (self.value * (1 - self.value) / self.total + _Z**2 / (4 * self.total**2)) ** 0.5
        scale = 1 + _Z**2 / self.total
        return max(0.0, (center - half) / scale), min(1.0, (center + half) / scale)

    @property
    def text(self) -> str:
        """For a table."""
        low, high = self.interval
        return f"{self.found:,} of {self.total:,} ({low:.1%} to {high:.1%})"


@dataclass(frozen=True)
class Judged:
    """All shares at the score from which on the default rules challenge."""

    people: Share
    programs: Share
    disguised: Share
    copies: Share
    other_bots: Share
    sessions: Share
    session_people: Share
    by_family: dict[str, Share]
    # Kinds of bots of which the model finds less than half.
    missed: dict[str, Share]


def judge(model: ModelFile, rows: list[Row], sessions: list[Row]) -> Judged:
    """Score rows of kinds that the model has not learned from."""
    scorer = make_scorer(model)
    families = Counter(row.family for row in rows if row.source == "people")
    bots = [row for row in rows if row.is_bot]
    kinds = sorted({(row.source, row.family) for row in [*bots, *(row for row in sessions if row.is_bot)]})
    by_kind = {
        f"{source}: {family}": _share(
            scorer, (row for row in [*bots, *sessions] if (row.source, row.family) == (source, family))
        )
        for source, family in kinds
    }
    return Judged(
        people=_share(scorer, (row for row in rows if row.source == "people")),
        programs=_share(scorer, (row for row in rows if row.source == "programs")),
        disguised=_share(scorer, (row for row in bots if row.is_disguised)),
        copies=_share(scorer, (row for row in bots if row.is_copy)),
        other_bots=_share(scorer, (row for row in bots if not row.is_disguised and not row.is_copy)),
        sessions=_share(scorer, (row for row in sessions if row.is_bot)),
        session_people=_share(scorer, (row for row in sessions if not row.is_bot)),
        by_family={
            family: _share(scorer, (row for row in rows if row.source == "people" and row.family == family))
            for family, count in sorted(families.items())
            if count >= LEAST_OF_FAMILY
        },
        missed={name: share for name, share in by_kind.items() if share.value < 0.5},
    )


def allowed_bots(model: ModelFile, rows: list[Row]) -> tuple[Share, Share]:
    """Return how many of the bots that the rules alone allow the model finds, and how many look exactly like people."""
    allowed = [row for row in rows if row.is_bot and not row.is_stopped]
    people = {row.evidence for row in rows if row.source == "people"}
    alike = sum(row.evidence in people for row in allowed)
    return _share(make_scorer(model), allowed), Share(alike, len(allowed))


def _share(scorer: Scorer, rows: Iterable[Row]) -> Share:
    scores = [scorer.score(tuple(row.labels), {}) for row in rows]
    return Share(sum(score >= ASKED for score in scores), len(scores))
