"""Inspects parsed request headers: pure functions that return None or an error.

`connection/protocol.py` reads bytes, counts them while they arrive, and responds. Each rule closes a way to request
smuggling: two programs on one connection that read the same bytes differently.
"""

import ipaddress
from collections.abc import Mapping, Sequence

from msgspec import Struct

# Names in lower case, in the order of arrival.
Fields = Mapping[bytes, bytes]

# A check has 32 KiB of a visitor's headers besides the adapter's headers, which repeat the visitor's target.
MAX_TARGET_BYTES = 33 * 1024
MAX_HEADERS = 128
MAX_HEADER_BYTES = 40 * 1024
# Bytes of each header besides its name and value: the colon, the space and the line end.
HEADER_OVERHEAD_BYTES = 4
MAX_CONTENT_LENGTH_DIGITS = 19

# Probes of load balancers still speak HTTP/1.0, which has no Host (RFC 9112 3.2 demands one of HTTP/1.1 alone).
HOSTLESS = frozenset({b"/healthz"})
METHODS = frozenset({b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"})
# Requests with the headers of any visitor: the handler inspects the names, the host and duplicates. Its response is a
# decision; a proxy could read an error of the guard as a failed check.
DESCRIBED = (b"/v1/gateway/check?respond=", b"/v1/gateway/denied?", b"/.agentgate/")
# A check whose denial is followed by a second step.
FIRST_STEP = b"/v1/gateway/check?respond=denial"
VERSIONS = frozenset({"1.0", "1.1"})

# Read by us or by adapters as one value: a second one would let two readers choose differently.
SINGLE_HEADERS = frozenset(
    {
        b"authorization",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"cookie",
        b"host",
        b"origin",
        b"sec-fetch-site",
        b"transfer-encoding",
        b"x-admin-key",
        b"x-csrf-token",
    }
)
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
SINGLE_PREFIX = b"x-original-"
# The gateway itself responds if these are duplicated: joined, they are not a valid method, URL or address.
READ_BY_GATEWAY = frozenset({b"x-original-method", b"x-original-url", b"x-original-address"})
# CGI-like programs read `_` as `-`, so `x_original_uri` would arrive as a header that only an adapter may set.
TRUSTED_PREFIXES = (SINGLE_PREFIX, b"x-service-", b"x-forwarded-")


def _changing_all_but(allowed: bytes) -> bytes:
    """Return a table for `bytes.translate` that leaves a text as it is only if each of its bytes is allowed.

    One pass in C, without a pattern to match: the guard runs for every request.
    """
    return bytes(byte if byte in allowed else byte ^ 0xFF for byte in range(256))


_ALPHANUMERIC = b"0123456789abcdefghijklmnopqrstuvwxyz"
# The bytes of a token (RFC 9110 5.6.2) without the underscore, which needs a second look.
_PLAIN_NAME = _changing_all_but(b"!#$%&'*+-.^`|~" + _ALPHANUMERIC)
_NAME = _changing_all_but(b"!#$%&'*+-.^`|~_" + _ALPHANUMERIC)
_VALUE = _changing_all_but(b"\t" + bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100)))
_TARGET = _changing_all_but(bytes(range(0x21, 0x7F)).replace(b"#", b""))
# RFC 3986 also allows sub-delimiters and percent escapes in a host. No real one has them, and they travel into links.
_HOST = _changing_all_but(b"-._~" + _ALPHANUMERIC + _ALPHANUMERIC.upper())
_IPV6 = _changing_all_but(b":.0123456789abcdefABCDEF")
_MAX_HOST_BYTES = 254


class RequestRefusal(Struct, frozen=True):
    """The reason why a request is not run: the status of the response and a short plain code."""

    status: int
    code: str


TARGET_TOO_LONG = RequestRefusal(414, "target_too_long")
TOO_MANY_HEADERS = RequestRefusal(431, "too_many_headers")
HEADERS_TOO_LARGE = RequestRefusal(431, "headers_too_large")
MALFORMED = RequestRefusal(400, "malformed_request")
# Found by the connection, not in the head.
HEAD_LATE = RequestRefusal(400, "head_timeout")
BODY_LATE = RequestRefusal(400, "body_timeout")
PIPELINE_FULL = RequestRefusal(400, "too_many_pipelined")


def judge_head(
    method: bytes, target: bytes, *, version: str, fields: Fields, repeated: Sequence[bytes]
) -> RequestRefusal | None:
    """Return why this head must not reach a handler, or None.

    `fields` holds each header once, `repeated` the name of each further line that carried a name again.
    """
    if len(fields) + len(repeated) > MAX_HEADERS:
        return TOO_MANY_HEADERS
    is_described = target.startswith(DESCRIBED)
    if method not in METHODS and not is_described:
        return RequestRefusal(400, "unknown_method")
    if version not in VERSIONS:
        return RequestRefusal(400, "unsupported_version")
    refusal = judge_target(target) or _judge_bytes(fields, allows_disguise=is_described)
    if refusal is not None:
        return refusal
    if is_described:
        return _judge_framing(version, fields, repeated)
    return _judge_meaning(version, target, fields, repeated)


