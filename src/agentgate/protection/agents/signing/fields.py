"""The structured fields of a signed request (RFC 9651), read with bounds: what visitors send may cost only so much.

What a signature covers is read in two ways: one for how nearly every agent writes it, which is also how it has to be
signed, so nothing needs to be written again; and one, with http-sf, for everything else. An agent covers the same parts
in every request and names the same key, so the first way remembers both; only a nonce is new each time.
"""

import base64
import functools
import hashlib
import hmac
import re
from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Mapping
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

# Lists of components of late, and parameters, which an agent repeats for as long as its clock shows the same second.
REMEMBERED = 512
# Longer than any agent's; and what is made of a text takes more room than the text.
LONGEST_REMEMBERED_BYTES = 1_024

_KEY = r"[a-z*][a-z0-9_.*-]*"
_STRING = r'"[ !#-\[\]-~]*"'
_INTEGER = r"(?:0|-?[1-9][0-9]{0,14})"
_ITEM = rf"{_STRING}(?:;{_KEY}(?:={_STRING})?)*"
# One signature, written as it is signed: what comes before the `)`, and what comes after it.
_ONE_LIST = re.compile(rf"({_KEY})=\(((?:{_ITEM}(?: {_ITEM})*)?)\Z")
_PARAMETERS = re.compile(rf"(?:;{_KEY}=(?:{_STRING}|{_INTEGER}))*\Z")
# What stands in a string as it is.
_UNESCAPED = re.compile(r"[ !#-\[\]-~]*\Z")
_EACH_ITEM = re.compile(rf'(?:\A| )"([^"]*)"((?:;{_KEY}(?:={_STRING})?)*)')
_EACH_PARAMETER = re.compile(rf';({_KEY})(=?)(?:"([^"]*)"|(-?[0-9]+))?')
_ONE_SIGNATURE = re.compile(rf"({_KEY})=:([A-Za-z0-9+/]*={{0,2}}):\Z".encode())
_ONE_STRING = re.compile(rf'({_KEY})="([ !#-\[\]-~]*)"\Z'.encode())
_NO_PARAMETERS: Parameters = {}


class Unreadable(ValueError):  # noqa: N818 - says what it is
    """A field cannot be read as what it should be. The text says why, for whoever writes the agent."""


class Component(Struct, frozen=True):
    """A part of the request that a signature covers."""

    name: str
    parameters: Parameters
    # Name and parameters as they are signed.
    identifier: str


class Coverage(Struct, frozen=True):
    """All that a signature covers."""

    components: tuple[Component, ...]
    # The names of what is covered whole: of one member or parameter the rest could be anything.
    whole: frozenset[str]


class SignatureInput(Struct, frozen=True):
    """What one signature covers and says about itself."""

    coverage: Coverage
    parameters: Parameters
    # Both as they are signed.
    text: str


class SplitInput(NamedTuple):
    """A header Signature-Input of one signature, cut where a nonce is: only that is new in every request."""

    text: str
    # Up to the end of the list.
    start: str
    before: str
    nonce: str | None
    after: str


def read_inputs(value: bytes) -> dict[str, SignatureInput]:
    """Return what a header Signature-Input says, by label."""
    parts = split_input(value)
    read = None if parts is None else read_split(parts.start, parts.before, parts.after)
    if parts is None or read is None:
        return _read_every_input(value)
    label, coverage, parameters = read
    if parts.nonce is not None:
        if "nonce" in parameters:
            raise Unreadable("the parameter nonce comes twice")
        parameters = {**parameters, "nonce": parts.nonce}
    return {label: SignatureInput(coverage, parameters, parts.text[len(label) + 1 :])}


def split_input(value: bytes) -> SplitInput | None:
    """Cut a header Signature-Input into pieces, unread; None for what is not written as nearly every agent does."""
    if len(value) > LONGEST_REMEMBERED_BYTES:
        return None
    text = value.decode("latin-1")
    start, end, rest = text.partition(")")
    if not end:
        return None
    before, has_nonce, rest = rest.partition(';nonce="')
    if not has_nonce:
        return SplitInput(text, start, before, None, "")
    nonce, end, after = rest.partition('"')
    return SplitInput(text, start, before, nonce, after) if end and _UNESCAPED.match(nonce) else None


def read_split(start: str, before: str, after: str) -> tuple[str, Coverage, Parameters] | None:
    """Return label, list, and parameters but for the nonce; None when one of the pieces is not whole by itself.

    If they are, what lay between them was a nonce, and not the inside of something else.
    """
    listed, parameters = _listed(start), _parameters(before, after)
    return None if listed is None or parameters is None else (*listed, parameters)


