"""The address of a ClickHouse: `clickhouse://user:password@host:port,host:port/database`."""

from typing import NamedTuple
from urllib.parse import unquote, urlsplit

PORT, TLS_PORT = 8123, 8443
TLS_SCHEME = "clickhouses"


class Address(NamedTuple):
    """Where ClickHouse answers over HTTP. Each server must know all tables: replicas, or any server of a cluster."""

    servers: tuple[tuple[str, int], ...]
    is_tls: bool
    user: str
    password: str
    database: str


def read_address(url: str) -> Address:
    """Return the parts of an address that the settings have checked."""
    parts = urlsplit(url)
    credentials, _, places = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    is_tls = parts.scheme == TLS_SCHEME
    return Address(
        servers=tuple(_server(place, TLS_PORT if is_tls else PORT) for place in places.split(",")),
        is_tls=is_tls,
        user=unquote(user) or "default",
        password=unquote(password),
        database=unquote(parts.path.strip("/")) or "default",
    )


def _server(place: str, default_port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{place}")
    assert parts.hostname is not None, "the settings check it"
    return parts.hostname, parts.port or default_port
