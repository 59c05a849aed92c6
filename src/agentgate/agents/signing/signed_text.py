"""The text that a request's signature covers, rebuilt from the request (RFC 9421 2.5: signature base).

Components of responses, of trailers and of a related request have no meaning here and are rejected.
"""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import parse_qsl, quote

from http_sf.types import DictionaryType

from agentgate.agents.identity import SignedMessage
from agentgate.agents.signing.fields import (
    Component,
    SignatureInput,
    Unreadable,
    read_dictionary,
    rewrite,
    write_member,
)

_FIELD_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+\Z", re.ASCII)
_FOLD = re.compile(rb"\r?\n[ \t]+")
_DEFAULT_PORTS = {"https": ":443", "http": ":80"}
_FIELD_PARAMETERS = frozenset(("sf", "key", "bs"))


def signed_text(message: SignedMessage, signature: SignatureInput) -> bytes:
    """Return the signature base. Unreadable when the request lacks a covered component."""
    lines, headers, others = [], message.headers, None
    for component in signature.coverage.components:
        name = component.name
        derive = None if component.parameters else _DERIVED.get(name)
        if derive is not None:
            value = derive(message)
        elif component.parameters or name == "host" or (sent := headers.get(name.encode())) is None:
            others = others or _Values(message)
            value = others.of(component)
        else:
            value = _one_line(sent).decode("latin-1")
        lines.append(f"{component.identifier}: {value}")
    lines.append(f'"@signature-params": {signature.text}')
    text = "\n".join(lines)
    # A value with a line break could forge other lines.
    if not text.isascii() or text.count("\n") >= len(lines):
        raise Unreadable("covered components may contain only ASCII characters and no line breaks")
    return text.encode("ascii")


def binary_value(lines: Sequence[bytes]) -> str:
    """Return the value of a header whose lines are kept apart (RFC 9421 2.1.3)."""
    return ", ".join(f":{base64.b64encode(_one_line(line)).decode()}:" for line in lines)


def authority_of(message: SignedMessage) -> str:
    """Return host and port in their normal form (RFC 9421 2.2.3)."""
    authority = message.authority.lower()
    return authority.removesuffix(_DEFAULT_PORTS.get(message.scheme.lower(), ""))


class _Values:
    """Values of one request's less usual components. Shared parts are parsed once, so the cost is linear."""

    def __init__(self, message: SignedMessage) -> None:
        self._message = message
        self._dictionaries: dict[str, DictionaryType] = {}
        self._query: Mapping[str, list[str]] | None = None

    def of(self, component: Component) -> str:
        name, parameters = component.name, component.parameters
        if name == "@query-param" and list(parameters) == ["name"]:
            return self._query_parameter(parameters["name"])
        # The host that the visitor requested; a proxy may have written another into the header.
        sent = authority_of(self._message).encode() if name == "host" else self._message.headers.get(name.encode())
        if sent is None:
            if _FIELD_NAME.match(name):
                raise Unreadable(f"the signature covers {name}, which the request does not have")
            raise Unreadable(f"a signature of a request cannot cover {component.identifier}")
        return self._part(component, sent) if parameters else _one_line(sent).decode("latin-1")

    def _part(self, component: Component, sent: bytes) -> str:
        parameters = component.parameters
        if not _FIELD_PARAMETERS.issuperset(parameters) or ("bs" in parameters and len(parameters) > 1):
            raise Unreadable(f"a signature of a request cannot cover {component.identifier}")
        if "bs" in parameters:
            return binary_value((sent,))
        key = parameters.get("key")
        return rewrite(_one_line(sent)) if key is None else self._member(component.name, key, sent)

    def _member(self, name: str, key: object, sent: bytes) -> str:
        members = self._dictionaries.get(name)
        if members is None:
            members = self._dictionaries[name] = read_dictionary(_one_line(sent))
        if not isinstance(key, str) or key not in members:
            raise Unreadable(f"the signature covers a member of {name} that the header does not have")
        return write_member(members[key])

    def _query_parameter(self, name: object) -> str:
        if self._query is None:
            self._query = _query_of(self._message)
        found = self._query.get(name, []) if isinstance(name, str) else []
        if len(found) != 1:
            raise Unreadable("the signature covers a query parameter that the URL has not exactly once")
        return found[0]


def _query_of(message: SignedMessage) -> dict[str, list[str]]:
    query: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(message.target.partition("?")[2], keep_blank_values=True, errors="replace")
    except ValueError:
        raise Unreadable("the URL has too many query parameters to sign one of them") from None
    for name, value in pairs:
        query.setdefault(_percent_encoded(name), []).append(_percent_encoded(value))
    return query


def _percent_encoded(text: str) -> str:
    # The one character that Python never encodes and forms do.
    return quote(text, safe="*").replace("~", "%7E")


def _one_line(line: bytes) -> bytes:
    line = line.strip(b" \t")
    return _FOLD.sub(b" ", line) if b"\n" in line else line


_DERIVED: Mapping[str, Callable[[SignedMessage], str]] = {
    "@method": lambda message: message.method,
    "@authority": authority_of,
    "@scheme": lambda message: message.scheme.lower(),
    "@path": lambda message: message.target.partition("?")[0] or "/",
    "@query": lambda message: "?" + message.target.partition("?")[2],
    "@request-target": lambda message: message.target or "/",
    "@target-uri": lambda message: f"{message.scheme.lower()}://{authority_of(message)}{message.target or '/'}",
}
