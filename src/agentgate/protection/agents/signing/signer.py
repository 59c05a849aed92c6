"""Signer: an agent whose requests of the present second have all in common but their target and their signature.

Who it is, whether its clock and its key are good and what it covers was found out by the first of them (`verify.py`).
What each of them must prove for itself is here: that the agent signed this very target.
"""

from agentgate.lib.ed25519 import PublicKey
from agentgate.protection.agents.signing.signed_text import RepeatedText
from agentgate.protection.agents.signing.usual import signature_in

# Headers that are new in every request, so none of them can be part of what stays.
CHANGING = frozenset(("signature", "x-original-url", "x-original-address"))


class Signer:
    """A key, and what it has to sign."""

    __slots__ = ("_key", "_proven", "_start", "_text")

    def __init__(self, key: PublicKey, start: bytes, text: RepeatedText) -> None:
        self._key = key
        # What the header Signature begins with.
        self._start = start
        self._text = text
        # The last text and signature that were found to belong together: an agent that signs no more than the host
        # sends the same ones with every request.
        self._proven: tuple[bytes, bytes] | None = None

    def read(self, value: bytes) -> bytes | None:
        """Return the signature of a header Signature; None when it is not written as the first one was."""
        return signature_in(value, self._start)

    def has_signed(self, target: str, signature: bytes) -> bool:
        """Say whether the agent signed a request for this target, which is ASCII and has no line breaks."""
        text = self._text.of(target)
        if self._proven == (text, signature):
            return True
        if not self._key.has_signed(text, signature):
            return False
        self._proven = text, signature
        return True
