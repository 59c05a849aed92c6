"""Pages of other origins: what they may read, what they may send, and that no cookie is involved."""

import pytest

from agentgate.http.call import Call
from agentgate.http.surface import Surface, get, post
from agentgate.lib import errors
from agentgate.lib.errors import Refused
from agentgate.lib.records import Input, Record
from tests.unit.http.kernel import Kernel

pytestmark = pytest.mark.anyio

PAGE = "https://shop.example"


class Note(Input, frozen=True, kw_only=True):
    text: str


class Noted(Record, frozen=True, kw_only=True):
    text: str


async def note(call: Call, body: Note) -> Noted:
    """Take a note."""
    if body.text == "no":
        raise Refused("origin_denied")
    return Noted(text=body.text)


async def look(call: Call) -> Noted:
    """Look at nothing."""
    return Noted(text="")


def kernel(*, cors: bool) -> Kernel:
    table = (post("/note", note), get("/look", look))
    return Kernel(
        Surface(
            name="test",
            title="Test",
            prefix="/v1",
            errors=errors.BROWSER,
            malformed="bad_request",
            unavailable="unavailable",
            wrong_query="bad_request",
            json_only=False,
            cors=cors,
            refusal_fields={"success": False},
            table=table,
        )
    )


async def test_a_response_names_the_page_that_asked() -> None:
    reply = await kernel(cors=True).call("POST", "/v1/note", b'{"text":"a"}', origin=PAGE, content_type="text/plain")

    assert (reply.status, reply.body) == (200, b'{"text":"a"}')
    assert reply.headers["access-control-allow-origin"] == PAGE
    assert reply.headers["vary"] == "Origin"
    assert reply.headers["cross-origin-resource-policy"] == "cross-origin"
    assert "access-control-allow-credentials" not in reply.headers


async def test_a_page_can_read_why_it_was_rejected() -> None:
    reply = await kernel(cors=True).call("POST", "/v1/note", b'{"text":"no"}', origin=PAGE)

    assert reply.status == 403
    assert reply.headers["access-control-allow-origin"] == PAGE
    assert reply.body.startswith(b'{"success":false,"error":"origin_denied"')


@pytest.mark.parametrize("origin", ["https://shop.example, https://evil.example", "a b", "https://", "x" * 400])
async def test_what_is_no_origin_is_not_sent_back(origin: str) -> None:
    reply = await kernel(cors=True).call("POST", "/v1/note", b'{"text":"a"}', origin=origin)

    assert "access-control-allow-origin" not in reply.headers
    assert reply.headers["vary"] == "Origin"


async def test_a_preflight_is_handled_without_running_anything() -> None:
    reply = await kernel(cors=True).call("OPTIONS", "/v1/note", origin=PAGE, access_control_request_method="POST")

    assert (reply.status, reply.body) == (204, b"")
    assert reply.headers["access-control-allow-origin"] == PAGE
    assert reply.headers["access-control-allow-methods"] == "POST"
    assert reply.headers["access-control-allow-headers"] == "Content-Type"


async def test_without_a_rule_no_other_origin_reads_and_no_preflight_is_handled() -> None:
    closed = kernel(cors=False)

    assert "access-control-allow-origin" not in (await closed.call("GET", "/v1/look", origin=PAGE)).headers
    assert (await closed.call("OPTIONS", "/v1/note", origin=PAGE)).status == 405


async def test_a_wrong_query_is_rejected_with_the_surfaces_own_code() -> None:
    reply = await kernel(cors=True).call("GET", "/v1/look?limit=3", origin=PAGE)

    assert reply.status == 400
    assert b'"bad_request"' in reply.body
