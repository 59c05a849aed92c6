"""TypeScript types from schemas, and the compiler's word on the generated file."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agentgate.http.openapi import documents as described
from agentgate.routes import SURFACES
from tools.typescript import type_text, types

ROOT = Path(__file__).parents[3]


def documents(**schemas):
    return {"one": {"components": {"schemas": schemas}}}


def test_a_record_becomes_an_interface_with_optional_members():
    site = {
        "description": "A site.",
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "count": {"type": "integer", "description": "How many."},
            "x-y": {"$ref": "#/components/schemas/Mode"},
        },
        "required": ["id"],
        "additionalProperties": False,
    }

    assert types(documents(Site=site, Mode={"enum": ["monitor", "enforce"]})) == (
        'export type Mode = "monitor" | "enforce";\n'
        "\n"
        "/** A site. */\n"
        "export interface Site {\n"
        "  id: string;\n"
        "  /** How many. */\n"
        "  count?: number;\n"
        '  "x-y"?: Mode;\n'
        "}\n"
    )


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, "unknown"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "object"}, "Record<string, unknown>"),
        ({"type": "array"}, "unknown[]"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"type": ["integer", "number"]}, "number"),
        ({"const": "a"}, '"a"'),
        ({"enum": ['say "hi"', 3, None]}, '"say \\"hi\\"" | 3 | null'),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Site"}}, "Site[]"),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "null"}], "items": False}, "[string, null]"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "Record<string, number>"),
        ({"anyOf": [{"$ref": "#/components/schemas/Site"}, {"type": "null"}]}, "Site | null"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "number"),
        ({"allOf": [{"$ref": "#/components/schemas/A"}, {"type": ["string", "null"]}]}, "A & (string | null)"),
        (
            {"type": "object", "properties": {"a": {}, "b": {"type": "string"}}, "required": ["a"]},
            "{ a: unknown; b?: string; }",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
            "{ a?: string; [name: string]: unknown; }",
        ),
    ],
)
def test_a_schema_becomes_a_type(schema, text):
    assert type_text(schema) == text


def test_an_equal_schema_of_two_documents_is_declared_once():
    twice = {name: {"components": {"schemas": {"Mode": {"enum": ["a"]}}}} for name in ("one", "two")}

    assert types(twice).count("export type Mode") == 1


def test_a_name_with_two_shapes_is_an_error():
    schemas = {"one": {"enum": ["a"]}, "two": {"enum": ["b"]}}
    clash = {name: {"components": {"schemas": {"Mode": schema}}} for name, schema in schemas.items()}

    with pytest.raises(ValueError, match="Mode has one shape in one and another in two"):
        types(clash)


def test_a_name_that_typescript_does_not_take_is_an_error():
    with pytest.raises(ValueError, match="cannot be the name of a type"):
        types(documents(**{"a.b": {}}))


def test_a_description_cannot_end_its_comment():
    text = types(documents(Mode={"enum": ["a"], "description": "one */ export type X = any; /*\ntwo"}))

    assert text.count("*/") == 1
    assert text.startswith("/**\n * one ")


def test_the_order_of_documents_and_schemas_does_not_matter():
    real = described(SURFACES, version="1.0.0")

    assert types(real) == types(dict(reversed(real.items())))


def test_the_compiler_takes_the_generated_file():
    compiler = ROOT / "node_modules" / "typescript" / "bin" / "tsc"
    node = shutil.which("node")
    if node is None or not compiler.exists():
        if os.environ.get("REQUIRE_NODE") == "1":
            pytest.fail("node_modules/typescript is missing; run: npm ci")
        pytest.skip("node_modules/typescript is missing; run: npm ci")

    command = ["npx", "--no-install", "tsc", "--noEmit", "-p", "tsconfig.json"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)

    assert run.stdout == ""
    assert run.returncode == 0
