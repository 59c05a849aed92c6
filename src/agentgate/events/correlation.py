"""Correlation: the IDs under which a request is known elsewhere, in the proxy's log and in a trace.

Proxies and visitors choose them. No decision depends on them, and values without the form of an ID are omitted.
"""

import string
from collections.abc import Mapping

from agentgate.events.records import Correlation
from agentgate.lib.limits import REQUEST_ID_CHARACTERS
from agentgate.lib.telemetry.tracing import TRACEPARENT

REQUEST_ID_HEADER, TRACE_HEADER = b"x-request-id", b"traceparent"
CORRELATED = (REQUEST_ID_HEADER, TRACE_HEADER)

_MOST_CHARACTERS = REQUEST_ID_CHARACTERS.most
# Forms of the known proxies: hex digits, UUIDs, Apache's unique IDs, AWS's `Root=1-...`.
_IN_REQUEST_IDS = (string.ascii_letters + string.digits + "._:@=+/~-").encode()


def correlation_of(fields: Mapping[bytes, bytes]) -> Correlation | None:
    """Return the IDs in headers whose names are in lower case; None where there is neither."""
    return read_correlation(fields.get(REQUEST_ID_HEADER), fields.get(TRACE_HEADER))


def read_correlation(request_id: bytes | None, trace: bytes | None) -> Correlation | None:
    """Return the IDs in the values of the two headers; None where there is neither."""
    traced = None if trace is None else read_trace_id(trace)
    if not request_id or len(request_id) > _MOST_CHARACTERS or request_id.translate(None, _IN_REQUEST_IDS):
        return None if traced is None else (None, traced)
    return request_id.decode("ascii"), traced


def read_trace_id(value: bytes | str | None) -> str | None:
    """Return the trace ID of a valid W3C `traceparent`, or None."""
    if value is None:
        return None
    match = TRACEPARENT.match(value if isinstance(value, str) else value.decode("latin-1"))
    return None if match is None else match[1]
