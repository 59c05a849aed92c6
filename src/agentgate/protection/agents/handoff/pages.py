"""The pages of handoffs as the browser check knows them: which site's check runs there, and for what."""

from agentgate.lib.enums import HandoffStatus
from agentgate.protection.agents.handoff.handoffs import Handoffs
from agentgate.protection.browser_check.ports import OwnPage
from agentgate.protection.sites.directory import SiteDirectory


class HandoffPages:
    """Implements OwnPages: the key of a page is the ID of its handoff."""

    prefix = "ho_"

    def __init__(self, handoffs: Handoffs, sites: SiteDirectory) -> None:
        self._handoffs = handoffs
        self._sites = sites

    async def find_page(self, key: str, *, now_ms: int) -> OwnPage | None:
        """Return the page of a handoff that waits for a person."""
        handoff = await self._handoffs.find(key)
        if handoff is None or handoff.status is not HandoffStatus.PENDING or now_ms >= handoff.expires_ms:
            return None
        site = self._sites.find_by_number(handoff.site)
        return None if site is None or site.disabled else OwnPage(site, handoff.action)
