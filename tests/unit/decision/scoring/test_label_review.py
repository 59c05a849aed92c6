"""The review of labels finds wrong ones first, in sessions of real browsers and automation tools."""

import json
from collections.abc import Collection
from pathlib import Path
from random import Random

import pytest

from agentgate.decision.scoring.label_review import Review, ReviewedLabel, review

SESSIONS = Path(__file__).parents[4] / "bench/bot_model/sessions.ndjson"
COPIES = 6


def labels(wrong: Collection[int] = (), *, by: str = "ann") -> list[ReviewedLabel]:
    """Return sessions of the lab as labels, those with the numbers `wrong` with the opposite label."""
    sessions = [json.loads(line) for line in SESSIONS.read_text("utf-8").splitlines()] * COPIES
    return [
        ReviewedLabel(
            decision=f"dec_{number:05d}",
            target=int((session["kind"] == "bot") != (number in wrong)),
            labels=tuple(session["labels"]),
            visitor=f"visitor {number}",
            actor=by if number in wrong else "ann",
            source="operator",
        )
        for number, session in enumerate(sessions)
    ]


def among_first(found: Review, wrong: Collection[int], *, share: float) -> float:
    """Return how many of the wrong labels are among the first suspects, so many as this share of all labels."""
    first = {suspect.decision for suspect in found.suspects[: round(found.labels * share)]}
    return sum(f"dec_{number:05d}" in first for number in wrong) / len(wrong)


@pytest.mark.parametrize("seed", range(5))
def test_the_first_tenth_has_80_percent_of_the_labels_that_were_flipped(seed: int) -> None:
    count = len(labels())
    wrong = Random(seed).sample(range(count), count // 10)

    assert among_first(review(labels(wrong)), wrong, share=0.1) >= 0.8


@pytest.mark.parametrize("trait", ["browser.webdriver", "input.robotic"])
@pytest.mark.parametrize("by", ["ann", "mallory"])
def test_the_first_tenth_has_the_labels_of_an_attacker_who_calls_a_trait_human(trait: str, by: str) -> None:
    with_trait = [number for number, item in enumerate(labels()) if item.target and trait in item.labels]
    wrong = Random(1).sample(with_trait, len(labels()) // 11)

    assert among_first(review(labels(wrong, by=by)), wrong, share=0.1) >= 0.95


@pytest.mark.parametrize("trait", ["browser.webdriver", "input.robotic", "input.short_keys", "evidence.doubtful"])
def test_labels_of_a_trait_that_an_attacker_always_calls_human_are_suspects(trait: str) -> None:
    items = labels()
    wrong = [number for number, item in enumerate(items) if item.target and trait in item.labels]

    assert among_first(review(labels(wrong)), wrong, share=len(wrong) / len(items)) >= 0.95


def test_labels_of_a_user_who_is_often_doubted_come_before_equal_ones_of_others() -> None:
    chance = Random(2)
    bots = [number for number, item in enumerate(labels()) if item.target]
    mallorys, anns = bots[:30], chance.sample(bots[30:], 10)
    items = [
        item if number not in anns else ReviewedLabel(item.decision, 0, item.labels, item.visitor, "ann", item.source)
        for number, item in enumerate(labels(mallorys, by="mallory"))
    ]

    first = review(items).suspects[: len(mallorys)]

    assert sum(int(suspect.decision[4:]) in mallorys for suspect in first) >= 29
