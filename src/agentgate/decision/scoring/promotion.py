"""Before a candidate is promoted: recent requests are decided again with its score and the present rules.

Requests that it scored in shadow are judged by that score. Others are scored again, unless it reads numbers, which
stored requests do not have.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from agentgate.decision.scoring.features import SCORE_LABELS, band_labels
from agentgate.decision.scoring.score import Scorer
from agentgate.events.decision_ids import write_id
from agentgate.events.queries.replays import ScoreSample
from agentgate.lib.enums import ModelKind, Outcome
from agentgate.lib.errors import Refused
from agentgate.sites.directory import SiteDirectory
from agentgate.sites.rules.evaluate import NO_TRAITS, PAGE, STRICTNESS, Traits

DAYS = 7
MOST_SAMPLES = 20_000
# With fewer requests than this there is no guard: a new installation must be able to promote.
LEAST_REQUESTS = 200
# Of the requests that are allowed now; and of the requests of one kind of client, or of people by label.
MOST_REFUSED, MOST_OF_FAMILY, MOST_OF_PEOPLE = 0.01, 0.02, 0.005
EXAMPLES = 10
# Wilson's interval, 95%.
_Z = 1.96
# The first that a request has is its family; events have no User-Agent.
FAMILIES = ("ua.webview", "ua.tv", "ua.console", "ua.app", "ua.legacy", "ua.text_browser", "ua.old", "ua.browser")
OTHER_FAMILY = "other"


class Change(Struct, frozen=True, gc=False):
    """A decision that would turn out otherwise."""

    sample: ScoreSample
    is_stricter: bool
    # Allowed with the active model, and not with the candidate.
    is_newly_refused: bool


class CandidateReplay(Struct, frozen=True):
    """Recent requests decided with both scores."""

    # Judged; allowed with the active model; and not judged because numbers or the site are missing.
    judged: int
    allowed: tuple[ScoreSample, ...]
    unjudged: int
    changes: tuple[Change, ...]


def replay(
    samples: Sequence[ScoreSample], sites: SiteDirectory, kind: ModelKind, scorers: tuple[Scorer | None, Scorer]
) -> CandidateReplay:
    """Decide samples with the active model's score and the candidate's."""
    active, candidate = (_rescorer(scorer, kind) for scorer in scorers)
    allowed, changes, judged, unjudged = [], [], 0, 0
    for sample in samples:
        compiled = sites.compiled(sample.site)
        if compiled is None or not sample.ruled:
            continue
        labels = tuple(label for label in sample.labels if not label.startswith(SCORE_LABELS))
        before = sample.scores.get(kind.value)
        if before is None:
            before = active(labels)
        after = sample.shadow_scores.get(kind.value)
        if after is None:
            after = candidate(labels)
        if before is None or after is None:
            unjudged += 1
            continue
        judged += 1
        unknown = NO_TRAITS if compiled.predicates is None else Traits(PAGE, compiled.predicates.unknown_bits)
        found = []
        for score in (before, after):
            scores = {**sample.scores, kind.value: score}
            seen = ((*labels, *band_labels(scores)), scores, sample.route, sample.action)
            found.append({verdict.outcome for verdict in compiled.possible(seen, unknown)})
        if any(len(outcomes) > 1 for outcomes in found):
            # The outcome depends on an address, a header or a path, which no sample has.
            continue
        ((old,), (new,)) = found
        if old is Outcome.ALLOW:
            allowed.append(sample)
        if old is not new:
            is_stricter = STRICTNESS[new] > STRICTNESS[old]
            changes.append(Change(sample, is_stricter, old is Outcome.ALLOW))
    return CandidateReplay(judged, tuple(allowed), unjudged, tuple(changes))


def _rescorer(scorer: Scorer | None, kind: ModelKind) -> Callable[[tuple[str, ...]], float | None]:
    # A model of content, or one that reads numbers, cannot score a stored request again.
    if kind is ModelKind.CONTENT or (scorer is not None and scorer.figures):
        return lambda _labels: None
    if scorer is None:
        return lambda _labels: 0.0
    return lambda labels: scorer.score(labels, {})


async def guard(found: CandidateReplay, labels: dict[int, bool], *, requests: int) -> dict[str, Any] | None:
    """Reject a candidate that newly challenges or blocks too many; return what was found, None without traffic.

    `labels` are decisions labeled human (True) or not, outside the candidate's training data.
    """
    figures, reasons = await asyncio.to_thread(_judge, found, labels)
    if requests < LEAST_REQUESTS:
        return None
    if found.judged < LEAST_REQUESTS and found.unjudged:
        reasons.append(
            f"Only {found.judged} of {requests} recent requests can be judged: the candidate reads numbers or content."
            " Let it score traffic in shadow first."
        )
    if reasons:
        message = " ".join([*reasons, "To promote it anyway, send acknowledge: true."])
        raise Refused("confirmation_required", message, **figures)
    return figures


def _judge(found: CandidateReplay, labels: dict[int, bool]) -> tuple[dict[str, Any], list[str]]:
    refused = [
        change.sample
        for change in found.changes
        if change.is_newly_refused and labels.get(change.sample.id) is not False
    ]
    totals, by_family = Counter(map(family_of, found.allowed)), Counter(map(family_of, refused))
    people = [sample for sample in found.allowed if labels.get(sample.id) is True]
    people_refused = sum(labels.get(sample.id) is True for sample in refused)
    reasons = []
    allowed = len(found.allowed)
    if found.judged >= LEAST_REQUESTS:
        if len(refused) > MOST_REFUSED * allowed:
            reasons.append(
                f"This model would challenge or block {len(refused)} of {allowed} recent requests that are allowed now."
            )
        reasons += [
            f"Of {totals[family]} with {family} it would challenge or block {count}."
            for family, count in by_family.items()
            if totals[family] >= LEAST_REQUESTS and count > MOST_OF_FAMILY * totals[family]
        ]
    if people_refused > MOST_OF_PEOPLE * len(people):
        reasons.append(f"It would challenge or block {people_refused} of {len(people)} decisions labeled human.")
    figures = {
        "evaluated": found.judged,
        "unjudged": found.unjudged,
        "allowed": allowed,
        "newlyRefused": len(refused),
        "upperBound": round(upper_bound(len(refused), allowed), 4),
        "people": {
            "labels": len(people),
            "newlyRefused": people_refused,
            "upperBound": round(upper_bound(people_refused, len(people)), 4),
        },
        "byFamily": {
            family: {"allowed": totals[family], "newlyRefused": by_family[family]} for family in sorted(totals)
        },
        "decisions": [write_id(sample.id) for sample in refused[:EXAMPLES]],
    }
    return figures, reasons


def family_of(sample: ScoreSample) -> str:
    """Return the kind of client of a request."""
    return next((label for label in FAMILIES if label in sample.labels), OTHER_FAMILY)


def upper_bound(found: int, total: int) -> float:
    """Return the upper end of the 95% interval of a share; 1 of none."""
    return interval(found, total)[1]


def interval(found: int, total: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share; 0 to 1 of none."""
    if not total:
        return 0.0, 1.0
    share = found / total
    center = share + _Z**2 / (2 * total)
    half = _Z * (share * (1 - share) / total + _Z**2 / (4 * total**2)) ** 0.5
    scale = 1 + _Z**2 / total
    return max(0.0, (center - half) / scale), min(1.0, (center + half) / scale)
