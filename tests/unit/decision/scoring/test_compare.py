"""Comparing two models: agreement, what would change, and who is right about labeled decisions."""

import asyncio
from typing import Any

import msgspec
import pytest

from agentgate.decision.scoring.compare import agreement, label_rates, would_change
from agentgate.decision.scoring.promotion import CandidateReplay, guard, replay
from agentgate.decision.scoring.score import make_scorer
from agentgate.events.decision_ids import write_id
from agentgate.events.labels.records import LabelEvidence, StoredLabel
from agentgate.events.queries.replays import ScoreSample
from agentgate.lib.enums import DecisionKind, DecisionLabelValue, LabelSource, ModelKind, Outcome
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.records import convert
from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.evaluate import CompiledRules
from agentgate.sites.rules.records import RuleSet
from tests.support.service import NOON_MS
from tests.unit.decision.scoring.made_models import FIGURES, STUMP, forest, logistic, parsed

RULES = {
    "version": "1",
    "rules": [
        {"name": "sure", "match": {"score": "bot", "min_score": 0.9}, "action": "block"},
        {"name": "band", "match": {"all_labels": ["model.bot.possible"]}, "action": "challenge"},
    ],
    "default_action": "allow",
}


class Rules:
    """One rule set for site 1; no other site exists."""

    def compiled(self, site: int) -> CompiledRules | None:
        return compile_rules(convert(RULES, RuleSet)) if site == 1 else None


def sample(active: float, candidate: float, *, labels: tuple[str, ...] = (), site: int = 1, ruled: bool = True) -> Any:
    return ScoreSample(7, site, labels, {"bot": active, "agent": 0.1}, {"bot": candidate}, "*", None, ruled)


SCORER = make_scorer(parsed(logistic()))


def replayed(samples: list[ScoreSample]) -> CandidateReplay:
    return replay(samples, Rules(), ModelKind.BOT, (SCORER, SCORER))


def changes(samples: list[ScoreSample]) -> tuple[int, int, int]:
    found = would_change(replayed(samples))
    return found.total, found.stricter, found.looser


def stored(value: DecisionLabelValue, *labels: str, **evidence: Any) -> StoredLabel:
    return StoredLabel(
        site_id="st_1",
        decision=1,
        label=value,
        source=LabelSource.OPERATOR,
        note=None,
        actor="Olga",
        created_ms=NOON_MS,
        updated_ms=NOON_MS,
        evidence=LabelEvidence(
            time=Moment(NOON_MS),
            kind=DecisionKind.REQUEST,
            route="*",
            method="GET",
            outcome=Outcome.ALLOW,
            reasons=[],
            labels=list(labels),
            scores=evidence.pop("scores", {"bot": 0.2}),
            model_versions={},
            **evidence,
        ),
    )


def test_agreement_is_the_share_on_the_same_side_of_one_half() -> None:
    samples = [sample(0.1, 0.4), sample(0.4, 0.6), sample(0.5, 0.9), sample(0.9, 0.1)]

    assert agreement(samples, ModelKind.BOT) == 0.5


def test_nothing_to_compare_has_no_agreement() -> None:
    assert agreement([], ModelKind.BOT) is None


def test_a_higher_score_is_stricter_and_a_lower_one_looser() -> None:
    samples = [sample(0.1, 0.95), sample(0.1, 0.6), sample(0.6, 0.95), sample(0.95, 0.1), sample(0.2, 0.3)]

    assert changes(samples) == (4, 3, 1)
    assert would_change(replayed(samples)).decisions == [write_id(7)] * 4


def test_bands_of_the_old_score_do_not_stay_behind() -> None:
    was_possible = sample(0.6, 0.1, labels=("model.bot.possible", "ua.browser"))

    assert changes([was_possible]) == (1, 0, 1)


def test_what_the_rules_did_not_decide_and_sites_that_are_gone_do_not_count() -> None:
    samples = [sample(0.1, 0.95, ruled=False), sample(0.1, 0.95, site=2)]

    assert changes(samples) == (0, 0, 0)


