"""HTML forms: URL-encoded and multipart bodies as name-value pairs, in linear time.

A multipart form is flat: one boundary, and text fields only. Files, nested parts, transfer encodings and folded headers
are rejected; browsers and HTTP clients send none of the last three.
"""

import re
from urllib.parse import parse_qsl

from agentgate.lib.errors import Refused
from agentgate.lib.records import to_json

URL_ENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
FORM_MEDIA_TYPES = (URL_ENCODED, MULTIPART)

# Forms of the routes that take JSON too have few fields.
FIELDS = 20

MOST_PART_HEADERS = 5
MOST_PART_HEADER_BYTES = 2048
# RFC 2046, section 5.1.1.
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]\Z")
_HEADER = re.compile(r"([!-9;-~]+):[ \t]*([^\r\n\0]*)\Z")
# Backslashes are rejected: browsers send them as they are, other clients as an escape.
_PARAMETER = re.compile(r';[ \t]*([0-9A-Za-z*_-]+)=(?:"([^"\\\0]*)"|([^\s";\\\0]+))[ \t]*')
_PLAIN_ENCODINGS = frozenset({"7bit", "8bit", "binary"})


def media_type_of(content_type: str | None) -> str:
    """Return the media type of a Content-Type header, in lower case and without parameters."""
    return (content_type or "").partition(";")[0].strip().lower()


def form_as_json(body: bytes, content_type: str | None, *, malformed: str) -> bytes:
    """Return a form's fields as one JSON object of texts. A body of another media type is returned unchanged."""
    if media_type_of(content_type) not in FORM_MEDIA_TYPES:
        return body
    try:
        pairs = read_fields(body, content_type or "", most=FIELDS)
    except ValueError as problem:
        # The text of a decoder's error would quote the body.
        reason = "its text is not UTF-8" if isinstance(problem, UnicodeError) else problem
        raise Refused(malformed, f"The form is malformed: {reason}. Send at most {FIELDS} text fields.") from None
    fields = dict(pairs)
    # Parsers disagree on which of two equal names counts.
    if len(fields) != len(pairs):
        raise Refused(malformed, "The form contains a field twice. Send it once.")
    return to_json(fields)


def read_fields(body: bytes, content_type: str, *, most: int) -> list[tuple[str, str]]:
    """Return the fields of a form in their order. ValueError: malformed, or too many fields."""
    if media_type_of(content_type) == URL_ENCODED:
        return parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=most)
    boundary = _parameters(content_type).get("boundary", "")
    if not _BOUNDARY.match(boundary):
        raise ValueError("its Content-Type has no valid boundary")
    # Every delimiter starts with a line break. The first one has none in front of it.
    preamble, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary.encode("ascii"), most + 2)
    if len(parts) > most + 1:
        raise ValueError("it has too many fields")
    if not parts or preamble.strip() or not parts[-1].startswith(b"--") or parts[-1][2:].strip():
        raise ValueError("it does not start and end with its boundary")
    return [_field(part) for part in parts[:-1]]


def _field(part: bytes) -> tuple[str, str]:
    end = part.find(b"\r\n\r\n", 0, MOST_PART_HEADER_BYTES)
    if not part.startswith(b"\r\n") or end < 0:
        raise ValueError(f"a part has no headers, or more than {MOST_PART_HEADER_BYTES} bytes of headers")
    lines = part[2:end].decode().split("\r\n", MOST_PART_HEADERS)
    headers = {match[1].lower(): match[2] for match in map(_HEADER.match, lines) if match}
    if len(headers) != len(lines) or len(lines) > MOST_PART_HEADERS:
        raise ValueError(f"a part has a malformed or repeated header, or more than {MOST_PART_HEADERS} headers")
    if media_type_of(headers.get("content-type")).startswith("multipart/"):
        raise ValueError("a part contains other parts")
    if headers.get("content-transfer-encoding", "binary").lower() not in _PLAIN_ENCODINGS:
        raise ValueError("a part has a Content-Transfer-Encoding")
    disposition = headers.get("content-disposition", "")
    parameters = _parameters(disposition)
    if media_type_of(disposition) != "form-data" or parameters.keys() != {"name"}:
        raise ValueError("a part is a file or has no name")
    return parameters["name"], part[end + 4 :].decode()


def _parameters(value: str) -> dict[str, str]:
    """Return the parameters of a header's value by name; empty if one is malformed or repeated."""
    found: dict[str, str] = {}
    at = value.find(";") if ";" in value else len(value)
    while at < len(value):
        match = _PARAMETER.match(value, at)
        if match is None or match[1].lower() in found:
            return {}
        found[match[1].lower()] = match[2] if match[2] is not None else match[3]
        at = match.end()
    return found
