"""One request through the kernel: the order of its checks, and what becomes of everything that goes wrong."""

import asyncio
import io
import json
from collections.abc import Callable
from typing import Annotated

import pytest
from msgspec import UNSET, Meta, UnsetType

from agentgate.http.call import SYSTEM, Call
from agentgate.http.endpoint import Endpoint
from agentgate.http.replies import SECURITY_HEADERS, Reply, Text
from agentgate.http.surface import Surface, get, post
from agentgate.lib import errors
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.errors import Refused
from agentgate.lib.records import Input, Query, Record
from tests.unit.http.kernel import Kernel, Steps

pytestmark = pytest.mark.anyio

SECRET_TEXT = "password=hunter2 in table account"


class ThingInput(Input, frozen=True, kw_only=True):
    size: Annotated[int, Meta(le=9)]
    name: str | UnsetType = UNSET


class ThingQuery(Query, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=9)] = 1


class Thing(Record, frozen=True, kw_only=True):
    size: int
    address: str | UnsetType = UNSET


NO_SIZE = ThingInput(size=0)


async def with_key(call: Call, steps: Steps) -> Call:
    """Admit calls with a key."""
    steps.append("guard")
    if call.request.header("x-key") != "right":
        raise Refused("unauthorized")
    return call.acting_as(SYSTEM)


async def thing_in_path(call: Call, steps: Steps) -> Call:
    """Find the thing."""
    steps.append("scope")
    if call.params["id"] != "known":
        raise Refused("not_found")
    return call


async def change(call: Call, body: ThingInput, query: ThingQuery, steps: Steps) -> Thing:
    """Change a thing."""
    steps.append("handler")
    return Thing(size=body.size * query.limit)


async def make(call: Call, body: ThingInput = NO_SIZE) -> Reply[Thing]:
    """Make a thing."""
    return Reply(body=Thing(size=body.size), headers=(("location", "/things/known"),))


async def touch(call: Call) -> None:
    """Touch all things."""


async def show(call: Call) -> Thing:
    """Show the caller."""
    return Thing(size=call.now, address=call.request.address)


async def page(call: Call) -> Reply[Text]:
    """Show a page."""
    policy = ("content-security-policy", "default-src 'self'")
    return Reply(body=Text(b"<p>", "text/html"), headers=(policy,))


async def fail(call: Call) -> None:
    """Fail in an unexpected way."""
    raise RuntimeError(SECRET_TEXT)


async def lose_store(call: Call) -> None:
    """Find the store away."""
    raise StoreUnavailable(SECRET_TEXT)


async def refuse_strangely(call: Call) -> None:
    """Raise a code of another surface."""
    raise Refused("challenge_used", SECRET_TEXT)


async def wait(call: Call, started: asyncio.Event) -> None:
    """Wait without end."""
    started.set()
    await asyncio.Event().wait()


SURFACE = Surface(
    name="test",
    title="Test",
    prefix="/v1",
    errors=errors.CONSOLE,
    table=(
        post("/things/{id}", change, guard=with_key, scope=thing_in_path, body_limit=1024),
        post("/things", make, status=201),
        post("/touch", touch, status=204),
        get("/me", show),
        get("/page", page),
        get("/fail", fail),
        get("/away", lose_store),
        get("/strange", refuse_strangely),
        get("/wait", wait),
    ),
)


@pytest.fixture
def kernel() -> Kernel:
    return Kernel(SURFACE)


RIGHT = {"x_key": "right"}


async def test_a_request_in_order_reaches_every_step_once(kernel: Kernel) -> None:
    reply = await kernel.call("POST", "/v1/things/known?limit=2", b'{"size":3}', **RIGHT)

    assert (reply.status, reply.body) == (200, b'{"size":6}')
    assert kernel.steps == ["guard", "scope", "handler"]


@pytest.mark.parametrize(
    ("target", "body", "headers", "outcome", "steps"),
    [
        # Everything is wrong; then, one after the other, what is checked first is put right.
        ("/v1/things/other?limit=0", b"{", {}, (401, "unauthorized"), ["guard"]),
        ("/v1/things/other?limit=0", b"{", RIGHT, (400, "invalid_limit"), ["guard"]),
        ("/v1/things/other?limit=1", b"{", RIGHT, (400, "invalid_request"), ["guard"]),
        ("/v1/things/other?limit=1", b'{"size":1}', RIGHT, (404, "not_found"), ["guard", "scope"]),
        ("/v1/things/known?limit=1", b'{"size":1}', RIGHT, (200, None), ["guard", "scope", "handler"]),
    ],
)
async def test_who_comes_before_what_and_what_before_whether_it_exists(
    kernel: Kernel, target: str, body: bytes, *, headers: dict[str, str], outcome: tuple, steps: list[str]
) -> None:
    reply = await kernel.call("POST", target, body, **headers)

    assert reply.outcome == outcome
    assert kernel.steps == steps


