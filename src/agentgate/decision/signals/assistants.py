"""Assistants: drivers that identify themselves, in a browser with a window, and what the site does with them.

The label only lifts a block for these signs of a driver. Headless browsers, other evidence, rates and clusters decide
as they do without it. It does not prove that a person is present: anyone can start a window and set the flag.
"""

from collections.abc import Collection

from agentgate.decision.signals.facts import RequestFacts
from agentgate.decision.signals.families import FAMILIES, families_of
from agentgate.lib.enums import Assistants

CHALLENGED, ALLOWED = "assistant.challenge", "assistant.allow"
# The WebDriver flag; MCP tools and agent extensions.
OPEN = frozenset(("browser.webdriver", "browser.automation"))
# Evidence that such drivers leave: their debugger, presses without a hand, events of scripts.
OWN_FAMILIES = frozenset(("driver", "manner", "device"))
# No real window, no evidence at all, or a failed program: not a person's browser with an assistant.
NEVER = frozenset(
    (
        "browser.headless",
        "browser.instrument_failed",
        "ua.headless",
        "http.client_hints_headless",
        "evidence.missing",
        "probes.unproven",
        *FAMILIES["window"],
    )
)


def assistant_labels(labels: Collection[str], facts: RequestFacts) -> tuple[str, ...]:
    """Return `assistant.*` of a browser check, from its other labels and the site's setting."""
    found = frozenset(labels)
    if facts.assistants is Assistants.BLOCK or not NEVER.isdisjoint(found):
        return ()
    is_own = families_of(found) <= OWN_FAMILIES
    is_blocked = "evidence.contradictory" in found
    if is_blocked and not is_own:
        return ()
    if not is_blocked and OPEN.isdisjoint(found):
        return ()
    # With other evidence, a person has to confirm.
    return (ALLOWED,) if is_own and facts.assistants is Assistants.ALLOW else (CHALLENGED,)
