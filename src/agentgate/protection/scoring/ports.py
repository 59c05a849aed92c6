"""What labels, feature capture and models ask of the stores and of the rules in force."""

from typing import Protocol

from agentgate.protection.rules.evaluate import CompiledRules


class RulesInForce(Protocol):
    """The rules of every site, as they decide now."""

    def compiled(self, site: int) -> CompiledRules | None:
        """Return a site's rules by its number; None for a site that is no more."""
        ...
