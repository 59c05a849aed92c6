"""What a redeemed token is answered with."""

from msgspec import UNSET

from agentgate.lib.enums import ReceiptKind
from agentgate.lib.moment import Moment
from agentgate.protection.tokens.claims import Claims
from agentgate.protection.tokens.records import SiteverifySuccess

# Looking this up in the enumeration costs as much as a small function.
_BROWSER = ReceiptKind.BROWSER


def success(claims: Claims, request_id: str | None) -> SiteverifySuccess:
    """Return the answer."""
    is_browser = claims.kind is _BROWSER
    return SiteverifySuccess(
        success=True,
        site_key=claims.aud,
        action=claims.action,
        kind=claims.kind,
        issued_at=Moment(claims.iat * 1000),
        expires_at=Moment(claims.exp * 1000),
        decision_id=claims.decision_id,
        origin=claims.origin,
        visitor_id=claims.sub if is_browser else UNSET,
        agent=UNSET if is_browser else claims.sub,
        request_id=UNSET if request_id is None else request_id,
        c_data=claims.c_data,
        test=claims.test,
    )
