"""A separate screen for a browser: an X server without a monitor, with a window manager."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def virtual_screen(width: int = 1366, height: int = 768, dpi: int = 96) -> Iterator[str]:
    """Start a separate X server with a window manager; yield its name."""
    read, write = os.pipe()
    command = [
        "Xvfb",
        "-displayfd",
        str(write),
        "-screen",
        "0",
        f"{width}x{height}x24",
        "-dpi",
        str(dpi),
        "-nolisten",
        "tcp",
    ]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, pass_fds=[write], **quiet)
    os.close(write)
    with os.fdopen(read) as told:
        name = f":{told.readline().strip()}"
    manager = None
    if shutil.which("openbox"):
        manager = subprocess.Popen(["openbox", "--sm-disable"], env={**os.environ, "DISPLAY": name}, **quiet)
    try:
        yield name
    finally:
        for process in (manager, server):
            if process is not None:
                stop(process)


def stop(process: subprocess.Popen[Any]) -> None:
    """End a process that was started here."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def put_on_clipboard(name: str, text: str, folder: Path) -> subprocess.Popen[Any] | None:
    """Offer a text to be pasted; None where there is no xclip."""
    if not shutil.which("xclip"):
        return None
    source = folder / "clipboard.txt"
    source.write_text(text)
    command = ["xclip", "-quiet", "-selection", "clipboard", "-in", str(source)]
    return subprocess.Popen(
        command, env={**os.environ, "DISPLAY": name}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
