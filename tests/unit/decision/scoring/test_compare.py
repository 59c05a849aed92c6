"""Comparing two models: agreement, what would change, and who is right about labeled decisions."""

from typing import Any

from agentgate.decision.scoring.compare import agreement, count_changes, label_rates
from agentgate.decision.scoring.records import LabelRates, ScoreSample, WouldChange
from agentgate.decision.scoring.score import make_scorer
from agentgate.events.label_records import LabelEvidence, StoredLabel
from agentgate.lib.enums import DecisionKind, DecisionLabelValue, LabelSource, ModelKind, Outcome
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
    return ScoreSample(site, labels, {"bot": active, "agent": 0.1}, {"bot": candidate}, "*", None, ruled)


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

    assert count_changes(samples, Rules(), ModelKind.BOT) == WouldChange(total=4, stricter=3, looser=1)


def test_bands_of_the_old_score_do_not_stay_behind() -> None:
    was_possible = sample(0.6, 0.1, labels=("model.bot.possible", "ua.browser"))

    assert count_changes([was_possible], Rules(), ModelKind.BOT) == WouldChange(total=1, stricter=0, looser=1)


def test_what_the_rules_did_not_decide_and_sites_that_are_gone_do_not_count() -> None:
    samples = [sample(0.1, 0.95, ruled=False), sample(0.1, 0.95, site=2)]

    assert count_changes(samples, Rules(), ModelKind.BOT) == WouldChange(total=0, stricter=0, looser=0)


def test_both_models_score_the_evidence_of_each_label() -> None:
    active = make_scorer(parsed(logistic()))
    candidate = make_scorer(parsed(forest(features=[FIGURES[0]], trees=[STUMP], bias=0.0)))
    labels = [
        stored(DecisionLabelValue.BOT, "net.datacenter", features={"net.datacenter": 1.0, FIGURES[0]: 9.0}),
        stored(DecisionLabelValue.BOT),
        stored(DecisionLabelValue.HUMAN, "agent.verified"),
        stored(DecisionLabelValue.UNSURE, "net.datacenter"),
    ]

    assert label_rates(labels, ModelKind.BOT, active, candidate) == {
        DecisionLabelValue.HUMAN: LabelRates(samples=1, active_rate=0.0, candidate_rate=0.0),
        DecisionLabelValue.BOT: LabelRates(samples=2, active_rate=0.5, candidate_rate=0.5),
    }


def test_content_models_are_queried_only_about_decisions_with_content() -> None:
    scorer = make_scorer(parsed(logistic(kind="content")))
    labels = [stored(DecisionLabelValue.BOT), stored(DecisionLabelValue.BOT, scores={"bot": 0.2, "content": 0.4})]

    assert label_rates(labels, ModelKind.CONTENT, scorer, scorer)[DecisionLabelValue.BOT].samples == 1
