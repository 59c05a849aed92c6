"""The version of the configuration: a number that grows with every change of what decides.

Workers keep sites, rules and models in memory and compare this number to learn that theirs are old. Whoever changes
one of these calls `bump` in the same unit of work.
"""

from typing import Protocol


class ConfigurationStore(Protocol):
    """The one number."""

    async def bump(self) -> None:
        """Say that what decides has changed."""
        ...

    async def version(self) -> int:
        """Return the number as it is now."""
        ...


class ConfigurationStores(Protocol):
    """The port that every unit of work on what decides uses."""

    @property
    def configuration(self) -> ConfigurationStore: ...
