"""Families of evidence: which labels speak of the same thing, and how many different things have to speak.

One family alone never counts: an extension, a privacy browser, a remote desktop, voice control, an open debugger each
explain one. What is in no family here is never a reason at all: drawing by software, no WebGL, languages, time zones,
a keyboard alone, an address in a data center, an embedded browser without plug-ins, one short and steady move, and
input off the display server's clock, as Chromium has it on Wayland.
"""

from collections.abc import Iterable

from agentgate.decision.signals.words import WORDS

FAMILIES = WORDS.families
# Families that extensions and privacy tools do not explain: without one of these, visitors are at most challenged.
OF_PROGRAMS = frozenset(("driver", "window", "synthetic", "device", "path", "robotic", "engine", "layout"))
# Asks by itself, and counts towards no refusal: there is no evidence of an engine, nor any against one.
UNPROVEN = "probes.unproven"
ENOUGH_TO_ASK = 2
ENOUGH_TO_REFUSE = 3

# Parts without which there is nothing to judge. Each release of the SDK has sent them from every browser.
MISSING = frozenset(("browser.no_evidence", "browser.incomplete", "input.missing"))

_FAMILY_OF = {label: family for family, labels in FAMILIES.items() for label in labels}


def families_of(labels: Iterable[str]) -> set[str]:
    return {_FAMILY_OF[label] for label in labels if label in _FAMILY_OF}


def evidence_labels(labels: Iterable[str]) -> list[str]:
    """Return `evidence.*`: what the labels of a browser check say together."""
    found = set(labels)
    families = families_of(found)
    together = []
    if not MISSING.isdisjoint(found):
        together.append("evidence.missing")
    if len(families) >= ENOUGH_TO_ASK or UNPROVEN in found:
        together.append("evidence.doubtful")
    if len(families) >= ENOUGH_TO_REFUSE and not OF_PROGRAMS.isdisjoint(families):
        together.append("evidence.contradictory")
    return together
