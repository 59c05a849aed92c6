"""No client of the last release breaks; and every kind of breaking change is found."""

import copy
import json

import pytest

from tools.api_changes import breaking_changes, present, released

OUT = {"$ref": "#/components/schemas/Out"}
BEFORE = {
    "paths": {
        "/x": {
            "post": {
                "parameters": [{"name": "q", "in": "query"}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/In"}}}},
                "responses": {"200": {"content": {"application/json": {"schema": OUT}}}},
            }
        }
    },
    "components": {
        "schemas": {
            "In": {
                "type": "object",
                "properties": {"mode": {"type": "string", "enum": ["a", "b"]}, "name": {"type": "string"}},
                "required": ["mode"],
            },
            "Out": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "children": {"type": "array", "items": OUT},
                },
                "required": ["id"],
            },
        }
    },
}


def changed(change):
    after = copy.deepcopy(BEFORE)
    change(after["paths"], after["components"]["schemas"])
    return breaking_changes(BEFORE, after)


def test_no_client_of_the_last_release_breaks():
    now = present()
    found = [f"{name}: {line}" for name, before in released().items() for line in breaking_changes(before, now[name])]

    assert found == [], "if that is wanted before a release: python tools/api_changes.py --release"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda paths, _: paths.pop("/x"), "POST /x: is gone"),
        (lambda paths, _: paths["/x"]["post"]["responses"].pop("200"), "POST /x: answer 200 is gone"),
        (lambda paths, _: paths["/x"]["post"]["parameters"].clear(), "POST /x: parameter q is not taken any more"),
        (
            lambda paths, _: paths["/x"]["post"]["parameters"].append({"name": "z", "in": "query", "required": True}),
            "POST /x: parameter z must be sent now",
        ),
        (lambda _, names: names["Out"]["properties"].pop("children"), "POST /x: answer 200: children is gone"),
        (lambda _, names: names["Out"]["required"].clear(), "POST /x: answer 200: id may be missing now"),
        (
            lambda _, names: names["Out"]["properties"].update(id={"type": "integer"}),
            "POST /x: answer 200.id: was string, is integer",
        ),
        (lambda _, names: names["In"]["required"].append("name"), "POST /x: request: name must be sent now"),
        (
            lambda _, names: names["In"]["properties"]["mode"]["enum"].remove("b"),
            "POST /x: request.mode: 'b' is not taken any more",
        ),
    ],
)
def test_what_would_break_a_client_is_found(change, told):
    assert told in changed(change)


def test_what_is_added_is_not_a_break():
    def add(paths, names):
        paths["/y"] = json.loads(json.dumps(paths["/x"]))
        names["Out"]["properties"]["more"] = {"type": "string"}
        names["In"]["properties"]["more"] = {"type": "string"}
        names["In"]["properties"]["mode"]["enum"].append("c")

    assert changed(add) == []
