"""What lists ask of the durable store, and of the part above that knows visitors."""

from typing import Protocol


class VisitorNames(Protocol):
    """Makes the visitor IDs under which decisions are stored."""

    def find(self, site_key: str, address: str) -> int:
        """Return the visitor's number of an address at a site."""
        ...

    def named_since_ms(self) -> int:
        """Return since when addresses have the names that they have now."""
        ...
