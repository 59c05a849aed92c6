"""OpenAPI documents as pages for people: plain HTML and one style sheet, no script, no request to anywhere else.

Schemas are rendered by `schema_page`, example requests by `example`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from agentgate.lib.markup import Markup, anchor, element, joined, paragraphs, prose
from tools.reference.example import curl, node, python
from tools.reference.schema_page import SchemaPage

METHODS = ("get", "put", "post", "patch", "delete", "head", "options", "trace")
# The schema of the body of an error response.
REFUSAL = "ErrorBody"
EXAMPLE_HINT = "In the examples, `$BASE` is the address of this listener and `$AGENTGATE_…` your credential."

_DOCTYPE = "<!doctype html>\n"


@dataclass(frozen=True)
class Operation:
    """One method on one path, as the document describes it."""

    method: str
    path: str
    described: Mapping[str, Any]

    @property
    def tag(self) -> str:
        return str((self.described.get("tags") or ["other"])[0])

    @property
    def summary(self) -> str:
        return str(self.described.get("summary", ""))

    @property
    def anchor(self) -> str:
        """The ID of its section."""
        name = self.described.get("operationId") or f"{self.method}-{self.path}"
        return anchor("operation", str(name))


def index_page(documents: Mapping[str, dict[str, Any]]) -> str:
    """List the APIs of a listener."""
    cards = [_card(name, document) for name, document in documents.items()]
    main = element(
        "main",
        element("header", element("h1", "APIs"), element("p", _counted(len(cards), "API"), " on this listener.")),
        element("ul", *cards, class_="cards"),
        id="content",
    )
    return _page("APIs", main)


def surface_page(document: dict[str, Any]) -> str:
    """Show one OpenAPI document whole."""
    page = _SurfacePage(document)
    return _page(document["info"]["title"], joined([page.contents(), page.main()]), class_="surface")


def _page(title: str, body: Markup, *, class_: str | None = None) -> str:
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("link", rel="stylesheet", href="/openapi/style.css"),
    )
    skip = element("a", "Skip to the content", href="#content", class_="skip")
    return f"{_DOCTYPE}{element('html', head, element('body', skip, body, class_=class_), lang='en')}\n"


def _card(name: str, document: Mapping[str, Any]) -> Markup:
    info = document["info"]
    count = sum(1 for _ in _operations(document))
    return element(
        "li",
        element("h2", element("a", info["title"], href=f"/openapi/{name}")),
        element("p", f"Version {info['version']}, {_counted(count, 'operation')}"),
        element("p", element("a", "OpenAPI document", href=f"/openapi/{name}.json"), class_="note"),
    )


def _operations(document: Mapping[str, Any]) -> Iterator[Operation]:
    for path, methods in document["paths"].items():
        yield from (Operation(method, path, methods[method]) for method in METHODS if method in methods)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


class _SurfacePage:
    """The parts of one document's page."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._info: Mapping[str, Any] = document["info"]
        self._components: Mapping[str, Any] = document.get("components", {})
        self._schemes: Mapping[str, Any] = self._components.get("securitySchemes", {})
        self._schemas = SchemaPage(self._components.get("schemas", {}))
        operations = list(_operations(document))
        tags = list(dict.fromkeys(operation.tag for operation in operations))
        # Sorting is stable, so that the order of the route table stays within a group.
        ordered = sorted(operations, key=lambda operation: tags.index(operation.tag))
        self._groups = [(tag, list(group)) for tag, group in groupby(ordered, key=lambda operation: operation.tag)]

    def contents(self) -> Markup:
        groups = [
            element("li", _link(anchor("tag", tag), tag.capitalize()), element("ul", *map(_entry, operations)))
            for tag, operations in self._groups
        ]
        names = [element("li", _link(anchor("schema", name), element("code", name))) for name in self._schemas.schemas]
        schemas = element("li", _link("schemas", "Schemas"), element("ul", *names)) if names else None
        home = element("p", element("a", "All APIs", href="/openapi/"), class_="home")
        return element("nav", home, element("ul", *groups, schemas), aria_label="Contents", class_="contents")

    def main(self) -> Markup:
        """Return the page without its table of contents."""
        sections = [
            element(
                "section", element("h2", tag.capitalize()), *map(self._operation, operations), id=anchor("tag", tag)
            )
            for tag, operations in self._groups
        ]
        definitions = [self._schemas.definition(name) for name in self._schemas.schemas]
        schemas = element("section", element("h2", "Schemas"), *definitions, id="schemas") if definitions else None
        return element("main", self._header(), *sections, schemas, id="content")

    def _header(self) -> Markup:
        refusal: tuple[Markup | str, ...] = ()
        if REFUSAL in self._schemas.schemas:
            link = _link(anchor("schema", REFUSAL), element("code", REFUSAL))
            refusal = ("Every error response has the body ", link, ". Each status lists its codes. ")
        return element(
            "header",
            element("h1", self._info["title"]),
            element("p", f"Version {self._info['version']}", class_="version"),
            paragraphs(self._info.get("description", "")),
            element("p", *refusal, prose(EXAMPLE_HINT)),
        )

    def _operation(self, operation: Operation) -> Markup:
        described = operation.described
        heading = element("h3", _badge(operation.method), " ", _path(operation.path))
        summary = element("summary", heading, element("span", prose(operation.summary), class_="what"))
        samples = [
            element("details", element("summary", name), _command(write(*asked)), class_="nested", open=shown)
            for name, write, shown in (("curl", curl, ""), ("Python", python, None), ("Node", node, None))
            for asked in ((operation.method, operation.path, described, self._components),)
        ]
        parts = (
            paragraphs(described.get("description", "")),
            _part("Access", element("p", self._access(described.get("security", [])))),
            self._parameters(described, "path", "Path"),
            self._parameters(described, "query", "Query"),
            self._request_body(described),
            _part("Responses", element("dl", *self._responses(described), class_="responses")),
            _part("Samples", *samples),
        )
        # Browsers open a `details` element when a link points into it, so the anchor is inside.
        body = element("div", *parts, id=operation.anchor, class_="inside")
        return element("details", summary, body, class_="operation")

    def _access(self, ways: list[Mapping[str, Any]]) -> Markup:
        if not ways:
            return joined(["Open to everyone."])
        worded = [joined((self._scheme(name) for name in way), " together with ") or "nothing at all" for way in ways]
        return joined(["Send ", joined(worded, ", or "), "."])

    def _scheme(self, name: str) -> Markup:
        scheme = self._schemes[name]
        if scheme["type"] == "http":
            return joined(["the header ", element("code", f"Authorization: {scheme['scheme'].capitalize()} …")])
        return joined([f"the {scheme['in']} ", element("code", scheme["name"])])

    def _parameters(self, described: Mapping[str, Any], place: str, title: str) -> Markup | None:
        rows = [
            self._schemas.field(
                parameter["name"],
                {**parameter["schema"], "description": parameter.get("description", "")},
                mark="required" if parameter.get("required") else "",
                above=(),
            )
            for parameter in described.get("parameters", ())
            if parameter["in"] == place
        ]
        return _part(f"{title} parameters", element("dl", *rows, class_="fields")) if rows else None

    def _request_body(self, described: Mapping[str, Any]) -> Markup | None:
        body = described.get("requestBody")
        if body is None:
            return None
        shown = [
            joined(
                [
                    element("p", element("code", kind), None if body.get("required") else ", optional"),
                    self._schemas.body(media.get("schema", {})),
                ]
            )
            for kind, media in body["content"].items()
        ]
        return _part("Request body", *shown)

    def _responses(self, described: Mapping[str, Any]) -> Iterator[Markup]:
        for status, response in sorted(described["responses"].items()):
            term = element("dt", element("span", status, class_=f"status status-{status[0]}"))
            shown = [self._reply(kind, media) for kind, media in response.get("content", {}).items()]
            yield element("div", term, element("dd", element("p", prose(response["description"])), *shown))

    def _reply(self, media_type: str, media: Mapping[str, Any]) -> Markup | None:
        schema = media.get("schema")
        if not schema:
            return element("p", element("code", media_type), class_="facts")
        name, _ = self._schemas.resolve(schema)
        # Error responses have the same body; the description names its code.
        if name == REFUSAL:
            return None
        title = element("summary", joined(["Body: ", element("code", name)]) if name else "Body")
        return element("details", title, element("div", self._schemas.body(schema)), class_="nested")


def _part(title: str, *content: Markup) -> Markup:
    return element("section", element("h4", title), *content)


def _command(text: str) -> Markup:
    # An element that scrolls sideways must be reachable by keyboard.
    return element("pre", element("code", text), tabindex="0", role="region", aria_label="Example command")


def _link(target: str, text: str) -> Markup:
    return element("a", text, href=f"#{target}")


def _entry(operation: Operation) -> Markup:
    label = operation.summary.replace("`", "") or operation.path
    return element("li", element("a", _badge(operation.method), " ", label, href=f"#{operation.anchor}"))


def _badge(method: str) -> Markup:
    return element("span", method.upper(), class_=f"method {method}")


def _path(path: str) -> Markup:
    # A long path may break only before a slash.
    return element(
        "code", *(joined([element("wbr"), "/", _segment(part)]) for part in path.split("/")[1:]), class_="path"
    )


def _segment(part: str) -> str:
    return element("span", part, class_="variable") if part.startswith("{") else part
