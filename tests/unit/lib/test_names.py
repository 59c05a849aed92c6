"""Names: kept as people write them, refused when they could be taken for something else."""

import pytest

from agentgate.lib.errors import Refused
from agentgate.lib.names import check_name


@pytest.mark.parametrize(
    ("name", "kept"), [("Shop", "Shop"), ("  Shop 2 \n", "Shop 2"), ("x" * 100, "x" * 100), ("店 é 🙂", "店 é 🙂")]
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
    ],
)
def test_a_name_that_cannot_be_seen_for_what_it_is_is_rejected(name: str) -> None:
    with pytest.raises(Refused) as caught:
        check_name(name, what="customerName", code="invalid_site")

    assert caught.value.code == "invalid_site"
    assert caught.value.message.startswith("customerName must ")
