"""Redeeming a token in the words of Turnstile, reCAPTCHA or hCaptcha. It is spent where siteverify spends it."""

import hashlib
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import UNSET, Meta, Struct, UnsetType, field

from agentgate.browser_check.tokens.records import REQUEST_ID_PATTERN, SiteverifySuccess
from agentgate.browser_check.tokens.redeem import ALWAYS_FAIL, ALWAYS_PASS, TOKEN_SPENT, Demand, Redeemer, WrongRing
from agentgate.http.address import canonical_address
from agentgate.http.call import Call
from agentgate.lib.errors import Refused
from agentgate.lib.limits import REQUEST_ID_CHARACTERS, SITEVERIFY_BODY_BYTES
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record, json_decoder
from agentgate.sites.directory import SiteCaller

# The score of a redeemed token for callers that read reCAPTCHA v3's scores: the check was passed. It is below 1.0
# because no check is certain, and above every threshold in use.
SCORE = 0.9

# Set by the drop-in for a visible widget, which only version 2 of reCAPTCHA has. Version 2 sends no score in its
# responses, and some clients take a response with a score for one of version 3.
RECAPTCHA_V2 = "recaptcha-v2"

_REQUEST_ID = re.compile(REQUEST_ID_PATTERN)

# Clients of these services send null for what they do not know.
Value = Annotated[str, Meta(max_length=SITEVERIFY_BODY_BYTES)] | None | UnsetType
Key = Annotated[str, Meta(max_length=REQUEST_ID_CHARACTERS.most)] | None | UnsetType


