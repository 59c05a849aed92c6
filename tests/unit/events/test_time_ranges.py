"""Time ranges: three formats, default and longest spans, and one code for everything else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from agentgate.events.time_ranges import TimeRange, read_moment, read_range
from agentgate.lib.clock import DAY_MS, HOUR_MS, to_rfc3339
from agentgate.lib.errors import Refused
from agentgate.lib.moment import LATEST_MS

NOW_MS = 1_794_744_000_000  # 2026-11-15T12:00:00Z
MIDNIGHT_MS = NOW_MS - 12 * HOUR_MS
MONTH_MS = 31 * DAY_MS


def read(from_text: str | UnsetType = UNSET, to_text: str | UnsetType = UNSET) -> TimeRange:
    return read_range(from_text, to_text, now_ms=NOW_MS, default_ms=DAY_MS, longest_ms=MONTH_MS)


def refusal(from_text: str | UnsetType = UNSET, to_text: str | UnsetType = UNSET) -> Refused:
    with pytest.raises(Refused) as caught:
        read(from_text, to_text)
    assert caught.value.code == "invalid_range"
    return caught.value


def test_without_from_and_to_it_is_the_default_span_up_to_now() -> None:
    assert read() == TimeRange(NOW_MS - DAY_MS, NOW_MS)


def test_without_from_it_is_the_default_span_up_to_the_end() -> None:
    assert read(to_text=str(5 * DAY_MS)) == TimeRange(4 * DAY_MS, 5 * DAY_MS)


def test_a_default_span_does_not_reach_behind_1970() -> None:
    assert read(to_text="1000") == TimeRange(0, 1000)


@pytest.mark.parametrize(
    ("text", "moment_ms"),
    [
        ("2026-11-15", MIDNIGHT_MS),
        ("2026-11-15T00:00:00Z", MIDNIGHT_MS),
        ("2026-11-15T01:00:00.250+01:00", MIDNIGHT_MS + 250),
        (str(MIDNIGHT_MS), MIDNIGHT_MS),
        ("0", 0),
        ("007", 7),
        ("1970-01-01", 0),
        ("2024-02-29", 1_709_164_800_000),
        ("9999-12-31T23:59:59.999Z", LATEST_MS),
        (str(LATEST_MS), LATEST_MS),
        ("9999-12-31", LATEST_MS - DAY_MS + 1),
    ],
)
def test_a_moment_has_three_formats(text: str, moment_ms: int) -> None:
    assert read_moment("from", text) == moment_ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "now",
        "NaN",
        "Infinity",
        "-1",
        "+1",
        "1.5",
        "1e3",
        "1_000",
        "0x10",
        "1" + "0" * 40,
        "9" * 15,
        str(LATEST_MS + 1),
        "٢٠٢٦-11-15",
        "١٧٩٤",
        "2026-11-15\n",
        "2026-11-31",
        "2026-1-5",
        "0000-01-01",
        "10000-01-01",
        "0001-01-01",
        "1969-12-31",
        "1969-12-31T23:59:59.999Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-23:59",
        "2016-12-31T23:59:60Z",
        "2026-11-15T24:00:00Z",
        "2026-11-15T00:00:00",
        "\0",
        "\ud800",
    ],
)
def test_anything_else_is_an_invalid_range_that_names_the_parameter(text: str) -> None:
    for name in ("from", "to"):
        refused = refusal(**{f"{name}_text": text})
        assert refused.message.startswith(f"{name} must ")


def test_days_before_1970_are_rejected_even_within_a_span_that_is_short_enough() -> None:
    assert refusal("1969-12-01", "1969-12-20").code == "invalid_range"


def test_the_longest_span_is_allowed_and_a_millisecond_more_is_not() -> None:
    assert read(str(NOW_MS - MONTH_MS)) == TimeRange(NOW_MS - MONTH_MS, NOW_MS)

    assert "31 days" in refusal(str(NOW_MS - MONTH_MS - 1)).message


def test_a_limit_in_hours_is_shown_in_hours() -> None:
    with pytest.raises(Refused) as caught:
        read_range("0", "1790000000000", now_ms=NOW_MS, default_ms=HOUR_MS, longest_ms=12 * HOUR_MS)

    assert "12 hours" in caught.value.message


@pytest.mark.parametrize(("start", "end"), [("5", "5"), ("6", "5"), ("2026-11-15", "2026-11-15"), ("0", "0")])
def test_from_must_be_before_to(start: str, end: str) -> None:
    assert refusal(start, end).message == "from must be earlier than to."


def test_a_from_in_the_future_without_a_to_be_rejected() -> None:
    assert refusal(str(NOW_MS + 1)).message == "from must be earlier than to."


_TEXTS = (
    st.text()
    | st.integers(-(10**45), 10**45).map(str)
    | st.floats().map(str)
    | st.datetimes().map(lambda moment: moment.isoformat() + "Z")
    | st.dates().map(str)
    | st.from_regex(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9:.]{8,14}([Zz]|[+-][0-9]{2}:[0-9]{2}))?\Z")
)


@given(_TEXTS | st.just(UNSET), _TEXTS | st.just(UNSET))
@settings(deadline=None, max_examples=300)
def test_no_text_does_anything_but_give_a_sound_range_or_be_rejected(
    from_text: str | UnsetType, to_text: str | UnsetType
) -> None:
    try:
        found = read(from_text, to_text)
    except Refused as refused:
        codes = {refused.code}
    else:
        codes = set()
        assert 0 <= found.from_ms < found.to_ms <= LATEST_MS
        assert found.to_ms - found.from_ms <= MONTH_MS
    assert codes <= {"invalid_range"}


@given(st.integers(0, LATEST_MS))
@settings(deadline=None)
def test_every_moment_of_a_response_can_be_sent_back(moment_ms: int) -> None:
    assert read_moment("to", str(moment_ms)) == moment_ms
    assert read_moment("to", to_rfc3339(moment_ms)) == moment_ms
