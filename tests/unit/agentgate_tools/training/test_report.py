"""The report on a trained model: every part is present, it is sound HTML, and it needs nothing from anywhere."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from agentgate.lib.enums import ModelKind, ModelType
from agentgate_tools.training.figures import Figure
from agentgate_tools.training.fit import LearnerOptions
from agentgate_tools.training.labels import read_labels
from agentgate_tools.training.report import report_page
from agentgate_tools.training.report_svg import Bars, Curve, Frame, bars, curves, round_up
from agentgate_tools.training.rows import RowOptions
from agentgate_tools.training.train import Plan, train
from agentgate_tools.training.words import percent, recommendation
from tests.unit.decision.scoring.made_labels import lines, made_labels

VOID = {"meta"}
FRAME = Frame(name="x", title="Title", description="What is seen", across="across", up="up")


@pytest.fixture(scope="module")
def trained():
    plan = Plan(
        kind=ModelKind.BOT,
        learner=LearnerOptions(type=ModelType.LOGISTIC, trees=1, depth=1, seed=1),
        rows=RowOptions(excluded=(), weight_synthetic=1.0, weight_probe=1.0),
        folds=3,
        least_labels=100,
    )
    return train(read_labels(lines(made_labels(240))), plan)


@pytest.fixture(scope="module")
def page(trained):
    return report_page(trained)


class Checked(HTMLParser):
    """Follows the elements of a page, and fails on one that is not closed in its turn."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.names, self.text = [], [], set(), ""

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text += data


def checked(page):
    parser = Checked()
    parser.feed(page)
    parser.close()
    return parser


def test_the_page_is_sound_and_no_id_is_twice(page):
    found = checked(page)

    assert found.open == []
    assert len(set(found.ids)) == len(found.ids)
    assert page.startswith('<!doctype html>\n<html lang="en">')


def test_the_page_has_every_part(page):
    text = checked(page).text

    for part in (
        "Recommendation.", "ROC AUC", "PR AUC", "Brier score", "Log loss", "Warnings", "ROC curve",
        "Precision and recall", "Calibration", "Scores by class", "Thresholds", "Top features",
        "Training data", "bot: 120, human: 120", "operator: 240", "net.datacenter",
    ):  # fmt: skip
        assert part in text, part


def test_the_page_loads_and_runs_nothing(page):
    assert not re.search(r"<script|<link|<img|<iframe|src=|href=|url\(|@import|\son\w+=", page)
    assert "default-src 'none'" in page.replace("&#x27;", "'")


def test_the_page_follows_the_readers_colour_scheme(page):
    assert "color-scheme: light dark" in page
    assert "@media (prefers-color-scheme: dark)" in page


def test_every_chart_is_sound_and_shows_in_plain_text_what_it_shows(page):
    charts = [ET.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]

    assert len(charts) == 4
    for chart in charts:
        named = [chart.find(f".//*[@id='{name}']") for name in chart.get("aria-labelledby").split()]
        assert chart.get("role") == "img"
        assert all(part is not None and len(part.text) > 5 for part in named)


def test_every_mark_of_every_chart_lies_inside_it(page):
    for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        chart = ET.fromstring(text)
        wide, high = (float(number) for number in chart.get("viewBox").split()[2:])
        for line in chart.iter("polyline"):
            for point in line.get("points").split():
                x, y = (float(number) for number in point.split(","))
                assert 0 <= x <= wide
                assert 0 <= y <= high
        for bar in chart.iter("rect"):
            assert float(bar.get("x")) + float(bar.get("width")) <= wide
            assert float(bar.get("y")) >= 0
            assert float(bar.get("y")) + float(bar.get("height")) <= high


def test_what_is_in_labels_is_never_markup(trained):
    fact = replace(trained.features[0], name="<script>alert(1)</script>")

    page = report_page(replace(trained, features=(fact,), warnings=("<b>",)))

    assert "<script" not in page
    assert "<b>" not in page


def test_warnings_are_listed_and_their_absence_is_shown(trained):
    text = checked(report_page(replace(trained, warnings=()))).text

    assert "There are only 240 labels." in checked(report_page(trained)).text
    assert "None: enough labels, in balance" in text
    assert "There are only" not in text


def test_metrics_that_no_fold_could_give_are_unknown(trained):
    unknown = Figure(value=None, low=None, high=None)

    page = report_page(replace(trained, figures=replace(trained.figures, roc_auc=unknown)))

    assert "unknown" in page
    assert "Do not install this model" in page


def test_curves_and_bars_are_drawn_where_their_values_are():
    line = ET.fromstring(curves(FRAME, Curve(name="a", style="ones", points=((0, 0), (1, 1)), dots=(0, 1))))
    chart = ET.fromstring(bars(FRAME, Bars(name="a", style="ones", values=(0.0, 0.5, 1.0))))

    start, end = line.find(".//polyline").get("points").split()
    assert float(start.split(",")[0]) < float(end.split(",")[0])
    assert float(start.split(",")[1]) > float(end.split(",")[1])
    assert [float(mark.get("r")) for mark in line.iter("circle")] == [3, 9]
    heights = [float(bar.get("height")) for bar in chart.iter("rect") if "bar" in bar.get("class")]
    assert heights[0] == 0
    assert heights[2] == pytest.approx(2 * heights[1], abs=0.2)


@pytest.mark.parametrize(("value", "end"), [(0, 1), (0.03, 0.04), (0.2, 0.2), (0.41, 0.5), (0.81, 1), (7, 8)])
def test_axes_end_at_a_round_number(value, end):
    assert round_up(value) == pytest.approx(end)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0.0 %"), (0.1234, "12.3 %"), (0.9997, "99.97 %"), (1, "100.0 %"), (None, "unknown")]
)
def test_a_share_is_written_without_calling_nearly_all_all(value, text):
    assert percent(value) == text


def at_rates(trained, *highs):
    thresholds = [
        replace(found, false_positive_rate=Figure(value=high / 2, low=0.0, high=high))
        for found, high in zip(trained.figures.thresholds, highs, strict=True)
    ]
    return replace(trained, figures=replace(trained.figures, thresholds=tuple(thresholds)))


def test_the_lowest_threshold_that_spares_people_is_recommended(trained):
    assert "start with a min_score of 0.8:" in recommendation(at_rates(trained, 0.05, 0.01, 0.001))


def test_a_model_that_spares_no_one_is_to_be_watched_only(trained):
    told = recommendation(at_rates(trained, 0.3, 0.2, 0.04))

    assert "do not use it in rules yet" in told
    assert "wrong about 4.0 % of people" in told


def test_a_model_that_shows_nothing_apart_is_not_to_be_installed(trained):
    figures = replace(trained.figures, roc_auc=Figure(value=0.6, low=0.5, high=0.7))

    assert recommendation(replace(trained, figures=figures)).startswith("Do not install this model")