class CompatInput(Input, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """A token to redeem, with the field names of the other service. Unused fields are ignored."""

    secret: Value = UNSET
    response: Value = UNSET
    remoteip: Value = UNSET
    sitekey: Value = UNSET
    idempotency_key: Key = field(default=UNSET, name="idempotency_key")


class CompatAnswer(Record, frozen=True, kw_only=True):
    """A response in the other service's format. A rejected token has `success: false` and `error-codes`."""

    success: bool
    error_codes: list[str] | UnsetType = field(default=UNSET, name="error-codes")
    challenge_ts: Moment | UnsetType = field(default=UNSET, name="challenge_ts")
    hostname: str | UnsetType = UNSET
    action: str | UnsetType = UNSET
    cdata: str | UnsetType = UNSET
    score: float | UnsetType = UNSET
    messages: list[str] | UnsetType = UNSET


class Dialect(Struct, frozen=True, kw_only=True):
    """The differences of one service."""

    # Our code -> its code, where that is not the same in all three.
    codes: Mapping[str, str] = MappingProxyType({})
    # The secrets that its documentation gives for tests -> ours.
    test_secrets: Mapping[str, str] = MappingProxyType({})
    # Whether a success has an empty list of codes, and a failure an explanation.
    verbose: bool = False
    score: float | UnsetType = UNSET
    # Whether `sitekey` must match the secret's site.
    compares_site: bool = False


CODES = MappingProxyType(
    {
        "invalid_request": "bad-request",
        "missing_credential": "missing-input-secret",
        "invalid_credential": "invalid-input-secret",
        "site_mismatch": "invalid-input-response",
        "test_mismatch": "invalid-input-response",
        "missing_token": "missing-input-response",
        "invalid_token": "invalid-input-response",
        "expired_token": "timeout-or-duplicate",
        "token_used": "timeout-or-duplicate",
        # Only Turnstile has a name for this; a client of the others passes on what it does not know.
        "unavailable": "internal-error",
    }
)

TURNSTILE = Dialect(
    test_secrets=MappingProxyType(
        {
            "1x0000000000000000000000000000000AA": ALWAYS_PASS,
            "2x0000000000000000000000000000000AA": ALWAYS_FAIL,
            "3x0000000000000000000000000000000AA": TOKEN_SPENT,
        }
    ),
    verbose=True,
)
RECAPTCHA = Dialect(
    test_secrets=MappingProxyType({"6LeIxAcTAAAAAGG-vFI1TnRWxMZNFuojJ4WifJWe": ALWAYS_PASS}),
    score=SCORE,
)
HCAPTCHA = Dialect(
    codes=MappingProxyType(
        {
            "site_mismatch": "sitekey-secret-mismatch",
            "test_mismatch": "not-using-dummy-passcode",
            "expired_token": "expired-input-response",
            "token_used": "already-seen-response",
        }
    ),
    test_secrets=MappingProxyType({"0x0000000000000000000000000000000000000000": ALWAYS_PASS}),
    compares_site=True,
)


def refusal_writer(dialect: Dialect) -> Callable[[str, str], CompatAnswer]:
    """Return a function that converts our code and message to the service's error response."""

    def write(code: str, message: str) -> CompatAnswer:
        name = dialect.codes.get(code) or CODES[code]
        return CompatAnswer(success=False, error_codes=[name], messages=[message] if dialect.verbose else UNSET)

    return write


def success_answer(dialect: Dialect, success: SiteverifySuccess) -> CompatAnswer:
    """Return the response for a redeemed token in the service's format."""
    origin = success.origin if isinstance(success.origin, str) else ""
    is_v2 = dialect is RECAPTCHA and success.c_data == RECAPTCHA_V2
    return CompatAnswer(
        success=True,
        error_codes=[] if dialect.verbose else UNSET,
        challenge_ts=success.issued_at,
        hostname=urlsplit(origin).hostname or UNSET,
        action=success.action,
        cdata=UNSET if is_v2 else success.c_data,
        score=UNSET if is_v2 else dialect.score,
    )


def request_id_of(key: str | UnsetType | None) -> str | None:
    """Return the `requestId` that an idempotency key stands for: itself, or its digest if it has other characters."""
    if not key:
        return None
    if _REQUEST_ID.match(key):
        return key
    return f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"


NOTHING = CompatInput()

refuse_turnstile = refusal_writer(TURNSTILE)
refuse_recaptcha = refusal_writer(RECAPTCHA)
refuse_hcaptcha = refusal_writer(HCAPTCHA)

_success_decoder = json_decoder(SiteverifySuccess)


async def verify_turnstile(call: Call, redeemer: Redeemer, body: CompatInput = NOTHING) -> CompatAnswer:
    """Redeem a token as Turnstile's siteverify does.

    A form, JSON or query with `secret` and `response`. The same `idempotency_key` gets the same response for 24 hours.
    Compare `action` with the expected action: a token of any action of the site is accepted.
    """
    return await _verify(TURNSTILE, _with_query(body, call), redeemer, now_ms=call.now)


async def verify_recaptcha(call: Call, redeemer: Redeemer, body: CompatInput = NOTHING) -> CompatAnswer:
    """Redeem a token as reCAPTCHA's siteverify does.

    A form, JSON or query with `secret` and `response`. An accepted token has the `score` 0.9, or no score if it is from
    a visible widget, as in version 2. Compare `action` with the expected action: a token of any action of the site is
    accepted.
    """
    return await _verify(RECAPTCHA, _with_query(body, call), redeemer, now_ms=call.now)


async def verify_recaptcha_by_query(call: Call, redeemer: Redeemer) -> CompatAnswer:
    """Redeem a token with `secret` and `response` in the query.

    Some reCAPTCHA clients use GET. Proxies log queries, so prefer POST.
    """
    return await _verify(RECAPTCHA, _with_query(NOTHING, call), redeemer, now_ms=call.now)


async def verify_hcaptcha(call: Call, redeemer: Redeemer, body: CompatInput = NOTHING) -> CompatAnswer:
    """Redeem a token as hCaptcha's siteverify does.

    A form, JSON or query with `secret` and `response`. `sitekey` must match the secret's site.
    """
    return await _verify(HCAPTCHA, _with_query(body, call), redeemer, now_ms=call.now)


async def _verify(dialect: Dialect, body: CompatInput, redeemer: Redeemer, *, now_ms: int) -> CompatAnswer:
    if not body.secret:
        raise Refused("missing_credential")
    if not body.response:
        raise Refused("missing_token")
    caller = await redeemer.authenticate(dialect.test_secrets.get(body.secret, body.secret), now_ms=now_ms)
    # A test secret belongs to no site.
    site_key = caller.site.site_key if isinstance(caller, SiteCaller) else body.sitekey
    if dialect.compares_site and body.sitekey and body.sitekey != site_key:
        raise Refused("site_mismatch")
    demand = Demand(
        token=body.response,
        action=None,
        request_id=request_id_of(body.idempotency_key),
        # Plugins send all kinds of values here. A value that is not an address is ignored, as by the other services.
        remote_address=canonical_address(body.remoteip.strip()) if body.remoteip else None,
    )
    try:
        answer = await redeemer.redeem(caller, demand, now_ms=now_ms)
    except WrongRing as refused:
        raise Refused("test_mismatch", refused.message) from None
    except Refused as refused:
        if refused.code != "invalid_credential":
            raise
        # The secret is known, but the token belongs to another site.
        raise Refused("site_mismatch", refused.message) from None
    return success_answer(dialect, _success_decoder.decode(answer))


def _with_query(body: CompatInput, call: Call) -> CompatInput:
    try:
        parameters = call.request.query()
    except Refused as refused:
        raise Refused("invalid_request", refused.message) from None
    return CompatInput(
        secret=body.secret or parameters.get("secret", UNSET),
        response=body.response or parameters.get("response", UNSET),
        remoteip=body.remoteip or parameters.get("remoteip", UNSET),
        sitekey=body.sitekey or parameters.get("sitekey", UNSET),
        idempotency_key=body.idempotency_key or parameters.get("idempotency_key", UNSET),
    )