async def test_the_body_of_someone_unknown_is_not_even_read(kernel: Kernel) -> None:
    reply = await kernel.call("POST", "/v1/things/known", None)

    assert reply.outcome == (401, "unauthorized")


@pytest.mark.parametrize(
    ("target", "body", "headers"),
    [
        ("/v1/things/known", b"", RIGHT),
        ("/v1/things/known", b"[]", RIGHT),
        ("/v1/things/known", b'{"size":10}', RIGHT),
        ("/v1/things/known", b'{"size":1}', RIGHT | {"content_type": "text/plain"}),
        ("/v1/things/known", b'{"size":1}', RIGHT | {"content_type": "application/x-www-form-urlencoded"}),
        ("/v1/things/known", b'{"size":1}', RIGHT | {"content_type": ""}),
        ("/v1/things/known", b" " * 1025, RIGHT),
        ("/v1/things/known", b"{}", RIGHT | {"content_length": "1025"}),
        ("/v1/touch", b'{"size":1}', {}),
        ("/v1/touch", b"x", {}),
    ],
)
async def test_a_body_that_the_route_does_not_take_is_rejected(
    kernel: Kernel, target: str, body: bytes, headers: dict[str, str]
) -> None:
    reply = await kernel.call("POST", target, body, **headers)

    assert reply.outcome == (400, "invalid_request")
    assert "handler" not in kernel.steps


async def test_a_media_type_may_have_parameters_and_capitals(kernel: Kernel) -> None:
    reply = await kernel.call(
        "POST", "/v1/things/known", b'{"size":1}', **RIGHT, content_type="Application/JSON; charset=utf-8"
    )

    assert reply.status == 200


async def test_a_body_with_a_default_may_be_absent(kernel: Kernel) -> None:
    reply = await kernel.call("POST", "/v1/things", content_type="")

    assert (reply.status, reply.body, reply.headers["location"]) == (201, b'{"size":0}', "/things/known")


@pytest.mark.parametrize("body", [b"", b"{}", b" {} \n"])
async def test_a_route_without_a_body_takes_none_or_an_empty_object(kernel: Kernel, body: bytes) -> None:
    reply = await kernel.call("POST", "/v1/touch", body)

    assert (reply.status, reply.body) == (204, b"")
    assert "content-length" not in reply.headers
    assert "content-type" not in reply.headers


async def test_an_unexpected_failure_is_instructed_to_the_log_and_only_its_id_to_the_client(kernel: Kernel) -> None:
    reply = await kernel.call("GET", "/v1/fail")

    request_id = reply.headers["x-request-id"]
    assert reply.outcome == (500, "internal_error")
    assert request_id in json.loads(reply.body)["message"]
    assert "hunter2" not in repr(reply.sent)
    assert "RuntimeError" not in repr(reply.sent)
    (line,) = kernel.lines
    assert (line["request_id"], line["status"], line["code"], line["level"]) == (
        request_id,
        500,
        "internal_error",
        "error",
    )
    assert "RuntimeError" in line["exception"]


async def test_a_store_that_is_unavailable_is_503_with_the_time_to_try_again(kernel: Kernel) -> None:
    reply = await kernel.call("GET", "/v1/away")

    assert reply.outcome == (503, "store_unavailable")
    assert reply.headers["retry-after"] == "5"
    assert "hunter2" not in repr(reply.sent)
    # The log reports the number of failures once a second, not each of them.
    (line,) = kernel.lines
    assert (line["event"], line["requests"]) == ("requests failed: a store is unavailable", 1)


async def test_a_surface_whose_table_has_no_time_to_try_again_shows_it_too() -> None:
    row = get("/away", lose_store)
    surface = Surface(
        name="t",
        title="T",
        prefix="",
        errors=errors.SITEVERIFY,
        table=(row,),
        unavailable="unavailable",
    )

    reply = await Kernel(surface).call("GET", "/away")

    assert (*reply.outcome, reply.headers["retry-after"]) == (503, "unavailable", "5")


async def test_a_code_that_the_surface_does_not_have_is_our_failure_and_not_a_response(kernel: Kernel) -> None:
    reply = await kernel.call("GET", "/v1/strange")

    assert reply.outcome == (500, "internal_error")
    assert b"challenge_used" not in reply.body
    assert b"hunter2" not in reply.body
    assert "LookupError" in kernel.lines[0]["exception"]


