"""What a server calls that was written for Turnstile, reCAPTCHA or hCaptcha. The paths end as theirs do."""

from dataclasses import replace

from agentgate.http.surface import Surface, anyone, post, rows
from agentgate.lib import errors
from agentgate.lib.limits import SITEVERIFY_BODY_BYTES
from agentgate.protection.tokens import compat_endpoints as compat

REFUSES = (
    "missing_credential",
    "invalid_credential",
    "missing_token",
    "invalid_token",
    "expired_token",
    "token_used",
)

TURNSTILE = Surface(
    name="turnstile",
    title="AgentGate for callers of Turnstile",
    prefix="/compat/turnstile",
    errors=errors.COMPAT,
    unavailable="unavailable",
    wrong_query="invalid_request",
    # The secret is in the request itself, so there is nothing that a form of another site could use.
    json_only=False,
    forms=True,
    write_refusal=compat.refuse_turnstile,
    refusal_record=compat.CompatAnswer,
    document="public",
    rows=rows(
        "/compat/turnstile",
        anyone,
        (post("/v0/siteverify", compat.verify_turnstile, body_limit=SITEVERIFY_BODY_BYTES, refuses=REFUSES),),
    ),
)

RECAPTCHA = replace(
    TURNSTILE,
    name="recaptcha",
    title="AgentGate for callers of reCAPTCHA",
    prefix="/compat/recaptcha",
    write_refusal=compat.refuse_recaptcha,
    rows=rows(
        "/compat/recaptcha",
        anyone,
        (
            post(
                "/api/siteverify",
                compat.verify_recaptcha,
                body_limit=SITEVERIFY_BODY_BYTES,
                # Its callers often send everything behind the `?`.
                any_query=True,
                refuses=REFUSES,
            ),
        ),
    ),
)

HCAPTCHA = replace(
    TURNSTILE,
    name="hcaptcha",
    title="AgentGate for callers of hCaptcha",
    prefix="/compat/hcaptcha",
    write_refusal=compat.refuse_hcaptcha,
    rows=rows(
        "/compat/hcaptcha",
        anyone,
        (
            post(
                "/siteverify",
                compat.verify_hcaptcha,
                body_limit=SITEVERIFY_BODY_BYTES,
                refuses=(*REFUSES, "site_mismatch"),
            ),
        ),
    ),
)

COMPAT = (TURNSTILE, RECAPTCHA, HCAPTCHA)
