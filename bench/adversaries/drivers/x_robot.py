"""Robots at stock browsers: the same X11 events as a person's, without a hand. No driver is there to be found."""

import random
import time

from bench.adversaries.drivers import stock
from bench.adversaries.drivers.job import Job, read_job, state, wait_for
from bench.adversaries.drivers.person import Visitor
from bench.adversaries.drivers.screen import virtual_screen
from bench.adversaries.motion import Hand, move
from bench.adversaries.personas import Persona


class Robot(Visitor):
    """Moves and types like the macros that people record or write."""

    def __init__(self, job: Job, words: list[str], screen: str) -> None:
        super().__init__(job, Persona("robot", "", hand=Hand(thought_s=0.05)), screen)
        self.words = words

    def travel(self, x: float, y: float) -> None:
        """Jump, or go straight at an even pace, or in the hand's way with an even pace of keys."""
        start_x, start_y = self.hands.at
        if "teleport" in self.words:
            self.hands.put(x, y)
            return
        if "curved" in self.words:
            self.hands.follow(move((start_x, start_y), (x - 1, y - 1, 2, 2), Hand(), random.Random(self.job.seed)))
            return
        for step in range(1, 26):
            self.hands.put(start_x + (x - start_x) * step / 25, start_y + (y - start_y) * step / 25)
            time.sleep(0.01)

    def go(self, place: list[float]) -> None:
        """Click the exact middle."""
        left, top, width, height = (value * self.scale for value in place)
        self.travel(self.origin[0] + left + width / 2, self.origin[1] + top + height / 2)
        self.hands.click(0.01 if "teleport" in self.words else 0.05)
        time.sleep(0.1)

    def look_around(self) -> None:
        """Find the page on the screen with some jumps."""
        left, top, _, _, width, height, _ = self.report()["window"]
        for share in (0.5, 0.55, 0.6):
            self.hands.put(left + width * share, top + height * share)
            time.sleep(0.3)
        pointer = self.settled_pointer()
        self.origin = (self.hands.at[0] - pointer[0], self.hands.at[1] - pointer[1])

    def write(self, text: str) -> None:
        """Type with fixed pauses."""
        for character in text:
            shifted = character.isupper() or character == "@"
            self.hands.tap(character, 0.0 if "teleport" in self.words else 0.02, with_key="Shift_L" if shifted else "")
            time.sleep(0.0 if "teleport" in self.words else 0.03)


def main() -> None:
    """Be one robot for one session."""
    job = read_job()
    browser_name, *words = job.variant.split()
    with virtual_screen() as screen:
        browser = stock.start(stock.Setup(browser=browser_name), job.page, screen, job.folder)
        try:
            if not wait_for(job, lambda now: now["report"].get("places"), 90):
                raise RuntimeError("the page did not open")
            time.sleep(1)
            robot = Robot(job, words, screen)
            robot.look_around()
            robot.fill()
            until_s = time.monotonic() + job.seconds / 2
            while time.monotonic() < until_s and not state(job)["sent"]:
                place = state(job)["report"].get("ask")
                if place:
                    robot.go(place)
                    time.sleep(1)
                time.sleep(0.2)
        finally:
            stock.end(browser)


if __name__ == "__main__":
    main()
