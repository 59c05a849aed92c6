"""The gateway: called by the proxy in front of a protected site for each request."""

from agentgate.gateway import endpoints as gateway
from agentgate.gateway.challenge_page import endpoints as page
from agentgate.http.surface import Surface, delete, get, patch, post, put
from agentgate.lib import errors
from agentgate.lib.limits import APPEAL_BODY_BYTES, CARRIED_FORM_BYTES

DENIALS = tuple(code for code, row in errors.GATEWAY.rows.items() if row.status != 204)
# A response that replaces the site's response has the status of the decision, and is a page for navigations.
CHALLENGE = {
    "status": 401,
    "any_query": True,
    "media_type": "text/html",
    "success": "The page, or the denial as JSON",
    "refuses": DENIALS,
    "other_replies": {403: gateway.Denial, 503: gateway.Denial},
}
# `agentgate doctor` asks how the adapter describes a request.
SEEN_OR_DENIED = {200: page.SeenRequest, 403: gateway.Denial, 503: gateway.Denial}
OF_THE_PAGE = (
    "invalid_credential",
    "invalid_request",
    "invalid_token",
    "expired_token",
    "token_used",
    "action_mismatch",
    "origin_mismatch",
    "service_unavailable",
)

GATEWAY = Surface(
    name="gateway",
    title="AgentGate gateway",
    prefix="/v1/gateway",
    errors=errors.GATEWAY,
    unavailable="service_unavailable",
    wrong_query="invalid_request",
    refusal_record=gateway.Denial,
    document="public",
    table=(
        get("/check", gateway.check_request, status=204, any_query=True, success="Allowed", refuses=DENIALS),
        post(
            "/check",
            gateway.check_request_with_body,
            status=204,
            any_query=True,
            any_method=True,
            body_limit=CARRIED_FORM_BYTES,
            success="Allowed",
            refuses=DENIALS,
        ),
        get("/denied", page.answer_denied, **CHALLENGE | {"success": "The final response"}),
        post(
            "/denied",
            page.answer_denied_form,
            any_method=True,
            body_limit=CARRIED_FORM_BYTES,
            **CHALLENGE | {"success": "The final response"},
        ),
        get("/challenge", page.show_challenge, **CHALLENGE | {"other_replies": SEEN_OR_DENIED}),
        *(
            method("/challenge", page.show_challenge_to_form, body_limit=CARRIED_FORM_BYTES, **CHALLENGE)
            for method in (post, put, patch, delete)
        ),
        get(
            "/pass",
            page.pass_by_waiting,
            status=303,
            any_query=True,
            success="Let on",
            refuses=(
                "invalid_credential",
                "invalid_request",
                "invalid_clearance",
                "rate_limited",
                "service_unavailable",
            ),
            other_replies={401: gateway.Denial, 403: gateway.Denial},
        ),
        post("/pass", page.pass_challenge, any_query=True, refuses=OF_THE_PAGE),
        get(
            "/appeal",
            page.show_appeal,
            any_query=True,
            media_type="text/html",
            success="The status of an appeal",
            refuses=("invalid_credential", "invalid_request", "service_unavailable"),
            other_replies={403: gateway.Denial},
        ),
        post(
            "/appeal",
            page.file_appeal,
            status=303,
            any_query=True,
            body_limit=APPEAL_BODY_BYTES,
            success="Accepted; the page that shows the status of the appeal",
            refuses=("invalid_credential", "invalid_request", "service_unavailable"),
            other_replies={403: gateway.Denial},
        ),
        post(
            "/replay",
            page.replay_form,
            any_query=True,
            body_limit=2 * CARRIED_FORM_BYTES,
            refuses=("invalid_credential", "invalid_request", "service_unavailable"),
        ),
    ),
)
