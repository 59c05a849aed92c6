"""Surface: a route table with one prefix, one error table and one default guard."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from agentgate.errors import ErrorTable
from agentgate.web.call import Call
from agentgate.web.endpoint import Endpoint, Guard, Handler


async def anyone(call: Call) -> Call:
    """Let everybody in."""
    return call


@dataclass(frozen=True, kw_only=True)
class Surface:
    """All the routes that one kind of caller uses."""

    name: str
    title: str
    prefix: str
    errors: ErrorTable
    rows: tuple[Endpoint, ...]
    # The codes this surface's table has for the three things that can go wrong on any route.
    malformed: str = "invalid_request"
    too_large: str = "invalid_request"
    unavailable: str = "store_unavailable"
    # A cross-site form cannot send this media type without asking first, so demanding it keeps forms out.
    json_only: bool = True


# What `get`, `post` and the others make: an endpoint that still lacks its surface's prefix and default guard.
Row = Callable[[str, Guard], Endpoint]


def _row(method: str) -> Callable[..., Row]:
    def make(path: str, handler: Handler, *, guard: Guard | None = None, **options: Any) -> Row:
        def place(prefix: str, default_guard: Guard) -> Endpoint:
            return Endpoint(method=method, path=prefix + path, handler=handler, guard=guard or default_guard, **options)

        return place

    return make


get = _row("GET")
post = _row("POST")
put = _row("PUT")
patch = _row("PATCH")
delete = _row("DELETE")


def rows(prefix: str, guard: Guard, table: Iterable[Row]) -> tuple[Endpoint, ...]:
    """Give every row the surface's prefix and, where it names none, the surface's guard."""
    return tuple(row(prefix, guard) for row in table)
