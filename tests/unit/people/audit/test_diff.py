"""What changed between two versions of a record."""

import json

import msgspec
from msgspec import UNSET, UnsetType

from agentgate.lib.enums import Mode
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record
from agentgate.people.audit.trail import diff


class Part(Record, frozen=True, kw_only=True):
    inner_size: int


class Thing(Record, frozen=True, kw_only=True):
    name: str
    mode: Mode = Mode.MONITOR
    seen_at: Moment | UnsetType = UNSET
    parts: dict[str, Part] = msgspec.field(default_factory=dict)
    secret_digest: str = ""


FIELDS = ("name", "mode", "seen_at", "parts")


def test_nothing_changed_is_an_empty_difference() -> None:
    assert diff(Thing(name="a"), Thing(name="a"), FIELDS) == {}


def test_only_what_changed_is_reported_under_its_wire_name() -> None:
    before, after = Thing(name="a", seen_at=Moment(0)), Thing(name="a", seen_at=Moment(1))

    assert diff(before, after, FIELDS) == {
        "seenAt": {"from": "1970-01-01T00:00:00.000Z", "to": "1970-01-01T00:00:00.001Z"}
    }


def test_an_absent_value_is_null_on_either_side() -> None:
    absent, present = Thing(name="a"), Thing(name="a", seen_at=Moment(0))

    assert diff(absent, present, FIELDS)["seenAt"]["from"] is None
    assert diff(present, absent, FIELDS)["seenAt"]["to"] is None


def test_a_field_that_was_not_asked_for_is_never_told() -> None:
    assert diff(Thing(name="a", secret_digest="x"), Thing(name="a", secret_digest="y"), FIELDS) == {}


def test_nested_records_and_enumerations_become_plain_json() -> None:
    changes = diff(
        Thing(name="a", parts={"p": Part(inner_size=1)}),
        Thing(name="a", parts={"p": Part(inner_size=2)}, mode=Mode.ENFORCE),
        FIELDS,
    )

    assert json.loads(json.dumps(changes)) == {
        "mode": {"from": "monitor", "to": "enforce"},
        "parts": {"from": {"p": {"innerSize": 1}}, "to": {"p": {"innerSize": 2}}},
    }


def test_the_order_matches_the_fields_asked_for() -> None:
    before, after = Thing(name="a"), Thing(name="b", mode=Mode.ENFORCE)

    assert list(diff(before, after, ("mode", "name"))) == ["mode", "name"]
