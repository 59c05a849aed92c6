"""Handoffs: what an agent asks, and the page at which a person answers."""

from agentgate.http.surface import Surface, anyone, get, post, rows
from agentgate.lib import errors
from agentgate.protection.agents import endpoints as agents

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
    rows=rows(
        "/v1/handoff",
        anyone,
        (
            get(
                "/{id}",
                agents.poll_handoff,
                refuses=("not_found", "handoff_redeemed", "handoff_expired", "rate_limited"),
            ),
        ),
    ),
)

# The page says what became of the question.
_PAGES = {404: "There is no such question", 410: "The question was answered, or has expired"}

# For people: refusals are pages as well.
HANDOFF_PAGES = Surface(
    name="handoff_pages",
    title="AgentGate handoff pages",
    prefix="",
    errors=errors.CONSOLE,
    json_only=False,
    forms=True,
    write_refusal=agents.write_refusal,
    document="public",
    rows=rows(
        "/handoff",
        anyone,
        (
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
    ),
)
