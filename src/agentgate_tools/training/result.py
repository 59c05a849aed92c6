"""What training found: the model, what it was learned from, how good it is, and what is to be said about it."""

from collections.abc import Mapping
from dataclasses import dataclass

from agentgate.decision.scoring.model_file import ModelFile
from agentgate.lib.enums import ModelKind
from agentgate.lib.moment import Moment
from agentgate_tools.training.figures import Figures
from agentgate_tools.training.labels import Suspects


@dataclass(frozen=True, kw_only=True)
class Ground:
    """The data that a model was trained on, in counts only, so that no visitor can be identified."""

    kind: ModelKind
    ones: int
    zeros: int
    labels: Mapping[str, int]
    sources: Mapping[str, int]
    visitors: int
    visitors_with_ones: int
    visitors_with_zeros: int
    first: Moment
    last: Moment
    features: int
    figures_used: bool
    # Signal labels of the evidence that the catalog does not have.
    unknown_labels: int
    # Decision labels that were dropped, because their numbers were missing while nearly all others had them.
    left_out: int
    folds: int


@dataclass(frozen=True, kw_only=True)
class FeatureFact:
    """One feature: its share in the model, and how well it separates alone."""

    name: str
    figure: bool
    share: float
    # The share of rows that have the label, or the mean of the number, among targets of 1 and among targets of 0.
    among_ones: float
    among_zeros: float
    # The ROC AUC of this feature by itself.
    alone: float


@dataclass(frozen=True, kw_only=True)
class ByTime:
    """How a model of the older labels does on the newest, of visitors that it has not seen."""

    since: Moment
    ones: int
    zeros: int
    figures: Figures


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A model and all data for a report."""

    model: ModelFile
    ground: Ground
    figures: Figures
    # None if the newest labels have too few of a class.
    by_time: ByTime | None
    # Labels to look at again, the most doubtful first.
    suspects: Suspects
    # Brier score by name of calibration, and the one that was taken.
    calibrations: Mapping[str, float]
    calibration: str
    # The features that count most, the most important first.
    features: tuple[FeatureFact, ...]
    warnings: tuple[str, ...]
