"""Calls for tests of identity: a request from a given address, at a given time, of a given user."""

from agentgate.http.call import Actor, Call
from agentgate.http.request import Request
from agentgate.lib.moment import Moment

NOW_MS = 1_794_744_000_000


def make_call(
    *,
    after_ms: int = 0,
    address: str = "192.0.2.7",
    headers: dict[str, str] | None = None,
    secure: bool = False,
    caller: Actor | None = None,
) -> Call:
    """Return a call, so many milliseconds after NOW_MS."""
    request = Request(
        method="POST",
        path="/v1/account/login",
        query_string=b"",
        headers=[(name.encode(), value.encode("latin-1")) for name, value in (headers or {}).items()],
        address=address,
        secure=secure,
    )
    return Call(
        request=request,
        request_id="0" * 16,
        now=Moment(NOW_MS + after_ms),
        params={},
        route="/v1/account/login",
        caller=caller,
    )
