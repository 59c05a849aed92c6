"""AiUse: a site's setting for verified AI operators and agents, as decisions read it."""

from collections.abc import Collection, Mapping

from msgspec import Struct, UnsetType

from agentgate.lib.enums import AiPurpose, AiUseChoice
from agentgate.sites.agent_policy import asked
from agentgate.sites.price import Price
from agentgate.sites.records import Site, SiteAiUse
from agentgate.sites.rules.patterns.robots_rules import RobotsRules

_EMPTY = RobotsRules("")


class AiUse(Struct, frozen=True):
    """The choice for each purpose, and the price of those that are sold."""

    choices: Mapping[AiPurpose, AiUseChoice]
    price: Price | None

    def price_of(self, uses: Collection[AiPurpose]) -> Price | None:
        """Return the price of these uses; None if all are free."""
        return self.price if any(self.choices[use] is AiUseChoice.PRICE for use in uses) else None


def read_ai_use(stored: SiteAiUse | UnsetType) -> AiUse | None:
    """Return the setting; None before the owner has decided."""
    return None if isinstance(stored, UnsetType) else AiUse(stored.choices(), asked(stored.price))


def robots_of(site: Site) -> RobotsRules | None:
    """Return the rules of the site's robots.txt; None without one and without a setting."""
    if not site.robots_txt:
        return None if isinstance(site.ai_use, UnsetType) else _EMPTY
    return RobotsRules(site.robots_txt)
