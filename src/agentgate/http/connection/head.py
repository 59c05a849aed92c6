"""The request headers as one key: the values that handlers read, and separately the values that change each time.

`cut` takes the complete, plain headers of a GET or POST and returns a key that is equal for all that differ only in
unused values. It is compiled if possible (`_head.pyx`); otherwise the function below does the same, and a test compares
the two. Requests that it does not accept are parsed.
"""

import re
from collections.abc import Callable, Mapping

from agentgate.http.connection.head_names import GIVEN, KEPT, LONGEST_HEAD
from agentgate.http.request_guard import is_plain_name, judge_head
from agentgate.lib.compiled import load_compiled

# Heads with one of these go through the parser: they concern the connection or announce a body.
OF_CONNECTION = frozenset(
    (
        b"connection",
        b"content-encoding",
        b"expect",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)

_Value = bytes | None
# The key, then what GIVEN names; None where a header did not come. Not a named tuple, which costs 3% of a check.
Cut = tuple[
    bytes, _Value, _Value, _Value, _Value, _Value, _Value, _Value, _Value, _Value, _Value
]  # fmt: skip
# Names and values, each in the order of arrival.
Lines = tuple[tuple[bytes, ...], list[bytes]]

_NAME, _VALUE = rb"[A-Za-z0-9-]+", rb"[!-~](?:[ -~]*[!-~])?"
_WHOLE = re.compile(rb"(?:GET|POST) /[!-~]* HTTP/1\.1(?:\r\n%b: %b)*\r\n\r\n" % (_NAME, _VALUE))
_UNREAD = re.compile(rb"(\r\n(?!(?:%b): )%b): [^\r]*" % (b"|".join(KEPT), _NAME), re.IGNORECASE)
_GIVEN = re.compile(rb"\r\n(%b): ([^\r]*)" % b"|".join(GIVEN), re.IGNORECASE)
_LINE = re.compile(rb"\r\n(%b): ([^\r]*)" % _NAME)
_STAYING = frozenset((b"connection", b"keep-alive"))


def cut_plainly(data: bytes) -> Cut | None:
    """Return the key of a head and the values that are given; None where it is not one whole plain head."""
    if len(data) > LONGEST_HEAD or _WHOLE.fullmatch(data) is None:
        return None
    lines = _GIVEN.findall(data)
    found = {name.lower(): value for name, value in lines}
    if len(found) != len(lines):
        return None
    return with_key(_UNREAD.sub(rb"\1", data)[:-4], found)


def with_key(key: bytes, found: Mapping[bytes, bytes]) -> Cut:
    """Return a key with the values that are given."""
    authorization, secret, url, address, line, cookie, request_id, trace, agent, languages = map(found.get, GIVEN)
    return key, authorization, secret, url, address, line, cookie, request_id, trace, agent, languages


def lines_plainly(data: bytes) -> Lines:
    """Return names and values of the headers of a head that `cut` took, as they arrived."""
    found = _LINE.findall(data)
    return tuple([name for name, _ in found]), [value for _, value in found]


_compiled = load_compiled("http.connection._head")
cut: Callable[[bytes], Cut | None] = cut_plainly if _compiled is None else _compiled.cut
lines: Callable[[bytes], Lines] = lines_plainly if _compiled is None else _compiled.lines
IS_COMPILED = _compiled is not None


def split(data: bytes) -> dict[bytes, bytes] | None:
    """Return the headers of a head that `cut` took, names in lower case; None where a name is not plain or repeated."""
    names, values = lines(data)
    fields = {name.lower(): value for name, value in zip(names, values, strict=True)}
    return fields if len(fields) == len(names) and all(map(is_plain_name, fields)) else None


def read_length(data: bytes) -> int:
    """Return how long the body is behind a POST's head that `cut` took; 0 where only the parser may read it."""
    fields = split(data)
    if fields is None or b"content-length" not in fields:
        return 0
    # Many clients say that the connection stays open, as it does anyway.
    if fields.get(b"connection", b"keep-alive").lower() != b"keep-alive" or OF_CONNECTION & fields.keys() - _STAYING:
        return 0
    target = data[5 : data.index(b" ", 5)]
    refusal = judge_head(b"POST", target, version="1.1", fields=fields, repeated=())
    return int(fields[b"content-length"]) if refusal is None else 0
