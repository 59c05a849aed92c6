"""Families of evidence: which labels speak of the same thing, and how many different things have to speak.

One family alone never counts: an extension, a privacy browser, a remote desktop, voice control, an open debugger each
explain one. What is in no family here is never a reason at all: drawing by software, no WebGL, languages, time zones,
a keyboard alone, an address in a data center, an embedded browser without plug-ins, one short and steady move, and
input off the display server's clock, as Chromium has it on Wayland.
"""

from collections.abc import Iterable

# By the evidence they read. Labels of one family have common innocent causes, so they count once.
FAMILIES: dict[str, tuple[str, ...]] = {
    # A debugger or driver is attached to the page.
    "driver": ("browser.debugger", "browser.injected"),
    # The window's sizes cannot be those of a window.
    "window": ("browser.no_screen", "browser.no_window_frame", "browser.window_mismatch"),
    # Input that has a trait which no device has and was not timed by the display server either.
    "synthetic": ("input.synthetic",),
    # Input events that no device made.
    "device": (
        "input.between_pixels",
        "input.adrift",
        "input.still_moves",
        "input.odd_pressure",
        "input.codeless_keys",
        "behavior.untrusted_events",
    ),
    # The way of the pointer is drawn and not moved.
    "path": ("input.ruled_path", "input.even_path", "input.abrupt"),
    # Presses and keys unlike a hand's. Assistive tools have some of them.
    "manner": (
        "input.short_press",
        "input.jump",
        "input.centred",
        "input.short_keys",
        "input.fast_keys",
        "input.even_presses",
        "input.even_keys",
        "input.text_without_keys",
        "input.untouched_text",
        "input.unled_focus",
    ),
    # So many of those at once that no tool explains them all.
    "robotic": ("input.robotic",),
    # The browser's own functions were replaced.
    "patched": ("browser.patched",),
    # Page, frame and worker disagree about the browser.
    "contexts": ("browser.worker_mismatch", "browser.frame_mismatch"),
    # The browser contradicts its own name.
    "claims": (
        "browser.user_agent_mismatch",
        "browser.platform_mismatch",
        "browser.touch_mismatch",
        "browser.no_languages",
        "browser.permission_mismatch",
    ),
    "headers": (
        "http.client_hints_mismatch",
        "http.client_hints_missing",
        "http.fetch_metadata_mismatch",
        "http.fetch_metadata_missing",
        "http.order_mismatch",
        "http.unlike_browser",
    ),
    # A part of the evidence that this browser can give did not come.
    "absent": ("browser.worker_missing", "browser.frame_missing", "probes.missing"),
    # Answers that no engine of this name gives.
    "engine": ("probes.wrong", "probes.engine_mismatch"),
    # Nothing was laid out at all. An engine that has changed gives other answers to a family of programs, not this.
    "layout": ("probes.no_layout",),
}
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
