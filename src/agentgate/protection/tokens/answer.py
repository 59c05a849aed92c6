"""What a redeemed token is answered with, and how that is written."""

import functools
import re

from msgspec import UNSET, UnsetType

from agentgate.lib.enums import ReceiptKind
from agentgate.lib.moment import Moment
from agentgate.lib.records import to_json
from agentgate.protection.tokens.claims import Claims
from agentgate.protection.tokens.records import SiteverifySuccess

# Looking this up in the enumeration costs as much as a small function.
_BROWSER = ReceiptKind.BROWSER
# Text that JSON writes as it is.
_is_plain = re.compile(r"[A-Za-z0-9._:-]*\Z").match
_DECISION, _VISITOR = b'"decisionId":"', b'"visitorId":"'


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


def write_success(claims: Claims, request_id: str | None) -> bytes:
    """Return the answer as it is written. The usual one is put together from parts that many share."""
    decision_id, visitor_id = claims.decision_id, claims.sub
    if (
        request_id is None
        or claims.kind is not _BROWSER
        or claims.c_data is not UNSET
        or claims.test is not UNSET
        or _is_plain(f"{decision_id}{visitor_id}{request_id}") is None
    ):
        return to_json(success(claims, request_id))
    before, between = _shared_parts(claims.aud, claims.action, claims.iat, claims.exp, claims.origin)
    return f'{before}{decision_id}{between}{visitor_id}","requestId":"{request_id}"}}'.encode()


@functools.lru_cache(maxsize=1024)
def _shared_parts(
    site_key: str, action: str, issued_s: int, expires_s: int, origin: str | UnsetType
) -> tuple[str, str]:
    """Return what stands before the decision and between it and the visitor, for tokens of one page and second."""
    written = to_json(
        SiteverifySuccess(
            success=True,
            site_key=site_key,
            action=action,
            kind=_BROWSER,
            issued_at=Moment(issued_s * 1000),
            expires_at=Moment(expires_s * 1000),
            decision_id="",
            origin=origin,
            visitor_id="",
        )
    )
    # Inside of a text, each of these marks would be escaped.
    before, decision, rest = written.partition(_DECISION)
    between, visitor, _ = rest.partition(_VISITOR)
    return (before + decision).decode(), (between + visitor).decode()
