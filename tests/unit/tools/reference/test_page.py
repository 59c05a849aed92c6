"""The pages for people: complete, well-formed, escaped, readable, and without resources other than the style sheet."""

import json
import re
from collections import Counter
from functools import cache, cached_property
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from agentgate.http.openapi import documents
from agentgate.pages.reference.endpoints import FOLDER
from agentgate.routes import SURFACES
from tools.reference.page import index_page, surface_page

STYLES = (FOLDER / "openapi.css").read_text(encoding="utf-8")
DOCUMENTS = documents(SURFACES, version="1.0.0")
PAGES = {
    "index": index_page(DOCUMENTS),
    **{name: surface_page(described) for name, described in DOCUMENTS.items()},
}
VOID = {"meta", "link", "wbr"}
HOSTILE = """<script>alert(1)</script>"' onload=x <b style="a">`<i>`</b>"""

every_page = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
every_document = pytest.mark.parametrize("name", DOCUMENTS)


class Reader(HTMLParser):
    """Reads a page strictly: every element is closed in order."""

    def __init__(self, page):
        super().__init__()
        self.elements, self._open, self._texts = [], [], []
        self.feed(page)
        self.close()
        assert self._open == [], "elements are left open"

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), f"an attribute stands twice in <{tag}>"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data):
        self._texts.append(data)

    @cached_property
    def text(self):
        return "".join(self._texts)

    @cached_property
    def ids(self):
        return set(self.values("id"))

    def values(self, attribute):
        return [attributes[attribute] for _, attributes in self.elements if attribute in attributes]


@cache
def read(page):
    """Read a page once for all tests: the largest has 800 kB."""
    return Reader(page)


@every_page
def test_a_page_is_well_formed(page):
    tags = Counter(tag for tag, _ in read(page).elements)

    assert page.startswith("<!doctype html>\n")
    assert (tags["main"], tags["h1"], tags["title"]) == (1, 1, 1)


@every_page
def test_ids_are_unique_and_every_link_on_the_page_leads_to_one(page):
    reader = read(page)
    ids = reader.values("id")

    assert len(ids) == len(set(ids))
    assert {target[1:] for target in reader.values("href") if target.startswith("#")} <= set(ids)


@every_page
def test_a_page_loads_only_its_style_sheet(page):
    reader = read(page)

    assert [attributes for tag, attributes in reader.elements if tag == "link"] == [
        {"rel": "stylesheet", "href": "/openapi/style.css"}
    ]
    assert [target for target in reader.values("href") if not target.startswith(("#", "/openapi/"))] == []
    assert {"script", "style", "img", "iframe", "object", "form"} & {tag for tag, _ in reader.elements} == set()
    names = {name for _, attributes in reader.elements for name in attributes}
    assert {name for name in names if name in {"style", "src", "srcset"} or name.startswith("on")} == set()


@every_page
def test_headings_skip_no_level(page):
    levels = [int(tag[1]) for tag, _ in read(page).elements if re.fullmatch(r"h[1-6]", tag)]

    assert levels[0] == 1
    assert [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1] == []


@every_page
def test_a_page_shows_its_language_and_lets_the_keyboard_skip_to_the_content(page):
    reader = read(page)
    links = [attributes for tag, attributes in reader.elements if tag == "a"]

    assert ("html", {"lang": "en"}) in reader.elements
    assert links[0]["href"] == "#content"


def test_the_index_links_to_every_api_and_its_document():
    targets = read(PAGES["index"]).values("href")

    for name, described in DOCUMENTS.items():
        assert {f"/openapi/{name}", f"/openapi/{name}.json"} <= set(targets)
        assert described["info"]["title"] in read(PAGES["index"]).text


@every_document
def test_every_operation_is_shown_with_its_codes(name):
    described = DOCUMENTS[name]
    reader = read(PAGES[name])
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert f"{method.upper()} {path}" in reader.text
            assert operation["summary"].replace("`", "") in reader.text
            assert f"operation-{operation['operationId']}" in reader.ids
            for status, reply in operation["responses"].items():
                assert status + reply["description"].replace("`", "") in reader.text


@every_document
def test_every_schema_is_shown_with_its_properties(name):
    reader = read(PAGES[name])
    for schema_name, schema in DOCUMENTS[name]["components"]["schemas"].items():
        assert f"schema-{schema_name}" in reader.ids
        for paragraph in schema["description"].replace("`", "").split("\n\n"):
            assert paragraph in reader.text
        for value in [*schema.get("properties", ()), *schema.get("enum", ())]:
            assert value in reader.text


