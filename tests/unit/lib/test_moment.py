"""Moment: an integer inside, RFC 3339 outside, and ValueError for everything else."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgate.lib.moment import LATEST_MS, Moment

FIRST_MS = -62_135_596_800_000  # the first millisecond of the year 1


@pytest.mark.parametrize(
    ("text", "moment_ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-01-31T09:30:00Z", 1_769_851_800_000),
        ("2026-01-31t09:30:00z", 1_769_851_800_000),
        ("2026-01-31T10:30:00+01:00", 1_769_851_800_000),
        ("2026-01-31T04:00:00-05:30", 1_769_851_800_000),
        ("2026-01-31T09:30:00-00:00", 1_769_851_800_000),
        ("2026-01-31T09:30:00.5Z", 1_769_851_800_500),
        ("2026-01-31T09:30:00.123999999Z", 1_769_851_800_123),
        ("1969-12-31T23:59:58.500Z", -1_500),
        ("9999-12-31T23:59:59.999Z", LATEST_MS),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000),
    ],
)
def test_rfc3339_text_becomes_milliseconds(text: str, moment_ms: int) -> None:
    assert Moment.parse(text) == moment_ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-01-31",
        "2026-01-31T09:30:00",
        "2026-01-31 09:30:00Z",
        "2026-01-31T09:30Z",
        "2026-01-31T09:30:00Z\n",
        " 2026-01-31T09:30:00Z",
        "2026-01-31T09:30:00.Z",
        "2026-01-31T09:30:00.1234567890Z",
        "2026-01-31T09:30:00,5Z",
        "2026-02-30T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2016-12-31T23:59:60Z",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00+01:75",
        "2026-01-01T00:00:00+0100",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "+002026-01-31T09:30:00Z",
        "٢٠٢٦-01-31T09:30:00Z",
        "1769851800000",
    ],
)
def test_anything_else_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Moment.parse(text)


@given(st.integers(FIRST_MS, LATEST_MS))
@settings(deadline=None)
def test_what_is_written_is_read_back(moment_ms: int) -> None:
    assert Moment.parse(Moment(moment_ms).text()) == moment_ms


@given(st.text() | st.from_regex(r"\A\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)\Z"))
@settings(deadline=None)
def test_no_text_raises_anything_but_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert FIRST_MS <= Moment.parse(text) <= LATEST_MS


def test_a_moment_compares_and_adds_like_a_number() -> None:
    assert Moment(5) + 1 == 6
    assert Moment(5) < Moment(6)
