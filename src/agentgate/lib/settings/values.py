"""The kinds of values a setting may have: how each is read from text, shown to people, and described when wrong.

Which settings exist is in `schema.py`. Nothing here reads the environment or a file.
"""

import base64
import binascii
import re
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

from msgspec import Struct

from agentgate.lib.records import SITE_KEY_PATTERN

T = TypeVar("T")
Network = IPv4Network | IPv6Network

ROOT_SECRET_BYTES = 32
HIDDEN = "(hidden)"
# In a list of hosts: all, and the hosts of known agents.
ANY_HOST, KNOWN_HOSTS = "*", "known"
HOST_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*\Z")
MAIL_LOCAL_PART = re.compile(r"(?=.{1,64}\Z)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*\Z")
HEX = re.compile(r"([0-9a-fA-F]{2})+\Z")
BASE64URL = re.compile(r"[A-Za-z0-9_-]+={0,2}\Z")


class Unfit(ValueError):  # noqa: N818 - it describes a value, and is told as a problem, not as a fault
    """A text is not a valid value. The message never repeats the text, which may be a secret."""


class ValueKind(Struct, Generic[T], frozen=True, kw_only=True):
    """A kind of value. `right` completes the sentence "give ..."; `show` is for people and for the settings page."""

    parse: Callable[[str], T]
    right: str
    show: Callable[[Any], str] = str


class ListenAddress(Struct, frozen=True):
    """The address of a listener, and an optional Unix socket. Port 0 means any free port."""

    host: str
    port: int
    path: str = ""

    def __str__(self) -> str:
        """Write it the way it is given: `127.0.0.1:8080`, `[::1]:8080`."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def number(least: int, most: int) -> ValueKind[int]:
    """Return the kind of whole numbers within bounds."""

    def parse(text: str) -> int:
        # int() alone would also take "1_000", " 5 " and digits of other scripts.
        if not re.fullmatch(r"[0-9]{1,9}", text):
            raise Unfit("it is not a whole number")
        value = int(text)
        if not least <= value <= most:
            raise Unfit("it is out of range")
        return value

    return ValueKind(parse=parse, right=f"a whole number from {least} to {most}")


def choice(*allowed: str) -> ValueKind[str]:
    """Return the kind of one word out of a few."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise Unfit("it is not one of the allowed words")
        return text

    return ValueKind(parse=parse, right="one of " + ", ".join(f"`{word}`" for word in allowed))


def _text(check: Callable[[str], object], right: str, show: Callable[[Any], str] = str) -> ValueKind[str]:
    """Return the kind of texts that `check` accepts; empty means none."""

    def parse(text: str) -> str:
        if text:
            check(text)
        return text

    return ValueKind(parse=parse, right=right, show=show)


def _list(one: Callable[[str], T], right: str) -> ValueKind[tuple[T, ...]]:
    """Return the kind of lists with commas between their items."""
    return ValueKind(
        parse=lambda text: tuple(one(item.strip()) for item in text.split(",") if item.strip()),
        right=right,
        show=lambda value: ", ".join(map(str, value)),
    )


def _matching(pattern: str, wrong: str) -> Callable[[str], None]:
    def check(text: str) -> None:
        if not re.fullmatch(pattern, text):
            raise Unfit(wrong)

    return check


def url(*schemes: str) -> ValueKind[str]:
    """Return the kind of addresses with one of these schemes; empty means none."""
    right = "an address starting with " + " or ".join(f"`{scheme}://`" for scheme in schemes)
    return _text(lambda text: _split_url(text, schemes), right, _show_url)


def servers_url(*schemes: str) -> ValueKind[str]:
    """Return the kind of addresses that may name several servers, with commas between them; empty means none."""

    def check(text: str) -> None:
        scheme, _, rest = text.partition("://")
        places = rest.partition("/")[0].rpartition("@")[2]
        for place in places.split(","):
            _split_url(f"{scheme}://{place}", schemes)
        _check_no_query(text)

    return _text(check, f"an address such as `{schemes[0]}://user:password@host:8123/name`", _show_url)


