"""Forms as JSON: what is read, and that nothing but a refusal comes of anything else."""

import contextlib
import json

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgate.http.decode import FIELDS, form_as_json
from agentgate.lib.errors import Refused

URL_ENCODED = "application/x-www-form-urlencoded"
FIELD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters='"\r\n\\'), min_size=1, max_size=20)


def read(body: bytes, content_type: str) -> dict[str, str]:
    return json.loads(form_as_json(body, content_type, malformed="invalid_request"))


@settings(deadline=None)
@given(st.dictionaries(FIELD, FIELD, min_size=1, max_size=FIELDS))
def test_a_url_encoded_form_arrives_as_it_was_sent(fields):
    request = httpx.Request("POST", "http://gate.example/", data=fields)

    assert read(request.read(), request.headers["content-type"]) == fields


def test_a_multipart_form_arrives_as_it_was_sent():
    fields = {"secret": "ags_x", "response": "größer"}
    request = httpx.Request("POST", "http://gate.example/", files={name: (None, text) for name, text in fields.items()})

    assert read(request.read(), request.headers["content-type"]) == fields


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "", None])
def test_anything_else_is_left_as_it_is(content_type):
    assert form_as_json(b'{"a": 1}', content_type, malformed="invalid_request") == b'{"a": 1}'


def test_empty_values_and_stray_ampersands_are_fine():
    assert read(b"&a=&b&c=1+2&", URL_ENCODED) == {"a": "", "b": "", "c": "1 2"}


@pytest.mark.parametrize(
    "body", [b"a=1&a=2", b"a=%ff", b"\xff", b"&".join(b"a%d=" % each for each in range(FIELDS + 1))]
)
def test_a_form_that_is_not_one_thing_is_refused(body):
    with pytest.raises(Refused) as refused:
        form_as_json(body, URL_ENCODED, malformed="bad_request")

    assert refused.value.code == "bad_request"


@settings(deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["x", '"x"', "\r\nA: b", "é", ""]))
def test_nothing_but_a_refusal_comes_of_a_broken_multipart_form(body, boundary):
    framed = b"--x\r\nContent-Disposition: form-data; name=a\r\n" + body + b"\r\n--x--\r\n"
    with contextlib.suppress(Refused):
        assert isinstance(read(framed, f"multipart/form-data; boundary={boundary}"), dict)
