"""A person at a stock browser: mouse and keyboard of an X server, and eyes that see where things are on the page."""

import random
import time
from typing import Any

from bench.adversaries.drivers import stock
from bench.adversaries.drivers.hands import Hands
from bench.adversaries.drivers.job import Job, read_job, state, wait_for
from bench.adversaries.drivers.screen import put_on_clipboard, stop, virtual_screen
from bench.adversaries.motion import Hand, move, type_text
from bench.adversaries.personas import BY_NAME, Persona

MOST_TABS = 25
# The longest text that the dictating extension inserts takes 3.3 s.
DICTATION_S = 4.5


class Visitor:
    """A person in front of a screen."""

    def __init__(self, job: Job, persona: Persona, screen: str) -> None:
        self.job = job
        self.persona = persona
        self.rng = random.Random(job.seed * 7919 + sum(map(ord, persona.name)))
        self.hands = Hands(screen, self.rng)
        self.screen = screen
        # Pixels of the screen for one of the page, and where the page begins on the screen.
        self.scale = 1.0
        self.origin = (0.0, 0.0)

    @property
    def hand(self) -> Hand:
        """How they move."""
        return self.persona.hand

    def think(self, factor: float = 1.0) -> None:
        """Do nothing for a while."""
        time.sleep(self.hand.thought_s * factor * self.rng.lognormvariate(-0.1, 0.4))

    def report(self) -> dict[str, Any]:
        """See what is on the page."""
        found: dict[str, Any] = state(self.job)["report"]
        return found

    def look_around(self) -> None:
        """Move the pointer over the page, and learn where on the screen it is."""
        left, top, _, _, width, height, _ = self.report()["window"]
        for share_x, share_y in ((0.4, 0.55), (0.62, 0.7), (0.5, 0.62)):
            box = (left + width * share_x, top + height * share_y, 30.0, 20.0)
            self.hands.follow(move(self.hands.at, box, self.hand, self.rng))
            time.sleep(0.3)
        pointer = self.settled_pointer()
        # The page's pixels are not reliable: some privacy settings randomize them.
        self.scale = self.persona.setup.scale
        self.origin = (self.hands.at[0] - pointer[0] * self.scale, self.hands.at[1] - pointer[1] * self.scale)

    def settled_pointer(self) -> list[float]:
        """Return the pointer position that the page reports, after two equal reports: a busy machine lags behind."""
        before: list[float] | None = None
        for _ in range(20):
            time.sleep(0.5)
            now: list[float] | None = self.report().get("pointer")
            if now and now == before:
                return now
            before = now
        raise RuntimeError("the pointer is not over the page")

    def go(self, place: list[float]) -> None:
        """Move to something on the page and click it."""
        left, top, width, height = (value * self.scale for value in place)
        box = (self.origin[0] + left, self.origin[1] + top, width, height)
        self.hands.follow(move(self.hands.at, box, self.hand, self.rng))
        time.sleep(self.rng.uniform(0.05, 0.18))
        self.hands.click()

    def is_below(self, place: list[float]) -> bool:
        """Say whether a part of something is below the window's edge; if so, turn the wheel."""
        if place[1] + place[3] <= self.report()["window"][3]:
            return False
        for _ in range(4):
            self.hands.button(5, down=True)
            self.hands.button(5, down=False)
            time.sleep(self.rng.uniform(0.06, 0.16))
        time.sleep(0.5)
        return True

    def go_to(self, name: str) -> None:
        """Click something that has a name."""
        place = self.report()["places"][name]
        if self.is_below(place):
            place = self.report()["places"][name]
        self.go(place)
        if name != "send" and not wait_for(self.job, lambda now: now["report"].get("focus") == name, 3):
            # Missed: one sees that, and clicks again.
            self.go(self.report()["places"][name])

    def tab_to(self, name: str) -> None:
        """Press Tab until the element has the focus."""
        if not self.report().get("focused"):
            # Another window has the focus: Alt and Tab lead to this one.
            self.hands.tap("Tab", self.rng.uniform(0.06, 0.12), with_key="Alt_L")
            time.sleep(1)
        for _ in range(MOST_TABS):
            if self.report().get("focus") == name:
                return
            self.hands.tap("Tab", self.rng.uniform(0.06, 0.12))
            time.sleep(self.rng.uniform(0.25, 0.5))
        raise RuntimeError(f"Tab does not lead to {name}")

    def write(self, text: str) -> None:
        """Type a text."""
        self.hands.play(type_text(text, self.hand, self.rng))

    def fill(self) -> None:
        """Fill in the form in this person's way, and send it."""
        way, job = self.persona.way, self.job
        to = self.tab_to if way == "keyboard" else self.go_to
        if way == "short":
            to("name")
            self.write(job.name.split()[0])
        elif way == "dictate":
            for name in ("name", "email", "message"):
                to(name)
                time.sleep(DICTATION_S)
        elif way == "message":
            to("message")
            self.write(job.text)
        else:
            to("name")
            self.think(0.4)
            self.write(job.name)
            self.think()
            (self.tab_to if way == "tabs" else to)("email")
            if way == "paste":
                self.paste(job.email)
            else:
                self.write(job.email)
            self.think()
            (self.tab_to if way == "tabs" else to)("message")
            self.write(job.text)
        self.think()
        self.send()

    def send(self) -> None:
        """Press the button of the form."""
        if self.persona.way == "keyboard":
            self.tab_to("send")
            self.hands.tap("Return")
        else:
            self.go_to("send")

    def paste(self, text: str) -> None:
        """Paste a text that was copied elsewhere."""
        owner = put_on_clipboard(self.screen, text, self.job.folder)
        if owner is None:
            self.write(text)
            return
        time.sleep(0.4)
        self.hands.tap("v", 0.09, with_key="Control_L")
        time.sleep(0.6)
        stop(owner)

    def finish(self) -> None:
        """Wait until the form was sent; do what the check asks for if it is shown."""
        until_s = time.monotonic() + self.job.seconds
        again_s = time.monotonic() + 8
        while time.monotonic() < until_s:
            now = state(self.job)
            if time.monotonic() > again_s and not now["verified"] and now["report"].get("state") in (None, "idle"):
                # Nothing happens: the button was missed.
                again_s = time.monotonic() + 20
                self.send()
            if now["sent"]:
                return
            place = now["report"].get("ask")
            if place and self.persona.way != "keyboard" and self.is_below(place):
                continue
            if place:
                self.think(0.8)
                if self.persona.way == "keyboard":
                    self.hands.tap("Return", self.rng.uniform(0.06, 0.12))
                else:
                    self.go(place)
                time.sleep(0.8)
            time.sleep(0.2)
        raise RuntimeError(f"the form was not sent: {state(self.job)}, the page is at {self.origin} times {self.scale}")


def main() -> None:
    """Be one person for one session."""
    job = read_job()
    persona = BY_NAME[job.variant]
    with virtual_screen(*persona.screen, persona.dpi) as screen:
        browser = stock.start(persona.setup, job.page, screen, job.folder)
        try:
            if not wait_for(job, lambda now: now["report"].get("places"), 150):
                raise RuntimeError("the page did not open")
            visitor = Visitor(job, persona, screen)
            time.sleep(1.0)
            if persona.way != "keyboard":
                visitor.look_around()
            visitor.think()
            visitor.fill()
            visitor.finish()
        finally:
            stock.end(browser)


if __name__ == "__main__":
    main()
