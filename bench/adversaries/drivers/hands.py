"""The hands: events by XTest, which browsers cannot distinguish from real mouse and keyboard events."""

import random
import time

from Xlib import XK, X, display
from Xlib.ext import xtest

from bench.adversaries.motion import Key, press_s

KEYSYMS = {
    "@": "at",
    ".": "period",
    " ": "space",
    ",": "comma",
    "!": "exclam",
    "?": "question",
    "'": "apostrophe",
    "-": "minus",
}


class Hands:
    """The mouse and the keyboard of a screen."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self._display = display.Display(name)
        self._rng = rng
        self.at = (float(rng.randint(60, 260)), float(rng.randint(120, 300)))

    def put(self, x: float, y: float) -> None:
        """Put the pointer somewhere."""
        xtest.fake_input(self._display, X.MotionNotify, x=round(x), y=round(y))
        self._display.sync()
        self.at = (x, y)

    def follow(self, way: list[tuple[float, float, float]]) -> None:
        """Move along a way of (pause, x, y)."""
        until_s = time.monotonic()
        for pause, x, y in way:
            until_s += pause
            wait_until(until_s)
            self.put(x, y)

    def click(self, hold_s: float | None = None) -> None:
        """Press and release the left button."""
        self.button(down=True)
        time.sleep(press_s(self._rng) if hold_s is None else hold_s)
        self.button(down=False)

    def button(self, number: int = 1, *, down: bool) -> None:
        """Press or release a button of the mouse."""
        xtest.fake_input(self._display, X.ButtonPress if down else X.ButtonRelease, number)
        self._display.sync()

    def key(self, name: str, *, down: bool) -> None:
        """Press or release a key; letters are their own names."""
        keysym = XK.string_to_keysym(KEYSYMS.get(name, name))
        code = self._display.keysym_to_keycode(keysym)
        xtest.fake_input(self._display, X.KeyPress if down else X.KeyRelease, code)
        self._display.sync()

    def play(self, keys: list[Key]) -> None:
        """Press and release keys at their times."""
        until_s = time.monotonic()
        for key in keys:
            until_s += key.pause
            wait_until(until_s)
            self.key(key.name, down=key.down)

    def tap(self, name: str, hold_s: float = 0.08, with_key: str = "") -> None:
        """Press one key, with another held if one is named."""
        if with_key:
            self.key(with_key, down=True)
            time.sleep(self._rng.uniform(0.05, 0.12))
        self.key(name, down=True)
        time.sleep(hold_s)
        self.key(name, down=False)
        if with_key:
            time.sleep(self._rng.uniform(0.02, 0.06))
            self.key(with_key, down=False)


def wait_until(until_s: float) -> None:
    """Sleep until a moment of the monotonic clock."""
    left = until_s - time.monotonic()
    if left > 0:
        time.sleep(left)
