"""Surfaces and records to OpenAPI 3.1. Nothing is written by hand: a route that exists is described."""

import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from agentgate.http.decode import QUERY_CODES, RawBody
from agentgate.http.endpoint import Endpoint, HandlerSignature, is_record, shape_of
from agentgate.http.forms import FORM_MEDIA_TYPES
from agentgate.http.guards import declared_errors
from agentgate.http.replies import JSON
from agentgate.http.surface import Surface
from agentgate.lib.moment import Moment
from agentgate.lib.records import CREDENTIAL_ID_PATTERN, SITE_KEY_PATTERN

# The version of the contract, which all documents carry.
API_VERSION = "1.0.0"

SITEVERIFY_PATH = "/v1/siteverify"

_PATH_PARAMETER = re.compile(r"\{(\w+)\}")
_NO_WORD = re.compile(r"\W+")
_PATH_PATTERNS = {"siteKey": SITE_KEY_PATTERN, "credId": CREDENTIAL_ID_PATTERN, "visitorId": r"^[0-9a-f]{16}\Z"}

# Tags that clients know from earlier releases, by the folder that has the handlers now.
_EARLIER_TAGS = {
    "account": "account_pages",
    "browser_check": "browser",
    "challenge_page": "gateway",
    "http": "web",
    "labels": "scoring",
    "openapi": "web",
    "pages": "web",
    "probes": "browser",
    "queries": "traffic",
    "reference": "web",
    "signals": "detect",
}

SECURITY_SCHEMES = {
    "adminSession": {"type": "apiKey", "in": "cookie", "name": "ag_admin"},
    "adminKey": {"type": "apiKey", "in": "header", "name": "X-Admin-Key"},
    "accountSession": {"type": "apiKey", "in": "cookie", "name": "ag_account"},
    "apiToken": {"type": "http", "scheme": "bearer", "description": "An API token, `agt_...`"},
    "csrf": {"type": "apiKey", "in": "header", "name": "X-CSRF-Token"},
}


def documents(surfaces: Iterable[Surface], *, version: str) -> dict[str, dict[str, Any]]:
    """Describe surfaces; those that share a document in the order of the table, under the first one's title."""
    by_name: dict[str, list[Surface]] = defaultdict(list)
    for surface in surfaces:
        by_name[surface.document_name].append(surface)
    return {name: document(*sharing, version=version) for name, sharing in by_name.items()}


def document(*surfaces: Surface, version: str) -> dict[str, Any]:
    """Describe one surface, or several in one document."""
    shapes = [(surface, row, shape_of(row.handler)) for surface in surfaces for row in surface.rows]
    schemas = _Schemas(_records(shapes))
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    # Siteverify first: most readers of its document look for that.
    for surface, row, shape in sorted(shapes, key=lambda each: each[1].path != SITEVERIFY_PATH):
        paths[row.path][row.method.lower()] = _operation(row, shape, surface, schemas)
    used = {scheme for _, row, _ in shapes for way in declared_errors(row.guard).security for scheme in way}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": surfaces[0].title,
            "version": version,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": dict(paths),
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {name: scheme for name, scheme in SECURITY_SCHEMES.items() if name in used},
        },
    }


def refusals(row: Endpoint, shape: HandlerSignature, surface: Surface) -> list[str]:
    """Return every error code of a row, in the order of its surface's table."""
    codes = {*declared_errors(row.guard).refuses, *declared_errors(row.scope).refuses, *row.refuses}
    if surface.wrong_query is not None:
        codes.add(surface.wrong_query)
    else:
        codes |= {QUERY_CODES.get(name, "invalid_filter") for name in (*_query_fields(shape), "")}
    # Any request can be malformed, if only in its Host.
    codes.add(surface.malformed)
    if row.method != "GET":
        codes.add(surface.too_large)
        if shape.body is not None:
            codes |= set(shape.body.refused_fields.values())
    codes.add(surface.unavailable)
    return [code for code in surface.errors.rows if code in codes]


