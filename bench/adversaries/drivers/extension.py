"""A stock Chromium with an extension whose content script fills in the form and sends it: no press of any device."""

import json
import random
import time

from bench.adversaries.drivers.hands import Hands
from bench.adversaries.drivers.job import Job, read_job, state
from bench.adversaries.drivers.screen import virtual_screen
from bench.adversaries.drivers.stock import Setup, end, start
from bench.adversaries.motion import Hand, move

SEND = {
    "click": "document.getElementById('send').click()",
    "request": "document.getElementById('form').requestSubmit()",
    "submit": "document.getElementById('form').submit()",
}
# `fill` sets values, `commands` has the editor insert letters. Later, the page may have a token from its load.
SCRIPT = """
const texts = TEXTS;
function fill() {
  for (const id in texts) {
    const field = document.getElementById(id);
    field.value = texts[id];
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
}
async function commands() {
  for (const id in texts) {
    document.getElementById(id).focus();
    for (const letter of texts[id]) {
      document.execCommand('insertText', false, letter);
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  }
}
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
(async () => {
  await later(FIRST_MS);
  await FILL();
  await later(THEN_MS);
  SEND;
})();
"""


def main() -> None:
    """Be one browser with such an extension for one session."""
    job = read_job()
    words = job.variant.split()
    with virtual_screen() as screen:
        browser = start(Setup(extension=script_of(job, words)), job.page, screen, job.folder)
        try:
            rng = random.Random(job.seed)
            hands, until_s = Hands(screen, rng), time.monotonic() + job.seconds / 2
            while time.monotonic() < until_s and not state(job)["sent"]:
                if "pointer" in words:
                    # The browser's owner moves the mouse over the page and presses nothing.
                    box = (rng.uniform(300, 900), rng.uniform(250, 600), 30.0, 20.0)
                    hands.follow(move(hands.at, box, Hand(), rng))
                time.sleep(0.3)
        finally:
            end(browser)


def script_of(job: Job, words: list[str]) -> str:
    """Return the content script: it waits for the end of the check at load, before or after it fills in the form."""
    texts = json.dumps({"name": job.name, "email": job.email, "message": job.text})
    first_ms, then_ms = (0, 6000) if "early" in words else (0, 0) if "once" in words else (6000, 0)
    fields = {
        "TEXTS": texts,
        "FIRST_MS": str(first_ms),
        "THEN_MS": str(then_ms),
        "FILL": "commands" if "commands" in words else "fill",
        "SEND": SEND[words[0]],
    }
    script = SCRIPT
    for name, value in fields.items():
        script = script.replace(name, value)
    return script


if __name__ == "__main__":
    main()
