"""Chromium driven over its debugging protocol by hand: no library, no injected script, input by the protocol."""

import asyncio
import json
import random
import socket
import subprocess
import time
import urllib.request
from typing import Any

import websockets

from bench.adversaries.drivers.job import Job, read_job, state
from bench.adversaries.drivers.screen import virtual_screen
from bench.adversaries.drivers.stock import Setup, end, start
from bench.adversaries.motion import Hand, move, press_s, type_text

Box = tuple[float, float, float, float]


class Tab:
    """A tab, and its protocol."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._number = 0

    async def call(self, method: str, **fields: Any) -> dict[str, Any]:
        """Call a method and wait for its result."""
        self._number += 1
        await self._socket.send(json.dumps({"id": self._number, "method": method, "params": fields}))
        while True:
            said: dict[str, Any] = json.loads(await self._socket.recv())
            if said.get("id") == self._number:
                return said.get("result", {})

    async def mouse(self, kind: str, x: float, y: float, **fields: Any) -> None:
        """Dispatch an event of the mouse."""
        await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **fields)

    async def click(self, x: float, y: float, hold_s: float) -> None:
        """Press and release."""
        await self.mouse("mousePressed", x, y, button="left", clickCount=1)
        await asyncio.sleep(hold_s)
        await self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    async def key(self, name: str, *, down: bool) -> None:
        """Dispatch an event of the keyboard."""
        named = {"BackSpace": ("Backspace", "Backspace", ""), "Shift_L": ("Shift", "ShiftLeft", "")}
        key, code, text = named.get(name, (name, f"Key{name.upper()}" if name.isalpha() else "Space", name))
        fields: dict[str, Any] = {"key": key, "code": code}
        if down and text:
            fields["text"] = text
        await self.call("Input.dispatchKeyEvent", type="keyDown" if down else "keyUp", **fields)


def page_socket(port: int) -> str:
    """Return the address of the first page's protocol."""
    until_s = time.monotonic() + 60
    while time.monotonic() < until_s:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=5) as reply:
                for target in json.load(reply):
                    if target["type"] == "page" and target["url"].startswith("http"):
                        return str(target["webSocketDebuggerUrl"])
        except OSError:
            pass
        time.sleep(0.3)
    raise RuntimeError("the browser does not answer")


def free_port() -> int:
    """Return a free port. Chromium reports automation if it may choose a port by itself."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def visit(job: Job, words: list[str], port: int) -> None:
    """Fill in the form and send it."""
    rng = random.Random(job.seed)
    async with websockets.connect(page_socket(port), max_size=None) as opened:
        tab = Tab(opened)
        if "runtime" in words:
            await tab.call("Runtime.enable")
            await tab.call("Page.enable")
        await until_places(job)
        if "gesture" in words:
            if "moved" in words:
                await tab.mouse("mouseMoved", 320, 240)
            await by_script(tab, job)
            return
        if "touch" in words:
            await tab.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": 240, "y": 90}])
            await tab.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        at = (200.0, 120.0)
        for name, text in (("name", job.name), ("email", job.email), ("message", job.text), ("send", "")):
            place = state(job)["report"]["places"][name]
            at = await go(tab, at, place, words, rng)
            await write(tab, text, words, rng)
        until_s = time.monotonic() + job.seconds / 2
        while time.monotonic() < until_s and not state(job)["sent"]:
            place = state(job)["report"].get("ask")
            if place:
                at = await go(tab, at, place, words, rng)
                await asyncio.sleep(1)
            await asyncio.sleep(0.2)


# Letters that are inserted at once.
PIECES = {"letters": 1, "pairs": 2}
FILL = "Object.entries(TEXTS).forEach(([id, text]) => (document.getElementById(id).value = text));"


async def by_script(tab: Tab, job: Job) -> None:
    """Let a script that claims to be a user's gesture fill in the form and send it."""
    await asyncio.sleep(5)
    texts = json.dumps({"name": job.name, "email": job.email, "message": job.text})
    script = FILL.replace("TEXTS", texts) + "document.getElementById('send').click()"
    await tab.call("Runtime.evaluate", expression=script, userGesture=True)
    for _ in range(round(job.seconds)):
        if state(job)["sent"]:
            return
        await asyncio.sleep(0.3)


async def until_places(job: Job) -> None:
    """Wait for the page."""
    for _ in range(300):
        if state(job)["report"].get("places"):
            return
        await asyncio.sleep(0.2)
    raise RuntimeError("the page did not open")


async def go(
    tab: Tab, at: tuple[float, float], place: Box, words: list[str], rng: random.Random
) -> tuple[float, float]:
    """Move and click: straight to the middle, or along a hand's way."""
    left, top, width, height = place
    x, y = left + width / 2, top + height / 2
    if "hand" in words:
        for pause, way_x, way_y in move(at, place, Hand(), rng):
            await tab.mouse("mouseMoved", way_x, way_y)
            await asyncio.sleep(pause)
            x, y = way_x, way_y
    await tab.click(x, y, press_s(rng) if "hand" in words else 0)
    return x, y


async def write(tab: Tab, text: str, words: list[str], rng: random.Random) -> None:
    """Type: key by key like a hand, or all at once."""
    if not text:
        return
    size = next((size for word, size in PIECES.items() if word in words), 0)
    if size:
        for at in range(0, len(text), size):
            await tab.call("Input.insertText", text=text[at : at + size])
            await asyncio.sleep(rng.uniform(0.05, 0.2))
        return
    if "hand" not in words:
        await tab.call("Input.insertText", text=text)
        return
    for key in type_text(text, Hand(), rng):
        await asyncio.sleep(key.pause)
        await tab.key(key.name, down=key.down)


def main() -> None:
    """Be one driven browser for one session."""
    job = read_job()
    words = job.variant.split()
    port = free_port()
    arguments = [f"--remote-debugging-port={port}", "--remote-allow-origins=*"]
    if "headless" in words:
        arguments += ["--headless=new", "--disable-blink-features=AutomationControlled"]
        version = subprocess.run([job.chromium, "--version"], capture_output=True, text=True, check=False).stdout
        major = version.split()[1].split(".")[0]
        agent = (
            f"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{major}.0.0.0 Safari/537.36"
        )
        arguments.append(f"--user-agent={agent}")
    with virtual_screen() as screen:
        browser = start(Setup(arguments=tuple(arguments)), job.page, screen, job.folder)
        try:
            asyncio.run(visit(job, words, port))
        finally:
            end(browser)


if __name__ == "__main__":
    main()