def test_an_operation_shows_how_to_get_in():
    text = read(PAGES["admin"]).text

    assert "Send the header X-Admin-Key, or the cookie ag_admin together with the header X-CSRF-Token." in text
    assert "Open to everyone." in read(PAGES["public"]).text


def test_a_parameter_shows_its_type_limits_and_default():
    text = read(PAGES["admin"]).text

    assert "limitinteger 1 to 500 default 50" in text
    assert "siteKey requiredstring matches ^site_[A-Za-z0-9_-]{4,64}$" in text


def page_of(schemas, operation=None):
    whole = {"responses": {"200": {"description": "Done"}}, **(operation or {})}
    return surface_page(
        {
            "info": {"title": "Title", "version": "1.0.0"},
            "paths": {"/x": {"get": whole}},
            "components": {"schemas": {"ErrorBody": {"type": "object"}, **schemas}},
        }
    )


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": ["string", "null"], "format": "date"}, "string or null (date)"),
        ({"anyOf": [{"$ref": "#/components/schemas/ErrorBody"}, {"type": "null"}]}, "ErrorBody or null"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "map of name to integer"),
        (
            {"type": "array", "items": {}, "minItems": 1, "uniqueItems": True},
            "array of any value at least 1 items no item twice",
        ),
        (
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
            "array of integer and string",
        ),
        ({"enum": ["a", 2, None]}, "a, 2, null"),
        ({"type": "string", "minLength": 6, "maxLength": 6}, "string exactly 6 characters"),
        ({"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5}, "integer more than 0 a multiple of 5"),
    ],
)
def test_a_schema_is_put_in_plain_text(schema, words):
    text = Reader(page_of({"Thing": {"type": "object", "properties": {"part": schema}, "required": ["part"]}})).text

    assert f"part{words}" in text


def test_a_record_that_holds_itself_is_shown_once():
    tree = {"type": "object", "properties": {"inner": {"$ref": "#/components/schemas/Tree"}}}
    reply = {
        "200": {
            "description": "Done",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}},
        }
    }

    text = Reader(page_of({"Tree": tree}, {"responses": reply})).text

    assert text.count("Properties of Tree") == 0
    assert text.count("Body: Tree") == 1


def test_nested_records_can_be_unfolded():
    outer = {
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}}},
    }
    item = {"type": "object", "properties": {"color": {"type": "string"}}}
    reply = {
        "200": {
            "description": "Done",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Outer"}}},
        }
    }

    text = Reader(page_of({"Outer": outer, "Item": item}, {"responses": reply})).text

    assert text.count("Properties of Item") == 1


def test_hostile_text_stays_text_wherever_it_is():
    def poisoned(node):
        if isinstance(node, dict):
            return {
                key: HOSTILE
                if key in {"summary", "description", "title", "pattern", "version"} and isinstance(value, str)
                else poisoned(value)
                for key, value in node.items()
            }
        return [poisoned(inner) for inner in node] if isinstance(node, list) else node

    harmed = poisoned(json.loads(json.dumps(DOCUMENTS["admin"])))
    harmed["paths"][f"/{HOSTILE}"] = harmed["paths"].pop("/v1/admin/sites")
    for page in (surface_page(harmed), index_page({'"><script>': harmed})):
        reader = read(page)

        assert HOSTILE.replace("`", "") in reader.text.replace("`", "")
        assert {"script", "b", "i"} & {tag for tag, _ in reader.elements} == set()
        assert [name for _, attributes in reader.elements for name in attributes if name in {"onload", "style"}] == []


def colors(dark):
    """Return the custom properties that hold colors, as the color scheme sets them."""
    blocks = re.findall(r":root \{(.*?)\}", STYLES, re.DOTALL)
    assert len(blocks) == 2
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", blocks[0]))
    return found | (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", blocks[1])) if dark else {})


def luminance(color):
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_has_the_contrast_that_wcag_aa_asks_for(dark):
    found = colors(dark)
    methods = ["get", "post", "put", "patch", "delete"]
    pairs = [(ink, ground) for ink in ("ink", "quiet", "accent", *methods) for ground in ("page", "raised")]
    pairs += [(ink, "code") for ink in ("ink", "quiet")] + [(method, f"{method}-ground") for method in methods]

    assert [pair for pair in pairs if contrast(found[pair[0]], found[pair[1]]) < 4.5] == []


def test_the_style_sheet_asks_nothing_of_anyone():
    text = STYLES

    assert "url(" not in text
    assert "@import" not in text
    assert "://" not in text


def test_every_class_on_the_pages_has_a_style():
    styled = set(re.findall(r"\.([a-z][\w-]*)", STYLES))
    used = {name for page in PAGES.values() for names in read(page).values("class") for name in names.split()}

    assert used - styled == {"home", "version"}