class _Schemas:
    """The record types of a surface as JSON Schema components."""

    def __init__(self, kinds: Iterable[Any]) -> None:
        self._kinds = list(dict.fromkeys(kinds))
        references, components = msgspec.json.schema_components(
            self._kinds, schema_hook=_extra_schema, ref_template="#/components/schemas/{name}"
        )
        self._references = [_in_json_dialect(reference) for reference in references]
        described: dict[str, Any] = _in_json_dialect(components)
        named: dict[str, Any] = {}
        for name, schema in described.items():
            described[name] = {key: _named_apart(value, named) for key, value in schema.items()}
        if twice := described.keys() & named.keys():
            raise ValueError(f"two schemas share a title: {', '.join(sorted(twice))}")
        self.components: dict[str, Any] = dict(sorted({**described, **named}.items()))

    def reference(self, kind: Any) -> dict[str, Any]:
        reference: dict[str, Any] = self._references[self._kinds.index(kind)]
        return reference


def _named_apart(schema: Any, named: dict[str, Any]) -> Any:
    """Move schemas that have a title into `named`, and put references in their positions."""
    if isinstance(schema, list):
        return [_named_apart(item, named) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _named_apart(value, named) for key, value in schema.items()}
    title = inner.get("title")
    if not isinstance(title, str):
        return inner
    named[title] = inner
    return {"$ref": f"#/components/schemas/{title}"}


def _records(shapes: Iterable[tuple[Surface, Endpoint, HandlerSignature]]) -> Iterable[Any]:
    for surface, row, shape in shapes:
        if surface.refusal_record is not None:
            yield surface.refusal_record
        if is_record(shape.reply):
            yield shape.reply
        if shape.body is not None and shape.body is not RawBody:
            yield shape.body
        yield from row.other_replies.values()


def _concept(module: str) -> str:
    """Return the tag of a handler's module: the folder of its concept below the room, or the room itself."""
    _, room, *inside = module.split(".")
    folder = inside[0] if len(inside) > 1 else room
    return _EARLIER_TAGS.get(folder, folder)


def _operation(row: Endpoint, shape: HandlerSignature, surface: Surface, schemas: _Schemas) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _operation_id(row, surface),
        "summary": row.summary,
        "tags": [row.tag or _concept(row.handler.__module__)],
        "parameters": [*_path_parameters(row.path), *_query_parameters(shape)],
        "responses": _responses(row, shape, surface, schemas),
    }
    if row.description:
        operation["description"] = row.description
    if shape.body is not None and shape.body is not RawBody:
        media_types = (JSON, *FORM_MEDIA_TYPES) if surface.forms else (JSON,)
        operation["requestBody"] = {
            "required": shape.body_required,
            "content": {media_type: {"schema": schemas.reference(shape.body)} for media_type in media_types},
        }
    security = declared_errors(row.guard).security
    operation["security"] = [
        {scheme: [] for scheme in way if scheme != "csrf" or row.method != "GET"} for way in security
    ]
    return operation


def _operation_id(row: Endpoint, surface: Surface) -> str:
    name = f"{surface.name}_{row.handler.__name__}"
    same = [other for other in surface.rows if other.handler is row.handler]
    if len(same) == 1:
        return name
    if len({other.path for other in same}) == 1:
        return f"{name}_{row.method.lower()}"
    # Several rows share this handler: the ends of their paths tell them apart, or else the whole paths.
    ends = [_end_of(other.path) for other in same]
    if len(set(ends)) == len(same):
        return f"{name}_{_end_of(row.path)}"
    return f"{name}_{_NO_WORD.sub('_', row.path).strip('_')}"


def _end_of(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0].strip("{}")


