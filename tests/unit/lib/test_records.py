"""Records: camel case on the wire, unknown properties rejected on the way in, absent is not null."""

from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import pytest
from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.http.endpoint import shape_of
from agentgate.lib.moment import Moment
from agentgate.lib.records import (
    CREDENTIAL_ID_PATTERN,
    SITE_KEY_PATTERN,
    Input,
    Query,
    Record,
    SiteKey,
    convert,
    given,
    json_decoder,
    optional,
    optional_moment,
    to_builtins,
    to_json,
)
from agentgate.routes import SURFACES


class Parcel(Record, frozen=True, kw_only=True):
    sent_at: Moment
    weight_grams: int | UnsetType = UNSET


class ParcelInput(Input, frozen=True, kw_only=True):
    weight_grams: int | UnsetType = UNSET
    sent_at: Moment | UnsetType = UNSET


class ParcelQuery(Query, frozen=True, kw_only=True):
    limit: int = 5


class KeyInput(Input, frozen=True, kw_only=True):
    site_key: SiteKey


def test_names_are_camel_case_moments_are_text_and_what_is_unset_is_absent() -> None:
    assert to_json(Parcel(sent_at=Moment(0))) == b'{"sentAt":"1970-01-01T00:00:00.000Z"}'
    assert to_builtins(Parcel(sent_at=Moment(0), weight_grams=0)) == {
        "sentAt": "1970-01-01T00:00:00.000Z",
        "weightGrams": 0,
    }


def test_a_moment_is_read_from_text_only() -> None:
    read = json_decoder(ParcelInput).decode

    assert read(b'{"sentAt":"1970-01-01T00:00:00.001Z"}').sent_at == Moment(1)
    for wrong in (b"1", b'"1"', b"null", b'"9999-12-31T23:59:59-23:59"'):
        with pytest.raises(msgspec.ValidationError):
            read(b'{"sentAt":' + wrong + b"}")


def test_an_input_rejects_what_it_does_not_name_and_a_number_in_quotes() -> None:
    read = json_decoder(ParcelInput).decode

    for wrong in (b'{"weight":1}', b'{"weight_grams":1}', b'{"weightGrams":"1"}', b'{"weightGrams":null}', b"[]"):
        with pytest.raises(msgspec.ValidationError):
            read(wrong)


def test_a_query_reads_numbers_from_text() -> None:
    assert convert({"limit": "7"}, ParcelQuery, strict=False).limit == 7


def test_given_names_what_was_sent_even_when_it_is_zero() -> None:
    assert given(ParcelInput(weight_grams=0)) == {"weight_grams": 0}
    assert given(ParcelInput()) == {}


def test_null_of_the_database_is_absent_on_the_wire_and_zero_is_not() -> None:
    assert (optional(None), optional(0), optional("")) == (UNSET, 0, "")
    assert (optional_moment(None), optional_moment(0)) == (UNSET, Moment(0))


@pytest.mark.parametrize(
    ("key", "fits"),
    [
        ("site_abcd", True),
        ("site_" + "x" * 64, True),
        ("site_A-b_9", True),
        ("site_abc", False),
        ("site_" + "x" * 65, False),
        ("site_abcd\n", False),
        ("xsite_abcd", False),
        ("site_ab.d", False),
        ("site_äbcd", False),
    ],
)
def test_a_site_key_has_its_pattern_and_nothing_behind_it(key: str, fits: bool) -> None:
    body = msgspec.json.encode({"siteKey": key})

    if fits:
        assert json_decoder(KeyInput).decode(body).site_key == key
    else:
        with pytest.raises(msgspec.ValidationError):
            json_decoder(KeyInput).decode(body)


@pytest.mark.parametrize("pattern", [SITE_KEY_PATTERN, CREDENTIAL_ID_PATTERN])
def test_patterns_are_anchored_at_both_ends(pattern: str) -> None:
    assert pattern.startswith("^")
    assert pattern.endswith(r"\Z")


def numbers_of(kind: Any, *, place: str) -> list[tuple[str, Meta | None]]:
    """Return place and bounds of every integer that can arrive in a type, however deep."""
    if kind is int:
        return [(place, None)]
    if get_origin(kind) is Annotated:
        inner, *notes = get_args(kind)
        bounds = next((note for note in notes if isinstance(note, Meta)), None)
        return [(place, bounds)] if inner is int else numbers_of(inner, place=place)
    if isinstance(kind, type) and issubclass(kind, Struct):
        hints = get_type_hints(kind, include_extras=True)
        fields = [(name, hints[name]) for name in kind.__struct_fields__]
        return [found for name, hint in fields for found in numbers_of(hint, place=f"{kind.__name__}.{name}")]
    return [found for part in get_args(kind) for found in numbers_of(part, place=place)]


def test_the_search_for_numbers_finds_them_at_any_depth() -> None:
    bounded = Annotated[int, Meta(ge=0, le=9)]

    assert numbers_of(dict[str, list[int | None]], place="x") == [("x", None)]
    assert numbers_of(bounded | UnsetType, place="x") == [("x", Meta(ge=0, le=9))]
    assert [place for place, _ in numbers_of(ParcelQuery, place="")] == ["ParcelQuery.limit"]


def test_every_integer_that_a_route_takes_has_a_least_and_a_most() -> None:
    shapes = [shape_of(row.handler) for surface in SURFACES for row in surface.rows]
    kinds = {kind for shape in shapes for kind in (shape.body, shape.query) if kind is not None}
    found = [number for kind in kinds for number in numbers_of(kind, place="")]

    unbounded = [place for place, bounds in found if bounds is None or bounds.ge is None or bounds.le is None]

    assert unbounded == []
    assert "RotateInput.overlap_seconds" in [place for place, _ in found]
