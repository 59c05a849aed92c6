"""The structured fields of a signed request (RFC 9651), read within bounds of time and memory.

http-sf reads them. An agent covers the same parts in every request and names the same key, and only times and nonce are
new: so a parsed Signature-Input is cached without them.
"""

import base64
import contextlib
import functools
import hashlib
import hmac
import re
from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Mapping
from itertools import chain
from typing import NamedTuple

import http_sf
from http_sf.innerlist import ser_innerlist
from http_sf.item import ser_item
from http_sf.types import BareItemType, DictionaryType, StructuredType
from msgspec import Struct

LONGEST_FIELD_BYTES = 8 * 1024
MOST_LABELS = 5
MOST_COMPONENTS = 30

Parameters = Mapping[str, BareItemType]

# Headers without times and nonce, which an agent repeats in each request.
CACHED = 512
# Longer than any agent's header. Parsed fields take more memory than their text.
LONGEST_CACHED_BYTES = 1_024

# Parameters that follow a closed list: a name, and a string or an integer in the only form that is signed.
_PARAMETERS = re.compile(r';([a-z*][a-z0-9_.*-]*)=("[ !#-\[\]-~]*"|0|[1-9][0-9]{0,14})')
# One signature, as nearly every agent sends it. Longer ones are of no known algorithm.
_ONE_SIGNATURE = re.compile(rb"([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]{1,1024}={0,2}):\Z")
# Characters that need no escape in a string.
_UNESCAPED = re.compile(r"[ !#-\[\]-~]*\Z")
_NO_PARAMETERS: Parameters = {}


class Unreadable(ValueError):  # noqa: N818 - says what it is
    """A field is malformed. The message is for the agent's developer."""


class Component(Struct, frozen=True):
    """A part of the request that a signature covers."""

    name: str
    parameters: Parameters
    # Name and parameters as they are signed.
    identifier: str


class Coverage(Struct, frozen=True):
    """All that a signature covers."""

    components: tuple[Component, ...]
    # Names of components that are covered whole, not only a member or parameter of them.
    whole: frozenset[str]


class SignatureInput(Struct, frozen=True):
    """Covered components and parameters of one signature."""

    coverage: Coverage
    parameters: Parameters
    # Both as they are signed.
    text: str


class SplitInput(NamedTuple):
    """A header Signature-Input, and the same without its times and its nonce, which alone are new in each request."""

    text: str
    rest: str
    nonce: str | None = None
    created: int | None = None
    expires: int | None = None


def read_inputs(value: bytes) -> dict[str, SignatureInput]:
    """Return the signatures of a header Signature-Input, by label."""
    parts = split_input(value)
    read = None if parts is None else read_without_nonce(parts.rest)
    if parts is None or read is None:
        return _read_every_input(value)
    label, found = read
    cut = {"created": parts.created, "expires": parts.expires, "nonce": parts.nonce}
    parameters = {**found.parameters, **{name: value for name, value in cut.items() if value is not None}}
    return {label: SignatureInput(found.coverage, parameters, parts.text[len(label) + 1 :])}


def split_input(value: bytes) -> SplitInput | None:
    """Cut times and nonce out of an unparsed header Signature-Input; None unless it has the usual form.

    That is one list, closed outside of every string, and after it only parameters, each once, that are strings or
    integers. So if the rest can be read, the parts that were cut out are parameters of this list.
    """
    if len(value) > LONGEST_CACHED_BYTES or b"\\" in value:
        return None
    text = value.decode("latin-1")
    listed, is_closed, following = text.partition(")")
    found = _PARAMETERS.findall(following)
    said = dict(found)
    length = sum(map(len, chain.from_iterable(found))) + 2 * len(found)
    if len(said) != len(found) or length != len(following) or not is_closed or listed.count('"') % 2:
        return None
    nonce, created, expires = (said.pop(name, None) for name in ("nonce", "created", "expires"))
    if (nonce is not None and nonce[0] != '"') or (created or "0")[0] == '"' or (expires or "0")[0] == '"':
        return None
    rest = f"{listed}){''.join(f';{name}={value}' for name, value in said.items())}"
    times = (None if time is None else int(time) for time in (created, expires))
    return SplitInput(text, rest, None if nonce is None else nonce[1:-1], *times)


@functools.lru_cache(maxsize=CACHED)
def read_without_nonce(rest: str) -> tuple[str, SignatureInput] | None:
    """Return label and content of a header of one signature; None unless it is written exactly as it is signed."""
    try:
        inputs = _read_every_input(rest.encode("latin-1"))
    except Unreadable:
        return None
    label, found = next(iter(inputs.items()), ("", None))
    return (label, found) if found is not None and f"{label}={found.text}" == rest else None


def read_signatures(value: bytes) -> dict[str, bytes]:
    """Return the signatures of a header Signature, by label."""
    only = _ONE_SIGNATURE.match(value)
    if only is not None:
        with contextlib.suppress(NotBase64):
            return {only[1].decode(): a2b_base64(only[2], strict_mode=True)}
    return _read_every_signature(value)