def _responses(row: Endpoint, shape: HandlerSignature, surface: Surface, schemas: _Schemas) -> dict[str, Any]:
    responses: dict[str, Any] = {str(row.status): {"description": row.success}}
    if is_record(shape.reply):
        responses[str(row.status)]["content"] = {row.media_type: {"schema": schemas.reference(shape.reply)}}
    elif shape.reply is not None:
        # A page, a script, a table: any text. JSON without a record is described by its own document.
        kind_of_text = "object" if row.media_type == JSON else "string"
        texts = row.texts or {row.media_type: ""}
        responses[str(row.status)]["content"] = {
            media_type: {"schema": {"type": kind_of_text, **({"description": told} if told else {})}}
            for media_type, told in texts.items()
        }
    for status, meaning in row.other_pages.items():
        responses[str(status)] = {
            "description": meaning,
            "content": {row.media_type: {"schema": {"type": "string"}}},
        }
    for status, kind in row.other_replies.items():
        responses[str(status)] = {
            "description": "Response in this route's own format",
            "content": {"application/json": {"schema": schemas.reference(kind)}},
        }
    by_status: dict[int, list[str]] = defaultdict(list)
    for code in refusals(row, shape, surface):
        by_status[surface.errors.lookup(code).status].append(code)
    for status, codes in sorted(by_status.items()):
        listed = ", ".join([*(f"`{code}`" for code in codes), *filter(None, [row.other_pages.get(status)])])
        # A surface may send errors with the status of a success.
        earlier = responses.get(str(status), {}).get("content", {}) if status == row.status else {}
        responses[str(status)] = {
            "description": f"{row.success}, or an error: {listed}" if status == row.status else listed,
            "content": {**earlier, **_refusal_content(row, surface, schemas, status)},
        }
    return responses


def _refusal_content(row: Endpoint, surface: Surface, schemas: _Schemas, status: int) -> dict[str, Any]:
    if surface.refusal_record is None:
        return {"text/html": {"schema": {"type": "string"}}}
    schema = schemas.reference(surface.refusal_record)
    if status in row.other_replies:
        schema = {"anyOf": [schemas.reference(row.other_replies[status]), schema]}
    return {JSON: {"schema": schema}}


def _path_parameters(path: str) -> Iterable[dict[str, Any]]:
    for name in _PATH_PARAMETER.findall(path):
        schema: dict[str, Any] = {"type": "string"}
        if name in _PATH_PATTERNS:
            schema["pattern"] = _PATH_PATTERNS[name].replace(r"\Z", "$")
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _query_fields(shape: HandlerSignature) -> tuple[str, ...]:
    return shape.query.__struct_encode_fields__ if shape.query else ()


def _query_parameters(shape: HandlerSignature) -> Iterable[dict[str, Any]]:
    if shape.query is None:
        return
    _, components = msgspec.json.schema_components([shape.query], schema_hook=_extra_schema)
    schema = _in_json_dialect(components[shape.query.__name__])
    for name, described in schema["properties"].items():
        # An enumeration is written out: a query cannot be referenced as a component.
        found = components.get(described.get("$ref", "").rpartition("/")[2])
        field = {"enum": found["enum"]} if found else described
        parameter = {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": field}
        if "description" in field:
            parameter["description"] = field.pop("description")
        yield parameter


def _extra_schema(kind: type) -> dict[str, Any]:
    if kind is Moment:
        return {"type": "string", "format": "date-time"}
    raise TypeError(f"no JSON schema is known for {kind.__name__}; add it to _extra_schema")


def _in_json_dialect(schema: Any) -> Any:
    if isinstance(schema, dict):
        read = {key: _TEXTS.get(key, _in_json_dialect)(value) for key, value in schema.items()}
        return _with_items(read) if read.get("type") == "array" else read
    return [_in_json_dialect(item) for item in schema] if isinstance(schema, list) else schema


def _with_items(array: dict[str, Any]) -> dict[str, Any]:
    """Describe the items of an array in one schema: client generators reject `items: false` and a missing `items`."""
    parts = array.pop("prefixItems", None)
    if parts is not None:
        array["items"] = parts[0] if all(part == parts[0] for part in parts) else {"anyOf": parts}
    array.setdefault("items", {})
    return array


# `$` means the very end in JSON Schema's regular expressions, which have no `\Z`; and a docstring's later lines are
# indented like the code around them.
_TEXTS: dict[str, Callable[[Any], Any]] = {
    "pattern": lambda pattern: pattern.replace(r"\Z", "$") if isinstance(pattern, str) else _in_json_dialect(pattern),
    "description": lambda text: inspect.cleandoc(text) if isinstance(text, str) else _in_json_dialect(text),
}
