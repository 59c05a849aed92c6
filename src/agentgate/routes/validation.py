"""Server-side validation: what a site's own server calls about a token, and what anybody may ask about a receipt."""

from agentgate.http.surface import Surface, anyone, post, rows
from agentgate.lib import errors
from agentgate.lib.limits import SITEVERIFY_BODY_BYTES
from agentgate.protection.tokens import endpoints as tokens

SITEVERIFY = Surface(
    name="siteverify",
    title="AgentGate server-side validation",
    prefix="/v1/siteverify",
    errors=errors.SITEVERIFY,
    unavailable="unavailable",
    wrong_query="invalid_request",
    # The secret is in the request itself, so there is nothing that a form of another site could use.
    json_only=False,
    refusal_fields={"success": False},
    refusal_record=tokens.SiteverifyFailure,
    document="public",
    rows=rows(
        "/v1/siteverify",
        anyone,
        (
            post(
                "",
                tokens.verify_site_token,
                body_limit=SITEVERIFY_BODY_BYTES,
                refuses=(
                    "invalid_credential",
                    "invalid_token",
                    "expired_token",
                    "action_mismatch",
                    "origin_mismatch",
                    "visitor_mismatch",
                    "token_used",
                ),
            ),
        ),
    ),
)

RECEIPTS = Surface(
    name="receipts",
    title="AgentGate receipt verification",
    prefix="/v1/receipts",
    errors=errors.RECEIPTS,
    unavailable="unavailable",
    wrong_query="invalid_request",
    json_only=False,
    document="public",
    rows=rows("/v1/receipts", anyone, (post("/verify", tokens.verify_receipt),)),
)
