"""Submissions as they go over the wire."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from agentgate.lib.enums import Outcome
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record


class SubmissionInput(Input, frozen=True, kw_only=True):
    """What an agent submits. `id` is the agent's own: the same one again is the same submission."""

    site_key: Annotated[str, Meta(max_length=100)]
    action: Annotated[str, Meta(max_length=100)]
    id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:-]{1,128}\Z")]
    # Text, or the fields of a form. It is scored and digested, and never kept.
    content: Any
    # The tool of the site's manifest that the agent had in mind.
    tool: Annotated[str, Meta(min_length=1, max_length=128)] | UnsetType = UNSET
    # Where the content would go.
    url: Annotated[str, Meta(min_length=1, max_length=2048)] | UnsetType = UNSET
    handoff_id: Annotated[str, Meta(min_length=1, max_length=64)] | UnsetType = UNSET


class SubmittingAgent(Record, frozen=True, kw_only=True):
    """Who submitted: the agent by its verified key, and what the site calls it."""

    id: str
    key_id: str
    name: str | UnsetType = UNSET


class SubmissionAnswer(Record, frozen=True, kw_only=True):
    """An accepted submission. The receipt goes to the site, whose server redeems it with siteverify."""

    status: Literal["accepted"]
    id: str
    decision: Outcome
    decision_id: str
    agent: SubmittingAgent
    receipt: str
    receipt_expires_at: Moment
    # What the agent owes for it, such as `USD 0.05`.
    charged: str | None
