"""`train content`: a content model from texts with labels. The file has hashed weights and no text.

Texts are read from tab-separated files with the columns `label` (`spam` or `good`), `source` and `text`. The model is
judged on each source by a model that has learned from the others.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import sklearn  # type: ignore[import-untyped]
from msgspec import UnsetType, structs
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]

from agentgate import __version__
from agentgate.decision.scoring.model_file import ModelFile, Platt, TextWeights, check_model
from agentgate.decision.scoring.score import TextScorer
from agentgate.decision.scoring.text_pieces import BUCKETS, pieces_of
from agentgate.lib.enums import ModelKind, ModelType
from agentgate.lib.records import to_json
from agentgate_tools.training.labels import TrainingRefused
from agentgate_tools.training.rows import Floats, Integers

Strings: TypeAlias = npt.NDArray[np.str_]
LABELS = {"spam": 1, "good": 0}
COLUMNS = ["label", "source", "text"]
STRENGTH = 10.0
MOST_FALSE = 0.005
LEAST_TEXTS, LEAST_PER_CLASS = 200, 50
PARTS = 3
LARGEST_BYTE = 127
# What text does not show: signals of the request that rules and text agree on. Evidence against only.
FEATURES = {"content.hidden_characters": 0.5, "content.mixed_scripts": 1.0, "content.spam_phrase": 1.5}


@dataclass(frozen=True)
class LabelledText:
    """A text, where it is from, and whether it is spam."""

    target: int
    source: str
    text: str


@dataclass(frozen=True)
class SourceResult:
    """How a model that has not seen a source does on it."""

    source: str
    good: int
    spam: int
    roc_auc: float
    # Share of spam found where at most 0.5% of the good texts are.
    found: float
    # At a score of 0.9, from which on the default rules challenge.
    found_at_asked: float
    good_at_asked: float


@dataclass(frozen=True)
class TrainedTexts:
    """A model, and how such models do on sources that they have not seen."""

    model: ModelFile
    results: tuple[SourceResult, ...]


def read_texts(name: str, content: str) -> list[LabelledText]:
    """Read a file; reject one with a wrong line."""
    lines = content.removeprefix("\ufeff").split("\n")
    if lines[0].rstrip("\r").split("\t") != COLUMNS:
        raise TrainingRefused(f"{name}: the first line must be {' '.join(COLUMNS)}, separated by tabs")
    found = []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        cells = line.rstrip("\r").split("\t", 2)
        if len(cells) != len(COLUMNS) or cells[0] not in LABELS:
            raise TrainingRefused(f"{name}: line {number} must be spam or good, a source and a text, separated by tabs")
        found.append(LabelledText(LABELS[cells[0]], cells[1], cells[2]))
    return found


def train_texts(texts: Sequence[LabelledText], *, seed: int) -> TrainedTexts:
    """Train on all texts, and judge on each source, or on parts of a single one."""
    target = np.array([text.target for text in texts], dtype=np.int64)
    if len(texts) < LEAST_TEXTS or min(int(target.sum()), int((1 - target).sum())) < LEAST_PER_CLASS:
        raise TrainingRefused(
            f"at least {LEAST_TEXTS} texts are needed, and {LEAST_PER_CLASS} of spam and of good ones"
        )
    matrix = _matrix(texts)
    names, sources = _parts(texts, seed), np.array([text.source for text in texts])
    margins = np.zeros(len(texts))
    for name in sorted(set(names)):
        inside = np.array([each == name for each in names])
        learner = _fit(matrix[~inside], target[~inside], sources[~inside])
        margins[inside] = learner.decision_function(matrix[inside])
    # Calibrated by what models thought of sources that they had not seen; sources count alike.
    weights = np.array([1.0 / names.count(name) for name in names])
    platt = LogisticRegression(C=100.0).fit(margins.reshape(-1, 1), target, sample_weight=weights * len(texts))
    calibration = Platt(a=float(platt.coef_[0][0]), b=float(platt.intercept_[0]))
    scores = 1 / (1 + np.exp(-(calibration.a * margins + calibration.b)))
    results = tuple(_result(name, scores, target, names) for name in sorted(set(names)))
    learner = _fit(matrix, target, sources)
    model = _model_file(learner, calibration)
    _check(model, texts, learner.decision_function(matrix), calibration)
    trained = TrainedTexts(model, results)
    counts = {"good": int((1 - target).sum()), "spam": int(target.sum())}
    metadata = {
        "madeBy": f"agentgate train content {__version__}",
        "texts": counts,
        "sources": texts_report(trained),
        "library": f"scikit-learn {sklearn.__version__}",
    }
    return TrainedTexts(structs.replace(model, metadata=metadata), results)


def texts_report(trained: TrainedTexts) -> list[dict[str, object]]:
    """Return the results by source, for people and for the file's metadata."""
    return [
        {
            "source": each.source,
            "good": each.good,
            "spam": each.spam,
            "rocAuc": round(each.roc_auc, 4) if each.good and each.spam else None,
            "foundAtHalfPercentWrong": round(each.found, 4),
            "foundAt0.9": round(each.found_at_asked, 4),
            "wrongAt0.9": round(each.good_at_asked, 4),
        }
        for each in trained.results
    ]


