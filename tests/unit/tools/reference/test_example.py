"""Example values are valid for the schemas they are made from, and the commands can be run unchanged."""

import json
import re
import shlex
import shutil
import subprocess

import jsonschema_rs
import pytest

from agentgate.http.openapi import documents
from agentgate.routes import SURFACES
from tests.support.one_test import one_test_over
from tools.reference.example import curl, example, node, python, sample

DOCUMENTS = documents(SURFACES, version="1.0.0")
OPERATIONS = {
    operation["operationId"]: (method, path, operation, described["components"])
    for described in DOCUMENTS.values()
    for path, methods in described["paths"].items()
    for method, operation in methods.items()
}

every_operation = one_test_over(OPERATIONS)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^site_[A-Za-z0-9_-]{4,64}$", "site_example"),
        (r"^cred_[0-9a-f]{16}$", "cred_0123456789abcdef"),
        (r"^[A-Za-z0-9.]+( [A-Za-z0-9.]+)*$", "example"),
        (r"^agt_[A-Za-z0-9_-]{43}$", "agt_0123456789abcdef0123456789abcdef0123456789a"),
        (r"^\d{6}$", "012345"),
        (r"^[A-Z]{2}$", "EX"),
        (r"^(?:GET|POST)$", "GET"),
        (r"^x\.y?z{2,}$", "x.zz"),
        (r"^[^/]+/[]a]{2}$", "example/aa"),
    ],
)
def test_a_sample_fits_its_pattern_and_can_be_read(pattern, text):
    assert sample(pattern) == text
    assert re.search(pattern, text)


@pytest.mark.parametrize("pattern", ["(", r"(?=a)b\1", r"^[\U0001F600]+$"])
def test_a_pattern_beyond_the_sampler_gives_a_word(pattern):
    assert sample(pattern) == "example"


@pytest.mark.parametrize("described", DOCUMENTS.values(), ids=DOCUMENTS)
def test_an_example_of_every_schema_is_valid(described):
    schemas = described["components"]["schemas"]
    for name, schema in schemas.items():
        validator = jsonschema_rs.Draft202012Validator({**schema, "components": {"schemas": schemas}})

        assert [error.message for error in validator.iter_errors(example(schema, schemas))] == [], name


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "minLength": 10}, "examplexxx"),
        ({"type": "string", "maxLength": 3}, "exa"),
        ({"type": "integer", "exclusiveMinimum": 4}, 5),
        ({"type": ["string", "null"]}, "example"),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, True),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}], "items": False}, [1, True]),
        ({"type": "object", "additionalProperties": {"type": "null"}}, {"example": None}),
        ({"type": "string", "examples": ["nice"]}, "nice"),
        ({"const": 3}, 3),
        ({}, {}),
    ],
)
def test_an_example_keeps_to_the_limits(schema, value):
    assert example(schema, {}) == value


def test_the_last_word_of_a_name_shows_what_a_text_is_about():
    schema = {"type": "array", "items": {"type": "string"}}

    assert example(schema, {}, name="allowedOrigins") == ["https://shop.example"]


@every_operation
def test_a_command_is_one_shell_command_for_the_operation(method, path, operation, components):
    words = shlex.split(curl(method, path, operation, components).replace("\\\n", " "))

    fixed = [re.escape(part) for part in re.split(r"\{\w+\}", path)]
    assert words[0] == "curl"
    assert [word for word in words if re.match(r"\$BASE" + "[^/]+".join(fixed) + r"(?:\?|$)", word)]
    assert ("-X" in words) == (method != "get")


@every_operation
def test_a_command_has_a_body_that_the_schema_accepts(method, path, operation, components):
    words = shlex.split(curl(method, path, operation, components).replace("\\\n", " "))
    if "requestBody" not in operation:
        assert "-d" not in words
        return
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    validator = jsonschema_rs.Draft202012Validator({**schema, "components": components})

    validator.validate(json.loads(words[words.index("-d") + 1]))
    assert "Content-Type: application/json" in words


@every_operation
def test_the_python_sample_asks_for_the_same(method, path, operation, components):
    asked = {}

    class Opened:
        status = 200

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def read(self):
            return b""

    def urlopen(request):
        asked.update(method=request.method, url=request.full_url, body=request.data, headers=request.headers)
        return Opened()

    code = python(method, path, operation, components).replace("urllib.request.urlopen", "urlopen")
    environment = {"BASE": "http://gate", **dict.fromkeys(re.findall(r"environ\['(\w+)'\]", code), "secret")}
    code = code.replace("import json, os, urllib.request", "import json, urllib.request")
    exec(code, {"urlopen": urlopen, "os": type("os", (), {"environ": environment}), "print": lambda *_: None})

    words = shlex.split(curl(method, path, operation, components).replace("\\\n", " "))
    assert asked["method"] == method.upper()
    assert asked["url"].replace("http://gate", "$BASE") in words
    if "-d" in words:
        assert json.loads(asked["body"]) == json.loads(words[words.index("-d") + 1])


def test_the_node_samples_are_modules_that_node_reads(tmp_path):
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed")
    samples = [node(*asked) for asked in OPERATIONS.values()]
    module = "\n".join(f"async function sample{number}() {{\n{code}\n}}" for number, code in enumerate(samples))
    (tmp_path / "samples.mjs").write_text(module)

    command = [program, "--check", tmp_path / "samples.mjs"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr


def test_an_admin_command_sends_the_key_from_the_environment():
    admin = DOCUMENTS["admin"]
    operation = admin["paths"]["/v1/admin/sites/{siteKey}"]["patch"]

    assert curl("patch", "/v1/admin/sites/{siteKey}", operation, admin["components"]) == (
        'curl -X PATCH "$BASE/v1/admin/sites/site_example" \\\n'
        '  -H "X-Admin-Key: $AGENTGATE_ADMIN_KEY" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        """  -d '{"name": "Example shop"}'"""
    )


def test_cookies_and_bearer_tokens_come_from_the_environment_too():
    schemes = {
        "session": {"type": "apiKey", "in": "cookie", "name": "ag_session"},
        "token": {"type": "http", "scheme": "bearer"},
    }

    def command(*security):
        return curl("get", "/x", {"security": list(security)}, {"securitySchemes": schemes})

    assert command({"session": []}) == 'curl "$BASE/x" \\\n  -b "ag_session=$AGENTGATE_SESSION"'
    assert command({"session": []}, {"token": []}) == (
        'curl "$BASE/x" \\\n  -H "Authorization: Bearer $AGENTGATE_TOKEN"'
    )


def test_required_query_values_are_in_the_address_and_cannot_leave_the_quotes():
    operation = {
        "parameters": [
            {"name": "q", "in": "query", "required": True, "schema": {"const": '"$(id)&'}},
            {"name": "limit", "in": "query", "schema": {"type": "integer"}},
        ]
    }

    assert curl("get", "/x", operation, {}) == 'curl "$BASE/x?q=%22%24%28id%29%26"'
