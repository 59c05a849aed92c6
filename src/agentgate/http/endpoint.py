"""Endpoint: one row of a route table. The types of body, query and reply come from the handler's signature."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, get_args, get_origin, get_type_hints

from msgspec import Struct

from agentgate.http.call import Call
from agentgate.http.replies import JSON, Reply
from agentgate.lib import limits
from agentgate.lib.records import Input, Query

Handler = Callable[..., Awaitable[Any]]
Guard = Callable[..., Awaitable[Call]]


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One route: method, path, handler, guard and responses."""

    method: str
    path: str
    handler: Handler
    # Identifies the caller or rejects the request: authentication, CSRF, state of account and user, permission, in this
    # order.
    guard: Guard
    # Finds the object in the path; objects that the caller may not see are rejected like unknown ones. Runs after
    # decoding.
    scope: Guard | None = None
    status: int = 200
    # Error codes of this row, besides the codes of its guard, body, query and scope.
    refuses: tuple[str, ...] = ()
    body_limit: int = limits.BODY_BYTES
    media_type: str = JSON
    # Any query is accepted: it is for the reader of the response, such as a script that reads its own address.
    any_query: bool = False
    # Also serves requests with a method that no other row of this path has.
    any_method: bool = False
    # The response contains a secret and text from callers, so it is never compressed (BREACH).
    holds_secret: bool = False
    # The group in the OpenAPI document, where it is not the handler's concept.
    tag: str | None = None
    # Description of a success.
    success: str = "Done"
    # Bodies of further statuses that are not errors.
    other_replies: dict[int, type] = field(default_factory=dict)
    # Media types of text responses, with descriptions.
    texts: dict[str, str] = field(default_factory=dict)
    # Pages with other statuses than a success, with descriptions.
    other_pages: dict[int, str] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """Return the first line of the handler's docstring."""
        return (inspect.getdoc(self.handler) or "").partition("\n")[0].rstrip(".")

    @property
    def description(self) -> str:
        """Return the rest of the handler's docstring."""
        return (inspect.getdoc(self.handler) or "").partition("\n")[2].strip()


@dataclass(frozen=True)
class HandlerSignature:
    """Parameter and reply types of a handler, read from its signature."""

    body: type[Input] | None
    body_required: bool
    query: type[Query] | None
    reply: Any
    # The handler also takes the raw body as `content`: a signature may cover it.
    takes_content: bool
    # Parameter name -> the type of the instance from `server/application.py`. `stores` belong to a transaction: a
    # handler with this parameter is one unit of work.
    dependencies: dict[str, Any]


# A handler has one signature, and reading it takes longer than most requests.
@functools.cache
def shape_of(handler: Callable[..., Any]) -> HandlerSignature:
    """Read a handler's, guard's or scope's signature."""
    hints = get_type_hints(handler)
    parameters = list(inspect.signature(handler).parameters.values())
    body = next((parameter for parameter in parameters if parameter.name == "body"), None)
    own = {"body", "query", "content", parameters[0].name}
    dependencies = {
        parameter.name: get_origin(hints[parameter.name]) or hints[parameter.name]
        for parameter in parameters
        if parameter.name not in own
    }
    return HandlerSignature(
        body=hints["body"] if body else None,
        body_required=body is not None and body.default is inspect.Parameter.empty,
        query=hints.get("query"),
        reply=_reply_type(hints["return"]),
        takes_content="content" in hints,
        dependencies=dependencies,
    )


def _reply_type(hint: Any) -> Any:
    kind = get_args(hint)[0] if get_origin(hint) is Reply else hint
    return None if kind is type(None) else kind


def is_record(kind: Any) -> bool:
    """Return whether a reply type is a record, and not text or nothing."""
    return isinstance(kind, type) and issubclass(kind, Struct)
