"""The three kinds of typed record, and the field types that several concepts share.

A record is the only description of a shape: decoding, checks, OpenAPI and TypeScript types all come from it. Required
fields have no default; optional ones are `T | UnsetType = UNSET` and are absent in JSON. `None` occurs only where the
specification has "or null".
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.lib.moment import Moment


class Record(Struct, frozen=True, kw_only=True, rename="camel"):
    """Output: a response, or an object in one."""


class Input(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Input: a request body. Unknown properties are rejected."""

    # Properties with a more specific error than "unknown": wire name -> error code.
    refused_fields: ClassVar[Mapping[str, str]] = {}
    # The property with the version of the shape, the known version, and the code for any other. A body of another
    # version may differ in every other way, so this is checked before anything else.
    shape_version: ClassVar[tuple[str, int, str] | None] = None
    # The code for a value of the right type that is not allowed; None means the surface's code for any malformed body.
    value_code: ClassVar[str | None] = None


class Query(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Input in the query of a URL."""


# Python's `$` also matches before a final newline, so patterns end in `\Z`; OpenAPI prints `$`.
SITE_KEY_PATTERN = r"^site_[A-Za-z0-9_-]{4,64}\Z"
CREDENTIAL_ID_PATTERN = r"^cred_[0-9a-f]{16}\Z"
ACTION_PATTERN = r"^[a-z0-9_]{1,64}\Z"

SiteKey = Annotated[str, Meta(pattern=SITE_KEY_PATTERN)]
CredentialId = Annotated[str, Meta(pattern=CREDENTIAL_ID_PATTERN)]
VisitorId = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]

S = TypeVar("S", bound=Struct)


def given(record: Struct) -> dict[str, Any]:
    """Return the fields that were sent, by their Python names. Absent fields keep their value on a PATCH."""
    values = ((name, getattr(record, name)) for name in record.__struct_fields__)
    return {name: value for name, value in values if value is not UNSET}


def optional(value: Any) -> Any:
    """Turn a database's NULL into an absent field."""
    return UNSET if value is None else value


def optional_moment(value: int | None) -> Moment | UnsetType:
    """Turn a nullable time column into an optional field."""
    return UNSET if value is None else Moment(value)


def to_wire(stored: Struct, kind: type[S], /, **more: Any) -> S:
    """Return a stored record as it goes over the wire: fields by name, `x_ms` as `x_at`, None as absent."""
    values = dict(more)
    for name in kind.__struct_fields__:
        if name in more:
            continue
        if hasattr(stored, name):
            values[name] = optional(getattr(stored, name))
        elif name.endswith("_at") and hasattr(stored, f"{name.removesuffix('_at')}_ms"):
            values[name] = optional_moment(getattr(stored, f"{name.removesuffix('_at')}_ms"))
    return kind(**values)


def _encode_extra(value: Any) -> Any:
    if isinstance(value, Moment):
        return value.text()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def decode_extra(kind: type, value: Any) -> Any:
    """Read a type that msgspec does not know from its form in JSON."""
    if kind is Moment:
        if not isinstance(value, str):
            raise TypeError("Expected a date and time such as 2026-01-31T09:30:00Z")
        return Moment.parse(value)
    raise TypeError(f"{kind.__name__} cannot be decoded")


_encoder = msgspec.json.Encoder(enc_hook=_encode_extra)


def to_json(value: Any) -> bytes:
    return _encoder.encode(value)


def to_builtins(value: Any) -> Any:
    """Turn a record into plain dicts and lists, for diffs and free-form fields."""
    return msgspec.to_builtins(value, enc_hook=_encode_extra)


# What decoders raise for bytes from outside: wrong JSON, text that is not UTF-8, and nesting deeper than the stack.
UNREADABLE = (ValueError, RecursionError)


def json_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Return a strict decoder for a record type."""
    return msgspec.json.Decoder(kind, dec_hook=decode_extra)


def convert(value: Any, kind: type[S], *, strict: bool = True) -> S:
    """Turn plain dicts and lists into a record; `strict=False` also reads numbers from text."""
    return msgspec.convert(value, kind, strict=strict, dec_hook=decode_extra, str_keys=True)