def judge_target(target: bytes) -> RequestRefusal | None:
    """Allow the origin form only. The absolute form and the others contain a host besides the Host header."""
    if len(target) > MAX_TARGET_BYTES:
        return TARGET_TOO_LONG
    if target[:1] != b"/":
        return RequestRefusal(400, "target_form")
    if target.translate(_TARGET) != target:
        return RequestRefusal(400, "target_bytes")
    return None


def judge_host(host: bytes) -> RequestRefusal | None:
    """Allow a name or address with an optional port: no user, no list, no whitespace."""
    if host[:1] == b"[":
        address, bracket, rest = host[1:].partition(b"]")
        colon, port = rest[:1], rest[1:]
        is_valid = bracket == b"]" and colon in (b"", b":") and _is_ipv6(address)
    else:
        name, colon, port = host.partition(b":")
        is_valid = 0 < len(name) <= _MAX_HOST_BYTES and name.translate(_HOST) == name and name[0] not in b"-.~"
    if not is_valid or (colon and not (port.isdigit() and len(port) <= 5 and int(port) <= 65_535)):
        return RequestRefusal(400, "host_invalid")
    return None


def is_plain_name(name: bytes) -> bool:
    """Return whether a name in lower case is one that needs no second look."""
    return bool(name) and name.translate(_PLAIN_NAME) == name


def _judge_bytes(fields: Fields, *, allows_disguise: bool) -> RequestRefusal | None:
    """Check all headers together, each check one pass in C, because this runs for every request."""
    names = b"".join(fields)
    values = b"".join(fields.values())
    if len(names) + len(values) + HEADER_OVERHEAD_BYTES * len(fields) > MAX_HEADER_BYTES:
        return HEADERS_TOO_LARGE
    if values.translate(_VALUE) != values:
        return RequestRefusal(400, "header_value")
    if names.translate(_PLAIN_NAME) == names and b"" not in fields:
        return None
    return _judge_unusual_names(fields, allows_disguise=allows_disguise)


def _judge_unusual_names(fields: Fields, *, allows_disguise: bool) -> RequestRefusal | None:
    if any(not name or name.translate(_NAME) != name for name in fields):
        return RequestRefusal(400, "header_name")
    if not allows_disguise and any(_is_disguised(name) for name in fields):
        return RequestRefusal(400, "header_underscore")
    return None


def _judge_meaning(version: str, target: bytes, fields: Fields, repeated: Sequence[bytes]) -> RequestRefusal | None:
    """Check the headers that name the host and delimit the body."""
    if repeated and any(_is_single(name) for name in repeated):
        return RequestRefusal(400, "header_repeated")
    if b"host" in fields:
        refusal = judge_host(fields[b"host"])
    else:
        refusal = None if version == "1.0" and target in HOSTLESS else RequestRefusal(400, "host_missing")
    if refusal is None and fields.get(b"content-encoding", b"identity").lower() != b"identity":
        refusal = RequestRefusal(400, "content_encoding")
    if refusal is None and (b"content-length" in fields or b"transfer-encoding" in fields):
        refusal = _judge_body(version, fields)
    return refusal


def _judge_framing(version: str, fields: Fields, repeated: Sequence[bytes]) -> RequestRefusal | None:
    """Check only the headers that delimit the body. `Content-Encoding` describes the visitor's, which is not read."""
    if not _FRAMING.isdisjoint(repeated):
        return RequestRefusal(400, "header_repeated")
    return None if _FRAMING.isdisjoint(fields) else _judge_body(version, fields)


def _judge_body(version: str, fields: Fields) -> RequestRefusal | None:
    length = fields.get(b"content-length")
    transfer_encoding = fields.get(b"transfer-encoding")
    if length is not None and transfer_encoding is not None:
        return RequestRefusal(400, "length_and_encoding")
    # HTTP/1.0 has no chunks (RFC 9112 6.1): programs between client and service would read the body differently.
    if transfer_encoding is not None and (transfer_encoding.lower() != b"chunked" or version == "1.0"):
        return RequestRefusal(400, "transfer_encoding")
    if length is not None and not (length.isdigit() and len(length) <= MAX_CONTENT_LENGTH_DIGITS):
        return RequestRefusal(400, "content_length")
    # The parser skips the body of a request that asks for another protocol, and would read it as the next request.
    if b"upgrade" in fields and (length is not None or transfer_encoding is not None):
        return RequestRefusal(400, "upgrade_with_body")
    return None


def _is_single(name: bytes) -> bool:
    return name in SINGLE_HEADERS or (name.startswith(SINGLE_PREFIX) and name not in READ_BY_GATEWAY)


def _is_disguised(name: bytes) -> bool:
    if b"_" not in name:
        return False
    read_as = name.replace(b"_", b"-")
    return read_as in SINGLE_HEADERS or read_as.startswith(TRUSTED_PREFIXES)


def _is_ipv6(address: bytes) -> bool:
    if address.translate(_IPV6) != address:
        return False
    try:
        ipaddress.IPv6Address(address.decode("ascii"))
    except ValueError:
        return False
    return True
