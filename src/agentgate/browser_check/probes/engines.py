"""Engines: the engine that a User-Agent claims, of the three that probes can tell apart."""

from msgspec import Struct

from agentgate.decision.signals.detectors.browser_class import browser_class

BLINK, GECKO, WEBKIT = "blink", "gecko", "webkit"
ENGINES = (BLINK, GECKO, WEBKIT)

LOOKED_AT_CHARACTERS = 1_024
# By the engine's name in a browser's class. `webkit` is that of other makers.
KIND_OF = {"chromium": BLINK, "firefox": GECKO, "safari": WEBKIT, "webkit": WEBKIT}
# Closed shadow trees, animations with a time, `elementsFromPoint`, `gap` in flex boxes, `clamp`.
ABLE_FROM = {BLINK: 84, GECKO: 75, WEBKIT: 15}
# The SDK is written in ECMAScript 2020: an older release than these cannot have run it.
RUNS_FROM = {BLINK: 80, GECKO: 74, WEBKIT: 13}


class BrowserClaim(Struct, frozen=True):
    """The engine and the version of the browser that a client claims to be; None if it claims none."""

    engine: str | None = None
    version: int | None = None

    @property
    def is_able(self) -> bool:
        """Return whether such a browser supports probes, so that missing results count against it."""
        return self.engine is not None and self.version is not None and self.version >= ABLE_FROM[self.engine]

    @property
    def can_run(self) -> bool:
        """Return whether such a browser can have run the SDK, as far as its name tells."""
        return self.engine is None or self.version is None or self.version >= RUNS_FROM[self.engine]


def claim_of(user_agent: str | None) -> BrowserClaim:
    """Return the claim of a User-Agent. On iOS every browser is WebKit, whatever its name."""
    browser = browser_class((user_agent or "")[:LOOKED_AT_CHARACTERS])
    engine = KIND_OF.get(browser.engine)
    return BrowserClaim(engine, browser.major or None) if engine else BrowserClaim()
