"""Reading `Accept-Language`."""

import pytest

from agentgate.http.request import LONGEST_HEADER, preferred_languages


@pytest.mark.parametrize(
    ("header", "tags"),
    [
        (None, []),
        ("", []),
        ("de", ["de"]),
        ("de-AT,en;q=0.8", ["de-AT", "en"]),
        ("en;q=0.3, fr ; q=0.9, de", ["de", "fr", "en"]),
        ("en,de", ["en", "de"]),
        ("en;q=0,de;q=0.1", ["de"]),
        ("en;q=2,*,de", ["de"]),
        ("x" * LONGEST_HEADER + ",de", []),
    ],
)
def test_languages_come_by_weight_and_then_in_their_order(header, tags):
    assert preferred_languages(header) == tags
