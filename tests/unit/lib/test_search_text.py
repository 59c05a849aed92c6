"""Text as searches compare it."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgate.lib.names import folded, like_pattern

# SQLite reads text up to the first NUL, and cannot hold half of a surrogate pair; neither gets past the decoders.
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ACME", "acme"),
        ("STRASSE", "straße"),
        ("Ελλάς", "ΕΛΛΆΣ"),
        ("so\u0308hne", "SÖHNE"),
        ("ﬁrm", "FIRM"),
        ("\u212aelvin", "kelvin"),
    ],
)
def test_what_differs_in_case_or_spelling_only_is_alike(one: str, other: str) -> None:
    assert folded(one) == folded(other)


@pytest.mark.parametrize(("one", "other"), [("acme", "acne"), ("söhne", "sohne"), ("a b", "ab")])
def test_what_differs_in_letters_stays_different(one: str, other: str) -> None:
    assert folded(one) != folded(other)


@given(TEXT)
def test_folding_again_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)


@given(before=TEXT, wanted=TEXT, after=TEXT)
def test_a_pattern_finds_its_text_alone(before: str, wanted: str, after: str) -> None:
    text = folded(before) + folded(wanted) + folded(after)
    with sqlite3.connect(":memory:") as database:
        database.execute("PRAGMA case_sensitive_like = 1")
        query = r"SELECT ? LIKE ? ESCAPE '\', ? LIKE ? ESCAPE '\'"
        found = database.execute(query, (text, like_pattern(wanted), folded(before), like_pattern(wanted))).fetchone()
    database.close()

    assert found == (1, int(folded(wanted) in folded(before)))
