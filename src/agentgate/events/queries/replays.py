"""Stored decisions as backtests, model comparisons and drift read them: newest first, in batches."""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from msgspec import Struct

from agentgate.lib.enums import ModelKind, Outcome


class ReplayedEvent(Struct, frozen=True, gc=False):
    """A stored decision of the rules, with their inputs."""

    id: int
    labels: tuple[str, ...]
    scores: Mapping[str, float]
    route: str
    action: str | None
    # The outcome of enforce mode, applied or not.
    recorded: Outcome
    # Labeled as a human or not; None without a label, or with one that is unsure.
    human: bool | None
    method: str = "OTHER"


class ClientEvent(Struct, frozen=True, gc=False):
    """The client of a stored decision, and its reason."""

    id: int
    visitor: int | None
    # The outcome of enforce mode, applied or not.
    recorded: Outcome
    agent: str | None
    # Whether a signature proved the agent.
    is_verified: bool
    rule: str | None
    # Whether rules decided, as opposed to a missing token, a bad signature, a price.
    ruled: bool
    reasons: frozenset[str]


class ScoreSample(Struct, frozen=True, gc=False):
    """A recent decision with the inputs of the rules. Shadow scores are only of the candidate in question."""

    id: int
    site: int
    labels: tuple[str, ...]
    scores: dict[str, float]
    shadow_scores: dict[str, float]
    route: str
    action: str | None
    # Whether the rules decided it: only then can another score have changed it.
    ruled: bool
    # Of enforce mode, applied or not.
    outcome: Outcome = Outcome.ALLOW


class ScorePoint(Struct, frozen=True, gc=False):
    """The scores of a decision, and the versions of the models that gave them."""

    site: int
    scores: dict[str, float]
    versions: dict[str, str]


class DecisionReplay(Protocol):
    """The decisions of a site that rules made, with the inputs of the rules."""

    def replay(self, site_id: str, *, from_ms: int, to_ms: int, limit: int) -> AsyncIterator[list[ReplayedEvent]]:
        """Return the newest decisions, in batches, newest first, at most `limit`."""


class ClientReplay(Protocol):
    """All decisions of a site, with the clients that they were about."""

    def replay(self, site_id: str, *, from_ms: int, to_ms: int, limit: int) -> AsyncIterator[list[ClientEvent]]:
        """Return the newest decisions, in batches, newest first, at most `limit`."""


class ScoreSamples(Protocol):
    """Decisions that a candidate scored in shadow."""

    async def newest(
        self, kind: ModelKind, *, active_version: str, candidate_version: str, since_id: int, limit: int
    ) -> list[ScoreSample]:
        """Return the newest requests of all sites since an ID that these two versions scored."""

    async def recent(self, kind: ModelKind, candidate_version: str, *, since_id: int, limit: int) -> list[ScoreSample]:
        """Return the newest requests of all sites since an ID, with shadow scores of this version only."""

    async def days(self) -> list[int]:
        """Return the days that have single events, the oldest first."""

    async def spread(self, ids: range, limit: int) -> list[ScorePoint]:
        """Return up to `limit` requests of one day with an ID in a range, spread over the range."""
