"""What agents call themselves, signed: submissions."""

from agentgate.http.surface import Surface, anyone, post, rows
from agentgate.lib import errors
from agentgate.lib.limits import SUBMIT_BODY_BYTES
from agentgate.protection.agents import endpoints as agents

AGENTS = Surface(
    name="agents",
    title="AgentGate agent API",
    prefix="/agent",
    errors=errors.AGENTS,
    unavailable="unavailable",
    wrong_query="invalid_request",
    # The signature says who calls, so there is nothing that a form of another site could use.
    json_only=False,
    document="public",
    rows=rows(
        "/agent",
        anyone,
        (
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
    ),
)