def cluster_name() -> ValueKind[str]:
    """Return the kind of names of a cluster; empty means none."""
    check = _matching(r"[A-Za-z0-9_.-]{0,100}", "it has characters other than letters, digits, `_`, `.` and `-`")
    return _text(check, "the name of a cluster, or empty")


def base_url() -> ValueKind[str]:
    """Return the kind of addresses to which a path is appended: no query, no fragment, no final slash kept."""

    def parse(text: str) -> str:
        if not text:
            return ""
        parts = _split_url(text, ("http", "https"))
        _check_no_query(text)
        if "@" in parts.netloc:
            raise Unfit("it has a user name or a password")
        return text.rstrip("/")

    return ValueKind(parse=parse, right="the address that visitors use, such as `https://gate.example.com`")


def url_template(placeholder: str) -> ValueKind[str]:
    """Return the kind of addresses with a placeholder; empty means none."""

    def check(text: str) -> None:
        _split_url(text, ("http", "https"))
        if placeholder not in text:
            raise Unfit(f"it does not contain {placeholder}")

    return _text(check, f"an http or https address containing `{placeholder}`", _show_url)


def folder() -> ValueKind[Path]:
    def parse(text: str) -> Path:
        if not text or "\0" in text:
            raise Unfit("it is not a path")
        return Path(text)

    return ValueKind(parse=parse, right="the path of a folder")


def optional_folder() -> ValueKind[Path | None]:
    """Return the kind of folder paths that may be left empty."""
    needed = folder()
    return ValueKind(
        parse=lambda text: needed.parse(text) if text else None,
        right="the path of a folder, or empty",
        show=lambda value: "" if value is None else str(value),
    )


def listen_address() -> ValueKind[ListenAddress]:
    """Return the kind of places to listen on."""

    def parse(text: str) -> ListenAddress:
        host, colon, port = text.rpartition(":")
        if not colon or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
            raise Unfit("it does not end in a port number")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        if (":" in bare) != (bare != host) or not _is_host(bare.lower()):
            raise Unfit("its host is neither an IP address nor a host name")
        return ListenAddress(bare.lower(), int(port))

    return ValueKind(parse=parse, right="host and port, such as `127.0.0.1:8080`, `0.0.0.0:8080` or `[::]:8080`")


DEFAULT_PUBLIC = ListenAddress("127.0.0.1", 8080)
UNIX = "unix:"
# The kernel's limit, less the final zero byte.
SOCKET_PATH_BYTES = 107


def public_address() -> ValueKind[ListenAddress]:
    """Return the kind of places for the public listener: an address, a Unix socket besides, or both."""

    def parse(text: str) -> ListenAddress:
        tcp, is_unix, path = text.rpartition(UNIX)
        if not is_unix:
            return listen_address().parse(text)
        if not re.fullmatch(r"/[!-~]+", path) or len(path) > SOCKET_PATH_BYTES:
            raise Unfit(f"what follows {UNIX} is not the full path of a file with at most {SOCKET_PATH_BYTES} bytes")
        if tcp and not tcp.rstrip().endswith(","):
            raise Unfit(f"there is no comma before {UNIX}")
        address = listen_address().parse(tcp.rstrip()[:-1]) if tcp else DEFAULT_PUBLIC
        return ListenAddress(address.host, address.port, path)

    return ValueKind(
        parse=parse,
        right="host and port, such as `127.0.0.1:8080`, and for proxies on this machine a Unix socket as well:"
        f" `{UNIX}/run/agentgate/public.sock` or `127.0.0.1:8080,{UNIX}/run/agentgate/public.sock`",
        show=lambda value: f"{value},{UNIX}{value.path}" if value.path else str(value),
    )


