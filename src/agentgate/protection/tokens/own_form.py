"""The browser check in front of a form of the service itself: its token is redeemed here, without going over HTTP."""

from agentgate.http.call import Call
from agentgate.lib.errors import Refused
from agentgate.protection.sites.directory import SiteCaller, SiteDirectory
from agentgate.protection.tokens.redeem import Demand, Redeemer

# The service's own server has no secret, so there is no credential that this could be the use of.
_NO_CREDENTIAL = ""


class OwnForm:
    """Says whether a token is good for a form of the service. It is spent by asking."""

    def __init__(self, redeemer: Redeemer, sites: SiteDirectory, *, site_key: str) -> None:
        self._redeemer = redeemer
        self._sites = sites
        self._site_key = site_key

    @property
    def site_key(self) -> str | None:
        """Return the site that issues the tokens. It must have the action of each form."""
        return self._site_key

    async def passes(self, token: str | None, call: Call, *, action: str) -> bool:
        """Say whether the check was passed. A store that is away is no answer: the caller hears of it."""
        site = self._sites.find(self._site_key)
        if token is None or site is None or site.disabled:
            return False
        caller = SiteCaller(site, _NO_CREDENTIAL, expires_ms=None)
        demand = Demand(token=token, action=action, remote_address=call.request.address)
        try:
            await self._redeemer.redeem(caller, demand, now_ms=call.now)
        except Refused:
            return False
        return True
