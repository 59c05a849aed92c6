"""A handler's signature defines its inputs and its output."""

from collections.abc import Awaitable, Callable

import pytest
from msgspec import UNSET, UnsetType

from agentgate.http.asgi import _bind
from agentgate.http.call import Call
from agentgate.http.endpoint import Endpoint, is_record, shape_of
from agentgate.http.replies import Reply, Text
from agentgate.http.surface import Surface, anyone, get, post
from agentgate.lib import errors
from agentgate.lib.database import Store
from agentgate.lib.records import Input, Query, Record


class ThingInput(Input, frozen=True, kw_only=True):
    name: str | UnsetType = UNSET


class ThingQuery(Query, frozen=True, kw_only=True):
    limit: int = 1


class Thing(Record, frozen=True, kw_only=True):
    name: str


class Clockwork:
    """Something that a handler depends on."""


NO_NAME = ThingInput()


async def make(call: Call, body: ThingInput, query: ThingQuery, store: Store[Clockwork], parts: Clockwork) -> Thing:
    """Make a thing.

    It is made at once.
    """
    raise NotImplementedError


async def make_optional(call: Call, body: ThingInput = NO_NAME) -> Reply[Thing]:
    """Make a thing."""
    raise NotImplementedError


async def remove(call: Call) -> Reply[None]:
    """Remove a thing."""
    raise NotImplementedError


async def show(call: Call) -> Text:
    """Show a thing."""
    raise NotImplementedError


def test_body_query_reply_and_dependencies_come_from_the_signature() -> None:
    shape = shape_of(make)

    assert (shape.body, shape.body_required, shape.query, shape.reply) == (ThingInput, True, ThingQuery, Thing)
    assert shape.dependencies == {"store": Store, "parts": Clockwork}


def test_a_body_with_a_default_may_be_absent() -> None:
    shape = shape_of(make_optional)

    assert (shape.body, shape.body_required, shape.query, shape.reply) == (ThingInput, False, None, Thing)
    assert shape.dependencies == {}


def test_a_reply_of_nothing_and_a_text_are_not_records() -> None:
    assert (shape_of(remove).reply, shape_of(show).reply) == (None, Text)
    assert [is_record(kind) for kind in (Thing, Text, None, Reply)] == [True, False, False, False]


def test_summary_and_description_come_from_the_docstring() -> None:
    endpoint = Endpoint(method="POST", path="/things", handler=make, guard=anyone)

    assert (endpoint.summary, endpoint.description) == ("Make a thing", "It is made at once.")


async def nobody(call: Call) -> Call:
    """Admit no call."""
    raise NotImplementedError


def test_a_row_gets_the_surfaces_prefix_and_its_guard_unless_it_names_one() -> None:
    table = (get("/things", show), post("/things", make, guard=anyone, status=201))
    made = Surface(name="t", title="T", prefix="/v1", errors=errors.CONSOLE, guard=nobody, table=table).rows

    assert [(row.method, row.path, row.guard, row.status) for row in made] == [
        ("GET", "/v1/things", nobody, 200),
        ("POST", "/v1/things", anyone, 201),
    ]


@pytest.mark.anyio
async def test_a_handler_that_takes_stores_is_one_unit_of_work() -> None:
    class OneStore:
        async def change(self, work: Callable[[str], Awaitable[str]]) -> str:
            return await work("the transaction's")

    async def handle(call: Call, stores: Clockwork, parts: Clockwork) -> str:
        assert isinstance(parts, Clockwork)
        return f"{stores} stores for {call}"

    bound = _bind(handle, {Store: OneStore(), Clockwork: Clockwork()})

    assert await bound("a call") == "the transaction's stores for a call"
