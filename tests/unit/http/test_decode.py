"""Bytes to typed input: ambiguous, unstorable or unknown input is rejected, with a message about what was sent."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Meta, UnsetType

from agentgate.http.decode import BodyDecoder, Disconnected, decode_query, explain, read_body
from agentgate.lib.enums import Mode
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Query, Record, SiteKey


class Part(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    number: int


class Order(Input, frozen=True, kw_only=True):
    refused_fields: ClassVar[Mapping[str, str]] = {"id": "forbidden_field", "siteKey": "immutable_field"}
    value_code: ClassVar[str | None] = "invalid_site"

    name: str | UnsetType = UNSET
    mode: Mode | UnsetType = UNSET
    amount: Annotated[int, Meta(ge=0, le=10)] = 1
    price: float = 0.0
    at: Moment | UnsetType = UNSET
    part: Part | UnsetType = UNSET
    parts: list[Part] | UnsetType = UNSET
    extra: Any = None


class Plain(Input, frozen=True, kw_only=True):
    amount: Annotated[int, Meta(le=10)]


class Filter(Query, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    from_: str | UnsetType = UNSET
    site_key: SiteKey | UnsetType = UNSET
    cursor: Annotated[str, Meta(max_length=9)] | UnsetType = UNSET
    mode: Mode | UnsetType = UNSET
    since: Moment | UnsetType = UNSET
    live: bool | UnsetType = UNSET


class Needed(Query, frozen=True, kw_only=True):
    site_key: SiteKey


ORDER = BodyDecoder(Order, malformed="bad_request")


def refusal(body: bytes, decoder: BodyDecoder = ORDER) -> Refused:
    with pytest.raises(Refused) as caught:
        decoder.decode(body)
    assert caught.value.message
    return caught.value


def query_refusal(kind: type[Query] | None, parameters: dict[str, str]) -> Refused:
    with pytest.raises(Refused) as caught:
        decode_query(kind, parameters)
    assert caught.value.message
    return caught.value


def test_a_body_becomes_its_record() -> None:
    body = b'{"name":"\\u00e9\\ud83d\\ude00","mode":"enforce","at":"1970-01-01T00:00:00.005Z","part":{"number":1}}'

    order = ORDER.decode(body)

    assert (order.name, order.mode, order.at, order.part) == ("\xe9\U0001f600", Mode.ENFORCE, Moment(5), Part(number=1))


@pytest.mark.parametrize(
    "body",
    [
        b'{"name":"a","name":"b"}',
        b'{"name":"a","name":"a"}',
        b'{"name":"a","n\\u0061me":"b"}',
        b'{"part":{"number":1,"number":2}}',
        b'{"parts":[{"number":1},{"number":1,"number":2}]}',
        b'{"extra":{"a":[[{"b":1,"b":2}]]}}',
        b'{"extra":[{"":1,"":2}]}',
    ],
)
def test_a_property_that_is_twice_is_rejected_at_any_depth(body: bytes) -> None:
    refused = refusal(body)

    assert (refused.code, refused.message) == ("bad_request", "An object contains a property twice.")


@pytest.mark.parametrize(
    "extra",
    [
        b"[" * 63 + b"]" * 63,
        b"[" + b"[[{}]]," * 1_000 + b"0]",
        b'"' + b"[" * 1_000 + b'"',
        b'["' + b'\\"[' * 1_000 + b'"]',
    ],
)
def test_a_body_may_have_64_levels_and_any_number_of_brackets(extra: bytes) -> None:
    assert ORDER.decode(b'{"name":"a","amount":1,"extra":' + extra + b"}")


def test_the_same_property_in_two_objects_is_fine() -> None:
    assert len(ORDER.decode(b'{"parts":[{"number":1},{"number":2}],"part":{"number":3}}').parts) == 2


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"{}{}",
        b"{} x",
        b"{'name':'a'}",
        b'{"name":"a",}',
        b'{"extra":NaN}',
        b'{"extra":Infinity}',
        b'{"extra":-Infinity}',
        b'{"price":NaN}',
        b'{"extra":1e999}',
        b'{"price":-1e999}',
        b'{"extra":01}',
        b'{"extra":+1}',
        b'{"extra":.5}',
        b'{"extra":0x10}',
        b'{"name":"\\ud800"}',
        b'{"extra":["\\udc00"]}',
        b'{"extra":{"\\ud800":1}}',
        b'{"name":"\xff"}',
        b'{"name":"\xed\xa0\x80"}',
        b'{"name":"\xc0\x80"}',
        b'{"name":"a\nb"}',
        b'{"name":"\x00"}',
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        b"{\x00}\x00",
        b"// note\n{}",
        b"null",
        b"[]",
        b"1",
        b'"text"',
        b'{"extra":' + b"[" * 100_000,
        b'{"extra":' + b'{"a":' * 50_000,
        b'{"extra":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
        b'{"extra":' + b"[" * 64 + b"]" * 64 + b"}",
        b'{"extra":' + b'{"a":' * 64 + b"1" + b"}" * 64 + b"}",
        b'{"extra":["\\"' + b",[{" * 32 + b"}]" * 32 + b"]}",
        b'{"amount":"1"}',
        b'{"amount":1.5}',
        b'{"amount":true}',
        b'{"amount":null}',
        b'{"name":5}',
        b'{"part":{}}',
        b'{"part":[]}',
    ],
)
def test_what_is_not_the_json_of_this_record_has_the_surfaces_code(body: bytes) -> None:
    # Numbers too large for a float are wrong in value; whatever else is here is wrong in form.
    code = refusal(body).code

    assert code == ("invalid_site" if b"e999" in body else "bad_request")


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b'{"mode":"off"}', "mode: "),
        (b'{"amount":11}', "amount: "),
        (b'{"amount":-1}', "amount: "),
        (b'{"amount":100000000000000000000000000}', "amount: "),
        (b'{"amount":1' + b"0" * 6_000 + b"}", "amount: "),
        (b'{"extra":1' + b"0" * 6_000 + b"}", "extra: "),
        (b'{"at":"yesterday"}', "at: "),
        (b'{"at":"9999-12-31T23:59:59-01:00"}', "at: "),
        (b'{"name":"a\\u0000b"}', "NUL"),
        (b'{"extra":[{"a":["\\u0000"]}]}', "NUL"),
        (b'{"extra":{"\\u0000":1}}', "NUL"),
        (b'{"extra":"\\\\\\u0000"}', "NUL"),
    ],
)
def test_a_wrong_value_has_the_records_own_code_and_names_the_place(body: bytes, part: str) -> None:
    refused = refusal(body)

    assert refused.code == "invalid_site"
    assert part in refused.message


def test_a_wrong_value_of_a_record_without_a_code_has_the_surfaces() -> None:
    plain = BodyDecoder(Plain, malformed="bad_request")

    assert refusal(b'{"amount":11}', plain).code == "bad_request"
    assert refusal(b"{}", plain).message == "Missing required property amount."


def test_a_backslash_before_u0000_is_text_like_any_other() -> None:
    assert ORDER.decode(b'{"name":"\\\\u0000"}').name == "\\u0000"


def test_long_numbers_that_fit_nowhere_do_not_cost_more_than_they_are_long() -> None:
    assert ORDER.decode(b'{"price":0.' + b"1" * 100_000 + b"}").price == pytest.approx(1 / 9)


def test_an_unknown_property_is_named_together_with_those_that_exist() -> None:
    refused = refusal(b'{"color":"red"}')

    assert refused.code == "bad_request"
    assert refused.message == (
        "color is not a known property; this body takes: name, mode, amount, price, at, part, parts, extra."
    )


def test_an_unknown_property_further_down_is_named_with_its_place() -> None:
    assert refusal(b'{"parts":[{"number":1,"id":2}]}').message == "id is not a known property in parts[0]."
    assert refusal(b'{"part":{"number":1,"x":2}}').message == "x is not a known property in part."


def test_some_properties_have_their_own_rejection_at_the_top_only() -> None:
    assert refusal(b'{"id":"x"}').code == "forbidden_field"
    assert "id is set by the server" in refusal(b'{"id":"x"}').message
    assert refusal(b'{"siteKey":"x"}').code == "immutable_field"
    assert "siteKey cannot be changed" in refusal(b'{"siteKey":"x"}').message
    assert refusal(b'{"part":{"number":1,"id":2}}').code == "bad_request"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
_FIELDS = st.sampled_from([*Order.__struct_encode_fields__, "id", "siteKey", "color", "a`b", ""])
# Cut at spaces: what bodies are made of, and what must not be in one.
_TOKENS = st.sampled_from(
    (
        rb'{ } [ ] , "name": "extra": "amount": "at": " 1 e - null true "mode":"enforce" "part":{"number":1} '
        b"\\u0000 \\ud800 \t \x00 \xc3\xa9 \xff"
    ).split(b" ")
)
_BODIES = (
    st.binary(max_size=200)
    | st.lists(_TOKENS, max_size=12).map(b"".join)
    | _JSON.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(_FIELDS, _JSON, max_size=4).map(lambda value: json.dumps(value).encode())
)


@given(_BODIES)
@settings(deadline=None, max_examples=200)
def test_no_bytes_do_anything_but_become_the_record_or_be_rejected(body: bytes) -> None:
    try:
        decoded = ORDER.decode(body)
    except Refused as refused:
        codes = {refused.code}
    else:
        codes = set()
        text = msgspec.json.encode(decoded, enc_hook=str)
        assert isinstance(decoded, Order)
        assert rb"\u0000" not in text.replace(rb"\\", b"")
    assert codes <= {"bad_request", "invalid_site", "forbidden_field", "immutable_field"}


async def body_of(*pieces: bytes, limit: int, declared: str | None = None, gone: bool = False) -> bytes:
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages.append({"type": "http.disconnect"} if gone else {"type": "http.request"})

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    return await read_body(receive, declared=declared, limit=limit, too_large="payload_too_large")


@pytest.mark.anyio
async def test_a_body_is_put_together_from_its_pieces_up_to_the_limit() -> None:
    assert await body_of(b"ab", b"", b"cd", limit=4) == b"abcd"
    assert await body_of(limit=0) == b""


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("declared", "pieces"), [("2049", []), (None, [b"x" * 1024, b"x" * 1025]), ("1", [b"x" * 2049])]
)
async def test_a_body_over_the_limit_is_rejected(declared: str | None, pieces: list[bytes]) -> None:
    with pytest.raises(Refused) as caught:
        await body_of(*pieces, limit=2048, declared=declared)

    assert (caught.value.code, caught.value.message) == (
        "payload_too_large",
        "The body is too large. Send at most 2 KiB.",
    )


@pytest.mark.anyio
async def test_a_client_that_goes_away_leaves_no_half_body() -> None:
    with pytest.raises(Disconnected):
        await body_of(b"{", limit=100, gone=True)


def test_a_query_becomes_its_record_and_what_is_absent_has_its_default() -> None:
    query = decode_query(Filter, {"limit": "7", "siteKey": "site_abcd", "mode": "enforce", "from": "x"})

    assert query == Filter(limit=7, site_key="site_abcd", mode=Mode.ENFORCE, from_="x")
    assert decode_query(Filter, {}) == Filter()
    assert decode_query(None, {}) is None


def test_flags_and_moments_of_a_query_are_not_taken_for_integers() -> None:
    query = decode_query(Filter, {"live": "true", "since": "1970-01-01T00:00:00.005Z"})

    assert query == Filter(live=True, since=Moment(5))


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("limit", "0", "invalid_limit"),
        ("limit", "501", "invalid_limit"),
        ("limit", "-1", "invalid_limit"),
        ("limit", "", "invalid_limit"),
        ("limit", "1.0", "invalid_limit"),
        ("limit", "1e2", "invalid_limit"),
        ("limit", " 7", "invalid_limit"),
        ("limit", "7 ", "invalid_limit"),
        ("limit", "+7", "invalid_limit"),
        ("limit", "1_0", "invalid_limit"),
        ("limit", "\u0667", "invalid_limit"),
        ("limit", "NaN", "invalid_limit"),
        ("limit", "1" + "0" * 40, "invalid_limit"),
        ("limit", "9" * 6_000, "invalid_limit"),
        ("siteKey", "shop", "invalid_site"),
        ("siteKey", "site_abcd\n", "invalid_site"),
        ("cursor", "x" * 10, "invalid_cursor"),
        ("mode", "off", "invalid_filter"),
        ("live", "maybe", "invalid_filter"),
        ("since", "9999-12-31T23:59:59-01:00", "invalid_filter"),
        ("color", "red", "invalid_filter"),
        ("from_", "x", "invalid_filter"),
        ("site_key", "site_abcd", "invalid_filter"),
    ],
)
def test_each_parameter_has_its_own_code_and_is_named(name: str, value: str, code: str) -> None:
    refused = query_refusal(Filter, {name: value})

    assert refused.code == code
    assert name in refused.message


def test_a_parameter_that_is_needed_is_missed_by_name() -> None:
    refused = query_refusal(Needed, {})

    assert (refused.code, refused.message) == ("invalid_site", "Missing required property siteKey.")


def test_a_route_without_parameters_shows_it() -> None:
    assert query_refusal(None, {"x": "1"}).message == (
        "x is not a parameter of this route. The route takes no query parameters."
    )


@given(st.dictionaries(st.sampled_from(Filter.__struct_encode_fields__) | st.text(max_size=4), st.text(), max_size=3))
@settings(deadline=None)
def test_no_parameters_do_anything_but_become_the_query_or_be_rejected(parameters: dict[str, str]) -> None:
    try:
        decoded = decode_query(Filter, parameters)
    except Refused as refused:
        codes = {refused.code}
    else:
        codes = set()
        assert 1 <= decoded.limit <= 500
    assert codes <= {"invalid_filter", "invalid_limit", "invalid_cursor", "invalid_site", "invalid_range"}


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        ("Expected `int`, got `str` - at `$.part.number`", "part.number: Expected int, got str."),
        ("Expected `object`, got `array`", "Expected object, got array."),
        ("Object missing required field `name`", "Missing required property name."),
        (r"Expected `str` matching regex '^a\\Z' - at `$.x`", "x: Expected str matching regex '^a$'."),
        ("Expected `str` - at `key in $.actions`", "actions: Expected str."),
    ],
)
def test_problems_are_reported_with_place_first_and_without_backticks(problem: str, text: str) -> None:
    assert explain(problem) == text
