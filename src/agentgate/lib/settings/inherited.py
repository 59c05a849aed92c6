"""Sockets that a process inherits: listening sockets from its predecessor or from systemd."""

import os
from collections.abc import Sequence

LISTENERS = ("public", "admin", "local")
# After standard input, output and error: systemd's convention.
FIRST_PASSED_SOCKET = 3
# Set by a predecessor: its process ID and the descriptors of its listening sockets.
HANDOVER = "LISTEN_HANDOVER"


def successor_environment(sockets: Sequence[int]) -> dict[str, str]:
    """Return the environment in which a successor finds these listening sockets, in the order of LISTENERS."""
    return {**os.environ, HANDOVER: ":".join(map(str, (os.getpid(), *sockets)))}


def notify_socket() -> str:
    """Return the socket on which systemd listens for the service's state; empty without systemd."""
    return os.environ.get("NOTIFY_SOCKET", "")


def handed_sockets() -> dict[str, int]:
    """Return the descriptors of the listening sockets that this process inherited from its predecessor."""
    predecessor, *passed = os.environ.get(HANDOVER, "").split(":")
    # Children of this process inherit the variable too, and not the sockets.
    if predecessor != str(os.getppid()):
        return {}
    return dict(zip(LISTENERS, map(int, passed), strict=False))


def passed_sockets() -> dict[str, int]:
    """Return the descriptors of listening sockets that are open already, by listener.

    They come from a predecessor or from systemd. A socket unit names its listener (`FileDescriptorName=public`, `admin`
    or, for a Unix socket, `local`); without names they come in this order.
    """
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return handed_sockets()
    count = int(os.environ.get("LISTEN_FDS", "0"))
    names = os.environ.get("LISTEN_FDNAMES", "").split(":")
    if not set(names) <= set(LISTENERS) or len(names) != count:
        names = list(LISTENERS[:count])
    return {name: FIRST_PASSED_SOCKET + number for number, name in enumerate(names)}
