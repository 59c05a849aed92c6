"""Siteverify: from the secret and body of a call to the redeemer's terms.

`judge_receipt` inspects a receipt without redeeming it. `OwnForm` is the browser check of the service's own forms,
whose tokens are redeemed here without HTTP.
"""

import functools

from msgspec import UNSET, UnsetType

from agentgate.browser_check.tokens.receipts import (
    NotAReceipt,
    SignedClaims,
    SigningKeys,
    is_of_the_future,
    read_receipt,
)
from agentgate.browser_check.tokens.records import ReceiptInput, ReceiptVerdict, SiteverifyInput
from agentgate.browser_check.tokens.redeem import Demand, Redeemer
from agentgate.http.address import canonical_address
from agentgate.http.bearer_secret import bearer_secret
from agentgate.http.call import Call
from agentgate.lib.errors import SITEVERIFY, Refused
from agentgate.lib.moment import Moment
from agentgate.lib.records import to_builtins
from agentgate.lib.secrets import same
from agentgate.sites.directory import SiteCaller, SiteDirectory
from agentgate.sites.validate import canonical_origin


async def verify(redeemer: Redeemer, body: SiteverifyInput, *, authorization: str | None, now_ms: int) -> bytes:
    """Redeem a token and return the response's bytes, or raise an error."""
    demand = read_demand(body)
    secret = read_secret(authorization, body.secret)
    caller = await redeemer.authenticate(secret, now_ms=now_ms)
    return await redeemer.redeem(caller, demand, now_ms=now_ms)


def read_secret(authorization: str | None, field: str | UnsetType) -> str:
    """Return the secret of a call: from the header, from the body, or from both if they agree."""
    given = [field] if isinstance(field, str) else []
    if authorization is not None:
        shown = bearer_secret(authorization.encode("latin-1"))
        if not shown:
            raise Refused("invalid_credential", "Authorization must be `Bearer` followed by the secret.")
        given.append(shown.decode("latin-1"))
    if not given:
        raise Refused("invalid_credential")
    if len(given) > 1 and not same(
        given[0].encode("utf-8", "surrogatepass"), given[-1].encode("utf-8", "surrogatepass")
    ):
        raise Refused(
            "invalid_credential", "The secrets in Authorization and in the body differ. Send only one of them."
        )
    return given[0]


def read_demand(body: SiteverifyInput) -> Demand:
    """Return what the token must have been issued for."""
    return Demand(
        token=body.token,
        action=body.expected_action,
        origin=None if body.expected_origin is UNSET else _origin(body.expected_origin),
        request_id=None if body.request_id is UNSET else body.request_id,
        content_digest=None if body.content_digest is UNSET else body.content_digest,
        remote_address=None if body.remote_address is UNSET else _address(body.remote_address),
    )


def _address(text: str) -> str:
    address = canonical_address(text)
    if address is None:
        raise Refused(
            "invalid_request",
            "remoteAddress must be the visitor's IP address alone, such as 203.0.113.9.",
        )
    return address


# A site's server names the same one or two origins in every call.
@functools.lru_cache(maxsize=1024)
def _origin(text: str) -> str:
    try:
        return canonical_origin(text)
    except Refused:
        raise Refused(
            "invalid_request", "expectedOrigin must be scheme://host[:port], such as https://www.example.com."
        ) from None


def judge_receipt(body: ReceiptInput, keys: SigningKeys, *, now_ms: int) -> ReceiptVerdict:
    """Return whether a receipt is valid now for the expected site, action and content."""
    try:
        signed = read_receipt(body.receipt, keys)
        _check(signed, body, now_ms=now_ms)
    except NotAReceipt as problem:
        return _invalid("invalid_token", f"The receipt cannot be accepted: {problem}.")
    except Refused as refused:
        return _invalid(refused.code, refused.message or SITEVERIFY.lookup(refused.code).message)
    return ReceiptVerdict(
        valid=True,
        receipt=to_builtins(signed.claims),
        key_id=signed.key_id,
        expires_at=Moment(signed.claims.exp * 1000),
    )


def _check(signed: SignedClaims, body: ReceiptInput, *, now_ms: int) -> None:
    claims = signed.claims
    if signed.test:
        # Anyone can get a test token, so it proves nothing. Siteverify accepts it with a test secret, and calls here
        # have none.
        raise Refused("invalid_token", "This is a test token. Only siteverify with a test secret accepts it.")
    if _differs(body.site_key, claims.aud):
        raise Refused("invalid_token", "The receipt was issued for another site than siteKey.")
    if is_of_the_future(claims, now_ms=now_ms):
        raise Refused("invalid_token", "The receipt was issued in the future; a clock is wrong.")
    if now_ms >= claims.exp * 1000:
        raise Refused("expired_token", "The receipt has expired.")
    if _differs(body.action, claims.action):
        raise Refused("action_mismatch", "The receipt was issued for another action than action.")
    if _differs(body.content_digest, claims.content_digest):
        raise Refused("invalid_token", "The receipt was issued for other content than contentDigest.")


def _differs(wanted: str | UnsetType, claimed: str | UnsetType) -> bool:
    return wanted is not UNSET and wanted != claimed


def _invalid(error: str, message: str) -> ReceiptVerdict:
    return ReceiptVerdict(valid=False, error=error, message=message)


# The service's own server has no secret, so there is no credential that this could be the use of.
_NO_CREDENTIAL = ""


class OwnForm:
    """Checks whether a token is valid for a form of the service. The check redeems the token."""

    def __init__(self, redeemer: Redeemer, sites: SiteDirectory, *, site_key: str) -> None:
        self._redeemer = redeemer
        self._sites = sites
        self._site_key = site_key

    @property
    def site_key(self) -> str | None:
        """Return the site that issues the tokens. It must have the action of each form."""
        return self._site_key

    async def passes(self, token: str | None, call: Call, *, action: str) -> bool:
        """Return whether the check was passed. If the store is unavailable, the exception reaches the caller."""
        site = self._sites.find(self._site_key)
        if token is None or site is None or site.disabled:
            return False
        caller = SiteCaller(site, _NO_CREDENTIAL)
        demand = Demand(token=token, action=action, remote_address=call.request.address, is_seen=True)
        try:
            await self._redeemer.redeem(caller, demand, now_ms=call.now)
        except Refused:
            return False
        return True
