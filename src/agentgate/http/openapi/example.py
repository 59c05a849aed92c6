"""Example values that a schema accepts, and the `curl` command that sends them. Nothing here is HTML."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from agentgate.http.openapi.pattern import sample
from agentgate.http.openapi.schema_page import Schema, alternatives, reference_name

_LAST_WORD = re.compile(r"[a-z]+$|[A-Z][a-z]*$")
# What a text is about shows in the last word of its name; "example" everywhere would read badly.
_TEXT_BY_WORD = {
    "email": "ann@shop.example",
    "method": "POST",
    "name": "Example shop",
    "origin": "https://shop.example",
    "origins": "https://shop.example",
    "path": "/orders",
    "prefix": "/api/",
    "url": "https://shop.example/",
}
_TEXT_BY_FORMAT = {"date-time": "2026-01-31T09:30:00Z", "date": "2026-01-31", "email": "ann@shop.example"}


def example(schema: Schema, schemas: Mapping[str, Schema], *, name: str = "") -> Any:
    """Return a value that fits a schema. An object gets what it requires, or its first property."""
    if reference := reference_name(schema):
        return example(schemas[reference], schemas, name=name)
    given = [*(schema[key] for key in ("default", "const") if key in schema)]
    given += [*schema.get("examples", ()), *schema.get("enum", ())]
    if given:
        return given[0]
    if choices := alternatives(schema):
        return example(choices[0], schemas, name=name)
    kind = schema.get("type", "object")
    return _of_kind(kind[0] if isinstance(kind, list) else kind, schema, schemas, name=name)


def curl(method: str, path: str, operation: Mapping[str, Any], components: Mapping[str, Any]) -> str:
    """Return a command that makes a request of this kind; `$BASE` is the address of the listener."""
    schemas = components.get("schemas", {})
    query = []
    for parameter in operation.get("parameters", ()):
        value = quote(str(example(parameter["schema"], schemas, name=parameter["name"])), safe="")
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", value)
        elif parameter["in"] == "query" and parameter.get("required"):
            query.append(f"{quote(parameter['name'], safe='')}={value}")
    address = f"$BASE{path}" + (f"?{'&'.join(query)}" if query else "")
    verb = "" if method.upper() == "GET" else f"-X {method.upper()} "
    lines = [f'curl {verb}"{address}"', *_credentials(operation, components.get("securitySchemes", {}))]
    content = operation.get("requestBody", {}).get("content", {})
    for media_type, media in content.items():
        body = json.dumps(example(media.get("schema", {}), schemas), ensure_ascii=False)
        lines += [f'-H "Content-Type: {media_type}"', f"-d {shlex.quote(body)}"]
    return " \\\n  ".join(lines)


def _credentials(operation: Mapping[str, Any], schemes: Mapping[str, Any]) -> Iterator[str]:
    ways = operation.get("security") or [{}]
    # A shell has no cookies yet, so the way with the fewest parts and no cookie is the one to show.
    chosen = min(ways, key=lambda way: (sum(schemes[name].get("in") == "cookie" for name in way), len(way)))
    for name in chosen:
        scheme = schemes[name]
        if scheme["type"] == "http":
            yield '-H "Authorization: Bearer $AGENTGATE_TOKEN"'
        elif scheme["in"] == "cookie":
            yield f'-b "{scheme["name"]}=${_variable(scheme["name"])}"'
        else:
            yield f'-H "{scheme["name"]}: ${_variable(scheme["name"])}"'


def _variable(name: str) -> str:
    plain = name.removeprefix("X-").removeprefix("ag_")
    return "AGENTGATE_" + re.sub(r"[^A-Za-z0-9]", "_", plain).upper()


def _of_kind(kind: str, schema: Schema, schemas: Mapping[str, Schema], *, name: str) -> Any:
    match kind:
        case "object":
            return _object(schema, schemas, name=name)
        case "array":
            return [example(schema.get("items", {}), schemas, name=name)] * max(1, schema.get("minItems", 1))
        case "string":
            return _text(schema, name)
        case "integer" | "number":
            return schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
    return True if kind == "boolean" else None


def _object(schema: Schema, schemas: Mapping[str, Schema], *, name: str) -> dict[str, Any]:
    properties = schema.get("properties", {})
    wanted = schema.get("required") or list(properties)[:1]
    filled = {key: example(properties.get(key, {}), schemas, name=key) for key in wanted}
    extra = schema.get("additionalProperties")
    if not properties and isinstance(extra, dict):
        filled["example"] = example(extra, schemas, name=name)
    return filled


def _text(schema: Schema, name: str) -> str:
    if "pattern" in schema:
        return sample(schema["pattern"])
    last = _LAST_WORD.search(name)
    text = _TEXT_BY_FORMAT.get(schema.get("format", ""), _TEXT_BY_WORD.get(last[0].lower() if last else "", "example"))
    return text.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength")]
