"""Writes a small MaxMind database of IPv4 networks, enough to see that real ones are read."""

import struct
from ipaddress import IPv4Network
from typing import Any

METADATA_MARK = b"\xab\xcd\xefMaxMind.com"
SEPARATOR = b"\0" * 16


class Short(int):
    """A number that the format wants in 16 bits."""


class Long(int):
    """A number that the format wants in 64 bits."""


def encode(value: Any) -> bytes:
    """Encode a value of the few types that the tests need."""
    if isinstance(value, str):
        content = value.encode()
        assert len(content) < 29
        return bytes([2 << 5 | len(content)]) + content
    if isinstance(value, Short):
        content = int(value).to_bytes(2).lstrip(b"\0")
        return bytes([5 << 5 | len(content)]) + content
    if isinstance(value, Long):
        content = int(value).to_bytes(8).lstrip(b"\0")
        return bytes([len(content), 9 - 7]) + content
    if isinstance(value, int):
        content = value.to_bytes(4).lstrip(b"\0")
        return bytes([6 << 5 | len(content)]) + content
    if isinstance(value, list):
        return bytes([len(value), 11 - 7]) + b"".join(encode(item) for item in value)
    pairs = [encode(name) + encode(item) for name, item in value.items()]
    return bytes([7 << 5 | len(pairs)]) + b"".join(pairs)


def make_mmdb(kind: str, records: dict[str, Any]) -> bytes:
    """Return a database with these networks; the tree has one node for each bit of each network."""
    nodes: list[list[Any]] = [[None, None]]
    data = b""
    for text, record in records.items():
        network = IPv4Network(text)
        bits = f"{int(network.network_address):032b}"[: network.prefixlen]
        place = 0
        for bit in bits[:-1]:
            if nodes[place][int(bit)] is None:
                nodes.append([None, None])
                nodes[place][int(bit)] = len(nodes) - 1
            place = nodes[place][int(bit)]
        nodes[place][int(bits[-1])] = ("data", len(data))
        data += encode(record)
    tree = b"".join(struct.pack(">I", _target(side, len(nodes)))[1:] for node in nodes for side in node)
    metadata = {
        "node_count": len(nodes),
        "record_size": Short(24),
        "ip_version": Short(4),
        "database_type": kind,
        "languages": ["en"],
        "binary_format_major_version": Short(2),
        "binary_format_minor_version": Short(0),
        "build_epoch": Long(1),
        "description": {"en": kind},
    }
    return tree + SEPARATOR + data + METADATA_MARK + encode(metadata)


def _target(side: Any, count: int) -> int:
    if side is None:
        return count
    return count + len(SEPARATOR) + side[1] if isinstance(side, tuple) else side
