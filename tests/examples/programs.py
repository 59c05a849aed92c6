"""Starts an example as a separate program, and ends it by its process ID."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
START_S = 30.0
POLL_S = 0.05


def wait_for(url: str, process: subprocess.Popen[str]) -> None:
    """Wait until the URL responds."""
    deadline_s = time.monotonic() + START_S
    while True:
        with contextlib.suppress(httpx.TransportError):
            httpx.get(url, timeout=5)
            return
        assert process.poll() is None, f"it ended with {process.returncode}"
        assert time.monotonic() < deadline_s, "it did not respond in time"
        time.sleep(POLL_S)


@contextlib.contextmanager
def running(command: Sequence[str], folder: Path, log: Path, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program for as long as the block does; its output goes to a file."""
    with log.open("w") as written:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            text=True,
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
