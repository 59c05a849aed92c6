"""The servers of a proxy's configuration, as `nginx -T` prints it, or of a list with an address in each line."""

import re
from collections.abc import Iterator

from msgspec import Struct

from agentgate.lib.errors import Refused
from agentgate.sites.request_matcher import host_name
from agentgate.sites.validate import canonical_origin

_WORD = re.compile(r"""#[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[{};]|(?:\\.|\$\{[^}]*\}|[^\s;{}])+""", re.DOTALL)
_NAMED = re.compile(r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*\Z")
_PORT = re.compile(r"(?:.*:)?([0-9]{1,5})\Z")


class ServersRefused(Exception):  # noqa: N818 - told in one line, not a fault
    """The text has no servers, or two of them have the same host."""


class Server(Struct, frozen=True):
    """A server of the proxy: the origins of its names, the first name first."""

    origins: tuple[str, ...]


def read_servers(text: str) -> list[Server]:
    """Return the servers that have names; blocks with the same first name are one server."""
    is_nginx = re.search(r"\bserver\s*\{", text) is not None
    found = list(_nginx_servers(text) if is_nginx else _listed(text))
    merged: dict[str, Server] = {}
    for server in found:
        name = host_of(server.origins[0])
        before = merged.get(name)
        if before is None or (before.origins[0].startswith("http:") and server.origins[0].startswith("https:")):
            first, second = server, before
        else:
            first, second = before, server
        hosts = {host_of(origin) for origin in first.origins}
        more = tuple(each for each in second.origins if host_of(each) not in hosts) if second else ()
        merged[name] = Server((*first.origins, *more))
    if not merged:
        raise ServersRefused("no server with a host name was found; give the output of `nginx -T`, or a list")
    # A redirect from other names is often a separate block, whose names the main block has too.
    return [each for name, each in merged.items() if not _is_inside(name, each, merged)]


def _is_inside(name: str, server: Server, merged: dict[str, Server]) -> bool:
    """Return whether another server, with TLS, has all names of this one without TLS."""
    hosts = {host_of(origin) for origin in server.origins}
    return server.origins[0].startswith("http:") and any(
        other != name and each.origins[0].startswith("https:") and hosts <= {host_of(origin) for origin in each.origins}
        for other, each in merged.items()
    )


def host_of(origin: str) -> str:
    """Return the name of an origin's host, without port."""
    return host_name(origin.partition("://")[2])


def _listed(text: str) -> Iterator[Server]:
    for line in text.splitlines():
        address = line.partition("#")[0].strip()
        if not address:
            continue
        try:
            yield Server((canonical_origin(address if "://" in address else f"https://{address}"),))
        except Refused:
            raise ServersRefused(
                f"{address[:100]!r} is not the address of a site, such as https://shop.example"
            ) from None


def _nginx_servers(text: str) -> Iterator[Server]:
    """Yield the server blocks of nginx's configuration."""
    open_blocks: list[str] = []
    statement: list[str] = []
    names: list[str] = []
    listens: list[list[str]] = []
    for word in _WORD.findall(text):
        if word.startswith("#"):
            continue
        if word not in ("{", "}", ";"):
            statement.append(word.strip("\"'"))
            continue
        if word == "{":
            open_blocks.append(statement[0] if statement else "")
            if statement == ["server"]:
                names, listens = [], []
        elif word == ";" and open_blocks and open_blocks[-1] == "server" and statement:
            names += statement[1:] if statement[0] == "server_name" else []
            listens += [statement[1:]] if statement[0] == "listen" else []
        elif word == "}" and open_blocks and open_blocks.pop() == "server":
            yield from _server_of(names, listens)
        statement = []


def _server_of(names: list[str], listens: list[list[str]]) -> Iterator[Server]:
    # nginx states the first name of a server, so a server whose first name is a pattern cannot be found by it.
    if not names or not _NAMED.match(names[0]):
        return
    scheme, port = min((_scheme_and_port(listen) for listen in listens), default=("http", 80), key=_rank)
    usual = {"http": 80, "https": 443}[scheme]
    suffix = "" if port == usual else f":{port}"
    own = dict.fromkeys(name.lower() for name in names if _NAMED.match(name))
    yield Server(tuple(f"{scheme}://{name}{suffix}" for name in own))


def _scheme_and_port(listen: list[str]) -> tuple[str, int]:
    match = _PORT.match(listen[0]) if listen else None
    port = int(match[1]) if match else 80
    return ("https" if {"ssl", "quic"} & set(listen[1:]) or port == 443 else "http", port)


def _rank(found: tuple[str, int]) -> tuple[bool, bool, int]:
    """Return the order of listening addresses: TLS first, then the usual ports."""
    scheme, port = found
    return scheme != "https", port not in (80, 443), port
