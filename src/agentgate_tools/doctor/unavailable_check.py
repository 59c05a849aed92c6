"""The check of the adapter's behavior while AgentGate is unavailable: open passes requests, closed returns 503."""

import re

from agentgate_tools.adapters.render import EXAMPLE, FILES, unavailable_line
from agentgate_tools.doctor.asking import Asked
from agentgate_tools.doctor.findings import Finding, passed, skipped, warned

OPEN, CLOSED = "open", "closed"
GIVE_FILE = "Give --adapter with the adapter's file, or stop AgentGate once and run the doctor again."
_COMMENT = re.compile(r"\s+(?:#|--).*\Z")


def word_in(text: str) -> str | None:
    """Return whether an adapter's file is open or closed; None if it is not a file with that line."""
    lines = [line.strip() for line in text.splitlines()]
    for proxy in FILES:
        found = unavailable_line(proxy, EXAMPLE)
        for line, word in ((found.monitor, OPEN), (found.enforce, CLOSED)):
            # The lines of Traefik contain the site.
            pattern = re.escape(_COMMENT.sub("", line)).replace(EXAMPLE.site, "[A-Za-z0-9_-]+")
            if any(re.match(pattern, each) for each in lines):
                return word
    return None


def check_unavailable(
    adapter: str | None, home: Asked, refused: Asked | None, *, fails: bool, knows_secret: bool
) -> Finding:
    """Report whether the adapter is open or closed, and warn about enforce mode with open.

    `fails`: AgentGate is unavailable to the adapter now, so the adapter's response shows which one is active.
    """
    if fails:
        return _observed(home, knows_secret=knows_secret)
    if adapter is None:
        return skipped("unavailable", "AgentGate is available, so the adapter's response does not show it", GIVE_FILE)
    word = word_in(adapter)
    if word is None:
        fix = "Print the file again with `agentgate adapter`, or give the file that has this line."
        return warned("unavailable", "the adapter's file has no line for an unavailable AgentGate", fix)
    enforces = refused is not None and bool(refused.reason)
    if word == OPEN and enforces:
        found = "the site is in enforce mode and the adapter is open: an attacker who overloads AgentGate disables it"
        fix = "Change the line of the adapter to closed, as `agentgate adapter --mode enforce` prints it."
        return warned("unavailable", found, fix)
    return passed("unavailable", f"the adapter is {word} while AgentGate is unavailable")


def _observed(home: Asked, *, knows_secret: bool) -> Finding:
    why = "AgentGate is unavailable" if knows_secret else "AgentGate does not know the secret"
    # The response of an adapter, unlike a 503 of the site itself, does not depend on the site.
    if home.status == 503:
        return passed("unavailable", f"{why}, and the adapter is closed: it returns 503")
    fix = "Repair the connection to AgentGate. Change the adapter's line to closed before you switch to enforce mode."
    return warned("unavailable", f"{why}, and the adapter is open: requests pass unchecked ({home.status})", fix)
