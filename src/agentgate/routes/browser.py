"""The browser check: what the SDK calls from a site's pages."""

from agentgate.http.surface import Surface, anyone, get, post, rows
from agentgate.lib import errors
from agentgate.lib.limits import BROWSER_BODY_BYTES
from agentgate.protection.browser_check import endpoints as browser

# Of every route: the site, the page, and how often.
EVERYWHERE = ("site_invalid", "action_invalid", "origin_denied", "site_disabled", "rate_limited", "schema_unsupported")
OF_A_CHALLENGE = ("challenge_invalid", "challenge_expired")

BROWSER = Surface(
    name="browser",
    title="AgentGate browser check",
    prefix="/v1/browser",
    errors=errors.BROWSER,
    malformed="bad_request",
    too_large="payload_too_large",
    unavailable="unavailable",
    wrong_query="bad_request",
    # A body of type text/plain saves the browser's preflight, and no cookie is looked at here.
    json_only=False,
    cors=True,
    document="public",
    rows=rows(
        "/v1/browser",
        anyone,
        (
            post("/challenge", browser.create_challenge, body_limit=BROWSER_BODY_BYTES, refuses=EVERYWHERE),
            get("/challenge", browser.read_challenge, media_type="text/javascript", refuses=EVERYWHERE),
            get(
                "/instrument",
                browser.read_instrument,
                media_type="text/javascript",
                refuses=("origin_denied", "rate_limited", *OF_A_CHALLENGE),
            ),
            get(
                "/private-token",
                browser.redeem_private_token,
                refuses=(
                    *("origin_denied", "rate_limited", *OF_A_CHALLENGE),
                    *("private_token_required", "private_token_invalid"),
                ),
            ),
            post(
                "/verify",
                browser.verify_challenge,
                body_limit=BROWSER_BODY_BYTES,
                refuses=(
                    *EVERYWHERE,
                    *OF_A_CHALLENGE,
                    "challenge_used",
                    "too_many_attempts",
                    "challenge_failed",
                ),
            ),
        ),
    ),
)
