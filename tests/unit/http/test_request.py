"""A request's head: headers, cookies however they are spaced, and a query that is read in one way only."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgate.http.request import Request
from agentgate.lib.errors import Refused


def request(query: bytes = b"", **headers: str) -> Request:
    pairs = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    return Request(method="GET", path="/", query_string=query, headers=pairs, address="192.0.2.1", secure=False)


def test_a_header_is_found_whatever_the_case_asked_for() -> None:
    asked = request(x_admin_key="k\xe9y")

    assert asked.header("X-Admin-Key") == "k\xe9y"
    assert asked.header("X-Admin") is None


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("ag_admin=abc", "abc"),
        ("a=1; ag_admin=abc; b=2", "abc"),
        ("a=1;ag_admin=abc;b=2", "abc"),
        ("a=1;  ag_admin=abc", "abc"),
        ("a=1;\tag_admin=abc", "abc"),
        (" ag_admin=abc ", "abc"),
        ("ag_admin=abc;", "abc"),
        ("ag_admin=a=b", "a=b"),
        ("ag_admin=abc; ag_admin=abc", "abc"),
        ("ag_admin=", ""),
        ("", None),
        ("other=abc", None),
        ("AG_ADMIN=abc", None),
        ("xag_admin=abc", None),
        ("ag_adminx=abc", None),
        ("a=ag_admin=abc", None),
        ('ag_admin="abc"', None),
        ("ag_admin=a b", None),
        ("ag_admin=a,b", None),
        ("ag_admin=a\\b", None),
        ("ag_admin=\xe9", None),
        ("ag_admin=\x7f", None),
    ],
)
def test_a_cookie_is_read_wherever_the_spaces_are(header: str, value: str | None) -> None:
    assert request(cookie=header).cookie("ag_admin") == value


@pytest.mark.parametrize(
    "header",
    [
        "ag_admin=planted; ag_admin=real",
        "ag_admin=real; ag_admin=planted",
        "ag_admin=planted;ag_admin=real",
        "ag_admin =planted; ag_admin=real",
        "ag_admin=; ag_admin=real",
        "ag_admin; ag_admin=real",
        "ag_admin=real;\tag_admin=planted",
    ],
)
def test_two_cookies_of_one_name_with_different_values_are_none(header: str) -> None:
    assert request(cookie=header).cookie("ag_admin") is None


def test_without_a_cookie_header_there_is_no_cookie() -> None:
    assert request().cookie("ag_admin") is None


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        (b"", {}),
        (b"&&", {}),
        (b"limit=5", {"limit": "5"}),
        (b"limit=5&", {"limit": "5"}),
        (b"a=1&b=2", {"a": "1", "b": "2"}),
        (b"a", {"a": ""}),
        (b"a=b=c", {"a": "b=c"}),
        (b"a=1;b=2", {"a": "1;b=2"}),
        (b"name=a+b%20c%2Bd", {"name": "a b c+d"}),
        (b"name=%C3%A9", {"name": "\xe9"}),
        (b"%6Eame=x", {"name": "x"}),
        (b"a=%", {"a": "%"}),
        (b"a=%zz", {"a": "%zz"}),
    ],
)
def test_a_query_is_split_and_decoded_once(query: bytes, parameters: dict[str, str]) -> None:
    assert request(query).query() == parameters


@pytest.mark.parametrize(
    "query",
    [
        b"limit=1&limit=2",
        b"limit=1&limit=1",
        b"limit=1&%6Cimit=1",
        b"a=%FF",
        b"%FF=a",
        b"a=%C3",
        b"a=%ED%A0%80",
        b"a=%C0%80",
        b"a=%00",
        b"%00=a",
        b"a=x%00y",
    ],
)
def test_a_query_that_could_be_read_in_two_ways_or_not_at_all_is_rejected(query: bytes) -> None:
    with pytest.raises(Refused) as caught:
        request(query).query()

    assert caught.value.code == "invalid_filter"


@given(st.binary(max_size=60) | st.from_regex(rb"\A([a%&=+]|%[0-9A-Fa-f]{2})*\Z"))
@settings(deadline=None)
def test_no_bytes_do_anything_but_be_read_as_storable_text_or_be_rejected(query: bytes) -> None:
    try:
        parameters = request(query).query()
    except Refused as refused:
        codes = {refused.code}
    else:
        codes = set()
        assert all("\0" not in text and text.encode() for pair in parameters.items() for text in pair if text)
    assert codes <= {"invalid_filter"}