def test_both_models_score_the_evidence_of_each_label() -> None:
    active = make_scorer(parsed(logistic()))
    candidate = make_scorer(parsed(forest(features=[FIGURES[0]], trees=[STUMP], bias=0.0)))
    labels = [
        stored(DecisionLabelValue.BOT, "net.datacenter", features={"net.datacenter": 1.0, FIGURES[0]: 9.0}),
        stored(DecisionLabelValue.BOT),
        stored(DecisionLabelValue.HUMAN, "agent.verified"),
        stored(DecisionLabelValue.UNSURE, "net.datacenter"),
    ]

    found = label_rates(labels, ModelKind.BOT, (active, candidate), None)

    assert set(found) == {DecisionLabelValue.HUMAN, DecisionLabelValue.BOT}
    bots, people = found[DecisionLabelValue.BOT], found[DecisionLabelValue.HUMAN]
    # The candidate reads a figure: a label without captured features cannot judge it.
    assert (bots.samples, bots.without_features, people.samples, people.without_features) == (1, 1, 0, 1)
    assert (bots.active_rate, bots.candidate_rate) == (1.0, 1.0)
    assert bots.asked.candidate_rate == 0.0
    assert bots.asked.candidate_interval[1] > 0.5


def test_labels_that_the_candidate_was_trained_on_do_not_count() -> None:
    labels = [stored(DecisionLabelValue.BOT, "net.datacenter")]

    seen = label_rates(labels, ModelKind.BOT, (SCORER, SCORER), Moment(NOON_MS))[DecisionLabelValue.BOT]
    unseen = label_rates(labels, ModelKind.BOT, (SCORER, SCORER), Moment(NOON_MS - 1))[DecisionLabelValue.BOT]

    assert (seen.samples, seen.trained_on) == (0, 1)
    assert (unseen.samples, unseen.trained_on) == (1, 0)


def test_stored_requests_are_scored_again_unless_the_model_reads_numbers() -> None:
    without_shadow = ScoreSample(7, 1, ("net.datacenter",), {"bot": 0.1}, {}, "*", None, True)
    figures = make_scorer(parsed(forest(features=[FIGURES[0]], trees=[STUMP])))

    again = replay([without_shadow], Rules(), ModelKind.BOT, (SCORER, SCORER))
    unjudged = replay([without_shadow], Rules(), ModelKind.BOT, (SCORER, figures))

    assert (again.judged, len(again.changes)) == (1, 1)
    assert (unjudged.judged, unjudged.unjudged) == (0, 1)


@pytest.mark.parametrize(
    ("refused", "total", "is_accepted"), [(0, 200, True), (2, 200, True), (3, 200, False), (199, 199, True)]
)
def test_a_candidate_that_newly_challenges_many_must_be_confirmed(refused: int, total: int, is_accepted: bool) -> None:
    samples = [sample(0.1, 0.95 if number < refused else 0.1) for number in range(total)]

    if is_accepted:
        asyncio.run(guard(replayed(samples), {}, requests=total))
        return
    with pytest.raises(Refused) as problem:
        asyncio.run(guard(replayed(samples), {}, requests=total))

    assert problem.value.code == "confirmation_required"
    assert problem.value.extra["newlyRefused"] == refused
    assert problem.value.extra["decisions"] == [write_id(7)] * refused
    assert problem.value.extra["upperBound"] > refused / total


def test_people_by_label_weigh_more_than_the_rest_and_labeled_bots_do_not_count() -> None:
    samples = [sample(0.1, 0.95 if number < 2 else 0.1) for number in range(400)]
    named = [msgspec.structs.replace(each, id=number) for number, each in enumerate(samples)]

    asyncio.run(guard(replayed(named), {0: False, 1: False}, requests=400))
    with pytest.raises(Refused) as problem:
        asyncio.run(guard(replayed(named), {0: True, 100: True}, requests=400))

    assert "1 of 2 decisions labeled human" in str(problem.value.message)


def test_a_candidate_that_no_stored_request_can_judge_must_be_confirmed() -> None:
    figures = make_scorer(parsed(forest(features=[FIGURES[0]], trees=[STUMP])))
    samples = [ScoreSample(7, 1, (), {"bot": 0.1}, {}, "*", None, True)] * 200
    found = replay(samples, Rules(), ModelKind.BOT, (SCORER, figures))

    with pytest.raises(Refused) as problem:
        asyncio.run(guard(found, {}, requests=200))

    assert "Let it score traffic in shadow first" in str(problem.value.message)


def test_content_models_are_queried_only_about_decisions_with_content() -> None:
    scorer = make_scorer(parsed(logistic(kind="content")))
    labels = [stored(DecisionLabelValue.BOT), stored(DecisionLabelValue.BOT, scores={"bot": 0.2, "content": 0.4})]

    assert label_rates(labels, ModelKind.CONTENT, (scorer, scorer), None)[DecisionLabelValue.BOT].samples == 1
