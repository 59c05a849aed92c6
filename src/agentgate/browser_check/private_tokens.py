"""Private tokens in the browser check: a device that an issuer vouches for. It only counts in favor of a visitor."""

import hashlib

from agentgate.browser_check.records import PrivateTokenResult
from agentgate.browser_check.repository import StoredChallenge
from agentgate.browser_check.tokens.repository import Redemption, RedemptionStore
from agentgate.http.call import Call
from agentgate.http.request import Request
from agentgate.lib.clock import DAY_MS
from agentgate.lib.errors import Refused
from agentgate.lib.shared_cache import SharedCache
from agentgate.sites.directory import SiteView
from agentgate.sites.private_tokens import is_genuine, read_token, write_challenges
from agentgate.sites.token_issuers.directories import KnownIssuers, trusts_issuers

VERIFIED = "privacy_pass.verified"


class PrivateTokens:
    """Requests private tokens, and stores which challenges have one."""

    def __init__(self, redemptions: RedemptionStore, shared_cache: SharedCache, known: KnownIssuers) -> None:
        self._redemptions = redemptions
        self._known = known
        self._shared_cache = shared_cache

    async def redeem(self, call: Call, challenge: StoredChallenge, site: SiteView) -> PrivateTokenResult:
        """Accept a token for a challenge; if the call has none, respond with the token challenges."""
        issuers, origin, context = self._known.of(site, call.now), _origin_of(call.request), context_of(challenge.id)
        if not issuers:
            raise Refused("challenge_invalid", "The site does not trust any issuer with a known key.")
        authorization = call.request.header("authorization")
        if authorization is None:
            asked = write_challenges(self._known.of(site, call.now, first_only=True), context, origin)
            raise Refused("private_token_required", headers={"www-authenticate": asked})
        token = read_token(authorization)
        if token is None or not is_genuine(token, issuers, context, origin):
            raise Refused("private_token_invalid")
        # The signature covers the challenge, so the token is valid for this one only, and once.
        if not await self._redemptions.spend(
            site.id, token.id, Redemption(), issued_ms=challenge.issued_ms, kept_until_ms=call.now + DAY_MS
        ):
            raise Refused("private_token_invalid", "The private token was already used.")
        await self._shared_cache.put(_name(challenge), b"1", ttl_ms=challenge.expires_ms - call.now)
        return PrivateTokenResult(status="accepted")

    async def labels(self, challenge: StoredChallenge, site: SiteView) -> tuple[str, ...]:
        if not trusts_issuers(site):
            return ()
        return () if await self._shared_cache.get(_name(challenge)) is None else (VERIFIED,)


def context_of(challenge_id: str) -> bytes:
    """Return the redemption context: the challenge, so that a token is made for it alone."""
    return hashlib.sha256(challenge_id.encode("ascii")).digest()


def _origin_of(request: Request) -> str:
    """Return the service's own name, under which the browser asked."""
    host = (request.header("host") or "").lower()
    return host if host.isascii() else ""


def _name(challenge: StoredChallenge) -> str:
    return f"private-token:{challenge.id}"