def socket_mode() -> ValueKind[int]:
    """Return the kind of permissions of a socket that only trusted programs may open."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-7]{2}0", text):
            raise Unfit("it is not three octal digits with 0 at the end; clients of the socket are trusted")
        return int(text, 8)

    return ValueKind(parse=parse, right="`660` or `600`", show=lambda value: f"{value:03o}")


def group() -> ValueKind[str]:
    """Return the kind of names of groups of this machine; empty means the process's own."""
    wrong = "it is not the name of a group"
    return _text(_matching(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?|[0-9]{1,9}", wrong), "the name or number of a group")


def name_servers() -> ValueKind[tuple[ListenAddress, ...]]:
    """Return the kind of lists of DNS servers: addresses, each with or without a port."""

    def one(text: str) -> ListenAddress:
        try:
            return ListenAddress(str(ip_address(text.strip("[]"))), 53)
        except ValueError:
            server = listen_address().parse(text)
        try:
            return ListenAddress(str(ip_address(server.host)), server.port)
        except ValueError:
            raise Unfit("one of its items is not an IP address") from None

    return _list(one, "comma-separated IP addresses with or without a port, such as `192.0.2.53` or `127.0.0.1:5353`")


def networks() -> ValueKind[tuple[Network, ...]]:
    def one(text: str) -> Network:
        try:
            return ip_network(text)
        except ValueError:
            raise Unfit("one of its items is not a network (bits after the prefix must be zero)") from None

    return _list(one, "comma-separated networks, such as `10.0.0.0/8, ::1/128`")


def hosts() -> ValueKind[tuple[str, ...]]:
    """Return the kind of lists of host names without ports."""

    def one(text: str) -> str:
        lowered = text.lower()
        bare = lowered[1:-1] if lowered.startswith("[") and lowered.endswith("]") else lowered
        if (":" in bare) != (bare != lowered) or not _is_host(bare):
            raise Unfit("one of its items is not a host name without a port")
        # Compared with what a client sends, so an IPv6 address is kept in its shortest form.
        return f"[{ip_address(bare)}]" if ":" in bare else bare

    return _list(one, "comma-separated host names without ports")


def key_hosts() -> ValueKind[tuple[str, ...]]:
    """Return the kind of `none`, `known`, `any`, and lists of host names, in which `known` can be one."""
    named = hosts()
    words = {"none": (), "": (), "any": (ANY_HOST,), ANY_HOST: (ANY_HOST,)}
    return ValueKind(
        parse=lambda text: words[text.strip()] if text.strip() in words else named.parse(text),
        right=f"`known`, `none`, `any` (also `{ANY_HOST}`), or {named.right}; `known` can be one of them",
        show=lambda value: named.show(value) if value else "none",
    )


class OidcIssuer(Struct, frozen=True, kw_only=True):
    """An identity provider: its name here, its exact issuer URL, and this service's client at it."""

    name: str
    url: str
    client_id: str
    client_secret: str = ""


def oidc_issuers() -> ValueKind[tuple[OidcIssuer, ...]]:
    """Return the kind of lists of identity providers, each with its client as the user of the address."""

    def one(text: str) -> OidcIssuer:
        name, _, address = text.partition("=")
        if not re.fullmatch(r"[a-z0-9-]{1,32}", name):
            raise Unfit("one of its items does not start with a name of `a-z`, `0-9` and `-`, and `=`")
        parts = _split_url(address, ("http", "https"))
        _check_no_query(address)
        if not parts.username:
            raise Unfit("one of its items has no client ID")
        place = parts.netloc.rpartition("@")[2]
        return OidcIssuer(
            name=name,
            # Compared exactly, so a final slash is kept.
            url=f"{parts.scheme}://{place}{parts.path}",
            client_id=unquote(parts.username),
            client_secret=unquote(parts.password or ""),
        )

    def parse(text: str) -> tuple[OidcIssuer, ...]:
        found = tuple(one(item.strip()) for item in text.split(",") if item.strip())
        if len({each.name for each in found}) != len(found):
            raise Unfit("two of its items have the same name")
        return found

    right = "comma-separated items such as `work=https://CLIENT_ID:SECRET@login.example.com/realms/work`"
    return ValueKind(parse=parse, right=right, show=lambda found: ", ".join(f"{one.name}={one.url}" for one in found))


def claim() -> ValueKind[str]:
    """Return the kind of names of a claim."""
    check = _matching(r"[\x21-\x2b\x2d-\x7e]{1,200}", "it has spaces, commas or non-ASCII characters")
    return _text(check, "the name of a claim, such as `groups`")


def issuer_groups() -> ValueKind[tuple[str, ...]]:
    """Return the kind of lists of groups, each after the name of its issuer."""

    def one(text: str) -> str:
        name, _, group = text.partition(":")
        if not name or not group:
            raise Unfit("one of its items is not an issuer, `:` and a group")
        return text

    return _list(one, "comma-separated items such as `work:gate-operators`")


def site_key() -> ValueKind[str]:
    """Return the kind of site keys; empty means none."""
    return _text(_matching(SITE_KEY_PATTERN, "it is not a site key"), "a site key, such as `site_0123456789abcdef`")


def mail_address() -> ValueKind[str]:
    """Return the kind of mail addresses, plain and in ASCII; empty means none."""

    def check(text: str) -> None:
        local, at, domain = text.rpartition("@")
        if not (at and MAIL_LOCAL_PART.match(local) and HOST_NAME.match(domain.lower())):
            raise Unfit("it is not an email address")

    return _text(check, "an email address, such as `agentgate@example.com`")


def passphrase(least: int) -> ValueKind[str]:
    """Return the kind of secrets that travel in a header: visible ASCII; empty means none."""

    def check(text: str) -> None:
        if not re.fullmatch(r"[\x21-\x7e]+", text):
            raise Unfit("it has characters other than visible ASCII")
        if len(text) < least:
            raise Unfit("it is too short")

    return _text(check, f"at least {least} visible ASCII characters without spaces", _show_secret)


def root_secret() -> ValueKind[bytes]:
    """Return the kind of key material; empty means none."""

    def parse(text: str) -> bytes:
        if not text:
            return b""
        value = _key_bytes(text)
        if len(value) < ROOT_SECRET_BYTES:
            raise Unfit("it is too short")
        return value

    right = f"at least {ROOT_SECRET_BYTES} random bytes in hex or base64url, such as from `openssl rand -hex 32`"
    return ValueKind(parse=parse, right=right, show=_show_secret)


def _key_bytes(text: str) -> bytes:
    # Hex is tried first: 64 hex digits are also base64url, and would then mean other bytes.
    if HEX.match(text):
        return bytes.fromhex(text)
    if not BASE64URL.match(text):
        raise Unfit("it is neither hex nor base64url")
    stripped = text.rstrip("=")
    try:
        return base64.urlsafe_b64decode(stripped + "=" * (-len(stripped) % 4))
    except binascii.Error:
        raise Unfit("it is neither hex nor base64url") from None


def _split_url(text: str, schemes: tuple[str, ...]) -> Any:
    if not re.fullmatch(r"[\x21-\x7e]+", text):
        raise Unfit("it has spaces, control or non-ASCII characters")
    try:
        parts = urlsplit(text)
        # A store on the same machine may be named by its socket: unix:///run/redis.sock, postgresql:///gate?host=/run.
        has_place = bool(parts.hostname) or parts.scheme in ("unix", "postgresql", "postgres")
        port = parts.port
    except ValueError:
        raise Unfit("it is not an address") from None
    if parts.scheme not in schemes or not has_place or port == 0:
        raise Unfit("it is not an address of an allowed scheme")
    return parts


def _check_no_query(text: str) -> None:
    # A trailing `?` or `#` parses as an empty component, so the text itself is checked.
    if "?" in text or "#" in text:
        raise Unfit("it has a query or a fragment")


def _is_host(text: str) -> bool:
    if ":" in text:
        try:
            # A zone such as %eth0 is allowed by the type, but no client sends it in a Host header.
            return "%" not in text and isinstance(ip_address(text), IPv6Address)
        except ValueError:
            return False
    return HOST_NAME.match(text) is not None


def _show_secret(value: str | bytes) -> str:
    return HIDDEN if value else ""


def _show_url(value: str) -> str:
    """Keep what helps to find a mistake (user, host, port, database) and hide passwords."""
    if not value:
        return ""
    parts = urlsplit(value)
    credentials, at, place = parts.netloc.rpartition("@")
    user = credentials.partition(":")[0]
    netloc = f"{user}:{HIDDEN}@{place}" if ":" in credentials else f"{credentials}{at}{place}"
    # A query may carry `password=`, which PostgreSQL and Redis addresses both allow.
    query = HIDDEN if "password" in parts.query.lower() else parts.query
    return urlunsplit((parts.scheme, netloc, parts.path, query, ""))
