"""Restart without rejected connections: a successor inherits the listening sockets of its serving predecessor.

SIGUSR2 starts the successor with this process's own command line. Once it serves, it ends the predecessor, which
drains. If the successor fails to start, the predecessor continues. systemd learns of both through `NOTIFY_SOCKET`.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from types import FrameType

import structlog

from agentgate.lib.settings.inherited import handed_sockets, notify_socket, successor_environment


class Handover:
    """Hands the listening sockets of this process to its successor."""

    def __init__(self, listeners: Sequence[socket.socket]) -> None:
        self._listeners = listeners
        self._predecessor = os.getppid() if handed_sockets() else None
        self._successor: subprocess.Popen[bytes] | None = None

    def begin(self, _number: int = signal.SIGUSR2, _frame: FrameType | None = None) -> None:
        """Start a successor, unless one is starting already."""
        if self._successor is not None and self._successor.poll() is None:
            return
        # The originals are not inheritable, so that no other child of this process keeps a listener open.
        passed = [os.dup(listener.fileno()) for listener in self._listeners]
        command = [sys.executable, *sys.orig_argv[1:]]
        self._successor = subprocess.Popen(command, env=successor_environment(passed), pass_fds=passed)  # noqa: S603 - its own command
        for descriptor in passed:
            os.close(descriptor)
        structlog.get_logger().info("successor started", pid=self._successor.pid)
        threading.Thread(target=self._watch, args=(self._successor,), daemon=True).start()

    def finish(self) -> None:
        """Report that this process serves, and end the predecessor if there is one."""
        notify(f"READY=1\nMAINPID={os.getpid()}")
        # A predecessor that has ended meanwhile is no longer this process's parent.
        if self._predecessor is not None and os.getppid() == self._predecessor:
            os.kill(self._predecessor, signal.SIGTERM)

    def _watch(self, successor: subprocess.Popen[bytes]) -> None:
        code = successor.wait()
        structlog.get_logger().error("the successor ended, this process continues", exit_code=code)


def notify(state: str) -> None:
    """Tell systemd about the service's state (sd_notify(3)); do nothing without systemd."""
    place = notify_socket()
    if not place:
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            channel.sendto(state.encode(), "\0" + place[1:] if place.startswith("@") else place)
    except OSError as failure:
        structlog.get_logger().warning("systemd was not notified", why=str(failure))
