"""Appeals, as they go over the wire and as the store keeps them."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.lib import limits
from agentgate.lib.enums import AppealAnswer, AppealState, DecisionLabelValue, Outcome
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Query, Record, VisitorId
from agentgate.sites.lists.records import EntryId

AppealId = Annotated[str, Meta(pattern=r"^apl_[0-9a-f]{16}\Z")]
Hours = Annotated[int, Meta(ge=1, le=limits.APPEAL_LET_IN_MOST_HOURS)]
ReplyText = Annotated[str, Meta(max_length=limits.APPEAL_REPLY_CHARACTERS)]


class Appeal(Record, frozen=True, kw_only=True):
    """An appeal of a blocked visitor. `suspect` is also open but looks like spam."""

    id: AppealId
    state: AppealState
    # Empty when nothing was written.
    message: str
    decision_id: str
    visitor_id: VisitorId
    outcome: Outcome
    method: str
    route: str
    created_at: Moment
    # The rule that denied the request.
    rule: str | UnsetType = UNSET
    # The owners' label of the decision, used as training data.
    label: DecisionLabelValue | UnsetType = UNSET
    answered_at: Moment | UnsetType = UNSET
    answered_by: str | UnsetType = UNSET
    # The owners' line to the person.
    reply: str | UnsetType = UNSET
    # The entry of the site's lists that lets the person in.
    list_entry_id: EntryId | UnsetType = UNSET


class AppealCounts(Record, frozen=True, kw_only=True):
    """Number of a site's appeals in each state."""

    waiting: int = 0
    suspect: int = 0
    let_in: int = 0
    refused: int = 0
    spam: int = 0


class AppealPage(Record, frozen=True, kw_only=True):
    """Appeals in one state, newest first, and the number in each state."""

    items: list[Appeal]
    counts: AppealCounts
    next_cursor: str | UnsetType = UNSET


class AppealDetail(Record, frozen=True, kw_only=True):
    """An appeal and the number of similar appeals."""

    appeal: Appeal
    # Other appeals of the last 30 days against the same rule, and by the same visitor.
    same_rule: int
    same_visitor: int


class AppealsQuery(Query, frozen=True, kw_only=True):
    """Which appeals, and the page."""

    state: AppealState = AppealState.WAITING
    limit: Annotated[int, Meta(ge=limits.PAGE_SIZE.least, le=limits.PAGE_SIZE.most)] = limits.PAGE_SIZE.default
    cursor: str | UnsetType = UNSET


class AppealAnswerInput(Input, frozen=True, kw_only=True):
    """The resolution of an appeal. `hours` is the duration of `let_in`; `reply` is one line for the visitor."""

    answer: AppealAnswer
    hours: Hours = limits.APPEAL_LET_IN_HOURS
    reply: ReplyText = ""


class AppealLabelInput(Input, frozen=True, kw_only=True):
    """The owners' label of the decision, used as training data."""

    label: DecisionLabelValue


class StoredAppeal(Struct, frozen=True, kw_only=True):
    id: str
    site_id: str
    # Of the secret in the person's link.
    link_digest: str
    decision: int
    visitor: VisitorId
    outcome: Outcome
    method: str
    route: str
    rule: str | None
    message: str
    state: AppealState
    created_ms: int
    answered_ms: int | None = None
    answered_by: str | None = None
    reply: str = ""
    entry_id: str | None = None
    label: DecisionLabelValue | None = None

    @property
    def is_open(self) -> bool:
        """Return whether the appeal is unresolved."""
        return self.state in {AppealState.WAITING, AppealState.SUSPECT}
