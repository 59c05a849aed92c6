"""The OpenAPI documents of every surface: valid, complete, and with nothing of Python's dialect left in them."""

import json
import re

import jsonschema_rs
import pytest

from agentgate.http.endpoint import shape_of
from agentgate.http.openapi import documents, refusals
from agentgate.routes import SURFACES
from tests.support.one_test import one_test_over

DOCUMENTS = documents(SURFACES, version="1.0.0")
ROWS = {f"{surface.name} {row.method} {row.path}": (surface, row) for surface in SURFACES for row in surface.rows}

every_document = pytest.mark.parametrize("described", DOCUMENTS.values(), ids=DOCUMENTS)
every_row = one_test_over(ROWS)


def operation_of(surface, row):
    return DOCUMENTS[surface.document_name]["paths"][row.path][row.method.lower()]


def values_of(node, key):
    """Yield every value under a key, however deep."""
    if isinstance(node, dict):
        if key in node:
            yield node[key]
        for inner in node.values():
            yield from values_of(inner, key)
    elif isinstance(node, list):
        for inner in node:
            yield from values_of(inner, key)


@pytest.fixture(scope="module")
def validator():
    # A second of imports, which other tests need not wait for.
    from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

    return OPENAPI_31_VALIDATOR


@every_document
def test_a_document_is_valid_openapi(described, validator):
    assert [error.message for error in validator.iter_errors(described)] == []


def test_the_validator_rejects_what_is_not_openapi(validator):
    broken = json.loads(json.dumps(DOCUMENTS["admin"]))
    del broken["info"]["version"]

    assert not validator.is_valid(broken)


@every_document
def test_every_schema_is_valid_json_schema(described):
    schemas = [*described["components"]["schemas"].values(), *values_of(described["paths"], "schema")]

    assert [schema for schema in schemas if not jsonschema_rs.meta.is_valid(schema)] == []


@every_document
def test_every_reference_leads_to_a_schema(described):
    references = {value for value in values_of(described, "$ref") if isinstance(value, str)}

    assert references <= {f"#/components/schemas/{name}" for name in described["components"]["schemas"]}


@every_document
def test_every_schema_is_used(described):
    references = {value for value in values_of(described, "$ref") if isinstance(value, str)}

    assert {f"#/components/schemas/{name}" for name in described["components"]["schemas"]} <= references


@every_document
def test_patterns_are_in_the_dialect_of_json_schema(described):
    patterns = [value for value in values_of(described, "pattern") if isinstance(value, str)]

    assert [pattern for pattern in patterns if r"\Z" in pattern] == []
    assert r"\\Z" not in json.dumps(described)


def test_the_admin_document_has_patterns_at_all():
    assert "^site_[A-Za-z0-9_-]{4,64}$" in list(values_of(DOCUMENTS["admin"], "pattern"))


@every_row
def test_every_row_is_described_in_plain_text(surface, row):
    operation = operation_of(surface, row)

    assert operation["summary"]
    assert not operation["summary"].endswith(".")
    assert operation["tags"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_nothing_is_described_that_is_not_a_row(name):
    paths = DOCUMENTS[name]["paths"]
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    sharing = [surface for surface in SURFACES if surface.document_name == name]

    assert described == {(row.method, row.path) for surface in sharing for row in surface.rows}


def test_operation_ids_are_unique_over_all_documents():
    ids = [name for described in DOCUMENTS.values() for name in values_of(described["paths"], "operationId")]

    assert sorted(ids) == sorted(set(ids))


@every_row
def test_every_code_that_a_row_declares_is_with_its_status(surface, row):
    responses = operation_of(surface, row)["responses"]
    codes = refusals(row, shape_of(row.handler), surface)
    listed = {
        (status, code) for status, reply in responses.items() for code in re.findall(r"`(\w+)`", reply["description"])
    }

    assert set(row.refuses) <= set(codes)
    assert {(str(surface.errors.lookup(code).status), code) for code in codes} <= listed


@every_row
def test_the_status_of_a_success_is_listed(surface, row):
    assert str(row.status) in operation_of(surface, row)["responses"]


@every_row
def test_every_name_in_a_path_is_a_parameter(surface, row):
    parameters = operation_of(surface, row)["parameters"]
    in_path = [parameter["name"] for parameter in parameters if parameter["in"] == "path"]

    assert in_path == re.findall(r"\{(\w+)\}", row.path)


@every_document
def test_every_security_scheme_that_is_named_is_explained(described):
    named = {scheme for ways in values_of(described["paths"], "security") for way in ways for scheme in way}

    assert named == set(described["components"]["securitySchemes"])


def test_a_changing_admin_request_takes_the_key_or_the_session_with_its_csrf_token():
    paths = DOCUMENTS["admin"]["paths"]

    assert paths["/v1/admin/sites"]["post"]["security"] == [{"adminKey": []}, {"adminSession": [], "csrf": []}]
    assert paths["/v1/admin/sites"]["get"]["security"] == [{"adminKey": []}, {"adminSession": []}]


@every_document
def test_every_array_names_its_items_and_every_object_with_fields_is_a_component(described):
    inline, arrays = [], []

    def walk(schema, path):
        if isinstance(schema, list):
            for index, each in enumerate(schema):
                walk(each, (*path, index))
        elif isinstance(schema, dict):
            if schema.get("type") == "array" and (not isinstance(schema.get("items"), dict) or "prefixItems" in schema):
                arrays.append(path)
            if "properties" in schema and len(path) > 1:
                inline.append(path)
            for key, value in schema.items():
                walk(value, (*path, key))

    for title, component in described["components"]["schemas"].items():
        walk(component, (title,))

    assert arrays == []
    assert inline == []
