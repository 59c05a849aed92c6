"""Ports for programs that cannot choose one themselves."""

import contextlib
import random
import socket
from pathlib import Path

_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 10_000


def free_port() -> int:
    """Return a port without a listener, below the range from which the kernel chooses.

    A port of that range can be given to another test between this call and the program's `bind`.
    """
    return free_ports(1)[0]


def free_ports(count: int, *, neighbor: int = 0) -> list[int]:
    """Return different free ports. The port at the distance `neighbor` is free too: a Redis cluster uses it."""
    highest = int(_EPHEMERAL.read_text().split()[0]) if _EPHEMERAL.exists() else 32_768
    found: list[int] = []
    with contextlib.ExitStack() as held:
        while len(found) < count:
            port = random.randrange(_LOWEST, highest)
            with contextlib.suppress(OSError):
                for each in {port, port + neighbor}:
                    held.enter_context(socket.socket()).bind(("127.0.0.1", each))
                found.append(port)
    return found