def _read_every_signature(value: bytes) -> dict[str, bytes]:
    signatures = {}
    # Not cached: each request has a different signature.
    for label, member in _dictionary(value).items():
        found = member[0] if isinstance(member, tuple) else member
        if not isinstance(found, bytes):
            raise Unreadable(f"the signature {label} is not base64 between colons")
        signatures[label] = found
    return signatures


def read_dictionary(value: bytes) -> DictionaryType:
    """Return the members of a dictionary. Duplicate names are rejected: parsers differ on which one counts."""
    return _cached_dictionary(value) if len(value) <= LONGEST_CACHED_BYTES else _dictionary(value)


def _dictionary(value: bytes) -> DictionaryType:
    structure = _parse(value, "dictionary")
    return structure if isinstance(structure, dict) else {}


# A signature covers the member of Signature-Agent that names the agent, which is the same in all its requests.
_cached_dictionary = functools.lru_cache(maxsize=CACHED)(_dictionary)


def rewrite(value: bytes) -> str:
    """Return a structured field of any of the three kinds in its strict serialization (RFC 9421 2.1.1)."""
    for kind in ("item", "list"):
        try:
            return _serialise(_parse(value, kind))
        except Unreadable:
            continue
    return _serialise(_parse(value, "dictionary"))


def write_member(member: object) -> str:
    """Return the value of a dictionary's member in its strict serialization (RFC 9421 2.1.2)."""
    if isinstance(member, tuple) and isinstance(member[0], list):
        return ser_innerlist(member)
    if isinstance(member, tuple) and type(member[0]) is str and not member[1] and _UNESCAPED.match(member[0]):
        # A plain string, such as the URL of an agent.
        return f'"{member[0]}"'
    return ser_item(member)  # type: ignore[arg-type]  # what else a dictionary holds are items


def _read_every_input(value: bytes) -> dict[str, SignatureInput]:
    members = _dictionary(value)
    if len(members) > MOST_LABELS:
        raise Unreadable(f"a request may have at most {MOST_LABELS} signatures; this one has {len(members)}")
    inputs = {}
    for label, member in members.items():
        if not isinstance(member, tuple) or not isinstance(member[0], list):
            raise Unreadable(f"Signature-Input has no list of what {label} covers")
        items, parameters = member
        components = []
        for item in items:
            name, of_item = item if isinstance(item, tuple) else (item, _NO_PARAMETERS)
            if not isinstance(name, str):
                raise Unreadable(f"the components of {label} must be names in double quotes")
            components.append(Component(name, of_item, ser_item((name, dict(of_item)))))
        text = ser_innerlist((items, parameters))
        inputs[label] = SignatureInput(_coverage(tuple(components)), parameters, text)
    return inputs


def _coverage(components: tuple[Component, ...]) -> Coverage:
    if len(components) > MOST_COMPONENTS:
        raise Unreadable(f"a signature may cover at most {MOST_COMPONENTS} components; this one has {len(components)}")
    if len({component.identifier for component in components}) < len(components):
        raise Unreadable("a signature may cover a component only once")
    whole = (each.name for each in components if "key" not in each.parameters and "name" not in each.parameters)
    return Coverage(components, frozenset(whole))


def _parse(value: bytes, kind: str) -> StructuredType:
    refuse_long(value)
    try:
        return http_sf.parse(value, tltype=kind, on_duplicate_key=_refuse_twice)
    except Unreadable:
        raise
    except ValueError as problem:
        raise Unreadable(f"it is not a structured field: {problem}") from None


def _serialise(structure: StructuredType) -> str:
    try:
        return http_sf.ser(structure)
    except ValueError as problem:
        raise Unreadable(f"it is not a structured field: {problem}") from None


def _refuse_twice(name: str, where: str) -> None:
    raise Unreadable(f"the {where} has {name} twice")


def refuse_long(value: bytes) -> None:
    """Reject a field that would take too long to parse."""
    if len(value) > LONGEST_FIELD_BYTES:
        raise Unreadable(f"a field may have at most {LONGEST_FIELD_BYTES} bytes; this one has {len(value)}")


# The others of the registry are too weak to bind a body to a signature.
_ALGORITHMS = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512}


def digest_of(body: bytes) -> str:
    """Return the value of Content-Digest for a body."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


def matches(content_digest: bytes, body: bytes) -> bool:
    """Return whether a header names this body: every digest of a kind that we know is right, and there is one."""
    try:
        named = read_dictionary(content_digest)
    except Unreadable:
        return False
    known = {name: member for name, member in named.items() if name in _ALGORITHMS}
    return bool(known) and all(_is_digest(name, member, body) for name, member in known.items())


def _is_digest(algorithm: str, member: object, body: bytes) -> bool:
    value = member[0] if isinstance(member, tuple) else member
    return isinstance(value, bytes) and hmac.compare_digest(value, _ALGORITHMS[algorithm](body).digest())
