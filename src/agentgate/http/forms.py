"""Form bodies as JSON, for the routes that speak another service's language. One decoder then checks both.

Only small text fields: whoever reads a file upload needs something else.
"""

from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP
from urllib.parse import parse_qsl

from agentgate.lib.errors import Refused
from agentgate.lib.records import to_json

URL_ENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
FORM_MEDIA_TYPES = (URL_ENCODED, MULTIPART)

# Nobody needs more for what such a route takes.
FIELDS = 20


def form_as_json(body: bytes, content_type: str | None, *, malformed: str) -> bytes:
    """Return a form's fields as one JSON object of texts; a body of any other type as it is."""
    media_type = (content_type or "").partition(";")[0].strip().lower()
    if media_type == URL_ENCODED:
        pairs = _url_encoded(body, malformed)
    elif media_type == MULTIPART:
        pairs = _multipart(body, content_type or "", malformed)
    else:
        return body
    fields = dict(pairs)
    # Two parsers disagree on which of two equal names counts, so a form with both is not one thing but two.
    if len(fields) != len(pairs):
        raise Refused(malformed, "The same field stands twice in the form; send it once.")
    return to_json(fields)


def _url_encoded(body: bytes, malformed: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=FIELDS,
        )
    except ValueError:
        # Also what is raised for text that is not ASCII or not UTF-8.
        message = f"The form cannot be read; send at most {FIELDS} fields as name=value, percent-encoded UTF-8."
        raise Refused(malformed, message) from None


def _multipart(body: bytes, content_type: str, malformed: str) -> list[tuple[str, str]]:
    try:
        head = f"Content-Type: {content_type}\r\n\r\n".encode("ascii")
        parsed = BytesParser(policy=HTTP).parsebytes(head + body)
        parts = parsed.get_payload() if parsed.is_multipart() and not parsed.defects else []
        pairs = [_part(part) for part in parts if isinstance(part, Message)]
    except (ValueError, LookupError, TypeError):
        pairs = []
    if not pairs or len(pairs) > FIELDS:
        raise Refused(malformed, f"The form cannot be read; send 1 to {FIELDS} text fields with their boundary.")
    return pairs


def _part(part: Message) -> tuple[str, str]:
    name = part.get_param("name", header="content-disposition")
    content = part.get_payload(decode=True)
    if not isinstance(name, str) or not isinstance(content, bytes):
        raise TypeError("a part without name or text")
    return name, content.decode()