def _parts(texts: Sequence[LabelledText], seed: int) -> list[str]:
    """Return the part that each text is judged in: its source; of a large one, random thirds."""
    chance = np.random.default_rng(seed)
    counts = {text.source: 0 for text in texts}
    for text in texts:
        counts[text.source] += 1
    large = {source for source, count in counts.items() if count > len(texts) / 2}
    parts = chance.integers(0, PARTS, len(texts))
    return [
        f"{text.source} ({part + 1} of {PARTS})" if text.source in large else text.source
        for text, part in zip(texts, parts, strict=True)
    ]


def _matrix(texts: Sequence[LabelledText]) -> csr_matrix:
    places: list[int] = []
    ends, values = [0], []
    for text in texts:
        pieces = sorted(pieces_of(text.text))
        places += pieces
        values += [1 / max(1, len(pieces)) ** 0.5] * len(pieces)
        ends.append(len(places))
    return csr_matrix((values, places, ends), shape=(len(texts), BUCKETS))


def _fit(matrix: csr_matrix, target: Integers, sources: Strings) -> LogisticRegression:
    # Sources count alike: common traits of one source tell little about others.
    _, place, counts = np.unique(sources, return_inverse=True, return_counts=True)
    weights = len(sources) / (len(counts) * counts[place])
    return LogisticRegression(C=STRENGTH, max_iter=500).fit(matrix, target, sample_weight=weights)


def _result(name: str, scores: Floats, target: Integers, names: Sequence[str]) -> SourceResult:
    inside = np.array([each == name for each in names])
    good, spam = scores[inside & (target == 0)], scores[inside & (target == 1)]
    both = len(good) and len(spam)
    limit = np.sort(good)[::-1][int(MOST_FALSE * len(good))] if len(good) else 0.0
    return SourceResult(
        source=name,
        good=len(good),
        spam=len(spam),
        roc_auc=float(roc_auc_score(target[inside], scores[inside])) if both else float("nan"),
        found=float((spam > limit).mean()) if len(spam) else 0.0,
        found_at_asked=float((spam >= 0.9).mean()) if len(spam) else 0.0,
        good_at_asked=float((good >= 0.9).mean()) if len(good) else 0.0,
    )


def _model_file(learner: LogisticRegression, calibration: Platt) -> ModelFile:
    weights = learner.coef_[0]
    scale = float(np.abs(weights).max()) / LARGEST_BYTE or 1.0
    packed = np.round(weights / scale).astype(np.int8).tobytes()
    model = ModelFile(
        version="unfinished",
        kind=ModelKind.CONTENT,
        type=ModelType.LOGISTIC,
        features=list(FEATURES),
        weights=[weight / calibration.a for weight in FEATURES.values()],
        bias=float(learner.intercept_[0]),
        calibration=calibration,
        text=TextWeights(weights=base64.b64encode(packed).decode(), scale=scale),
        metadata={},
    )
    digest = hashlib.sha256(to_json(model)).hexdigest()[:8]
    model = structs.replace(model, version=f"content-{digest}")
    check_model(model)
    return model


def _check(model: ModelFile, texts: Sequence[LabelledText], margins: Floats, calibration: Platt) -> None:
    """Compare our scorer with the learner; weights are bytes, so scores differ a little."""
    assert not isinstance(model.text, UnsetType), "it was made with text"
    scorer = TextScorer(model, model.text)
    expected = 1 / (1 + np.exp(-(calibration.a * margins + calibration.b)))
    found = np.array([scorer.score_text((), {}, text.text) for text in texts])
    if not float(np.abs(found - expected).max()) <= 0.05:
        raise TrainingRefused("the written model scores differently from the one that was learned; please report this")
