"""TaggedText: bytes as text that only this service can have written, bound to a context. The content is readable."""

from agentgate.lib import base64url
from agentgate.lib.keyring import Keyring

TAG_BYTES = 16


class TaggedText:
    """Writes and reads text of one kind. The keys belong to a purpose, and rotate with it."""

    def __init__(self, keyring: Keyring, purpose: str, kind: bytes) -> None:
        self._keyring = keyring
        self._purpose = purpose
        # Separates these tags from others by the same key.
        self._kind = kind

    def write(self, content: bytes, *context: bytes) -> bytes:
        tag = self._keyring.mac(self._purpose, self._kind, *context, content)[:TAG_BYTES]
        return base64url.encode_bytes(tag + content)

    def read(self, text: str, *context: bytes) -> bytes | None:
        """Return the content; None if the text was not written for this context."""
        try:
            data = base64url.decode(text)
        except ValueError:
            return None
        tag, content = data[:TAG_BYTES], data[TAG_BYTES:]
        return content if self._keyring.is_mac(tag, self._purpose, self._kind, *context, content) else None
