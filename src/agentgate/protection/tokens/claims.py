"""What a receipt says. One set of claims for browser tokens, agent receipts and handoff receipts."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.lib.enums import ReceiptKind

# Every number up to here is exact in every language.
LARGEST_INTEGER = 2**53 - 1
# How far another worker's clock may be ahead of ours.
SKEW_S = 5

Seconds = Annotated[int, Meta(ge=0, le=LARGEST_INTEGER)]


class Claims(Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """The claims, with the names that go over the wire. Times are whole seconds, as JSON Web Tokens have them."""

    iss: str
    # The site key.
    aud: str
    # The ID under which the token is spent.
    jti: str
    iat: Seconds
    exp: Seconds
    kind: ReceiptKind
    action: str
    # The visitor's ID of a browser token, the agent of the others.
    sub: str
    decision_id: str
    origin: str | UnsetType = UNSET
    c_data: str | UnsetType = UNSET
    keyid: str | UnsetType = UNSET
    submission_id: str | UnsetType = UNSET
    content_digest: str | UnsetType = UNSET
    price: str | UnsetType = UNSET
    test: bool | UnsetType = UNSET
    # Who may spend it (`binding.py`); absent where anybody may who has it.
    binding: str | UnsetType = UNSET


def is_of_the_future(claims: Claims, *, now_ms: int) -> bool:
    """Say whether a receipt was issued later than any worker's clock may show: a clock is wrong."""
    return claims.iat > now_ms // 1000 + SKEW_S


class SignedClaims(Struct, frozen=True, gc=False):
    """Claims whose signature is right, and the key that made it."""

    claims: Claims
    key_id: str
    test: bool
