"""Families of evidence: which labels have the same meaning, and how many different families a verdict needs.

One family alone never counts, except letters without keys: an extension, a privacy browser, a remote desktop, voice
control, an open debugger each explain one. A label in no family here is never a reason at all: drawing by software, no
WebGL, languages, time zones, a keyboard alone, an address in a data center, an embedded browser without plug-ins, one
short and steady move, and input off the display server's clock, as Chromium has it on Wayland.
"""

from collections.abc import Iterable

from agentgate.decision.signals.words import WORDS

FAMILIES = WORDS.families
# Families that extensions and privacy tools do not explain: without one of these, visitors are at most challenged.
OF_PROGRAMS = frozenset(("driver", "window", "synthetic", "device", "path", "letters", "robotic", "engine", "layout"))
# Dictation, input methods, phones and password managers do otherwise: this family counts like two.
STRONG = frozenset(("letters",))
# Labels of `manner` with the same cause as those letters.
SAME_TEXT = frozenset(("input.text_without_keys", "input.untouched_text"))
# These labels lead to a challenge on their own and are not evidence for a block: probes without evidence for or against
# an engine, and a form that was filled in and sent without any input.
ASKING = frozenset(("probes.unproven", "input.untouched_form"))
ENOUGH_TO_ASK = 2
ENOUGH_TO_REFUSE = 3

# Parts without which there is nothing to judge. Each release of the SDK has sent them from every browser.
MISSING = frozenset(("browser.no_evidence", "browser.incomplete", "input.missing"))

_FAMILY_OF = {label: family for family, labels in FAMILIES.items() for label in labels}


def families_of(labels: Iterable[str]) -> set[str]:
    found = set(labels)
    if not found.isdisjoint(FAMILIES["letters"]):
        found -= SAME_TEXT
    return {_FAMILY_OF[label] for label in found if label in _FAMILY_OF}


def evidence_labels(labels: Iterable[str]) -> list[str]:
    """Return `evidence.*`: what the labels of a browser check say together."""
    found = set(labels)
    families = families_of(found)
    weight = len(families) + len(families & STRONG)
    together = []
    if not MISSING.isdisjoint(found):
        together.append("evidence.missing")
    if weight >= ENOUGH_TO_ASK or not ASKING.isdisjoint(found):
        together.append("evidence.doubtful")
    if weight >= ENOUGH_TO_REFUSE and not OF_PROGRAMS.isdisjoint(families):
        together.append("evidence.contradictory")
    return together
