"""Tokens over HTTP: redeeming one, inspecting a receipt, and the public keys to verify one offline."""

from typing import cast

import msgspec
from msgspec import UNSET, UnsetType

from agentgate.browser_check.tokens.receipts import SigningKeys
from agentgate.browser_check.tokens.records import (
    KeySet,
    ReceiptInput,
    ReceiptVerdict,
    SiteverifyInput,
    SiteverifySuccess,
)
from agentgate.browser_check.tokens.redeem import Redeemer
from agentgate.browser_check.tokens.siteverify import judge_receipt, verify
from agentgate.http.call import Call
from agentgate.http.cors import OPEN_TO_ALL
from agentgate.http.replies import Reply
from agentgate.lib.limits import PUBLISHED_KEYS_MAX_AGE_S
from agentgate.lib.records import Record


class SiteverifyFailure(Record, frozen=True, kw_only=True):
    """The token was rejected and not redeemed. `error` is stable; `message` is for people."""

    success: bool
    error: str
    message: str | UnsetType = UNSET


async def verify_site_token(call: Call, body: SiteverifyInput, redeemer: Redeemer) -> Reply[SiteverifySuccess]:
    """Redeem a browser token, agent receipt or handoff receipt, once.

    The secret is a backend credential's, in `Authorization: Bearer` or in `secret`. Send your own `requestId` to make
    the call repeatable: a retry gets the same response for 24 hours. A rejected token is not redeemed.
    """
    authorization = call.request.header("authorization")
    answer = await verify(redeemer, body, authorization=authorization, now_ms=call.now)
    # The bytes themselves, which are the record's: a repeated call gets exactly what the first one got.
    return Reply(body=cast("SiteverifySuccess", msgspec.Raw(answer)))


async def verify_receipt(call: Call, body: ReceiptInput, keys: SigningKeys) -> ReceiptVerdict:
    """Inspect a receipt without redeeming it.

    Public. The response does not show whether the receipt was redeemed.
    """
    return judge_receipt(body, keys, now_ms=call.now)


async def read_keys(call: Call, keys: SigningKeys) -> Reply[KeySet]:  # noqa: ARG001 - every handler is given its call
    """Read the public keys that verify receipts (RFC 7517).

    The list contains a new key before it signs, and an old key until its last receipt has expired.
    """
    headers = (("cache-control", f"public, max-age={PUBLISHED_KEYS_MAX_AGE_S}"), *OPEN_TO_ALL)
    return Reply(body=KeySet(keys=keys.published()), headers=headers)
