"""Bodies of siteverify and of receipt verification."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from agentgate.browser_check.tokens.receipts import PublishedKey
from agentgate.lib.enums import ReceiptKind
from agentgate.lib.limits import REQUEST_ID_CHARACTERS
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record

REQUEST_ID_PATTERN = rf"^[A-Za-z0-9._:-]{{{REQUEST_ID_CHARACTERS.least},{REQUEST_ID_CHARACTERS.most}}}\Z"
DIGEST_CHARACTERS = 300

RequestId = Annotated[str, Meta(pattern=REQUEST_ID_PATTERN)]


class SiteverifyInput(Input, frozen=True, kw_only=True, gc=False):
    """A token to redeem, with its expected action and origin."""

    token: str
    expected_action: str
    expected_origin: str | UnsetType = UNSET
    request_id: RequestId | UnsetType = UNSET
    secret: str | UnsetType = UNSET
    remote_address: Annotated[str, Meta(max_length=64)] | UnsetType = UNSET
    content_digest: Annotated[str, Meta(max_length=DIGEST_CHARACTERS)] | UnsetType = UNSET


class SiteverifySuccess(Record, frozen=True, kw_only=True, gc=False):
    """The token was valid and is now redeemed."""

    success: bool
    site_key: str
    action: str
    kind: ReceiptKind
    issued_at: Moment
    expires_at: Moment
    decision_id: str
    origin: str | UnsetType = UNSET
    visitor_id: str | UnsetType = UNSET
    agent: str | UnsetType = UNSET
    request_id: str | UnsetType = UNSET
    c_data: str | UnsetType = UNSET
    test: bool | UnsetType = UNSET


class ReceiptInput(Input, frozen=True, kw_only=True):
    """A receipt to inspect. If given, action, site and digest must match it."""

    receipt: str
    site_key: str | UnsetType = UNSET
    action: str | UnsetType = UNSET
    content_digest: Annotated[str, Meta(max_length=DIGEST_CHARACTERS)] | UnsetType = UNSET


class ReceiptVerdict(Record, frozen=True, kw_only=True):
    """The result of an inspection: the claims of a valid receipt, or the reason why it is invalid."""

    valid: bool
    receipt: dict[str, Any] | UnsetType = UNSET
    key_id: str | UnsetType = UNSET
    expires_at: Moment | UnsetType = UNSET
    error: str | UnsetType = UNSET
    message: str | UnsetType = UNSET


class KeySet(Record, frozen=True, kw_only=True):
    """The public keys (RFC 7517)."""

    keys: list[PublishedKey]
