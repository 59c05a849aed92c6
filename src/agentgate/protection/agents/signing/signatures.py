"""The signatures of a request, read from both of their headers. Only those by Ed25519 are checked."""

from collections.abc import Mapping

from msgspec import Struct

from agentgate.protection.agents.identity import SignedMessage
from agentgate.protection.agents.signing.fields import SignatureInput, Unreadable, read_inputs, read_signatures
from agentgate.protection.agents.signing.signed_text import signed_text

TAG = "web-bot-auth"
ALGORITHM = "ed25519"
# Fit for agents by the standard, but not checked here. HMAC is not fit: both sides would have the key.
OTHER_ALGORITHMS = frozenset(("rsa-pss-sha512", "rsa-v1_5-sha256", "ecdsa-p256-sha256", "ecdsa-p384-sha384"))


class Signature(Struct, frozen=True):
    """A signature that a request carries."""

    label: str
    input: SignatureInput
    value: bytes

    def text(self, message: SignedMessage) -> bytes:
        """Return what must have been signed. Unreadable when the request lacks something that is covered."""
        return signed_text(message, self.input)


def tagged_signatures(headers: Mapping[bytes, bytes]) -> list[Signature]:
    """Return the signatures by which agents name themselves; those of other protocols are none of our business.

    Unreadable when there is something about agents in the headers that cannot be read or is not complete.
    """
    listed = headers.get(b"signature-input")
    # An older protocol also has a header Signature, without this one.
    if listed is None:
        return []
    try:
        tagged = {label: found for label, found in read_inputs(listed).items() if found.parameters.get("tag") == TAG}
        values = read_signatures(headers.get(b"signature", b"")) if tagged else {}
    except Unreadable as problem:
        # Another protocol may write the header in its own way.
        if TAG.encode() not in listed:
            return []
        raise Unreadable(f"Signature-Input or Signature cannot be read: {problem}") from None
    missing = [label for label in tagged if label not in values]
    if missing:
        raise Unreadable(f"the header Signature has no member {missing[0]}")
    return [Signature(label, found, values[label]) for label, found in tagged.items()]
