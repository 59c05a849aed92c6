"""Training on labels with a known truth: what is learned, what is written down, and what is rejected."""

import json
import random

import numpy as np
import pytest
from msgspec import UNSET, structs
from sklearn.metrics import roc_auc_score

from agentgate.decision.scoring.directions import AGAINST, direction_of
from agentgate.decision.scoring.model_file import Isotonic, Platt, read_model
from agentgate.decision.scoring.score import make_scorer
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.lib.enums import DecisionLabelValue, ModelKind, ModelType
from agentgate.lib.records import to_json
from agentgate_tools.training.calibrate import CALIBRATIONS, apply, choose, sigmoid
from agentgate_tools.training.figures import alone, figures_of
from agentgate_tools.training.fit import Answers, LearnerOptions, fit, weighted
from agentgate_tools.training.labels import TrainingRefused, examples_for, read_labels
from agentgate_tools.training.rows import RowOptions, observation, rows_for
from agentgate_tools.training.train import Plan, check_scores, train
from agentgate_tools.training.words import recommendation
from tests.unit.decision.scoring.made_labels import lines, made_labels


def plan(*, kind=ModelKind.BOT, model_type=ModelType.TREES, seed=1, folds=4, **rows):
    return Plan(
        kind=kind,
        learner=LearnerOptions(type=model_type, trees=15, depth=3, seed=seed),
        rows=RowOptions(**({"excluded": ("net.country",), "weight_synthetic": 1.0, "weight_probe": 1.0} | rows)),
        folds=folds,
        least_labels=100,
    )


@pytest.fixture(scope="module")
def decisions():
    return read_labels(lines(made_labels(480)))


@pytest.fixture(scope="module")
def trained(decisions):
    return train(decisions, plan())


@pytest.fixture(scope="module")
def logistic(decisions):
    return train(decisions, plan(model_type=ModelType.LOGISTIC))


@pytest.mark.parametrize("name", ["trained", "logistic"])
def test_what_is_learned_separates_visitors_that_were_never_seen(name, request):
    model = request.getfixturevalue(name).model
    scorer = make_scorer(read_model(to_json(model)))
    unseen = read_labels(lines(made_labels(400, seed=99)))

    scores = {"bot": [], "human": []}
    for decision in unseen:
        seen = observation(decision)
        scores[decision.label].append(scorer.score(seen.labels, seen.numbers))

    target = [1] * len(scores["bot"]) + [0] * len(scores["human"])
    assert roc_auc_score(target, scores["bot"] + scores["human"]) > 0.95
    assert np.mean(np.array(scores["human"]) >= 0.5) < 0.15


@pytest.mark.parametrize("name", ["trained", "logistic"])
def test_more_evidence_against_a_client_never_lowers_a_score(name, request):
    model = request.getfixturevalue(name).model
    scorer = make_scorer(model)
    against = [each for each in model.features if direction_of(each) == AGAINST and each not in NUMBERS]

    for seed in range(300):
        chance = random.Random(seed)
        labels = tuple(sorted(each for each in model.features if each not in NUMBERS and chance.random() < 0.4))
        figures = dict.fromkeys(NUMBERS, 0.0) | {"rate_visitor": float(chance.randrange(60))}
        more = tuple(sorted({*labels, chance.choice(against)}))
        assert scorer.score(more, figures) >= scorer.score(labels, figures)
        assert scorer.score(labels, figures | {"rate_visitor": 90.0}) >= scorer.score(labels, figures)


def test_one_trait_with_benign_causes_is_never_enough():
    # All bots have it and no person has: learned as it is, it would decide alone.
    items = made_labels(600)
    for item in items:
        item["evidence"]["labels"] = ["ua.browser", *(["browser.debugger"] if item["label"] == "bot" else [])]
        item["evidence"].pop("features", None)

    scorer = make_scorer(train(read_labels(lines(items)), plan()).model)

    assert scorer.score(("browser.debugger", "ua.browser"), {}) < 0.5


def test_what_clients_set_as_they_like_and_names_are_never_learned():
    items = made_labels(480)
    for item in items:
        is_bot = item["label"] == "bot"
        item["evidence"]["features"] |= {"header_count": 9.0 if is_bot else 14.0, "target_length": 5.0 + is_bot}
        item["evidence"]["labels"] += ["agent.name.examplebot", "ua.refused.curl"] if is_bot else []

    features = set(train(read_labels(lines(items)), plan(excluded=())).model.features)

    assert features.isdisjoint({"header_count", "target_length", "agent.name.examplebot", "ua.refused.curl"})


