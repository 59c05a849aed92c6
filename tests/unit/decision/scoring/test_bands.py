"""Score bands as labels."""

import pytest

from agentgate.decision.scoring.features import band_labels


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        ({}, ()),
        ({"bot": 0.4999}, ()),
        ({"bot": 0.5}, ("model.bot.possible",)),
        ({"bot": 0.7999}, ("model.bot.possible",)),
        ({"bot": 0.8}, ("model.bot.likely", "model.bot.possible")),
        ({"content": 0.6, "agent": 1.0}, ("model.agent.likely", "model.agent.possible", "model.content.possible")),
    ],
)
def test_a_score_has_the_bands_that_it_reaches(scores: dict[str, float], labels: tuple[str, ...]) -> None:
    assert band_labels(scores) == labels


def test_bands_come_sorted_like_all_labels() -> None:
    found = band_labels({"content": 0.9, "bot": 0.9, "agent": 0.9})

    assert list(found) == sorted(found)
