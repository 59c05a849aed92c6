"""Example values that a schema accepts, and what sends them: `curl`, Python, Node. Nothing here is HTML."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from agentgate.http.openapi.pattern import sample
from agentgate.http.openapi.schema_page import Schema, alternatives, reference_name

_VARIABLE = re.compile(r"\$([A-Z_]+)")
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


@dataclass(frozen=True)
class ExampleRequest:
    """One request that an operation takes. `$NAME` in a header stands for what the reader fills in."""

    method: str
    address: str
    headers: dict[str, str]
    # The cookies among the credentials, which no header of a sample shows well.
    cookies: dict[str, str]
    bodies: tuple[tuple[str, Any], ...]


def sample_of(method: str, path: str, operation: Mapping[str, Any], components: Mapping[str, Any]) -> ExampleRequest:
    """Return a request of this kind; `$BASE` is the address of the listener."""
    schemas = components.get("schemas", {})
    query = []
    for parameter in operation.get("parameters", ()):
        value = quote(str(example(parameter["schema"], schemas, name=parameter["name"])), safe="")
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", value)
        elif parameter["in"] == "query" and parameter.get("required"):
            query.append(f"{quote(parameter['name'], safe='')}={value}")
    headers, cookies = _credentials(operation, components.get("securitySchemes", {}))
    content = operation.get("requestBody", {}).get("content", {})
    bodies = tuple((kind, example(media.get("schema", {}), schemas)) for kind, media in content.items())
    return ExampleRequest(method.upper(), path + (f"?{'&'.join(query)}" if query else ""), headers, cookies, bodies)


def curl(method: str, path: str, operation: Mapping[str, Any], components: Mapping[str, Any]) -> str:
    """Return a command that makes a request of this kind."""
    sample = sample_of(method, path, operation, components)
    verb = "" if sample.method == "GET" else f"-X {sample.method} "
    lines = [f'curl {verb}"$BASE{sample.address}"']
    lines += [f'-H "{name}: {value}"' for name, value in sample.headers.items()]
    lines += [f'-b "{name}={value}"' for name, value in sample.cookies.items()]
    for media_type, value in sample.bodies:
        body = json.dumps(value, ensure_ascii=False)
        lines += [f'-H "Content-Type: {media_type}"', f"-d {shlex.quote(body)}"]
    return " \\\n  ".join(lines)


def python(method: str, path: str, operation: Mapping[str, Any], components: Mapping[str, Any]) -> str:
    """Return a program that makes the same request with Python's standard library."""
    sample = sample_of(method, path, operation, components)
    headers = {name: _in_python(value) for name, value in _all_headers(sample).items()}
    written = ", ".join(f'"{name}": {value}' for name, value in headers.items())
    lines = ["import json, os, urllib.request", ""]
    body = ""
    if sample.bodies:
        lines.append(f"body = {_python_value(sample.bodies[0][1])}")
        body = ", data=json.dumps(body).encode()"
    lines += [
        "request = urllib.request.Request(",
        f'    os.environ["BASE"] + {json.dumps(sample.address)}, method="{sample.method}"{body},',
        f"    headers={{{written}}},",
        ")",
        "with urllib.request.urlopen(request) as reply:",
        "    print(reply.status, reply.read().decode())",
    ]
    return "\n".join(lines)


def node(method: str, path: str, operation: Mapping[str, Any], components: Mapping[str, Any]) -> str:
    """Return a program that makes the same request with Node's own `fetch`."""
    sample = sample_of(method, path, operation, components)
    written = ", ".join(f'"{name}": {_in_node(value)}' for name, value in _all_headers(sample).items())
    lines = [
        f"const reply = await fetch(process.env.BASE + {json.dumps(sample.address)}, {{",
        f'  method: "{sample.method}",',
        f"  headers: {{ {written} }}," if written else "  headers: {},",
    ]
    if sample.bodies:
        lines.append(f"  body: JSON.stringify({json.dumps(sample.bodies[0][1], ensure_ascii=False)}),")
    lines += ["});", "console.log(reply.status, await reply.text());"]
    return "\n".join(lines)


def _all_headers(sample: ExampleRequest) -> dict[str, str]:
    headers = dict(sample.headers)
    if sample.cookies:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in sample.cookies.items())
    if sample.bodies:
        headers["Content-Type"] = sample.bodies[0][0]
    return headers


def _in_python(text: str) -> str:
    filled = _VARIABLE.sub(r"{os.environ['\1']}", text)
    return f'f"{filled}"' if filled != text else json.dumps(text)


def _in_node(text: str) -> str:
    filled = _VARIABLE.sub(r"${process.env.\1}", text)
    return f"`{filled}`" if filled != text else json.dumps(text)


def _python_value(value: Any) -> str:
    return repr(value) if not isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _credentials(operation: Mapping[str, Any], schemes: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the headers and the cookies that let a caller in."""
    ways = operation.get("security") or [{}]
    # A shell has no cookies yet, so the way with the fewest parts and no cookie is the one to show.
    chosen = min(ways, key=lambda way: (sum(schemes[name].get("in") == "cookie" for name in way), len(way)))
    headers: dict[str, str] = {}
    cookies: dict[str, str] = {}
    for name in chosen:
        scheme = schemes[name]
        if scheme["type"] == "http":
            headers["Authorization"] = "Bearer $AGENTGATE_TOKEN"
        elif scheme["in"] == "cookie":
            cookies[scheme["name"]] = f"${_variable(scheme['name'])}"
        else:
            headers[scheme["name"]] = f"${_variable(scheme['name'])}"
    return headers, cookies


def _variable(name: str) -> str:
    plain = name.removeprefix("X-").removeprefix("ag_")
    return "AGENTGATE_" + re.sub(r"[^A-Za-z0-9]", "_", plain).upper()


def _of_kind(kind: str, schema: Schema, schemas: Mapping[str, Schema], *, name: str) -> Any:
    match kind:
        case "object":
            return _object(schema, schemas, name=name)
        case "array":
            if parts := schema.get("prefixItems"):
                return [example(part, schemas, name=name) for part in parts]
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
