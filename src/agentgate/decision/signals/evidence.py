"""Evidence of the browser SDK, read defensively: it comes from the visitor and may have any shape.

A value of another type than expected counts as absent; nothing here raises.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

# A list longer than this is cut; no browser has so many languages or plug-ins.
MOST_ITEMS = 64
MOST_CHARACTERS = 1_024

NOTHING: Mapping[str, Any] = {}


class EvidencePart(Struct, frozen=True, gc=False):
    """A part of the evidence, with typed questions."""

    values: Mapping[str, Any]

    def part(self, name: str) -> "EvidencePart":
        """Return a nested part; an empty one when there is none."""
        value = self.values.get(name)
        return EvidencePart(value if isinstance(value, Mapping) else NOTHING)

    def has(self, name: str) -> bool:
        """Return whether anything was sent under a name."""
        return name in self.values

    def is_true(self, name: str) -> bool:
        """Return whether a value is exactly true."""
        return self.values.get(name) is True

    def is_false(self, name: str) -> bool:
        """Return whether a value is exactly false."""
        return self.values.get(name) is False

    def text(self, name: str) -> str | None:
        """Return a text, cut to a bound."""
        value = self.values.get(name)
        return value[:MOST_CHARACTERS] if isinstance(value, str) else None

    def number(self, name: str) -> float | None:
        """Return a finite number; true and false are none."""
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        # A number beyond this bound cannot be a measurement; it may also be infinite, or not a number at all.
        return float(value) if -1e12 < value < 1e12 else None

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return the texts in a list, cut to a bound."""
        value = self.values.get(name)
        if not isinstance(value, list | tuple):
            return None
        return tuple(item[:MOST_CHARACTERS] for item in value[:MOST_ITEMS] if isinstance(item, str))


def read_evidence(values: Mapping[str, Any] | None) -> EvidencePart:
    """Wrap the evidence that a page sent."""
    return EvidencePart(values if isinstance(values, Mapping) else NOTHING)
