"""Tables of labels and words: a wrong row is rejected when they are read."""

from pathlib import Path

import pytest
from msgspec import ValidationError

from agentgate.decision.signals import words
from agentgate.sites.rules import labels

WORDS = Path(words.__file__).with_suffix(".toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "row",
    [
        '[Net]\ntor = "A source in capitals"',
        '[net]\n"To r" = "A name with a space"',
        '[net]\ntor = ""',
        "[net]\ntor = 5",
        'tor = "A label without a source"',
    ],
)
def test_a_wrong_row_of_labels_is_rejected(row: str) -> None:
    with pytest.raises(ValidationError):
        labels.read_labels(row)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('console = ["PlayStation"', 'console = ["PlayStation", "PlayStation"'),
        ('console = ["PlayStation"', 'console = ["PlayStation", ""'),
        ('console = ["PlayStation"', 'console = ["PlayStation", 5'),
        ("makers = [", "unknown = []\nmakers = ["),
        ("makers = [", "makes = ["),
        ('robotic = ["input.robotic"', 'robotic = ["input.robotic", "input.abrupt"'),
    ],
)
def test_a_wrong_row_of_words_is_rejected(right: str, wrong: str) -> None:
    assert words.read_words(WORDS) == words.WORDS
    assert right in WORDS
    with pytest.raises(ValidationError):
        words.read_words(WORDS.replace(right, wrong, 1))
