"""JSON Schema as HTML: types, limits and properties. `page` puts it into pages."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentgate.lib.markup import Markup, anchor, element, joined, paragraphs, prose

_REFERENCE = "#/components/schemas/"
# Deeper than this a link serves the reader better than another fold.
_MOST_NESTING = 3

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class SchemaPage:
    """Shows the schemas of one document, whose references it can follow."""

    schemas: Mapping[str, Schema]

    def resolve(self, schema: Schema) -> tuple[str, Schema]:
        """Follow a reference; return the name (empty without a reference) and the schema itself."""
        name = reference_name(schema)
        return (name, self.schemas[name]) if name else ("", schema)

    def kind(self, schema: Schema) -> Markup:
        """Return the type of the values of a schema, as text."""
        name, shape = self.resolve(schema)
        if name:
            return element("a", name, href=f"#{anchor('schema', name)}")
        if choices := alternatives(shape):
            return joined((self.kind(choice) for choice in choices), " or ")
        if "enum" in shape or "const" in shape:
            return _one_of(shape)
        if shape.get("type") == "array":
            # `items: false` after the parts of a tuple means only that there are no more.
            parts = shape.get("prefixItems") or [shape.get("items", {})]
            return joined(["array of ", joined((self.kind(part) for part in parts), " and ")])
        if isinstance(shape.get("additionalProperties"), dict):
            return joined(["map of name to ", self.kind(shape["additionalProperties"])])
        names = shape.get("type", "any value")
        words = " or ".join(names) if isinstance(names, list) else str(names)
        return joined([words, f" ({shape['format']})" if "format" in shape else None])

    def fields(self, shape: Schema, *, above: tuple[str, ...] = (), nested: bool = True) -> Markup | None:
        """List the properties of an object; those that are objects themselves can be unfolded."""
        properties: Mapping[str, Schema] = shape.get("properties", {})
        if not properties:
            return None
        required = frozenset(shape.get("required", ()))
        # In closed (input) objects required properties are marked; in replies, optional ones.
        closed = shape.get("additionalProperties") is False
        marked = required if closed else properties.keys() - required
        mark = "required" if closed else "optional"
        rows = (
            self.field(
                name,
                inner,
                mark=mark if name in marked else "",
                above=above if nested else None,
            )
            for name, inner in properties.items()
        )
        note = element("p", "Other properties are rejected.", class_="note") if closed else None
        return joined([element("dl", *rows, class_="fields"), note])

    def field(self, name: str, schema: Schema, *, mark: str, above: tuple[str, ...] | None) -> Markup:
        """Show one property or parameter; without `above`, the objects in it are linked to and not unfolded."""
        resolved_name, shape = self.resolve(schema)
        values = joined([": ", _one_of(shape)]) if resolved_name and "enum" in shape else None
        facts = [joined([self.kind(schema), values]), *limits({**shape, **schema})]
        shown = joined((element("span", fact) for fact in facts), " ")
        about = schema.get("description")
        return element(
            "div",
            element("dt", element("code", name), *([" ", element("span", mark, class_=mark)] if mark else [])),
            element(
                "dd",
                element("p", shown, class_="facts"),
                paragraphs(about) if about else None,
                *(() if above is None else self._folds(schema, above)),
            ),
        )

    def body(self, schema: Schema) -> Markup:
        """Show the body of a request or reply: its type, and its properties or values."""
        name, shape = self.resolve(schema)
        about = prose(shape["description"]) if "description" in shape else None
        return joined(
            [
                element("p", element("span", self.kind(schema), class_="kind"), " " if about else None, about),
                self.fields(shape, above=(name,)),
                *(() if "properties" in shape else self._folds(schema, ())),
            ]
        )

    def definition(self, name: str) -> Markup:
        """Show one named schema under its anchor."""
        shape = self.schemas[name]
        facts = None
        if "properties" not in shape:
            facts = element("p", joined([self.kind(shape), *limits(shape)], ", "), class_="facts")
        return element(
            "section",
            element("h3", element("code", name)),
            paragraphs(shape.get("description", "")),
            facts,
            self.fields(shape, nested=False),
            id=anchor("schema", name),
            class_="schema",
        )

    def _folds(self, schema: Schema, above: tuple[str, ...]) -> Iterator[Markup]:
        for name, shape in self._objects(schema):
            # A record that holds itself has no end.
            if name in above or len(above) >= _MOST_NESTING:
                continue
            title = joined(["Properties of ", element("code", name)]) if name else "Properties"
            inside = element("div", self.fields(shape, above=(*above, name)))
            yield element("details", element("summary", title), inside, class_="nested")

    def _objects(self, schema: Schema) -> Iterator[tuple[str, Schema]]:
        name, shape = self.resolve(schema)
        if shape.get("properties"):
            yield name, shape
            return
        parts: list[Schema] = [*alternatives(shape), *shape.get("prefixItems", ())]
        parts += [shape[key] for key in ("items", "additionalProperties") if isinstance(shape.get(key), dict)]
        for part in parts:
            yield from self._objects(part)


def reference_name(schema: Schema) -> str:
    """Return the name of the schema that this one refers to, or nothing."""
    return str(schema.get("$ref", "")).removeprefix(_REFERENCE)


def alternatives(schema: Schema) -> list[Schema]:
    """Return the schemas of which one must fit."""
    return [*schema.get("anyOf", ()), *schema.get("oneOf", ())]


def limits(schema: Schema) -> list[Markup]:
    """Return the limits and the default of a value as text."""
    found = [
        _range(schema.get("minimum"), schema.get("maximum"), ""),
        _range(schema.get("minLength"), schema.get("maxLength"), "characters"),
        _range(schema.get("minItems"), schema.get("maxItems"), "items"),
        _range(schema.get("minProperties"), schema.get("maxProperties"), "entries"),
        f"more than {schema['exclusiveMinimum']}" if "exclusiveMinimum" in schema else None,
        f"less than {schema['exclusiveMaximum']}" if "exclusiveMaximum" in schema else None,
        f"a multiple of {schema['multipleOf']}" if "multipleOf" in schema else None,
        "no item twice" if schema.get("uniqueItems") else None,
        joined(["matches ", element("code", schema["pattern"])]) if "pattern" in schema else None,
        joined(["default ", _value(schema["default"])]) if "default" in schema else None,
    ]
    return [joined([words]) for words in found if words]


def _range(least: float | None, most: float | None, unit: str) -> str | None:
    if least is None and most is None:
        return None
    if least is None:
        words = f"at most {most:,}"
    elif most is None:
        words = f"at least {least:,}"
    else:
        words = f"exactly {most:,}" if least == most else f"{least:,} to {most:,}"
    return f"{words} {unit}".rstrip()


def _one_of(shape: Schema) -> Markup:
    values: Iterable[Any] = shape["enum"] if "enum" in shape else (shape["const"],)
    return joined((_value(value) for value in values), ", ")


def _value(value: Any) -> Markup:
    return element("code", value if isinstance(value, str) else json.dumps(value))
