"""Usual signatures: one by Ed25519, for an agent that says where its keys are, written as nearly every agent does.

An agent's signatures of one second say the same but for a nonce. What they say is read and checked once; whatever is
unusual or wrong about one is left to `verify.py`, which says what it is.
"""

import functools
from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Mapping

from msgspec import Struct

from agentgate.protection.agents.signing.fields import Coverage, SignatureInput, Unreadable, read_split, split_input
from agentgate.protection.agents.signing.jwk import is_thumbprint
from agentgate.protection.agents.signing.signature_agent import NAME, AgentAddress, agent_address
from agentgate.protection.agents.signing.signatures import ALGORITHM, TAG

FORMS_REMEMBERED = 512
# Longer headers are read anew each time, so that there is a bound to what is remembered.
LONGEST_BYTES = 1_024
ORIGIN_PARTS = frozenset(("@authority", "@target-uri"))


class Form(Struct, frozen=True):
    """What a signature says of itself but for a nonce."""

    label: str
    coverage: Coverage
    created_s: int
    expires_s: int
    keyid: str
    address: AgentAddress
    # What the header Signature begins with, where that is known to be the one way it is usually written.
    start: bytes = b""


class UsualSignature(Struct, frozen=True):
    """A signature as a request carries it."""

    form: Form
    nonce: str | None
    # What it covers and says of itself, as that is signed.
    text: str
    value: bytes


def usual_signature(headers: Mapping[bytes, bytes]) -> UsualSignature | None:
    """Return the one signature of a request, complete but checked against no clock and no key; None for any other."""
    agent, value = headers.get(b"signature-agent"), headers.get(b"signature")
    parts = split_input(headers.get(b"signature-input", b""))
    if parts is None or agent is None or value is None or len(agent) > LONGEST_BYTES or len(value) > LONGEST_BYTES:
        return None
    text, start, before, nonce, after = parts
    form = _form(start, before, after, agent)
    signature = None if form is None else signature_in(value, form.start)
    if form is None or signature is None:
        return None
    return UsualSignature(form, nonce, text[len(form.label) + 1 :], signature)


def signature_in(value: bytes, start: bytes) -> bytes | None:
    """Return the one signature of a header that begins so and is written as usual; None for any other."""
    if not value.startswith(start) or not value.endswith(b":", len(start)):
        return None
    try:
        return a2b_base64(value[len(start) : -1], strict_mode=True)
    except NotBase64:
        return None


@functools.lru_cache(maxsize=FORMS_REMEMBERED)
def _form(start: str, before: str, after: str, agent: bytes) -> Form | None:
    try:
        read = read_split(start, before, after)
        if read is None:
            return None
        label, coverage, said = read
        address = agent_address({NAME.encode(): agent}, label, SignatureInput(coverage, said, ""))
    except Unreadable:
        return None
    created_s, expires_s, keyid = said.get("created"), said.get("expires"), said.get("keyid")
    if type(created_s) is not int or type(expires_s) is not int or not isinstance(keyid, str):
        return None
    is_usual = said.get("tag") == TAG and said.get("alg", ALGORITHM) == ALGORITHM and "nonce" not in said
    if not is_usual or address is None or not is_thumbprint(keyid) or ORIGIN_PARTS.isdisjoint(coverage.whole):
        return None
    return Form(label, coverage, created_s, expires_s, keyid, address, f"{label}=:".encode())
