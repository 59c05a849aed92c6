"""The summary of a submission for a person: plain and of bounded length, whatever an agent sends."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgate.agents.handoff.handoffs import (
    MOST_ENTRIES,
    NAME_CHARACTERS,
    VALUE_CHARACTERS,
    read_summary,
    summarize,
)

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=20),
    max_leaves=30,
)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("Hello", [("", "Hello")]),
        (
            {"a": "x", "b": 2, "c": None, "d": {"e": [True]}},
            [("a", "x"), ("b", "2"), ("c", "null"), ("d", '{"e": [true]}')],
        ),
        ({"a": "one\r\ntwo\tthree\x00"}, [("a", "one two three")]),
        ({"invoice\u202efdp": "\u2066a\u200bb"}, [("invoice fdp", "a b")]),
        ([], [("", "[]")]),
        ({}, []),
    ],
)
def test_content_becomes_plain_lines(content, lines):
    assert read_summary(summarize(content)) == lines


def test_what_is_too_long_or_too_much_is_cut_and_shows_it():
    lines = read_summary(summarize({f"{'n' * 99}{number}": "v" * 999 for number in range(20)}))

    assert lines[0] == ("n" * (NAME_CHARACTERS - 1) + "…", "v" * (VALUE_CHARACTERS - 1) + "…")
    assert lines[-1] == ("", "… +8")


def test_a_summary_that_is_gone_has_no_lines():
    assert read_summary(None) == []


@given(content=ANYTHING)
def test_no_content_makes_a_summary_long_or_hides_anything_in_it(content):
    summary = summarize(content)

    assert len(read_summary(summary)) <= MOST_ENTRIES + 1
    assert all(part.isprintable() or part == "" for line in json.loads(summary) for part in line)
    assert max((len(part) for line in json.loads(summary) for part in line), default=0) <= VALUE_CHARACTERS
