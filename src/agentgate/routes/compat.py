"""Routes for servers that were written for Turnstile, reCAPTCHA or hCaptcha.

Each route is there twice: below `/compat`, and at the service's own path, so that a host name is all that changes.
"""

from collections.abc import Callable
from dataclasses import replace

from agentgate.browser_check.tokens import compat_endpoints as compat
from agentgate.http.endpoint import Handler
from agentgate.http.surface import RowMaker, Surface, get, post
from agentgate.lib import errors
from agentgate.lib.limits import SITEVERIFY_BODY_BYTES
from agentgate.pages.sdk_endpoints import read_drop_in

REFUSES = (
    "missing_credential",
    "invalid_credential",
    "missing_token",
    "invalid_token",
    "expired_token",
    "token_used",
)


def _script(path: str) -> RowMaker:
    return get(path, read_drop_in, media_type="text/javascript", any_query=True)


def _verify(method: Callable[..., RowMaker], path: str, handler: Handler, *more: str) -> RowMaker:
    # Callers of reCAPTCHA often send everything in the query, with additional parameters.
    return method(path, handler, body_limit=SITEVERIFY_BODY_BYTES, any_query=True, refuses=(*REFUSES, *more))


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
    below="",
    table=(
        _verify(post, "/compat/turnstile/v0/siteverify", compat.verify_turnstile),
        _verify(post, "/turnstile/v0/siteverify", compat.verify_turnstile),
        _script("/turnstile/v0/api.js"),
    ),
)

RECAPTCHA = replace(
    TURNSTILE,
    name="recaptcha",
    title="AgentGate for callers of reCAPTCHA",
    prefix="/compat/recaptcha",
    write_refusal=compat.refuse_recaptcha,
    below="",
    table=(
        _verify(post, "/compat/recaptcha/api/siteverify", compat.verify_recaptcha),
        _verify(get, "/compat/recaptcha/api/siteverify", compat.verify_recaptcha_by_query),
        _verify(post, "/recaptcha/api/siteverify", compat.verify_recaptcha),
        _verify(get, "/recaptcha/api/siteverify", compat.verify_recaptcha_by_query),
        _script("/recaptcha/api.js"),
        _script("/recaptcha/enterprise.js"),
    ),
)

HCAPTCHA = replace(
    TURNSTILE,
    name="hcaptcha",
    title="AgentGate for callers of hCaptcha",
    prefix="/compat/hcaptcha",
    write_refusal=compat.refuse_hcaptcha,
    below="",
    table=(
        _verify(post, "/compat/hcaptcha/siteverify", compat.verify_hcaptcha, "site_mismatch"),
        _verify(post, "/siteverify", compat.verify_hcaptcha, "site_mismatch"),
        _script("/1/api.js"),
    ),
)

COMPAT = (TURNSTILE, RECAPTCHA, HCAPTCHA)
