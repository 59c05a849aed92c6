"""The Unix socket on which proxies of the same machine reach the public listener.

The kernel lets only its owner and its group connect, so every client of it is a trusted proxy.
"""

import grp
import os
import socket
import stat
from pathlib import Path


def open_unix_socket(path: Path, *, mode: int, group: str, backlog: int) -> socket.socket:
    """Listen at the path and replace a socket without a listener; raise OSError with a readable reason.

    The file stays when the service ends: a successor may have inherited the socket.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_abandoned(path)
        listener.bind(str(path))
        # Clients cannot connect before listen().
        if group:
            os.chown(path, -1, int(group) if group.isdigit() else _group_id(group))
        path.chmod(mode)
        listener.listen(backlog)
        listener.setblocking(False)  # noqa: FBT003 - the standard library's signature
    except OSError:
        listener.close()
        raise
    return listener


def _remove_abandoned(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise OSError(0, "the path has a file that is not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError(0, "another process uses this socket")


def _group_id(name: str) -> int:
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise OSError(0, f"this machine has no group {name}") from None
