"""Looking at a receipt without spending it."""

from msgspec import UNSET, UnsetType

from agentgate.lib.errors import SITEVERIFY, Refused
from agentgate.lib.moment import Moment
from agentgate.lib.records import to_builtins
from agentgate.protection.tokens.claims import SignedClaims, is_of_the_future
from agentgate.protection.tokens.format import NotAReceipt, read_receipt
from agentgate.protection.tokens.keys import SigningKeys
from agentgate.protection.tokens.records import ReceiptInput, ReceiptVerdict


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
        # Anybody can get one, so it proves nothing; siteverify knows test secrets, and here are none.
        raise Refused("invalid_token", "This is a test token; only siteverify with a test secret accepts it.")
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
