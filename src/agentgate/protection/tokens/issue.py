"""Issuing receipts: who signs what about whom, and for how long."""

from msgspec import UNSET, Struct, UnsetType

from agentgate.lib.clock import SECOND_MS
from agentgate.lib.enums import ReceiptKind
from agentgate.lib.ids import new_receipt_id
from agentgate.lib.moment import Moment
from agentgate.protection.tokens.claims import Claims
from agentgate.protection.tokens.format import write_receipt
from agentgate.protection.tokens.keys import SigningKeys


class Grant(Struct, frozen=True, kw_only=True):
    """What a receipt is about, before it has an ID, a time and a signature."""

    site_key: str
    kind: ReceiptKind
    action: str
    # The visitor's ID for a browser token, the agent for the others.
    subject: str
    decision_id: str
    origin: str | UnsetType = UNSET
    c_data: str | UnsetType = UNSET
    keyid: str | UnsetType = UNSET
    submission_id: str | UnsetType = UNSET
    content_digest: str | UnsetType = UNSET
    price: str | UnsetType = UNSET
    test: bool = False
    binding: str | UnsetType = UNSET


class IssuedReceipt(Struct, frozen=True):
    """A signed receipt and when it ends."""

    receipt: str
    expires_at: Moment
    id: str


class ReceiptIssuer:
    """Signs receipts in the service's name."""

    def __init__(self, keys: SigningKeys, *, issuer: str, lifetime_s: int) -> None:
        self._keys = keys
        self.issuer = issuer
        self._lifetime_s = lifetime_s

    @property
    def lifetime_ms(self) -> int:
        """How long a receipt is good for."""
        return self._lifetime_s * SECOND_MS

    def issue(self, grant: Grant, *, now_ms: int, receipt_id: str | None = None) -> IssuedReceipt:
        """Return a receipt that is good from now on. One with an ID of its own is the same receipt each time."""
        issued_s = now_ms // 1000
        claims = Claims(
            iss=self.issuer,
            aud=grant.site_key,
            jti=receipt_id or new_receipt_id(),
            iat=issued_s,
            exp=issued_s + self._lifetime_s,
            kind=grant.kind,
            action=grant.action,
            sub=grant.subject,
            decision_id=grant.decision_id,
            origin=grant.origin,
            c_data=grant.c_data,
            keyid=grant.keyid,
            submission_id=grant.submission_id,
            content_digest=grant.content_digest,
            price=grant.price,
            test=True if grant.test else UNSET,
            binding=grant.binding,
        )
        receipt = write_receipt(claims, self._keys.current(test=grant.test))
        return IssuedReceipt(receipt, Moment(claims.exp * 1000), claims.jti)
