"""Surface: a route table with one prefix, one error table and one default guard."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from agentgate.http.call import Call
from agentgate.http.endpoint import Endpoint, Guard, Handler
from agentgate.http.replies import ErrorBody, RefusalWriter
from agentgate.lib.errors import ErrorTable


async def anyone(call: Call) -> Call:
    """Accept every caller."""
    return call


@dataclass(frozen=True, kw_only=True)
class Surface:
    """All the routes that one kind of caller uses."""

    name: str
    title: str
    prefix: str
    errors: ErrorTable
    table: "tuple[RowMaker, ...]"
    # The guard of rows that have no guard.
    guard: Guard = anyone
    # Path of the rows, when not below the prefix.
    below: str | None = None
    # This surface's codes for the three errors that any route can have.
    malformed: str = "invalid_request"
    too_large: str = "invalid_request"
    unavailable: str = "store_unavailable"
    # A cross-site form cannot send this media type without a preflight request, so requiring it blocks forms.
    json_only: bool = True
    # The code of an invalid query, where the table has none of the codes of lists.
    wrong_query: str | None = None
    # Whether pages of other origins may read the responses, including errors.
    cors: bool = False
    # Fields of every error, and the record that describes its body.
    refusal_fields: Mapping[str, Any] = field(default_factory=dict)
    # None if errors are HTML pages.
    refusal_record: type | None = ErrorBody
    # Writes the body of an error: another vendor's record, or a page.
    write_refusal: RefusalWriter | None = None
    # The body may also be an HTML form.
    forms: bool = False
    # Whether long responses to GET are compressed for clients that accept it.
    compressed: bool = False
    # The OpenAPI document that describes it, if not the document of its own name: other surfaces may share it.
    document: str | None = None

    @property
    def document_name(self) -> str:
        """Return the name of the OpenAPI document that describes this surface."""
        return self.document or self.name

    @cached_property
    def rows(self) -> tuple[Endpoint, ...]:
        """Return the endpoints, each with its whole path and its guard."""
        start = self.prefix if self.below is None else self.below
        return tuple(row(start, self.guard) for row in self.table)


# An endpoint that still lacks its surface's prefix and default guard, as `get`, `post` and the others make it.
RowMaker = Callable[[str, Guard], Endpoint]


def _row(method: str) -> Callable[..., RowMaker]:
    def make(path: str, handler: Handler, *, guard: Guard | None = None, **options: Any) -> RowMaker:
        def place(prefix: str, default_guard: Guard) -> Endpoint:
            return Endpoint(method=method, path=prefix + path, handler=handler, guard=guard or default_guard, **options)

        return place

    return make


get = _row("GET")
post = _row("POST")
put = _row("PUT")
patch = _row("PATCH")
delete = _row("DELETE")
