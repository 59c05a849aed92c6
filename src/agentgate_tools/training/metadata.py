"""The metadata of a trained model file. It contains only counts and metrics: no visitor, no route, no address."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from agentgate import __version__
from agentgate_tools.training.figures import AtThreshold, Figure
from agentgate_tools.training.result import ByTime, Trained

DECIMALS = 4


def metadata_of(trained: Trained, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `metadata` of a model file."""
    ground, figures = trained.ground, trained.figures
    return {
        "madeBy": f"agentgate train {__version__}",
        "options": {name: value for name, value in options.items() if value is not None},
        "labels": dict(ground.labels),
        "sources": dict(ground.sources),
        "visitors": ground.visitors,
        "from": ground.first.text(),
        "to": ground.last.text(),
        "calibration": {
            "chosen": trained.calibration,
            "brier": {name: round(value, DECIMALS) for name, value in trained.calibrations.items()},
        },
        "crossValidation": {
            "rocAuc": _figure(figures.roc_auc),
            "prAuc": _figure(figures.pr_auc),
            "brier": _figure(figures.brier),
            "logLoss": _figure(figures.log_loss),
            "thresholds": [_threshold(found) for found in figures.thresholds],
        },
        "byTime": _by_time(trained.by_time),
        "labelReview": {"labels": trained.suspects.labels, "suspects": len(trained.suspects.suspects)},
        "importances": [{"feature": fact.name, "share": round(fact.share, DECIMALS)} for fact in trained.features],
        "warnings": list(trained.warnings),
    }


def _by_time(found: ByTime | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "since": found.since.text(),
        "labels": {"ones": found.ones, "zeros": found.zeros},
        "rocAuc": _figure(found.figures.roc_auc),
        "thresholds": [_threshold(each) for each in found.figures.thresholds],
    }


def _threshold(found: AtThreshold) -> dict[str, Any]:
    return {
        "threshold": found.threshold,
        "falsePositiveRate": _figure(found.false_positive_rate),
        "recall": _figure(found.recall),
        "precision": _figure(found.precision),
    }


def _figure(figure: Figure) -> dict[str, float | None]:
    return {name: None if value is None else round(value, DECIMALS) for name, value in asdict(figure).items()}
