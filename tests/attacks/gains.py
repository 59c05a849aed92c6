"""What an attacker gets, and how the programs print it."""

from collections.abc import Iterable
from typing import NamedTuple


class Gain(NamedTuple):
    """The figure of one attack."""

    attack: str
    amount: float
    unit: str
    # What was asked and how long it took.
    detail: str
    # Requests of another client that got no answer meanwhile.
    unanswered: int = 0


def table(behind: str, gains: Iterable[Gain]) -> str:
    """Return the figures as lines, one for each attack."""
    lines = [f"{gain.attack:<58} {gain.amount:>10,.1f} {gain.unit:<26} {gain.detail}" for gain in gains]
    return "\n".join([f"-- {behind}", *lines])


def a_minute(got: int, asked: int, seconds: float) -> float:
    """Return how many pages an attacker gets in a minute.

    If requests were refused, a limit ended the attack: the minute has no more. Otherwise the pace continues.
    """
    return float(got) if got < asked else got / seconds * 60
