"""Labels of decisions, as they go over the wire and as they are stored."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.events.decision_ids import write_id
from agentgate.lib.enums import DecisionKind, DecisionLabelValue, LabelSource, Outcome
from agentgate.lib.limits import LABEL_NOTE_CHARACTERS, REQUEST_ID_CHARACTERS
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record, VisitorId, optional

LabelNote = Annotated[str, Meta(max_length=LABEL_NOTE_CHARACTERS)]
RequestId = Annotated[str, Meta(min_length=REQUEST_ID_CHARACTERS.least, max_length=REQUEST_ID_CHARACTERS.most)]


class LabelEvidence(Record, frozen=True, kw_only=True):
    """The evidence of the decision at its first labeling."""

    time: Moment
    kind: DecisionKind
    route: str
    method: str
    outcome: Outcome
    reasons: list[str]
    labels: list[str]
    scores: dict[str, float]
    model_versions: dict[str, str]
    action: str | UnsetType = UNSET
    would_decision: Outcome | UnsetType = UNSET
    rule_set_version: str | UnsetType = UNSET
    visitor_id: VisitorId | UnsetType = UNSET
    features: dict[str, float] | UnsetType = UNSET


class DecisionLabel(Record, frozen=True, kw_only=True):
    """A label of a decision with its evidence."""

    decision_id: str
    site_id: str
    label: DecisionLabelValue
    source: LabelSource
    actor: str
    created_at: Moment
    updated_at: Moment
    evidence: LabelEvidence
    note: str | UnsetType = UNSET


class StoredLabel(Struct, frozen=True, kw_only=True):
    site_id: str
    decision: int
    label: DecisionLabelValue
    source: LabelSource
    note: str | None
    actor: str
    created_ms: int
    updated_ms: int
    evidence: LabelEvidence

    def wire(self) -> DecisionLabel:
        """Return the label as it goes over the wire."""
        return DecisionLabel(
            decision_id=write_id(self.decision),
            site_id=self.site_id,
            label=self.label,
            source=self.source,
            note=optional(self.note),
            actor=self.actor,
            created_at=Moment(self.created_ms),
            updated_at=Moment(self.updated_ms),
            evidence=self.evidence,
        )


class LabelInput(Input, frozen=True, kw_only=True):
    """The label of a decision."""

    label: DecisionLabelValue
    note: LabelNote | UnsetType = UNSET


class LabelRequest(Input, frozen=True, kw_only=True):
    """A label of a decision, by its ID or request ID, with the label's source."""

    label: DecisionLabelValue
    source: LabelSource
    decision_id: str | UnsetType = UNSET
    request_id: RequestId | UnsetType = UNSET
    note: LabelNote | UnsetType = UNSET


class LabelPage(Record, frozen=True, kw_only=True):
    """Labels of a site, oldest update first; `nextCursor` leads to the rest."""

    items: list[DecisionLabel]
    next_cursor: str | UnsetType = UNSET
