"""Redeeming a token in the words of Turnstile, reCAPTCHA or hCaptcha. It is spent where siteverify spends it."""

from msgspec import UNSET

from agentgate.http.address import canonical_address
from agentgate.http.call import Call
from agentgate.lib.errors import Refused
from agentgate.lib.records import json_decoder
from agentgate.protection.sites.directory import SiteCaller
from agentgate.protection.tokens.compat import (
    HCAPTCHA,
    RECAPTCHA,
    TURNSTILE,
    CompatAnswer,
    CompatInput,
    Dialect,
    refusal_writer,
    request_id_of,
    success_answer,
)
from agentgate.protection.tokens.records import SiteverifySuccess
from agentgate.protection.tokens.redeem import Demand, Redeemer

__all__ = [
    "CompatAnswer",
    "refuse_hcaptcha",
    "refuse_recaptcha",
    "refuse_turnstile",
    "verify_hcaptcha",
    "verify_recaptcha",
    "verify_recaptcha_by_query",
    "verify_turnstile",
]

NOTHING = CompatInput()

refuse_turnstile = refusal_writer(TURNSTILE)
refuse_recaptcha = refusal_writer(RECAPTCHA)
refuse_hcaptcha = refusal_writer(HCAPTCHA)

_success_decoder = json_decoder(SiteverifySuccess)


async def verify_turnstile(call: Call, redeemer: Redeemer, body: CompatInput = NOTHING) -> CompatAnswer:
    """Redeem a token as Turnstile's siteverify does.

    A form, JSON or query with `secret` and `response`. The same `idempotency_key` gets the same answer for 24 hours.
    Compare `action` with the one you expect: a token of any action of the site is accepted.
    """
    return await _verify(TURNSTILE, _with_query(body, call), redeemer, now_ms=call.now)


async def verify_recaptcha(call: Call, redeemer: Redeemer, body: CompatInput = NOTHING) -> CompatAnswer:
    """Redeem a token as reCAPTCHA's siteverify does.

    A form, JSON or query with `secret` and `response`. A token that is accepted has the `score` 0.9, or none if it is
    of a widget that people see, as in version 2. Compare `action` with the one you expect: a token of any action of
    the site is accepted.
    """
    return await _verify(RECAPTCHA, _with_query(body, call), redeemer, now_ms=call.now)


async def verify_recaptcha_by_query(call: Call, redeemer: Redeemer) -> CompatAnswer:
    """Redeem a token whose `secret` and `response` stand in the query.

    Some clients of reCAPTCHA ask with GET. A query is written into logs on its way: prefer POST.
    """
    return await _verify(RECAPTCHA, _with_query(NOTHING, call), redeemer, now_ms=call.now)


async def verify_hcaptcha(call: Call, redeemer: Redeemer, body: CompatInput = NOTHING) -> CompatAnswer:
    """Redeem a token as hCaptcha's siteverify does.

    A form, JSON or query with `secret` and `response`. A `sitekey` must be that of the secret's site.
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
        # Plug-ins send all kinds of things here; what is no address is left out, as the other services do.
        remote_address=canonical_address(body.remoteip.strip()) if body.remoteip else None,
    )
    answer = await redeemer.redeem(caller, demand, now_ms=now_ms)
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
