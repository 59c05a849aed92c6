"""Replies: records as JSON, text as it is, errors by the surface's table, cookies hidden from scripts."""

import json

import pytest

from agentgate.http.replies import Text, answer, refusal, set_cookie
from agentgate.lib import errors
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record


class Parcel(Record, frozen=True, kw_only=True):
    sent_at: Moment


def test_a_record_is_sent_as_json() -> None:
    reply = answer(201, Parcel(sent_at=Moment(0)), headers=(("location", "/x"),))

    assert (reply.status, reply.body) == (201, b'{"sentAt":"1970-01-01T00:00:00.000Z"}')
    assert reply.headers == [(b"content-type", b"application/json"), (b"location", b"/x")]


def test_text_keeps_its_bytes_and_media_type() -> None:
    reply = answer(200, Text(b"# x", "text/plain; version=0.0.4"))

    assert (reply.body, reply.headers) == (b"# x", [(b"content-type", b"text/plain; version=0.0.4")])


def test_nothing_has_neither_body_nor_media_type() -> None:
    reply = answer(204, None, headers=(("set-cookie", "a=b"),))

    assert (reply.body, reply.headers) == (b"", [(b"set-cookie", b"a=b")])


def test_a_rejection_has_the_status_and_message_of_its_surfaces_table() -> None:
    console, siteverify = (refusal(Refused("invalid_token"), table) for table in (errors.CONSOLE, errors.SITEVERIFY))

    assert (console.status, siteverify.status) == (401, 422)
    assert json.loads(console.body) == {
        "error": "invalid_token",
        "message": errors.CONSOLE.lookup("invalid_token").message,
    }


def test_a_rejection_s_own_message_headers_and_fields_come_first() -> None:
    refused = Refused("rate_limited", "Later.", headers={"retry-after": "7"}, decisionId="dec_1")

    reply = refusal(refused, errors.BROWSER)

    assert json.loads(reply.body) == {"error": "rate_limited", "message": "Later.", "decisionId": "dec_1"}
    assert [value for name, value in reply.headers if name == b"retry-after"] == [b"7"]


def test_the_table_shows_when_to_try_again() -> None:
    reply = refusal(Refused("store_unavailable"), errors.CONSOLE)

    assert (reply.status, (b"retry-after", b"5") in reply.headers) == (503, True)


def test_a_code_that_the_table_does_not_have_is_a_mistake() -> None:
    with pytest.raises(LookupError, match="site_invalid"):
        refusal(Refused("site_invalid"), errors.CONSOLE)


@pytest.mark.parametrize(
    ("options", "header"),
    [
        ({"secure": False}, "n=v; Path=/p; HttpOnly; SameSite=Strict"),
        ({"secure": True}, "n=v; Path=/p; HttpOnly; SameSite=Strict; Secure"),
        ({"secure": True, "max_age_s": 0}, "n=v; Path=/p; HttpOnly; SameSite=Strict; Max-Age=0; Secure"),
    ],
)
def test_a_cookie_is_always_hidden_from_scripts(options: dict, header: str) -> None:
    assert set_cookie("n", "v", path="/p", same_site="Strict", **options) == ("set-cookie", header)