async def test_a_client_that_went_away_gets_no_response_but_a_log_line(kernel: Kernel) -> None:
    reply = await kernel.call("POST", "/v1/things/known", None, **RIGHT)

    assert reply.sent == []
    (line,) = kernel.lines
    assert (line["status"], line["code"], line["route"]) == (499, "disconnected", "/v1/things/{id}")
    assert "exception" not in line


def in_flight(kernel: Kernel) -> float:
    content, _ = kernel.metrics.exposition()
    (line,) = [line for line in content.decode().splitlines() if "in_flight" in line and not line.startswith("#")]
    return float(line.split()[-1])


async def test_a_request_that_is_cancelled_is_shown_and_no_longer_counted(kernel: Kernel) -> None:
    running = asyncio.create_task(kernel.call("GET", "/v1/wait"))
    await kernel.started.wait()
    assert in_flight(kernel) == 1

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert in_flight(kernel) == 0
    assert [(line["status"], line["code"]) for line in kernel.lines] == [(499, "cancelled")]


async def test_the_log_names_route_and_caller_and_never_the_path_query_or_address(kernel: Kernel) -> None:
    await kernel.call("POST", "/v1/things/other?limit=7", b'{"size":1}', **RIGHT, x_forwarded_for="192.0.2.77")

    (line,) = kernel.lines
    assert (line["route"], line["actor"], line["surface"], line["method"]) == (
        "/v1/things/{id}",
        "system",
        "test",
        "POST",
    )
    for secret in ("other", "limit", "192.0.2.77", "right"):
        assert secret not in kernel.log.getvalue()


async def test_unknown_paths_and_wrong_methods_are_distinguished_from_each_other(kernel: Kernel) -> None:
    unknown, wrong = await kernel.call("GET", "/v1/nothing"), await kernel.call("DELETE", "/v1/things")

    assert unknown.outcome == (404, "not_found")
    assert (*wrong.outcome, wrong.headers["allow"]) == (405, "invalid_request", "POST")
    assert {line["route"] for line in kernel.lines} == {"(unknown)"}


@pytest.mark.parametrize("target", ["/v1/me", "/v1/fail", "/v1/away", "/v1/nothing"])
async def test_every_response_has_the_strictest_headers_and_its_own_id(kernel: Kernel, target: str) -> None:
    first, second = await kernel.call("GET", target), await kernel.call("GET", target)

    for name, value in SECURITY_HEADERS:
        assert first.headers[name.decode()] == value.decode()
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
    assert int(first.headers["content-length"]) == len(first.body)


async def test_a_page_may_weaken_one_header_and_keeps_the_others(kernel: Kernel) -> None:
    reply = await kernel.call("GET", "/v1/page")

    names = [name for name, _ in reply.sent[0]["headers"]]
    assert reply.headers["content-security-policy"] == "default-src 'self'"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert len(names) == len(set(names))


async def test_head_shows_the_length_and_sends_nothing(kernel: Kernel) -> None:
    head, get_ = await kernel.call("HEAD", "/v1/me"), await kernel.call("GET", "/v1/me")

    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == get_.headers["content-length"]


async def test_handlers_see_the_handed_in_time_and_the_address_behind_trusted_proxies(kernel: Kernel) -> None:
    reply = await kernel.call("GET", "/v1/me", x_forwarded_for="198.51.100.1, 192.0.2.7")

    assert json.loads(reply.body) == {"size": "1970-01-01T00:00:01.000Z", "address": "192.0.2.7"}


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8081", 200),
        ("[::1]", 200),
        ("[::1]:8081", 200),
        ("localhost.evil.example", 400),
        ("evil.example:localhost", 400),
        ("evil.example", 400),
        ("localhost.", 400),
        ("", 400),
        ("[::1].evil.example", 400),
    ],
)
async def test_a_listener_with_names_responds_to_them_only(host: str, status: int) -> None:
    kernel = Kernel(SURFACE, allowed_hosts=frozenset({"localhost", "[::1]"}))

    assert (await kernel.call("GET", "/v1/me", host=host)).status == status
    assert (await kernel.call("GET", "/v1/nothing", host=host)).status == (404 if status == 200 else 400)


def surface_of(row: Callable[..., Endpoint]) -> Surface:
    return Surface(name="t", title="T", prefix="", errors=errors.CONSOLE, table=(row,))


async def nobodys(call: Call, missing: io.BytesIO) -> None:
    """Need a parameter that no provider supplies."""


async def test_a_handler_that_needs_a_missing_parameter_stops_the_start() -> None:
    with pytest.raises(LookupError, match=r"nobodys.*missing"):
        Kernel(surface_of(get("/x", nobodys)))
