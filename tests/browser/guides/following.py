"""Follows a page of the documentation to the letter: writes its files and runs its commands, in their order.

Two things differ from a reader's machine: ports are free ones, and the packages are installed already (`pip` only
checks that the names belong to packages we know).
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.ports import free_ports

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
FILE_NAME = re.compile(r"(?:#|//) (\S+\.\w+)\n")
INSTALLED = {"flask"}
LONGEST_S = 100

PIP = f"""#!{sys.executable}
import sys
names = set(sys.argv[2:])
sys.exit(0 if sys.argv[1] == "install" and names <= {INSTALLED!r} else f"pip: no such package: {{names}}")
"""


class Guide:
    """Follows a page in a separate folder."""

    def __init__(self, name: str, folder: Path, ports: dict[int, int]) -> None:
        self._text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        self._folder = folder
        self._ports = ports
        programs = folder / ".programs"
        programs.mkdir()
        (programs / "pip").write_text(PIP)
        (programs / "pip").chmod(0o755)
        # The command as it is installed, of this checkout.
        (programs / "agentgate").write_text(f'#!/bin/sh\nexec {sys.executable} -m agentgate "$@"\n')
        (programs / "agentgate").chmod(0o755)
        (programs / "flask").write_text(f'#!/bin/sh\nexec {sys.executable} -m flask "$@"\n')
        (programs / "flask").chmod(0o755)
        (programs / "python3").symlink_to(sys.executable)
        self._programs = programs
        self._done = 0
        self.groups: list[int] = []

    def url(self, port: int, path: str = "/") -> str:
        """Return the address that the page prints with this port."""
        return f"http://127.0.0.1:{self._ports[port]}{path}"

    def follow(self, until: str = "") -> str:
        """Write the files and run the commands; return what was printed. A command that fails fails the test.

        With `until`, stop before the heading that begins with it; the next call continues from there.
        """
        script = ["set -e", "trap 'echo \"failed at: $BASH_COMMAND\" >&2' ERR"]
        start, self._done = self._done, self._text.index(f"\n## {until}") + 1 if until else len(self._text)
        for found in BLOCK.finditer(self._text, start, self._done):
            code = self._at_free_ports(found["code"])
            if found["language"] == "sh":
                script.append(code)
            elif named := FILE_NAME.match(code):
                (self._folder / named[1]).write_text(code)
        return self._run("\n".join(script))

    def _at_free_ports(self, code: str) -> str:
        for printed, free in self._ports.items():
            code = re.sub(rf"(127\.0\.0\.1:|http\.server |--port ){printed}\b", rf"\g<1>{free}", code)
        return code

    def _run(self, script: str) -> str:
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("AGENTGATE_", "PYTEST"))}
        environment = {
            **kept,
            "PATH": f"{self._programs}:/usr/sbin:/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "packages/python-client/src"), *sys.path]),
            "AGENTGATE_PUBLIC_LISTEN": f"127.0.0.1:{self._ports[8080]}",
            "AGENTGATE_ADMIN_LISTEN": f"127.0.0.1:{self._ports[8081]}",
            "AGENTGATE_DRAIN_SECONDS": "0",
            "NO_COLOR": "1",
            "COLUMNS": "200",
        }
        printed = self._folder / ".printed"
        with printed.open("w") as written:
            process = subprocess.Popen(
                [shutil.which("bash") or "bash", "-c", script],
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            # Processes that the page leaves running are in the same group, and end with it.
            self.groups.append(process.pid)
            code = process.wait(LONGEST_S)
        told = printed.read_text()
        assert code == 0, f"{told}\n{self._logs()}"
        return told

    def _logs(self) -> str:
        return "\n".join(f"--- {log.name}\n{log.read_text()[-2000:]}" for log in self._folder.glob("*.log"))

    def end(self) -> None:
        """End what the page has started."""
        nginx = self._folder / "nginx.pid"
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(nginx.read_text()), signal.SIGTERM)
        for group in self.groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)


@contextlib.contextmanager
def guide(name: str, folder: Path, *more_ports: int) -> Iterator[Guide]:
    """Return a page to be followed; what it starts ends with the block."""
    printed = (8080, 8081, *more_ports)
    page = Guide(name, folder, dict(zip(printed, free_ports(len(printed)), strict=True)))
    try:
        yield page
    finally:
        page.end()
