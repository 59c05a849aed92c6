"""`agentgate train`: make a candidate model from exported decision labels, and a report about it.

Needs scikit-learn, which the extra `train` brings; it is imported only when the command runs.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agentgate.lib.enums import ModelKind, ModelType
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, PrintedTable, read_file
from agentgate_tools.commands.parameters import Argument, Option
from agentgate_tools.commands.progress import Progress

if TYPE_CHECKING:
    from agentgate_tools.training.result import Trained

STANDARD_INPUT = "-"
# The first word where a content model is trained from texts.
OF_TEXTS = "content"
UNFINISHED = ".unfinished"


@dataclass(frozen=True)
class TrainOptions:
    """The arguments of the command; a function would have to take too many."""

    labels: Annotated[
        list[str],
        Argument(
            help="Files of exported decision labels; - reads standard input. With `content FILE...`, the files have"
            " texts: label (spam or good), source and text, separated by tabs."
        ),
    ]
    kind: Annotated[ModelKind | None, Option(help="Kind of model; required unless trained from texts.")] = None
    type: Annotated[ModelType, Option(help="Learning algorithm.")] = ModelType.TREES
    out: Annotated[Path, Option(help="Output file of the model.")] = Path("model.json")
    report: Annotated[Path, Option(help="Output file of the report, an HTML page.")] = Path("report.html")
    trees: Annotated[int, Option(min=1, max=500, help="Number of trees.")] = 100
    depth: Annotated[int, Option(min=1, max=10, help="Maximum depth of a tree.")] = 4
    folds: Annotated[int, Option(min=2, max=20, help="Number of cross-validation folds.")] = 5
    seed: Annotated[int, Option(min=0, max=2**31 - 1, help="Random seed. The same seed produces the same model.")] = 1
    min_labels: Annotated[int, Option(min=20, help="Minimum number of labels.")] = 100
    weight_synthetic: Annotated[
        float, Option(min=0, max=1, help="Weight of labels from synthetic traffic; 0 excludes them.")
    ] = 1.0
    weight_probe: Annotated[float, Option(min=0, max=1, help="Weight of labels from probes; 0 excludes them.")] = 1.0
    exclude: Annotated[str, Option(help="Features to exclude: comma-separated labels or label prefixes.")] = (
        "net.country"
    )


def train(options: TrainOptions) -> CommandAnswer:
    """Train a model from decision labels, or a content model from texts, and write the model and a report."""
    of_texts = options.labels[0] == OF_TEXTS
    for path in (options.out,) if of_texts else (options.out, options.report):
        if not path.absolute().parent.is_dir():
            raise CommandRefused(f"there is no folder {path.parent} for {path.name}; create it first")
    if options.out.absolute() == options.report.absolute():
        raise CommandRefused("--out and --report are the same file; give two files")
    if of_texts:
        return _train_texts(options)
    if options.kind is None:
        raise CommandRefused("--kind is missing; use bot, agent or content, or `agentgate train content FILE...`")
    text = "\n".join(_read(name) for name in options.labels)
    trained, page = _train(options, options.kind, text)
    from agentgate.lib.records import to_json  # noqa: PLC0415 - keeps the rest of the command line quick

    _write(options.report, page.encode())
    _write(options.out, to_json(trained.model) + b"\n")
    return _answer(options, trained)


def _train_texts(options: TrainOptions) -> CommandAnswer:
    with _extra_needed():
        from agentgate_tools.training.texts import read_texts, texts_report, train_texts  # noqa: PLC0415 - likewise
    from agentgate.lib.records import to_json  # noqa: PLC0415 - likewise

    names = options.labels[1:]
    if not names:
        raise CommandRefused("no file of texts is given; use `agentgate train content FILE...`")
    texts = [text for name in names for text in read_texts(name, _read(name))]
    trained = train_texts(texts, seed=options.seed)
    _write(options.out, to_json(trained.model) + b"\n")
    rows = [
        (
            each.source,
            str(each.good),
            str(each.spam),
            f"{each.roc_auc:.3f}",
            f"{each.found:.0%}",
            f"{each.found_at_asked:.0%}",
            f"{each.good_at_asked:.1%}",
        )
        for each in trained.results
    ]
    value = {"version": trained.model.version, "texts": len(texts), "sources": texts_report(trained)}
    headings = ("Source", "Good", "Spam", "ROC AUC", "Found at 0.5% wrong", "Found at 0.9", "Wrong at 0.9")
    people: list[str | PrintedTable] = [
        f"{trained.model.version}: {len(texts)} texts",
        PrintedTable("Results on sources that were not learned from", headings, rows),
        f"Model: {options.out}",
    ]
    return CommandAnswer(value | {"model": str(options.out)}, people)


@contextmanager
def _extra_needed() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in {"sklearn", "numpy", "scipy"}:
            raise
        raise CommandRefused(
            f"training needs scikit-learn ({missing.name} is not installed); run: pip install scikit-learn"
        ) from None


def _train(options: TrainOptions, kind: ModelKind, text: str) -> "tuple[Trained, str]":
    with _extra_needed():
        from agentgate_tools.training.fit import LearnerOptions  # noqa: PLC0415 - likewise
        from agentgate_tools.training.report import report_page  # noqa: PLC0415 - needs the extra
        from agentgate_tools.training.rows import RowOptions  # noqa: PLC0415 - likewise
        from agentgate_tools.training.train import Plan, train  # noqa: PLC0415 - likewise
    from agentgate_tools.training.labels import read_labels  # noqa: PLC0415 - keeps the command line quick

    plan = Plan(
        kind=kind,
        learner=LearnerOptions(
            type=options.type, trees=options.trees, depth=options.depth, seed=options.seed, kind=kind
        ),
        rows=RowOptions(
            excluded=tuple(part.strip() for part in options.exclude.split(",") if part.strip()),
            weight_synthetic=options.weight_synthetic,
            weight_probe=options.weight_probe,
        ),
        folds=options.folds,
        least_labels=options.min_labels,
    )
    with Progress() as progress:
        progress.begin("reading the labels")
        rows = read_labels(text)
        progress.begin(f"fitting and validating the {options.kind} model in {options.folds} folds")
        trained = train(rows, plan)
        progress.begin("writing the report")
        return trained, report_page(trained)


def _read(name: str) -> str:
    if name == STANDARD_INPUT:
        return sys.stdin.read()
    return read_file(Path(name), "give a file from `agentgate labels export`")


def _write(path: Path, content: bytes) -> None:
    # Write under another name first: a program that watches the file never reads half of it.
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise CommandRefused(f"{path} cannot be written ({error.strerror})") from None


def _answer(options: TrainOptions, trained: "Trained") -> CommandAnswer:
    from agentgate_tools.training.words import percent, recommendation  # noqa: PLC0415 - needs the extra

    figures, ground = trained.figures, trained.ground
    area = "unknown" if figures.roc_auc.value is None else f"{figures.roc_auc.value:.3f}"
    value = {
        "version": trained.model.version,
        "labels": ground.ones + ground.zeros,
        "visitors": ground.visitors,
        "features": ground.features,
        "rocAuc": figures.roc_auc.value,
        "thresholds": [
            {
                "threshold": at.threshold,
                "falsePositiveRate": at.false_positive_rate.value,
                "recall": at.recall.value,
                "precision": at.precision.value,
            }
            for at in figures.thresholds
        ],
        "warnings": list(trained.warnings),
        "recommendation": recommendation(trained),
        "model": str(options.out),
        "report": str(options.report),
    }
    headings = ("Score at least", "Wrongly found", "Found", "Precision")
    rows = (
        (f"{at.threshold:g}", *(percent(part.value) for part in (at.false_positive_rate, at.recall, at.precision)))
        for at in figures.thresholds
    )
    counted = f"{value['labels']} labels of {ground.visitors} visitors, {ground.features} features"
    people: list[str | PrintedTable] = [
        f"{value['version']}: {counted}, ROC AUC {area}",
        PrintedTable("Metrics by threshold", headings, rows),
        *(f"Warning: {warning}" for warning in trained.warnings),
        recommendation(trained),
        f"Model: {options.out}",
        f"Report: {options.report}",
    ]
    return CommandAnswer(value, people)
