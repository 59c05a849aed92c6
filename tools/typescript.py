# ruff: noqa: INP001 - a module of `tools`, outside of the package
"""The schemas of OpenAPI documents as TypeScript types. Operations are not here: the console writes its own calls."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

_REFERENCE = "#/components/schemas/"
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")
_KEYWORDS = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
    "array": "unknown[]",
    "object": "Record<string, unknown>",
}


def types(documents: Mapping[str, dict[str, Any]]) -> str:
    """Return one declaration for each schema, by name; a name that means two things is an error."""
    schemas = _schemas(documents)
    return "\n".join(_declaration(name, schemas[name]) for name in sorted(schemas))


def _schemas(documents: Mapping[str, dict[str, Any]]) -> dict[str, Schema]:
    found: dict[str, tuple[str, Schema]] = {}
    for document_name, document in documents.items():
        for name, schema in document.get("components", {}).get("schemas", {}).items():
            if not _IDENTIFIER.match(name):
                raise ValueError(f"{document_name}: {name} cannot be the name of a type")
            first, known = found.setdefault(name, (document_name, schema))
            if known != schema:
                raise ValueError(f"{name} has one shape in {first} and another in {document_name}; rename one")
    return {name: schema for name, (_, schema) in found.items()}


def _declaration(name: str, schema: Schema) -> str:
    comment = _comment(schema.get("description", ""), indent="")
    if "properties" not in schema:
        return f"{comment}export type {name} = {type_text(schema)};\n"
    return f"{comment}export interface {name} {{\n{''.join(_members(schema))}}}\n"


def _members(schema: Schema) -> Iterator[str]:
    required = schema.get("required", ())
    for name, inner in schema["properties"].items():
        key = name if _IDENTIFIER.match(name) else json.dumps(name)
        mark = "" if name in required else "?"
        yield f"{_comment(inner.get('description', ''), indent='  ')}  {key}{mark}: {type_text(inner)};\n"
    # Without a word about them, further properties are what a later version may add; only a promise is typed.
    if schema.get("additionalProperties"):
        yield "  [name: string]: unknown;\n"


def type_text(schema: Schema) -> str:
    """Return the TypeScript type of one schema."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_REFERENCE)
    if "enum" in schema or "const" in schema:
        values = schema["enum"] if "enum" in schema else [schema["const"]]
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(type_text(part) for part in schema[key]))
    if "allOf" in schema:
        return " & ".join(_grouped(type_text(part)) for part in schema["allOf"])
    kinds = schema.get("type", [])
    names = [kinds] if isinstance(kinds, str) else kinds
    return " | ".join(dict.fromkeys(_of_kind(kind, schema) for kind in names)) or "unknown"


def _of_kind(kind: str, schema: Schema) -> str:
    if kind == "array" and "prefixItems" in schema:
        return f"[{', '.join(type_text(part) for part in schema['prefixItems'])}]"
    if kind == "array" and "items" in schema:
        return f"{_grouped(type_text(schema['items']))}[]" if schema["items"] else "unknown[]"
    if kind == "object" and "properties" in schema:
        return "{ " + " ".join(line.strip() for line in _members(schema)) + " }"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"Record<string, {type_text(schema['additionalProperties'])}>"
    return _KEYWORDS[kind]


def _grouped(text: str) -> str:
    return f"({text})" if " | " in text or " & " in text else text


def _comment(text: str, *, indent: str) -> str:
    # A comment that ended early would let the rest of a description become code.
    lines = text.replace("*/", "*\u200b/").strip().splitlines()
    if not lines:
        return ""
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    body = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
    return f"{indent}/**\n{body}{indent} */\n"
