"""The job of a driver, and how the driver reads the state of its page."""

import json
import signal
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("Maria Lopez", "Jan de Vries", "Aiko Tanaka", "Sam Miller", "Ines Kovac", "Peter Olsen")
TEXTS = (
    "Hello, when does the shop open on Sunday",
    "I would like to change my order, is that possible",
    "Do you also ship to islands",
    "Thank you for the quick answer last week",
)


@dataclass(frozen=True)
class Job:
    """One session: where to go, and how."""

    page: str
    origin: str
    gate: str
    site_key: str
    action: str
    driver: str
    variant: str
    seed: int
    folder: Path
    chromium: str = ""
    firefox: str = ""
    modules: str = ""
    # The data that a person's browser sent earlier, for copying drivers.
    recorded: dict[str, Any] = field(default_factory=dict)
    tries: int = 1
    seconds: float = 90

    @property
    def name(self) -> str:
        """The name of the sender."""
        return NAMES[self.seed % len(NAMES)]

    @property
    def email(self) -> str:
        """Their address."""
        return self.name.lower().replace(" ", ".") + "@mail.example"

    @property
    def text(self) -> str:
        """What they write."""
        return TEXTS[self.seed % len(TEXTS)]


def read_job() -> Job:
    """Read the job from standard input."""
    given = json.load(sys.stdin)
    # When the driver is terminated, it ends the browser too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return Job(**{**given, "folder": Path(given["folder"])})


def state(job: Job) -> dict[str, Any]:
    """Return the last state that the page reported, and the outcome of the session."""
    with urllib.request.urlopen(f"{job.origin}/lab/state", timeout=30) as reply:
        found: dict[str, Any] = json.load(reply)
        return found


def wait_for(job: Job, look: Callable[[dict[str, Any]], Any], seconds: float = 30) -> Any:
    """Wait until `look` finds something in the page's state, and return it. Return None after the timeout."""
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        found = look(state(job))
        if found:
            return found
        time.sleep(0.1)
    return None
