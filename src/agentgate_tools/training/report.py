"""The report on a trained model: one HTML file with its style and charts inside, no script, nothing loaded."""

from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files

from msgspec import UnsetType

from agentgate.lib.markup import Markup, element, joined
from agentgate_tools.training.figures import AtThreshold, Figure
from agentgate_tools.training.report_svg import Bars, Curve, Frame, bars, curves, round_up
from agentgate_tools.training.result import FeatureFact, Trained
from agentgate_tools.training.words import OTHERS, SOUGHT, percent, recommendation

_DOCTYPE = "<!doctype html>\n"
_STYLE = "report.css"


def report_page(trained: Trained) -> str:
    title = f"Model {trained.model.version}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        # The page is complete by itself: were anything smuggled into it, it could load and run nothing.
        element("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        element("style", Markup(files("agentgate_tools.training").joinpath(_STYLE).read_text(encoding="utf-8"))),
    )
    main = element(
        "main",
        _summary(trained, title),
        _warnings(trained),
        _curve_section(trained),
        _threshold_section(trained),
        _feature_section(trained),
        _ground_section(trained),
    )
    return _DOCTYPE + element("html", head, element("body", main), lang="en") + "\n"


def _summary(trained: Trained, title: str) -> Markup:
    ground, figures = trained.ground, trained.figures
    sought, others = SOUGHT[ground.kind], OTHERS[ground.kind]
    trees = trained.model.trees
    learner = "logistic regression" if isinstance(trees, UnsetType) else f"{len(trees)} trees"
    told = (
        f"A model of kind {ground.kind} ({learner}, {ground.features} features) that distinguishes {sought}"
        f" from {others},"
        f" learned from {ground.ones + ground.zeros} labels of {ground.visitors} visitors. The metrics come from"
        f" {ground.folds} folds: each decision was scored by a model that had seen nothing of its visitor."
    )
    cards = [
        _card("ROC AUC", figures.roc_auc, "1 is perfect, 0.5 is random"),
        _card("PR AUC", figures.pr_auc, f"random: {ground.ones / (ground.ones + ground.zeros):.2f}"),
        _card("Brier score", figures.brier, "0 is perfect; lower is better"),
        _card("Log loss", figures.log_loss, "0 is perfect; lower is better"),
    ]
    return element(
        "header",
        element("h1", title),
        element("p", told),
        element("p", element("strong", "Recommendation. "), recommendation(trained), class_="advice"),
        element("ul", *cards, class_="cards"),
    )


def _card(name: str, figure: Figure, hint: str) -> Markup:
    return element(
        "li",
        element("span", name, class_="name"),
        element("span", _plain(figure.value), class_="value"),
        element("span", _interval(figure, _plain) or "one fold only", class_="interval"),
        element("span", hint, class_="hint"),
    )


def _warnings(trained: Trained) -> Markup:
    if not trained.warnings:
        body = element("p", "None: enough labels, in balance, and no single feature separates the classes.")
    else:
        body = element("ul", *(element("li", text) for text in trained.warnings), class_="warnings")
    return _section("warnings", "Warnings", body)


def _curve_section(trained: Trained) -> Markup:
    charts = (_roc(trained), _precision_recall(trained), _calibration(trained), _histogram(trained))
    return _section("curves", "Curves", element("div", *charts, class_="charts"))


def _roc(trained: Trained) -> Markup:
    sought, others = SOUGHT[trained.ground.kind], OTHERS[trained.ground.kind]
    frame = Frame(
        name="roc",
        title="ROC curve",
        description=f"Share of {sought} found against share of {others} misclassified, for every threshold."
        f" The area under the curve is {_plain(trained.figures.roc_auc.value)}.",
        across=f"{others} misclassified",
        up=f"{sought} found",
    )
    coin = Curve(name="a coin", style="reference", points=((0, 0), (1, 1)))
    return curves(frame, Curve(name="this model", style="ones", points=trained.figures.roc), coin)


def _precision_recall(trained: Trained) -> Markup:
    sought = SOUGHT[trained.ground.kind]
    share = trained.ground.ones / (trained.ground.ones + trained.ground.zeros)
    frame = Frame(
        name="precision-recall",
        title="Precision and recall",
        description=f"Share of what is found that really is, against share of {sought} found, for every threshold."
        f" The area under the curve is {_plain(trained.figures.pr_auc.value)}.",
        across=f"{sought} found (recall)",
        up="correct (precision)",
    )
    coin = Curve(name="a coin", style="reference", points=((0, share), (1, share)))
    return curves(frame, Curve(name="this model", style="ones", points=trained.figures.precision_recall), coin)


