"""Signature-Agent: who signed, and where the keys of that agent are. All forms in use are read (see docs/agents.md)."""

import functools
import re
from collections.abc import Mapping

from http_sf import Token
from http_sf.types import BareItemType
from msgspec import Struct

from agentgate.protection.agents.signing.fields import SignatureInput, Unreadable, read_dictionary, refuse_long
from agentgate.protection.sites.agent_policy import WELL_KNOWN

NAME = "signature-agent"
# A receipt names the agent, and has room for 2048 characters in all.
LONGEST_URL = 512
# Of agents that come again and again.
ADDRESSES_REMEMBERED = 512
HTTPS_PORT = "443"
_URL = re.compile(
    r"https://(?P<host>(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*|\[[0-9a-f:.]+\])"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?(?P<path>/[^?#\\\s]*)?(?P<query>\?[^#\\\s]*)?\Z",
    re.ASCII,
)
_STRING = re.compile(rb'"([ !#-\[\]-~]*)"\Z')
# Some clients leave the quotes to whoever uses them, who forgets them.
_UNQUOTED = re.compile(rb"(https://[!#-+\--:<-\[\]-~]+)\Z")
# How the value is to be read, in revisions that say so.
_TYPES = frozenset(("directory", "jwks_uri"))


class AgentAddress(Struct, frozen=True):
    """Who an agent says it is."""

    # As policies and people know it.
    agent: str
    # Where its keys are.
    key_url: str


def agent_address(headers: Mapping[bytes, bytes], label: str, signature: SignatureInput) -> AgentAddress | None:
    """Return whom a signature is made for. None when it does not say so in a way that can be looked up.

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
@functools.lru_cache(maxsize=ADDRESSES_REMEMBERED, typed=True)
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
        raise Unreadable("the signature must say which member of Signature-Agent it is made for")
    return _member_value(members[name])


def _member_value(member: object) -> str | None:
    value, parameters = member if isinstance(member, tuple) else (member, {})
    if not isinstance(value, str | Token):
        raise Unreadable("Signature-Agent must be a URL in double quotes")
    # The last revision has no parameters, earlier ones a type. What else there may be is not for us to guess.
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
