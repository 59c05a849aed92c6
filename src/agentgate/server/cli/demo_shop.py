"""The demo shop of `agentgate serve --demo`: a separate process that starts and stops with the service."""

import contextlib
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import agentgate

PROGRAM = Path(agentgate.__file__).parents[2] / "examples" / "demo_site" / "app.py"
STOP_S = 5.0


class DemoShop:
    """The shop's socket, opened first so that its port is known, and later its process."""

    def __init__(self, port: int) -> None:
        self._listener: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        # The reason why the shop cannot run, as text for people; empty if it can.
        self.problem = ""
        self.port = port
        if not PROGRAM.is_file():
            # An installed package has no examples.
            self.problem = "it is part of the source tree, and this is an installed package"
            return
        try:
            self._listener = socket.create_server(("127.0.0.1", port))
            self.port = int(self._listener.getsockname()[1])
        except OSError as error:
            self.problem = f"port {port}: {error.strerror or error}; choose another with --demo-port"

    @property
    def url(self) -> str:
        """The address of the shop for a browser on this machine."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins of its pages, under both names of this machine; none when it does not run."""
        return () if self.problem else (self.url, f"http://localhost:{self.port}")

    def start(self, environ: Mapping[str, str]) -> None:
        """Start the process with these variables and no others: the service's own secrets are not its business."""
        if self._listener is None:
            return
        descriptor = self._listener.fileno()
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, str(PROGRAM), "--fd", str(descriptor)],
            # It ends when this pipe does, so also when this process is killed.
            stdin=subprocess.PIPE,
            env=dict(environ),
            pass_fds=(descriptor,),
            # Ctrl-C in the terminal is for the service, which then ends the shop.
            start_new_session=True,
        )
        self._listener.close()
        self._listener = None

    def close(self) -> None:
        """End the process."""
        if self._listener is not None:
            self._listener.close()
        if self._process is None:
            return
        assert self._process.stdin is not None, "stdin is a pipe"
        self._process.stdin.close()
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_S)
            return
        self._process.kill()
        self._process.wait()
