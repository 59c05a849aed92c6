"""Names: kept as people write them, rejected when they could be taken for something else."""

import pytest

from agentgate.lib.errors import Refused
from agentgate.lib.names import check_name

# Persian, Marathi, and two emoji that are sequences.
JOINED = (
    "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627",
    "\u0930\u094d\u200d\u092f",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u2764\ufe0f",
)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("Shop", "Shop"),
        ("  Shop 2 \n", "Shop 2"),
        ("x" * 100, "x" * 100),
        ("店 é 🙂", "店 é 🙂"),
        *((each, each) for each in JOINED),
    ],
)
def test_a_name_is_kept_without_the_spaces_around_it(name: str, kept: str) -> None:
    assert check_name(name) == kept


@pytest.mark.parametrize(
    "name",
    [
        "",
        "   ",
        "\n",
        "x" * 101,
        "two\nlines",
        "tab\there",
        "nul\0",
        "bell\x07",
        "esc\x1b[31m",
        "del\x7f",
        "lone\ud800",
        "bidi\u202eoverride",
        "bidi\u2066isolate",
        "mark\u200f",
        "zero\u200bwidth",
        "line\u2028separator",
        "\ufeffbom",
        "private\ue000use",
        # Nothing of these can be seen.
        "\u200c",
        "\u200d\u200c",
        "\u3164",
        "\u2800 \u115f",
        "\ufe0f",
        "\u0301",
    ],
)
def test_a_name_that_cannot_be_seen_for_what_it_is_is_rejected(name: str) -> None:
    with pytest.raises(Refused) as caught:
        check_name(name, what="customerName", code="invalid_site")

    assert caught.value.code == "invalid_site"
    assert caught.value.message.startswith("customerName must ")
