"""Handoffs and grants as they go over the wire, and the form that a person sends."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.lib.enums import HandoffStatus
from agentgate.lib.limits import RECEIPT_CHARACTERS
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record


class HandoffRequest(Struct, frozen=True, kw_only=True):
    """What an agent submitted, as far as a handoff needs to know it."""

    submission_id: str
    # `sha-256=:…:` of the content, as the receipt will have it.
    content_digest: str
    # The decision that asked for a person.
    decision_id: str
    # Summed up for the person, and forgotten once that one has decided.
    content: Any


class Handoff(Record, frozen=True, kw_only=True):
    """What a challenged agent is given: where a person can approve, and where to ask what became of it."""

    id: str
    status: HandoffStatus
    url: str
    user_code: str
    poll_url: str
    # Seconds between two polls.
    interval: int
    expires_in: int
    expires_at: Moment
    site_key: str
    action: str


class HandoffAnswer(Record, frozen=True, kw_only=True):
    """What became of a handoff. `receipt` is there when a person approved; the same one until it is redeemed."""

    id: str
    status: HandoffStatus
    expires_at: Moment
    interval: int | UnsetType = UNSET
    receipt: str | UnsetType = UNSET
    receipt_expires_at: Moment | UnsetType = UNSET


class ChoiceInput(Input, frozen=True, kw_only=True, rename={"token": "agentgate-token"}):
    """The form of the page. The token is the check's; `remember` allows further uses beforehand."""

    choice: Literal["approve", "decline"]
    token: Annotated[str, Meta(max_length=RECEIPT_CHARACTERS)] = ""
    remember: Literal["on"] | UnsetType = UNSET
    uses: Annotated[str, Meta(pattern=r"^(?:[1-9][0-9]?|100)\Z")] = "1"
    hours: Annotated[str, Meta(pattern=r"^(?:1|24|168|720)\Z")] = "1"


class AgentGrant(Record, frozen=True, kw_only=True):
    """What a person allowed an agent beforehand: uses of one action, with one key, until a moment."""

    id: str
    agent: str
    key_id: str
    action: str
    uses: int
    uses_left: int
    created_at: Moment
    expires_at: Moment
    # The handoff at which it was given.
    handoff_id: str
    last_used_at: Moment | UnsetType = UNSET
    revoked_at: Moment | UnsetType = UNSET


class AgentGrantList(Record, frozen=True, kw_only=True):
    """A site's grants, the newest first."""

    items: list[AgentGrant]
