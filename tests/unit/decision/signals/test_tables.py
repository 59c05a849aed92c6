"""Tables of labels and words: a wrong row is rejected when they are read."""

from pathlib import Path

import pytest
from msgspec import ValidationError

from agentgate.decision.signals import browsers, words
from agentgate.sites.rules import labels

BROWSERS = Path(browsers.__file__).with_suffix(".toml").read_text(encoding="utf-8")
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


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("hints_since = 90", 'hints_since = "90"'),
        ("hints_since = 90", "hints_since = 0"),
        ("hints_since = 90", "hints_from = 90"),
        ("[engines.edgehtml]", "[engines.Edge]"),
        ('["accept", "accept-encoding", "accept-language"]', '["accept", "accept-encoding", "accept"]'),
        ('["accept", "accept-encoding", "accept-language"]', '["Accept", "accept-encoding"]'),
        ('["accept", "accept-encoding", "accept-language"]', '["accept"]'),
        ("tls_form = [10, 18, 13]", "tls_form = [10, 18]"),
        ('8daaf6152771 = "chromium"', '8daaf615277 = "chromium"'),
        ('8daaf6152771 = "chromium"', '8daaf6152771 = "chrome"'),
    ],
)
def test_a_wrong_row_of_browsers_is_rejected(right: str, wrong: str) -> None:
    assert browsers.read_browsers(BROWSERS) == browsers.BROWSERS
    assert right in BROWSERS
    with pytest.raises(ValidationError):
        browsers.read_browsers(BROWSERS.replace(right, wrong, 1))
