"""Example values of a schema, and example requests for `curl`, Python and Node."""

import json
import re
import shlex
import string
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any
from urllib.parse import quote

from tools.reference.schema_page import Schema, alternatives, reference_name

_FILLERS = ("example", "0123456789abcdef", "EXAMPLE", "0123456789")
_QUANTIFIER = re.compile(r"([*+?]|\{(\d+)(,?)(\d*)\})\??")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_GROUP_START = re.compile(r"\((\?(?::|P<\w+>|<\w+>))?")
_NAMED_CLASSES = frozenset("dDwWsS")


def sample(pattern: str) -> str:
    """Return a text that fits a pattern, or "example" where the pattern is beyond this module."""
    try:
        text = _PatternReader(pattern).alternation()
        return text if re.search(pattern, text) else "example"
    except (re.error, IndexError, StopIteration):
        return "example"


class _PatternReader:
    """Reads a pattern from left to right, and writes the least text that each part accepts."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def alternation(self) -> str:
        """Read up to the end or a closing parenthesis; the first alternative is the example."""
        first = self._sequence()
        while self._next() == "|":
            self._at += 1
            self._sequence()
        return first

    def _next(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _sequence(self) -> str:
        written = []
        while self._next() not in {"", "|", ")"}:
            written.append(self._part())
        return "".join(written)

    def _part(self) -> str:
        character = self._next()
        if character in {"^", "$"}:
            self._at += 1
            return ""
        if character == "(":
            return self._group()
        found = _CLASS.match(self._pattern, self._at) if character == "[" else None
        one = found[0] if found else self._pattern[self._at : self._at + (2 if character == "\\" else 1)]
        self._at += len(one)
        least, most = self._quantifier()
        if found or one == "." or one[1:] in _NAMED_CLASSES:
            return _fill(one, least, most)
        return one[-1] * least

    def _group(self) -> str:
        start = _GROUP_START.match(self._pattern, self._at)
        assert start is not None
        self._at = start.end()
        inner = self.alternation()
        self._at += 1
        return inner * self._quantifier()[0]

    def _quantifier(self) -> tuple[int, int]:
        found = _QUANTIFIER.match(self._pattern, self._at)
        if found is None:
            return 1, 1
        self._at = found.end()
        if found[1] in {"*", "+", "?"}:
            return (1 if found[1] == "+" else 0), (1 if found[1] == "?" else sys.maxsize)
        least = int(found[2])
        open_end = sys.maxsize if found[3] else least
        return least, int(found[4] or open_end)


def _fill(one: str, least: int, most: int) -> str:
    if least == 0:
        return ""
    allowed = re.compile(one)
    fillers = [filler for filler in _FILLERS if all(map(allowed.fullmatch, filler))]
    for filler in fillers:
        if least <= len(filler):
            return filler[:most]
    printable = string.ascii_letters + string.digits + string.punctuation
    repeated = max(fillers, key=len, default=None) or next(filter(allowed.fullmatch, printable))
    return "".join(islice(cycle(repeated), least))


_VARIABLE = re.compile(r"\$([A-Z_]+)")
_LAST_WORD = re.compile(r"[a-z]+$|[A-Z][a-z]*$")
# The last word of a property's name tells its meaning; "example" everywhere would read badly.
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
    """Return a value that fits a schema. An object gets its required properties, or its first one."""
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
    # A shell has no cookies, so the alternative with the fewest schemes and no cookie is shown.
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