def _calibration(trained: Trained) -> Markup:
    found = trained.figures.calibration
    listed = "; ".join(f"score {part.score:.2f}: {percent(part.share)} of {part.rows}" for part in found)
    frame = Frame(
        name="calibration",
        title="Calibration",
        description=f"Observed share by score, in ten parts: {listed}. The diagonal is perfect.",
        across="score",
        up=f"really {SOUGHT[trained.ground.kind]}",
    )
    points = [(part.score, part.share) for part in found]
    most = max(part.rows for part in found)
    sizes = [(part.rows / most) ** 0.5 for part in found]
    return curves(
        frame,
        Curve(name="this model (larger dot: more decisions)", style="ones", points=points, dots=sizes),
        Curve(name="perfect", style="reference", points=((0, 0), (1, 1))),
    )


def _histogram(trained: Trained) -> Markup:
    sought, others = SOUGHT[trained.ground.kind], OTHERS[trained.ground.kind]
    zeros, ones = (_shares(counts) for counts in trained.figures.histogram)
    frame = Frame(
        name="histogram",
        title="Scores by class",
        description=f"How the scores of {others} and of {sought} are spread from 0 to 1."
        f" Below 0.5: {percent(_below_half(zeros))} of {others}, {percent(_below_half(ones))} of {sought}.",
        across="score",
        up="share of each",
        highest=round_up(max((*zeros, *ones))),
        percent=True,
    )
    return bars(frame, Bars(name=others, style="zeros", values=zeros), Bars(name=sought, style="ones", values=ones))


def _threshold_section(trained: Trained) -> Markup:
    sought, others = SOUGHT[trained.ground.kind], OTHERS[trained.ground.kind]
    headings = (
        "Score at least",
        f"{others.capitalize()} misclassified",
        f"{sought.capitalize()} found",
        "Precision",
        "Decisions found, right and wrong",
    )
    rows = [_threshold_row(found) for found in trained.figures.thresholds]
    note = (
        "Means over the folds; in brackets the 95 % interval over the folds. If no visitor was misclassified,"
        " the interval"
        " ends at three divided by the number of such visitors, since zero errors among few visitors prove little."
    )
    return _section("thresholds", "Thresholds", element("p", note), _table("Metrics by threshold", headings, rows))


def _threshold_row(found: AtThreshold) -> Sequence[str]:
    figures = (found.false_positive_rate, found.recall, found.precision)
    return (f"{found.threshold:g}", *(_with_interval(figure) for figure in figures), f"{found.right} and {found.wrong}")


def _feature_section(trained: Trained) -> Markup:
    sought, others = SOUGHT[trained.ground.kind], OTHERS[trained.ground.kind]
    headings = ("Feature", "Importance", f"Among {sought}", f"Among {others}", "ROC AUC alone")
    note = "For a label: the share of decisions that have it. For a measurement: its mean."
    rows = [_feature_row(fact) for fact in trained.features]
    return _section("features", "Top features", element("p", note), _table("Top features", headings, rows))


def _feature_row(fact: FeatureFact) -> Sequence[str]:
    among = (f"{value:.3g}" if fact.figure else percent(value) for value in (fact.among_ones, fact.among_zeros))
    return (fact.name, percent(fact.share), *among, f"{fact.alone:.3f}")


def _ground_section(trained: Trained) -> Markup:
    ground = trained.ground
    rows = (
        ("Labels", _listed(ground.labels.items())),
        ("Sources", _listed(ground.sources.items())),
        ("Visitors", str(ground.visitors)),
        ("Decisions from", ground.first.text()),
        ("Decisions to", ground.last.text()),
        ("Calibration (Brier score)", _listed((name, f"{value:.4f}") for name, value in trained.calibrations.items())),
        ("Options", _listed(trained.model.metadata["options"].items())),
        ("Made by", trained.model.metadata["madeBy"]),
    )
    return _section("ground", "Training data", _table("Training data", ("What", "Value"), rows))


def _section(name: str, title: str, *body: Markup) -> Markup:
    return element("section", element("h2", title, id=f"{name}-heading"), *body, aria_labelledby=f"{name}-heading")


def _table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    head = element("tr", *(element("th", heading, scope="col") for heading in headings))
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    table = element("table", element("caption", caption), element("thead", head), element("tbody", *body))
    return element("div", table, class_="wide", tabindex="0", role="region", aria_label=caption)


def _with_interval(figure: Figure) -> str:
    between = _interval(figure, percent)
    return percent(figure.value) + (f" ({between})" if between else "")


def _interval(figure: Figure, written: Callable[[float | None], str]) -> str:
    return "" if figure.low is None or figure.high is None else f"{written(figure.low)} to {written(figure.high)}"


def _plain(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"


def _listed(pairs: Iterable[tuple[str, object]]) -> Markup:
    return joined([f"{name}: {value}" for name, value in pairs], ", ")


def _shares(counts: Sequence[int]) -> list[float]:
    total = sum(counts)
    return [count / total if total else 0.0 for count in counts]


def _below_half(shares: Sequence[float]) -> float:
    return sum(shares[: len(shares) // 2])
