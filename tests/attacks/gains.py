"""Gains of an attacker, and how the programs print them."""

from collections.abc import Iterable
from typing import NamedTuple


class Gain(NamedTuple):
    """The figure of one attack."""

    attack: str
    amount: float
    unit: str
    # Number of requests and duration.
    detail: str
    # The bar: more than this is a defect. None if nothing is promised.
    most: float | None = None
    # Requests of another client without a response during the attack.
    unanswered: int = 0

    @property
    def is_exceeded(self) -> bool:
        """Return whether the attacker gets more than is promised."""
        return self.unanswered > 0 or (self.most is not None and self.amount > self.most)


def table(behind: str, gains: Iterable[Gain]) -> str:
    """Return gains and bars as lines, one for each attack."""
    return "\n".join([f"-- {behind}", *map(_line, gains)])


def _line(gain: Gain) -> str:
    bar = "" if gain.most is None else f"at most {gain.most:,.0f}"
    mark = " EXCEEDED" if gain.is_exceeded else ""
    return f"{gain.attack:<62} {gain.amount:>10,.1f} {gain.unit:<20} {bar:<14} {gain.detail}{mark}"