def test_the_newest_labels_are_judged_by_a_model_of_the_older(trained):
    assert trained.by_time.ones + trained.by_time.zeros == 96
    assert trained.by_time.figures.roc_auc.value > 0.9
    assert "byTime" in trained.model.metadata


def test_most_flipped_labels_are_among_the_first_suspects_and_none_is_dropped():
    items = made_labels(1000, seed=3)
    chance = random.Random(4)
    flipped = set()
    for item in items:
        clear = {"ua.headless", "net.datacenter"} <= set(item["evidence"]["labels"]) or "ua.browser" in item[
            "evidence"
        ]["labels"]
        if clear and chance.random() < 0.05:
            item["label"] = "human" if item["label"] == "bot" else "bot"
            flipped.add(item["decisionId"])

    trained = train(read_labels(lines(items)), plan())

    first = {suspect.decision for suspect in trained.suspects.suspects[: len(items) // 10]}
    assert len(flipped & first) > 0.6 * len(flipped)
    assert trained.ground.ones + trained.ground.zeros == 1000


def test_people_whose_evidence_contradicts_them_are_suspects_even_if_every_such_label_is_a_lie():
    items = made_labels(480)
    lies = [item for item in items if item["label"] == "bot"][:60]
    for item in items:
        if item["label"] == "bot":
            item["evidence"]["labels"] += ["http.unlike_browser"] if item in lies else []
    for item in lies:
        item |= {"label": "human", "actor": "mallory"}

    trained = train(read_labels(lines(items)), plan())

    suspects = [suspect.decision for suspect in trained.suspects.suspects]
    assert {item["decisionId"] for item in lies} <= set(suspects[:80])
    assert any("labels of the user mallory are doubtful" in warning for warning in trained.warnings)


def test_the_cross_validated_metrics_come_true_on_new_visitors(trained):
    scorer = make_scorer(trained.model)
    unseen = read_labels(lines(made_labels(2000, seed=5)))
    found = [observation(decision) for decision in unseen]
    scores = np.array([scorer.score(seen.labels, seen.numbers) for seen in found])
    target = np.array([decision.label == "bot" for decision in unseen]).astype(int)

    assert abs(trained.figures.roc_auc.value - roc_auc_score(target, scores)) < 0.03


@pytest.mark.parametrize("kind", [ModelKind.AGENT, ModelKind.CONTENT])
def test_each_kind_learns_from_its_own_labels(kind):
    decisions = read_labels(lines(made_labels(480, kinds=("bot", "human", "agent"), extra=("content.many_links",))))

    trained = train(decisions, plan(kind=kind, model_type=ModelType.LOGISTIC))

    assert trained.model.kind == kind
    assert trained.figures.roc_auc.value > 0.9
    assert set(trained.ground.labels) == ({"bot", "human", "agent"} if kind == ModelKind.AGENT else {"bot", "human"})


def test_the_same_labels_and_seed_make_the_same_file_whatever_the_order(decisions, trained):
    again = train(read_labels(lines(reversed(made_labels(480)))), plan())

    assert to_json(again.model) == to_json(trained.model)


def test_another_seed_makes_another_split(decisions, trained):
    other = train(decisions, plan(seed=2))

    assert other.model.metadata["crossValidation"] != trained.model.metadata["crossValidation"]


@pytest.mark.parametrize("model_type", list(ModelType))
@pytest.mark.parametrize("calibration", list(CALIBRATIONS))
def test_the_written_file_scores_as_the_learner_with_each_calibration(decisions, trained, model_type, calibration):
    rows = rows_for(examples_for(ModelKind.BOT, decisions, least=100), plan().rows)
    answers = Answers(target=rows.target, weights=rows.weights)
    learned = fit(plan(model_type=model_type).learner, rows.names, weighted(rows.patterns, rows.pattern, answers))
    margins = learned.margins(rows.patterns)
    fitted = CALIBRATIONS[calibration](margins[rows.pattern], answers)
    file = json.loads(to_json(trained.model)) | json.loads(to_json(learned.written())) | {"type": model_type}
    file.pop("weights" if model_type == ModelType.TREES else "trees", None)
    file.pop("calibration", None)
    if fitted is not UNSET:
        file["calibration"] = json.loads(to_json(fitted))

    model = read_model(json.dumps(file))

    check_scores(model, rows, apply(fitted, margins))
    with pytest.raises(TrainingRefused, match="scores differently"):
        check_scores(model, rows, apply(fitted, margins) + 2e-4)


def test_scores_of_trees_equal_the_ones_of_the_library(decisions):
    rows = rows_for(examples_for(ModelKind.BOT, decisions, least=100), plan().rows)
    answers = Answers(target=rows.target, weights=rows.weights)
    learned = fit(plan().learner, rows.names, weighted(rows.patterns, rows.pattern, answers))

    expected = learned._learner.predict_proba(rows.patterns)[:, 1]

    assert np.abs(sigmoid(learned.margins(rows.patterns)) - expected).max() < 1e-9


def test_no_visitor_is_on_both_sides_of_a_fold():
    # Every visitor has a random habit that does not predict the habits of others. A model that memorizes it would seem
    # skilled.
    chance = random.Random(3)
    items = made_labels(480, figures=True, visits=8)
    habits = {}
    for item in items:
        habit = habits.setdefault(item["evidence"]["visitorId"], chance.random() * 1000)
        item["evidence"] |= {"labels": ["ua.browser"], "features": {"rate_visitor": habit}}

    trained = train(read_labels(lines(items)), plan())

    assert abs(trained.figures.roc_auc.value - 0.5) < 0.2
    assert any("hardly distinguished the classes" in warning for warning in trained.warnings)


def test_score_bands_and_excluded_labels_are_not_learned(decisions, trained):
    assert set(trained.model.features) == {
        "net.datacenter",
        "ua.headless",
        "ua.browser",
        "agent.claimed",
        "rate_visitor",
    }

    everything = train(decisions, plan(model_type=ModelType.LOGISTIC, excluded=()))

    assert set(everything.model.features) == {*trained.model.features, "net.country.de"}


def test_metrics_are_used_only_where_nearly_all_labels_have_them(decisions):
    without = read_labels(lines(made_labels(480, figures=False)))
    few = [*decisions[:200], *without[200:]]
    most = [*decisions[:460], *without[460:]]

    by_few = train(few, plan(model_type=ModelType.LOGISTIC))
    by_most = train(most, plan(model_type=ModelType.LOGISTIC))

    assert "rate_visitor" not in by_few.model.features
    assert by_few.ground.ones + by_few.ground.zeros == 480
    assert "rate_visitor" in by_most.model.features
    assert by_most.ground.ones + by_most.ground.zeros == 460
    assert "20 labels were excluded because their measurements were not captured." in by_most.warnings


def test_synthetic_labels_can_count_less_or_not_at_all(decisions):
    made = read_labels(lines(made_labels(200, seed=11, source="synthetic")))
    # Lies: were they to count in full, they would pull the scores together.
    lies = [
        structs.replace(
            decision,
            decision_id=f"x{decision.decision_id}",
            label=DecisionLabelValue.HUMAN if decision.label == "bot" else DecisionLabelValue.BOT,
        )
        for decision in made
    ]
    logistic = {"model_type": ModelType.LOGISTIC}

    full = train([*decisions, *lies], plan(**logistic))
    tenth = train([*decisions, *lies], plan(**logistic, weight_synthetic=0.1))
    none = train([*decisions, *lies], plan(**logistic, weight_synthetic=0.0))

    assert full.ground.sources == {"operator": 480, "synthetic": 200}
    assert full.figures.roc_auc.value < tenth.figures.roc_auc.value
    assert none.ground.sources == {"operator": 480}
    assert none.model.weights == train(decisions, plan(**logistic)).model.weights


def test_the_metadata_shows_what_was_used_and_nothing_about_anyone(trained):
    metadata = trained.model.metadata

    assert metadata["labels"] == {"bot": 240, "human": 240}
    assert metadata["sources"] == {"operator": 480}
    assert metadata["visitors"] == 120
    assert (metadata["from"], metadata["to"]) == ("2026-11-15T12:00:00.000Z", "2026-11-15T19:59:00.000Z")
    assert metadata["options"]["seed"] == 1
    assert metadata["options"]["library"].startswith("scikit-learn ")
    assert metadata["labelReview"]["suspects"] == len(trained.suspects.suspects)
    assert set(metadata["crossValidation"]) == {"rocAuc", "prAuc", "brier", "logLoss", "thresholds"}
    assert [part["threshold"] for part in metadata["crossValidation"]["thresholds"]] == [0.5, 0.8, 0.95]
    assert 1 <= len(metadata["importances"]) <= 20
    text = to_json(trained.model).decode()
    assert all(word not in text for word in ("/login", "dec_0", "0000000000000001", "site_id"))


def test_a_feature_that_separates_alone_is_pointed_out():
    items = made_labels(480)
    for item in items:
        item["evidence"]["labels"] += ["net.tor"] if item["label"] == "bot" else []

    trained = train(read_labels(lines(items)), plan())

    assert trained.warnings[0].startswith("These features alone almost separate the classes: net.tor.")
    assert recommendation(trained).startswith("Resolve the first warning first")


def test_responses_out_of_balance_are_pointed_out():
    trained = train(read_labels(lines(made_labels(480, kinds=("bot", *["human"] * 11)))), plan())

    assert any(
        warning.startswith("The classes are imbalanced: 40 of bots, 440 of people.") for warning in trained.warnings
    )


def test_fewer_visitors_than_folds_are_blocked():
    decisions = read_labels(lines(made_labels(240, visits=40)))

    with pytest.raises(TrainingRefused, match=r"come from 3 visitor\(s\), and 4 folds need one each"):
        train(decisions, plan())


def test_evidence_without_any_usable_feature_is_rejected():
    items = made_labels(200, figures=False)
    for item in items:
        item["evidence"]["labels"] = ["model.bot.likely"]

    with pytest.raises(TrainingRefused, match="no feature is left to learn from"):
        train(read_labels(lines(items)), plan())


def test_the_calibration_with_the_least_error_on_unseen_rows_is_chosen():
    chance = np.random.default_rng(1)
    truth = chance.normal(0, 2, 4000)
    target = (chance.random(4000) < sigmoid(truth)).astype(np.int64)
    answers = Answers(target=target, weights=np.ones(4000))
    folds = np.arange(4000) % 5

    fair = choose(truth, answers, folds)
    overdone = choose(truth * 5 + 3, answers, folds)

    assert fair.name in {"none", "platt"}
    assert overdone.name == "platt"
    assert overdone.calibration.a == pytest.approx(0.2, abs=0.03)
    assert overdone.brier_by_name["platt"] < overdone.brier_by_name["none"]


def test_an_isotonic_curve_rises_ends_short_of_certainty_and_keeps_its_points_apart():
    margins = np.repeat([-3.0, -1.0, -1.0 + 1e-12, 1.0, 3.0], 20)
    target = np.repeat([0, 0, 1, 1, 1], 20)

    curve = CALIBRATIONS["isotonic"](margins, Answers(target=target, weights=np.ones(100)))

    assert isinstance(curve, Isotonic)
    assert curve.y == sorted(curve.y)
    assert (curve.y[0], curve.y[-1]) == (1 / 42, 1 - 1 / 62)
    assert all(after - before > 0.9e-6 for before, after in zip(curve.x, curve.x[1:], strict=False))


def test_platt_stays_finite_where_the_responses_are_apart():
    margins = np.repeat([-9.0, 9.0], 50)
    curve = CALIBRATIONS["platt"](margins, Answers(target=(margins > 0).astype(np.int64), weights=np.ones(100)))

    assert isinstance(curve, Platt)
    assert 0 < curve.a < 10


def test_metrics_over_folds_are_those_that_can_be_counted_by_hand():
    scores = np.array([0.1, 0.6, 0.9, 0.99, 0.2, 0.3, 0.4, 0.85])
    target = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    figures = figures_of(
        scores, Answers(target=target, weights=np.ones(8)), np.array([0, 0, 0, 0, 1, 1, 1, 1]), others=4
    )

    half, high, highest = figures.thresholds
    assert (half.false_positive_rate.value, half.recall.value) == (0.25, 0.75)
    assert (half.wrong, half.right) == (1, 3)
    assert half.precision.value == pytest.approx((2 / 3 + 1) / 2)
    # No visitor was wrongly found among four, which proves no more than "less than three quarters".
    assert (high.false_positive_rate.value, high.false_positive_rate.high) == (0.0, 0.75)
    assert highest.right == 1
    assert figures.roc_auc.value == 1.0
    assert figures.histogram[0][2] == 1
    assert sum(part.rows for part in figures.calibration) == 8


@pytest.mark.parametrize(
    ("column", "area"), [([0, 0, 1, 1], 1.0), ([1, 1, 0, 0], 1.0), ([1, 1, 1, 1], 0.5), ([0, 1, 0, 1], 0.5)]
)
def test_a_feature_alone_is_judged_whichever_way_it_points(column, area):
    assert alone(np.array(column, dtype=float), (np.array([1.0, 1.0, 0, 0]), np.array([0, 0, 1.0, 1.0]))) == area