def read_signatures(value: bytes) -> dict[str, bytes]:
    """Return the signatures of a header Signature, by label."""
    refuse_long(value)
    one = _ONE_SIGNATURE.match(value)
    if one is not None:
        try:
            return {one[1].decode(): a2b_base64(one[2], strict_mode=True)}
        except NotBase64:
            pass  # Padding may be missing; the full reading decides.
    signatures = {}
    for label, member in read_dictionary(value).items():
        found = member[0] if isinstance(member, tuple) else member
        if not isinstance(found, bytes):
            raise Unreadable(f"the signature {label} is not base64 between colons")
        signatures[label] = found
    return signatures


def read_dictionary(value: bytes) -> DictionaryType:
    """Return the members of a dictionary. A name that comes twice is refused: others might go by the other one."""
    one = _ONE_STRING.match(value) if len(value) <= LONGEST_FIELD_BYTES else None
    if one is not None:
        return {one[1].decode(): (one[2].decode(), {})}
    structure = _parse(value, "dictionary")
    return structure if isinstance(structure, dict) else {}


def rewrite(value: bytes) -> str:
    """Return a structured field in its one strict spelling, whichever of the three kinds it is (RFC 9421 2.1.1)."""
    for kind in ("item", "list"):
        try:
            return _serialise(_parse(value, kind))
        except Unreadable:
            continue
    return _serialise(_parse(value, "dictionary"))


def write_member(member: object) -> str:
    """Return the value of a dictionary's member in its strict spelling (RFC 9421 2.1.2)."""
    if isinstance(member, tuple) and isinstance(member[0], list):
        return ser_innerlist(member)
    if isinstance(member, tuple) and type(member[0]) is str and not member[1] and _UNESCAPED.match(member[0]):
        # A plain string, such as the URL of an agent.
        return f'"{member[0]}"'
    return ser_item(member)  # type: ignore[arg-type]  # what else a dictionary holds are items


def _read_every_input(value: bytes) -> dict[str, SignatureInput]:
    members = read_dictionary(value)
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
                raise Unreadable(f"what {label} covers must be names in double quotes")
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


@functools.lru_cache(maxsize=REMEMBERED)
def _listed(start: str) -> tuple[str, Coverage] | None:
    """Return label and list, from the text before the first `)`; None unless that is where the list ends."""
    one = _ONE_LIST.match(start)
    if one is None:
        return None
    components = tuple(
        Component(name, _read_parameters(parameters) if parameters else _NO_PARAMETERS, f'"{name}"{parameters}')
        for name, parameters in _EACH_ITEM.findall(one[2])
    )
    return one[1], _coverage(components)


@functools.lru_cache(maxsize=REMEMBERED)
def _parameters(before: str, after: str) -> Parameters | None:
    """Return what a signature says about itself but for a nonce; None when that is not written as it is signed."""
    if _PARAMETERS.match(before) is None or _PARAMETERS.match(after) is None:
        return None
    return _read_parameters(before + after)


def _read_parameters(text: str) -> Parameters:
    found: dict[str, BareItemType] = {}
    for name, has_value, string, number in _EACH_PARAMETER.findall(text):
        if name in found:
            raise Unreadable(f"the parameter {name} comes twice")
        found[name] = int(number) if number else string if has_value else True
    return found


def _parse(value: bytes, kind: str) -> StructuredType:
    refuse_long(value)
    try:
        return http_sf.parse(value, tltype=kind, on_duplicate_key=_refuse_twice)
    except Unreadable:
        raise
    except ValueError as problem:
        raise Unreadable(f"it is no structured field: {problem}") from None


def _serialise(structure: StructuredType) -> str:
    try:
        return http_sf.ser(structure)
    except ValueError as problem:
        raise Unreadable(f"it is no structured field: {problem}") from None


def _refuse_twice(name: str, where: str) -> None:
    raise Unreadable(f"the {where} has {name} twice")


def refuse_long(value: bytes) -> None:
    """Refuse a field of which reading would take too long."""
    if len(value) > LONGEST_FIELD_BYTES:
        raise Unreadable(f"a field may have at most {LONGEST_FIELD_BYTES} bytes; this one has {len(value)}")


# The others of the registry are too weak to bind a body to a signature.
_ALGORITHMS = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512}


def digest_of(body: bytes) -> str:
    """Return the value of Content-Digest for a body."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


def matches(content_digest: bytes, body: bytes) -> bool:
    """Say whether a header names this body: every digest of a kind that we know is right, and there is one."""
    try:
        named = read_dictionary(content_digest)
    except Unreadable:
        return False
    known = {name: member for name, member in named.items() if name in _ALGORITHMS}
    return bool(known) and all(_is_digest(name, member, body) for name, member in known.items())


def _is_digest(algorithm: str, member: object, body: bytes) -> bool:
    value = member[0] if isinstance(member, tuple) else member
    return isinstance(value, bytes) and hmac.compare_digest(value, _ALGORITHMS[algorithm](body).digest())
