"""Starts the upstreams and asks them: `running_upstreams()` gives the ports, and why others are missing."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.ports import free_port
from tests.upstreams.handlers import HANDLERS

HERE = Path(__file__).parent
JARS = tuple(Path("/usr/share/java") / f"tomcat10-embed-{name}.jar" for name in ("core", "el"))
START_S = 60.0
ANSWER_S = 10.0
CONNECTIONS = 8
MOST_BYTES = 65_536

_CONNECTION = re.compile(rb"\r\n(?:Connection|Keep-Alive|Proxy-Connection):[^\r]*", re.IGNORECASE)
_RAN = re.compile(rb"\r\nX-Handler: *([^\r\n]*)", re.IGNORECASE)


@dataclass
class Upstreams:
    """The upstreams that run, and why the others do not."""

    ports: dict[str, int] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def note(self, names: Sequence[str], reason: str) -> None:
        """Note that upstreams cannot be run."""
        self.missing.update(dict.fromkeys(names, reason))

    def ask(self, messages: Mapping[str, Sequence[bytes]]) -> dict[str, list[frozenset[str]]]:
        """Send requests, by upstream, as they are; return the handlers that each of them ran."""
        return asyncio.run(self._ask(messages))

    async def _ask(self, messages: Mapping[str, Sequence[bytes]]) -> dict[str, list[frozenset[str]]]:
        ran: dict[str, list[frozenset[str]]] = {name: [frozenset()] * len(sent) for name, sent in messages.items()}
        await asyncio.gather(
            *(
                _work(self.ports[name], waiting, ran[name])
                for name, sent in messages.items()
                for waiting in [iter(list(enumerate(sent)))]
                for _ in range(CONNECTIONS)
            )
        )
        return ran


async def _work(port: int, waiting: Iterator[tuple[int, bytes]], ran: list[frozenset[str]]) -> None:
    for number, message in waiting:
        ran[number] = await _ran_by(port, message)


async def _ran_by(port: int, message: bytes) -> frozenset[str]:
    """Send one request over a separate connection; return the names of the handlers that it ran."""
    head, end, body = message.partition(b"\r\n\r\n")
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    with contextlib.suppress(OSError):
        writer.write(_CONNECTION.sub(b"", head) + b"\r\nConnection: close" + end + body)
        async with asyncio.timeout(ANSWER_S):
            while len(answer) < MOST_BYTES and (data := await reader.read(MOST_BYTES)):
                answer += data
    writer.close()
    found = _RAN.search(answer.partition(b"\r\n\r\n")[0])
    return frozenset(found[1].decode("latin-1").split()) if found else frozenset()


@contextlib.contextmanager
def running_upstreams() -> Iterator[Upstreams]:
    """Start what this machine has, and end it afterwards."""
    upstreams = Upstreams()
    with contextlib.ExitStack() as stack:
        started = [
            (names, stack.enter_context(_process(command)))
            for names, command in _commands(upstreams)
            if command is not None
        ]
        for names, process in started:
            _read_ports(upstreams, names, process)
        _start_php(upstreams, stack)
        yield upstreams


def _commands(upstreams: Upstreams) -> Iterator[tuple[tuple[str, ...], list[str] | None]]:
    yield ("python",), [sys.executable, "-m", "tests.upstreams.python_apps"]
    for names, program, arguments in (
        (("node", "express4", "express5", "fastify4", "fastify5", "koa"), "node", [str(HERE / "node_apps.cjs")]),
        (("sinatra", "rails"), "ruby", [str(HERE / "ruby_apps.rb")]),
        (("go", "go-cleaned"), "go", ["run", str(HERE / "go_app.go")]),
        (("tomcat",), "java", _java_arguments()),
    ):
        found = shutil.which(program)
        if found is None:
            upstreams.note(names, f"there is no {program} on the PATH")
        elif program == "java" and not all(jar.exists() for jar in JARS):
            upstreams.note(names, "Debian's package libtomcat10-embed-java is missing")
        else:
            yield names, [found, *arguments]


def _java_arguments() -> list[str]:
    # A short life: the quick compiler and the simple collector start soonest.
    quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
    return [*quick, "-cp", ":".join(map(str, JARS)), str(HERE / "TomcatApp.java")]


def _environment() -> dict[str, str]:
    root = HERE.parents[1]
    paths = [str(root / "src"), str(root), os.environ.get("PYTHONPATH", "")]
    return os.environ | {
        "HANDLERS": json.dumps(HANDLERS),
        "HANDLER_LINES": "\n".join(" ".join(each) for each in HANDLERS),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "NODE_PATH": os.environ.get("NODE_PATH", str(root / "node_modules")),
        "NODE_NO_WARNINGS": "1",
    }


@contextlib.contextmanager
def _process(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program that ends with its standard input."""
    pipe, silent = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=silent, env=_environment())
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process
    finally:
        process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
        process.stdout.close()


def _read_ports(upstreams: Upstreams, names: Sequence[str], process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        upstreams.note(names, f"it did not start (exit code {process.wait(5)})")
        return
    for name, port in json.loads(line).items():
        if isinstance(port, int):
            upstreams.ports[name] = port
        else:
            upstreams.missing[name] = port


def _start_php(upstreams: Upstreams, stack: contextlib.ExitStack) -> None:
    program = shutil.which("php")
    if program is None:
        upstreams.note(["php"], "there is no php on the PATH")
        return
    port = free_port()
    silent = subprocess.DEVNULL
    command = [program, "-q", "-S", f"127.0.0.1:{port}", str(HERE / "php_app.php")]
    process = subprocess.Popen(command, stdin=silent, stdout=silent, stderr=silent, env=_environment())
    stack.callback(_kill, process)
    deadline_s = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline_s:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            upstreams.ports["php"] = port
            return
        time.sleep(0.02)
    upstreams.note(["php"], "it did not start")


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(5)
