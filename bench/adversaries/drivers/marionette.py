"""Firefox driven over Marionette by hand, with the mark that it is driven as it comes or taken away."""

import json
import os
import socket
import subprocess
import time
from typing import Any

from bench.adversaries.drivers.job import Job, read_job, state
from bench.adversaries.drivers.screen import virtual_screen
from bench.adversaries.drivers.stock import FIREFOX, end

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Marionette:
    """Firefox's own protocol: a length, a colon, and JSON."""

    def __init__(self, port: int) -> None:
        until_s = time.monotonic() + 60
        while True:
            try:
                self._socket = socket.create_connection(("127.0.0.1", port), 5)
                break
            except OSError:
                if time.monotonic() > until_s:
                    raise
                time.sleep(0.3)
        self._socket.settimeout(60)
        self._file = self._socket.makefile("rb")
        self._number = 0
        self._read()

    def _read(self) -> Any:
        length = b""
        while (byte := self._file.read(1)) != b":":
            length += byte
        return json.loads(self._file.read(int(length)))

    def call(self, name: str, **fields: Any) -> Any:
        """Call a command; return its value."""
        self._number += 1
        text = json.dumps([0, self._number, name, fields])
        self._socket.sendall(f"{len(text)}:{text}".encode())
        _, _, error, value = self._read()
        if error:
            raise RuntimeError(error["message"])
        return value.get("value", value) if isinstance(value, dict) else value

    def element(self, selector: str) -> str:
        """Find an element; return its ID."""
        found: str = self.call("WebDriver:FindElement", using="css selector", value=selector)[ELEMENT]
        return found


def visit(job: Job, port: int) -> None:
    """Fill in the form and send it."""
    firefox = Marionette(port)
    firefox.call("WebDriver:NewSession")
    firefox.call("WebDriver:Navigate", url=job.page)
    for name, text in (("name", job.name), ("email", job.email), ("message", job.text)):
        firefox.call("WebDriver:ElementSendKeys", id=firefox.element(f"#{name}"), text=text)
    firefox.call("WebDriver:ElementClick", id=firefox.element("#send"))
    until_s = time.monotonic() + job.seconds / 2
    while time.monotonic() < until_s and not state(job)["sent"]:
        place = state(job)["report"].get("ask")
        if place:
            click(firefox, place)
            time.sleep(1.2)
        time.sleep(0.2)


def click(firefox: Marionette, place: list[float]) -> None:
    """Click the middle of a place."""
    x, y = int(place[0] + place[2] / 2), int(place[1] + place[3] / 2)
    steps = [
        {"type": "pointerMove", "x": x, "y": y, "duration": 0},
        {"type": "pointerDown", "button": 0},
        {"type": "pointerUp", "button": 0},
    ]
    mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps}
    firefox.call("WebDriver:PerformActions", actions=[mouse])


def main() -> None:
    """Be one driven Firefox for one session."""
    job = read_job()
    words = job.variant.split()
    profile = job.folder / "firefox"
    profile.mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    preferences: dict[str, Any] = {**FIREFOX, "marionette.port": port}
    if "hidden" in words:
        preferences["dom.webdriver.enabled"] = False
    lines = [f'user_pref("{name}", {json.dumps(value)});' for name, value in preferences.items()]
    (profile / "user.js").write_text("\n".join(lines))
    command = [job.firefox, "--marionette", "--no-remote", "--profile", str(profile)]
    if "headless" in words:
        command.append("--headless")
    with virtual_screen() as screen:
        environment = {**os.environ, "DISPLAY": screen, "HOME": str(job.folder)}
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        browser = subprocess.Popen(command, env=environment, start_new_session=True, **quiet)
        try:
            visit(job, port)
        finally:
            end(browser)


if __name__ == "__main__":
    main()
