"""The signatures of a request: the agent of each (Signature-Agent), its covered components and its parameters.

Signatures in the form that nearly every agent uses are parsed once, without times and nonce. Whatever is unusual or
wrong is read in full. All forms in use are read; only signatures by Ed25519 are checked.
"""

import functools
import re
from collections.abc import Mapping

from http_sf import Token
from http_sf.types import BareItemType
from msgspec import Struct

from agentgate.agents.identity import SignedMessage
from agentgate.agents.signing.fields import (
    SignatureInput,
    Unreadable,
    read_dictionary,
    read_inputs,
    read_signatures,
    refuse_long,
)
from agentgate.agents.signing.signed_text import signed_text
from agentgate.sites.agent_policy import WELL_KNOWN

NAME = "signature-agent"
# A receipt names the agent, and is limited to 2048 characters in all.
LONGEST_URL = 512
# Of agents that come again and again.
CACHED_ADDRESSES = 512
HTTPS_PORT = "443"
_URL = re.compile(
    r"https://(?P<host>(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*|\[[0-9a-f:.]+\])"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?(?P<path>/[^?#\\\s]*)?(?P<query>\?[^#\\\s]*)?\Z",
    re.ASCII,
)
_STRING = re.compile(rb'"([ !#-\[\]-~]*)"\Z')
# Some clients leave out the quotes.
_UNQUOTED = re.compile(rb"(https://[!#-+\--:<-\[\]-~]+)\Z")
# Values of the parameter `type`, by which some revisions define how the header's value is read.
_TYPES = frozenset(("directory", "jwks_uri"))


class AgentAddress(Struct, frozen=True):
    """The identity that an agent claims."""

    # As policies and people know it.
    agent: str
    # The URL of its keys.
    key_url: str


def agent_address(headers: Mapping[bytes, bytes], label: str, signature: SignatureInput) -> AgentAddress | None:
    """Return the agent on whose behalf a signature is made; None if it names none that can be looked up.

    Unreadable when the header is malformed, is not covered by the signature, or leaves open which agent is meant.
    """
    sent = headers.get(NAME.encode())
    if sent is None:
        return None
    refuse_long(sent)
    covered = [component for component in signature.coverage.components if component.name == NAME]
    if len(covered) != 1:
        raise Unreadable("the signature must cover signature-agent, once")
    return _read(sent, label, covered[0].parameters.get("key"))


# By type too: a token is equal to the string with the same characters, and only one of them can be a key.
@functools.lru_cache(maxsize=CACHED_ADDRESSES, typed=True)
def _read(sent: bytes, label: str, by_key: BareItemType | None) -> AgentAddress | None:
    value = _value(sent.strip(b" \t"), label, by_key)
    return None if value is None else _address(value)


def _value(sent: bytes, label: str, by_key: BareItemType | None) -> str | None:
    simple = _STRING.match(sent) or _UNQUOTED.match(sent)
    if simple is not None and by_key is None:
        return simple[1].decode()
    try:
        members = read_dictionary(sent)
    except Unreadable as problem:
        raise Unreadable(
            f'Signature-Agent must be a URL in double quotes, or a dictionary such as {label}="https://agent.example" '
            f"({problem})"
        ) from None
    # Without a key the whole header is covered. Then the label tells, or there is nothing to tell apart.
    name = by_key if by_key is not None else label if label in members else next(iter(members), "")
    if not isinstance(name, str) or name not in members or (by_key is None and name != label and len(members) > 1):
        raise Unreadable("the signature must name its member of Signature-Agent")
    return _member_value(members[name])


def _member_value(member: object) -> str | None:
    value, parameters = member if isinstance(member, tuple) else (member, {})
    if not isinstance(value, str | Token):
        raise Unreadable("Signature-Agent must be a URL in double quotes")
    # The last revision has no parameters, earlier ones have a type. Any other parameters are not for us to guess.
    is_plain = not parameters or (list(parameters) == ["type"] and str(parameters["type"]) in _TYPES)
    return str(value) if is_plain else None


def _address(value: str) -> AgentAddress:
    if len(value) > LONGEST_URL:
        raise Unreadable(f"the URL of Signature-Agent may have at most {LONGEST_URL} characters")
    start, separator, rest = value.partition("://")
    host, slash, path = rest.partition("/")
    url = _URL.match(f"{start.lower()}{separator}{host.lower()}{slash}{path}")
    if url is None:
        raise Unreadable("Signature-Agent must be an https URL without user and fragment")
    port = "" if url["port"] in {None, HTTPS_PORT} else f":{url['port']}"
    origin = f"https://{url['host']}{port}"
    where, query = url["path"] or "/", url["query"] or ""
    if where in {"/", WELL_KNOWN}:
        return AgentAddress(origin, origin + WELL_KNOWN + (query if where != "/" else ""))
    return AgentAddress(origin + where, origin + where + query)


TAG = "web-bot-auth"
MOST_SIGNATURES = 3
ALGORITHM = "ed25519"
# Fit for agents by the standard, but not checked here. HMAC is not fit: both sides would have the key.
OTHER_ALGORITHMS = frozenset(("rsa-pss-sha512", "rsa-v1_5-sha256", "ecdsa-p256-sha256", "ecdsa-p384-sha384"))


class Signature(Struct, frozen=True):
    """A signature that a request carries."""

    label: str
    input: SignatureInput
    value: bytes

    def text(self, message: SignedMessage) -> bytes:
        """Return the signed text. Unreadable when the request lacks a covered component."""
        return signed_text(message, self.input)


def tagged_signatures(headers: Mapping[bytes, bytes]) -> list[Signature]:
    """Return the signatures by which agents name themselves, without signatures of other protocols.

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
    if len(tagged) > MOST_SIGNATURES:
        raise Unreadable(f"a request may have at most {MOST_SIGNATURES} signatures of agents")
    missing = [label for label in tagged if label not in values]
    if missing:
        raise Unreadable(f"the header Signature has no member {missing[0]}")
    return [Signature(label, found, values[label]) for label, found in tagged.items()]


ORIGIN_PARTS = frozenset(("@authority", "@target-uri"))
