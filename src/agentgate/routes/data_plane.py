"""Routes for sites' pages, sites' servers and agents: browser check, siteverify, submissions, handoffs."""

from agentgate.agents import endpoints as agents
from agentgate.browser_check import endpoints as browser
from agentgate.browser_check.tokens import endpoints as tokens
from agentgate.decision.scoring import content_endpoints as content
from agentgate.gateway.block_feed import endpoints as block_feed
from agentgate.http.surface import Surface, get, post
from agentgate.lib import errors
from agentgate.lib.limits import BROWSER_BODY_BYTES, SITEVERIFY_BODY_BYTES, SUBMIT_BODY_BYTES

# Errors of every route: unknown site, wrong page, rate limit.
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
    # A body of type text/plain saves the browser's preflight, and these endpoints ignore cookies.
    json_only=False,
    cors=True,
    document="public",
    table=(
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
            refuses=(*EVERYWHERE, *OF_A_CHALLENGE, "challenge_used", "too_many_attempts", "challenge_failed"),
        ),
    ),
)


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
    table=(
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
                "token_used",
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
    table=(post("/verify", tokens.verify_receipt),),
)


CONTENT = Surface(
    name="content",
    title="AgentGate content score",
    prefix="/v1/content",
    errors=errors.CONTENT,
    unavailable="unavailable",
    wrong_query="invalid_request",
    # The secret is in a header, so there is nothing that a form of another site could use.
    json_only=False,
    document="public",
    table=(post("/score", content.score_content, body_limit=SUBMIT_BODY_BYTES, refuses=("invalid_credential",)),),
)


# With the paths and fields of CrowdSec's local API.
BLOCK_FEED = Surface(
    name="block_feed",
    title="AgentGate feed for firewalls",
    prefix="/v1/decisions",
    errors=errors.BLOCK_FEED,
    unavailable="unavailable",
    wrong_query="invalid_request",
    document="public",
    table=(
        get(
            "",
            block_feed.list_decisions,
            media_type="application/json",
            any_query=True,
            refuses=("invalid_credential", "not_found"),
        ),
        get("/stream", block_feed.stream_decisions, any_query=True, refuses=("invalid_credential", "not_found")),
    ),
)


AGENTS = Surface(
    name="agents",
    title="AgentGate agent API",
    prefix="/agent",
    errors=errors.AGENTS,
    unavailable="unavailable",
    wrong_query="invalid_request",
    # The signature identifies the caller, so a form of another site gains nothing.
    json_only=False,
    document="public",
    table=(
        post(
            "/submit",
            agents.submit,
            body_limit=SUBMIT_BODY_BYTES,
            refuses=(
                "site_invalid",
                "action_invalid",
                "payment_invalid",
                "agent_signature_invalid",
                "agent_unverified",
                "payment_required",
                "agent_denied",
                "challenge_required",
                "policy",
                "submission_conflict",
                "rate_limited",
            ),
        ),
    ),
)


# A form has a token and a few choices.
FORM_BYTES = 8 * 1024

HANDOFF = Surface(
    name="handoff",
    title="AgentGate handoff",
    prefix="/v1/handoff",
    errors=errors.AGENTS,
    unavailable="unavailable",
    wrong_query="invalid_request",
    document="public",
    table=(
        get("/{id}", agents.poll_handoff, refuses=("not_found", "handoff_redeemed", "handoff_expired", "rate_limited")),
    ),
)

# The page shows the state of the handoff.
_PAGES = {404: "Not found", 410: "The request was already decided or has expired"}

# These pages are for people, so errors are pages as well.
HANDOFF_PAGES = Surface(
    name="handoff_pages",
    title="AgentGate handoff pages",
    prefix="",
    errors=errors.CONSOLE,
    json_only=False,
    forms=True,
    write_refusal=agents.write_refusal,
    refusal_record=None,
    document="public",
    below="/handoff",
    table=(
        get("/style.css", agents.read_handoff_style, media_type="text/css", any_query=True),
        get(
            "/{id}",
            agents.read_handoff_page,
            media_type="text/html",
            any_query=True,
            refuses=("rate_limited",),
            other_pages=_PAGES,
        ),
        post(
            "/{id}",
            agents.decide_handoff,
            media_type="text/html",
            any_query=True,
            body_limit=FORM_BYTES,
            refuses=("cross_origin", "rate_limited"),
            other_pages={403: "The check was not passed", **_PAGES},
        ),
    ),
)
