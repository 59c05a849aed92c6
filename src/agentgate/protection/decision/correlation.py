"""Correlation: the IDs under which a request is known elsewhere, in the proxy's log and in a trace.

They are the proxy's word or the visitor's. Nothing is decided by them, and what is not plainly an ID is left out.
"""

import re
from collections.abc import Mapping

from agentgate.events.records import Correlation
from agentgate.lib.limits import REQUEST_ID_CHARACTERS
from agentgate.lib.telemetry.tracing import TRACEPARENT

REQUEST_ID_HEADER, TRACE_HEADER = b"x-request-id", b"traceparent"
CORRELATED = (REQUEST_ID_HEADER, TRACE_HEADER)

# What the known proxies make: hex digits, UUIDs, Apache's unique IDs, AWS's `Root=1-...`.
_REQUEST_ID = re.compile(rf"[A-Za-z0-9._:@=+/~-]{{1,{REQUEST_ID_CHARACTERS.most}}}\Z")
_IN_HEAD = re.compile(rb"\r\n(x-request-id|traceparent): ([^\r]*)", re.IGNORECASE)


def correlation_of(fields: Mapping[bytes, bytes]) -> Correlation | None:
    """Return the IDs in headers whose names are in lower case; None where there is neither."""
    request_id = read_request_id(fields.get(REQUEST_ID_HEADER))
    trace_id = read_trace_id(fields.get(TRACE_HEADER))
    return None if request_id is None and trace_id is None else (request_id, trace_id)


def correlation_in(head: bytes) -> Correlation | None:
    """Return the same of a head as it arrived, without taking all of it apart."""
    return correlation_of({name.lower(): value for name, value in _IN_HEAD.findall(head)})


def read_request_id(value: bytes | None) -> str | None:
    """Return a request ID that is one."""
    if value is None:
        return None
    match = _REQUEST_ID.match(value.decode("latin-1"))
    return None if match is None else match[0]


def read_trace_id(value: bytes | str | None) -> str | None:
    """Return the trace ID of a W3C `traceparent` that is one."""
    if value is None:
        return None
    match = TRACEPARENT.match(value if isinstance(value, str) else value.decode("latin-1"))
    return None if match is None else match[1]
