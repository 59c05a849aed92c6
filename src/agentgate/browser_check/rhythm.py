"""Rhythm: timing of keys and presses, which differs between people and hardly changes with a program's noise.

Six times: median and spread of the gaps between keys and of how long they are held, mean and spread of how long the
mouse is pressed. Only for a real keyboard together with a mouse: soft keyboards and fingers lack some of the times.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from agentgate.decision.signals.evidence import read_evidence

LEAST_KEYS, LEAST_PRESSES = 8, 2
# Soft keyboards, barcode scanners and text expanders hold their keys for less; many visitors share their times.
SHORTEST_HOLD_MS = 20.0
TYPED = ("gapMs", "gapSpread", "holdMs", "holdSpread")
PRESSED = ("holdMs", "holdSpread")
# Times within about 15% of each other are the same pace.
STEP = 0.15


def rhythm_of(interaction: Mapping[str, Any]) -> tuple[float, ...] | None:
    """Return the six times; None where too little was done, or one of them is missing."""
    evidence = read_evidence(interaction)
    typed, pointer = evidence.part("typed"), evidence.part("pointer")
    if (typed.number("presses") or 0) < LEAST_KEYS or (pointer.number("presses") or 0) < LEAST_PRESSES:
        return None
    times = [typed.number(name) or 0 for name in TYPED] + [pointer.number(name) or 0 for name in PRESSED]
    if min(times) <= 0 or (typed.number("holdMs") or 0) < SHORTEST_HOLD_MS:
        return None
    return tuple(times)


def pace_of(rhythm: Sequence[float], shift: float) -> tuple[int, ...]:
    """Return the rhythm in steps of about 15%; `shift`, below 1, sets where the steps begin."""
    return tuple(math.floor(math.log(time) / STEP + shift) for time in rhythm)
