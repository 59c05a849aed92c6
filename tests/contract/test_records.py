"""The Structs compared with the records of the specification: equal fields on the wire, and equal required fields."""

import ast
from pathlib import Path

import msgspec
import pytest

from tests.contract.additions import ADDED_FIELDS
from tests.contract.records import RECORDS, RECORDS_NOT_BUILT_YET, load
from tests.contract.spec import spec_text
from tests.contract.spec_records import records

SOURCE = Path(__file__).parents[2] / "src" / "agentgate"


def wire_fields(struct):
    return {field.encode_name: field.required for field in msgspec.structs.fields(struct)}


def problems(said, struct):
    """Return the differences between a Struct and the specification of its record."""
    found = wire_fields(struct)
    missing = [f"{name} is missing" for name in said if name not in found]
    further = [f"{name} is not in the specification" for name in found if name not in said]
    differing = [
        f"{name} must be {'required' if required else 'optional'}"
        for name, required in said.items()
        if name in found and required is not None and required != found[name]
    ]
    return missing + further + differing


def test_every_record_of_the_specification_is_registered_or_listed_as_not_built_yet():
    assert sorted([*RECORDS, *RECORDS_NOT_BUILT_YET]) == sorted(records(spec_text()))


def test_what_is_built_is_no_longer_listed_as_not_built_yet():
    built = {
        node.name
        for path in SOURCE.rglob("records.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }

    assert sorted(built & set(RECORDS_NOT_BUILT_YET)) == []


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_has_the_fields_of_the_specification(name):
    added = [f"{field} is not in the specification" for field in ADDED_FIELDS.get(name, {})]

    assert problems(records(spec_text())[name], load(name)) == added


def test_a_missing_a_further_and_a_wrongly_optional_field_are_found():
    class Wrong(msgspec.Struct, rename="camel"):
        site_key: str
        new_field: str
        created_at: str = ""

    said = {"siteKey": False, "createdAt": True, "name": None}

    assert problems(said, Wrong) == [
        "name is missing",
        "newField is not in the specification",
        "siteKey must be optional",
        "createdAt must be required",
    ]
