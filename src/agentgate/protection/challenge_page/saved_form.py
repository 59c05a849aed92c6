"""SavedForm: a form that was posted and challenged, carried by its own page until it can be sent again.

Forms of text fields only. A file is too large to carry, and a page may not fill a file field.
"""

from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from agentgate.http.decode import MULTIPART, URL_ENCODED, RawBody
from agentgate.lib.clock import MINUTE_MS
from agentgate.protection.challenge_page.sealed_token import PageHolder, SealedTokens

# As the hosted page and its script call a saved form.
KIND = "capsule"
LIFETIME_MS = 10 * MINUTE_MS
MOST_FIELDS = 1_000


class SavedForm(Struct, frozen=True):
    """Where the form goes, how it is encoded, and its fields in their order."""

    url: str
    enctype: str
    fields: list[tuple[str, str]]


class SavedForms:
    """Seals and opens saved forms."""

    def __init__(self, sealed_tokens: SealedTokens) -> None:
        self._sealed_tokens = sealed_tokens
        self._decoder = msgspec.msgpack.Decoder(SavedForm)

    def close(self, saved_form: SavedForm, holder: PageHolder, *, now_ms: int) -> str:
        """Return the form as text that its holder alone can bring back."""
        content = msgspec.msgpack.encode(saved_form)
        return self._sealed_tokens.seal(KIND, content, holder, not_before_ms=now_ms, expires_ms=now_ms + LIFETIME_MS)

    async def take(self, text: str, holder: PageHolder, *, now_ms: int) -> SavedForm | None:
        """Return the form, once; None when it is not this holder's, over, or was opened before."""
        content = await self._sealed_tokens.take(KIND, text, holder, now_ms=now_ms)
        return None if content is None else self._decoder.decode(content)


def read_form(body: RawBody, url: str) -> SavedForm | None:
    """Return a posted form; None when it is too large, no form, or has what cannot be carried."""
    media_type = body.content_type.partition(";")[0].strip().lower()
    if body.content is None or media_type not in {URL_ENCODED, MULTIPART}:
        return None
    try:
        fields = (
            parse_qsl(body.content.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
            if media_type == URL_ENCODED
            else _multipart(body.content, body.content_type)
        )
    except (ValueError, LookupError, TypeError):
        # Text that is not UTF-8 among them: it would come out as something else.
        return None
    return SavedForm(url, media_type, fields)


def _multipart(content: bytes, content_type: str) -> list[tuple[str, str]]:
    head = f"Content-Type: {content_type}\r\n\r\n".encode("ascii")
    parsed = BytesParser(policy=HTTP).parsebytes(head + content)
    parts = parsed.get_payload()
    if not isinstance(parts, list) or parsed.defects or len(parts) > MOST_FIELDS:
        raise ValueError("no sound form")
    return [_field(part) for part in parts]


def _field(part: object) -> tuple[str, str]:
    if not isinstance(part, Message) or part.get_filename() is not None:
        raise TypeError("a file")
    name = part.get_param("name", header="content-disposition")
    value = part.get_payload(decode=True)
    if not isinstance(name, str) or not isinstance(value, bytes):
        raise TypeError("a part without name or text")
    # Browsers write names as plain UTF-8, which the parser of mail keeps as it came.
    return name.encode("utf-8", "surrogateescape").decode(), value.decode()
