"""Forms as JSON: fields arrive as a client sent them, and ambiguous or broken forms are rejected."""

import contextlib
import json
import subprocess
import time

import aiohttp
import httpx
import pytest
import requests
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgate.http.forms import FIELDS, form_as_json, read_fields
from agentgate.lib.errors import Refused
from tests.support.http_receiver import receiver

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
def test_a_form_that_is_not_one_thing_is_rejected(body):
    with pytest.raises(Refused) as refused:
        form_as_json(body, URL_ENCODED, malformed="bad_request")

    assert refused.value.code == "bad_request"


# Names as every client writes them in the same way: no quotes, no controls.
NAME = st.text(st.characters(min_codepoint=0x20, exclude_categories=["Cs", "Cc"], exclude_characters='"\\'), min_size=1)
# aiohttp writes other names with backslashes or as `name*`.
PLAIN_NAME = st.from_regex(r"[A-Za-z0-9_.-]{1,20}", fullmatch=True)
VALUE = st.text(st.characters(exclude_categories=["Cs"]))


def by_httpx(fields: list[tuple[str, str]]) -> tuple[bytes, str]:
    request = httpx.Request("POST", "http://gate.example/", files=[(name, (None, text)) for name, text in fields])
    return request.read(), request.headers["content-type"]


def by_requests(fields: list[tuple[str, str]]) -> tuple[bytes, str]:
    files = [(name, (None, text)) for name, text in fields]
    request = requests.Request("POST", "http://gate.example/", files=files).prepare()
    assert isinstance(request.body, bytes)
    return request.body, request.headers["Content-Type"]


def by_browser(fields: list[tuple[str, str]]) -> tuple[bytes, str]:
    """Encode as HTML's multipart/form-data encoding algorithm does."""
    boundary = "----WebKitFormBoundary7MA4YWxkTrZu0gW"
    body = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n' for name, text in fields
    )
    return f"{body}--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


@pytest.mark.parametrize("encode", [by_httpx, by_requests, by_browser])
@settings(deadline=None)
@given(fields=st.lists(st.tuples(NAME, VALUE), min_size=1, max_size=FIELDS))
def test_a_multipart_form_of_a_client_arrives_as_it_was_sent(encode, fields):
    body, content_type = encode(fields)

    assert read_fields(body, content_type, most=FIELDS) == fields


class Sink(bytearray):
    """The part of an aiohttp writer that a payload writes to."""

    async def write(self, piece: bytes) -> None:
        self.extend(piece)


@pytest.mark.anyio
@settings(deadline=None)
@given(fields=st.lists(st.tuples(PLAIN_NAME, VALUE), min_size=1, max_size=FIELDS))
async def test_a_multipart_form_of_aiohttp_arrives_as_it_was_sent(fields):
    form = aiohttp.FormData(default_to_multipart=True)
    for name, text in fields:
        form.add_field(name, text)
    payload, sink = form(), Sink()
    await payload.write(sink)

    assert read_fields(bytes(sink), payload.headers["Content-Type"], most=FIELDS) == fields


def test_a_multipart_form_of_curl_arrives_as_it_was_sent():
    with receiver() as site:
        fields = ["-F", "secret=ags_x", "-F", "response=größer;type=text/plain"]
        subprocess.run(["curl", "-sS", *fields, site.url()], check=True)
    sent = site.received[0]

    pairs = read_fields(sent.body, sent.headers["content-type"], most=FIELDS)

    assert pairs == [("secret", "ags_x"), ("response", "größer")]


def part(headers: str, text: str = "x") -> str:
    return f"--b\r\n{headers}\r\n\r\n{text}\r\n"


NAMED = 'Content-Disposition: form-data; name="a"'


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (part('Content-Disposition: form-data; name="a"; filename="x"'), "a file"),
        (part("Content-Disposition: form-data; name*=utf-8''a"), "no name"),
        (part('Content-Disposition: form-data; name="a"; name="b"'), "no name"),
        (part('Content-Disposition: form-data; name="a\\"b"'), "no name"),
        (part('Content-Disposition: attachment; name="a"'), "no name"),
        (part(f"{NAMED}\r\n{NAMED}"), "repeated header"),
        (part(f"{NAMED}\r\n folded: x"), "malformed or repeated header"),
        (part(f"{NAMED}\r\nContent-Type: multipart/mixed; boundary=c"), "other parts"),
        (part(f"{NAMED}\r\nContent-Type: Multipart/mixed"), "other parts"),
        (part(f"{NAMED}\r\nContent-Transfer-Encoding: base64"), "Transfer-Encoding"),
        (part(f"{NAMED}\r\nX: {'x' * 2048}"), "2048 bytes"),
        (part("\r\n".join([NAMED, *(f"X{n}: x" for n in range(5))])), "more than 5"),
        (part(NAMED, "x\r\n--bb"), "no headers"),
        (part(NAMED) * (FIELDS + 1), "too many fields"),
        (part(NAMED).replace("\r\n", "\n"), "its boundary"),
        ("preamble\r\n" + part(NAMED), "its boundary"),
    ],
)
def test_a_multipart_form_that_parsers_could_read_in_two_ways_is_rejected(body, reason):
    with pytest.raises(Refused) as refused:
        read(f"{body}--b--\r\n".encode(), "multipart/form-data; boundary=b")

    assert reason in refused.value.message


@pytest.mark.parametrize("rest", ["", "--b", "--b--x", "--b--\r\nepilogue", "--b--\r\n--"])
def test_a_multipart_form_without_its_end_is_rejected(rest):
    with pytest.raises(Refused) as refused:
        read(f"{part(NAMED)}{rest}".encode(), "multipart/form-data; boundary=b")

    assert "its boundary" in refused.value.message


MOST_S = 0.02
LARGEST = 64 * 1024


@pytest.mark.parametrize(
    ("unit", "content_type"),
    [
        (b"--b\r\n", "multipart/form-data; boundary=b"),
        (b"\r\n--" + b"a" * 69, "multipart/form-data; boundary=" + "a" * 69 + "b"),
        (b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n', "multipart/form-data; boundary=b"),
        (b"--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n", "multipart/form-data; boundary=b"),
        (b"x: x\r\n", "multipart/form-data; boundary=b"),
        (b"a=&", URL_ENCODED),
        (b"%41", URL_ENCODED),
        (b"+", URL_ENCODED),
    ],
)
def test_no_body_of_64_kb_takes_more_than_20_ms(unit, content_type):
    body = (unit * LARGEST)[:LARGEST]
    times = []
    for _ in range(5):
        started = time.thread_time()
        with contextlib.suppress(ValueError):
            read_fields(body, content_type, most=1000)
        times.append(time.thread_time() - started)

    assert min(times) < MOST_S


@settings(deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["x", '"x"', "\r\nA: b", "é", ""]))
def test_only_a_rejection_comes_of_a_broken_multipart_form(body, boundary):
    framed = b"--x\r\nContent-Disposition: form-data; name=a\r\n" + body + b"\r\n--x--\r\n"
    with contextlib.suppress(Refused):
        assert isinstance(read(framed, f"multipart/form-data; boundary={boundary}"), dict)
