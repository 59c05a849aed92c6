"""Feature capture and models: as they go over the wire, and as they are stored."""

from hashlib import sha256
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, field

from agentgate.lib.enums import DecisionLabelValue, ModelKind, ModelRole, ModelType
from agentgate.lib.limits import FEATURE_CAPTURE_LEAST_DAYS
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record

# Ten years: longer than anyone keeps training data, and short enough for every column.
FEATURE_CAPTURE_MOST_DAYS = 3650


class FeatureCapture(Record, frozen=True, kw_only=True):
    """Feature capture of a site: state, retention and number of feature vectors."""

    site_id: str
    site_key: str
    enabled: bool
    retention_days: int
    stored: int
    updated_at: Moment | UnsetType = UNSET
    updated_by: str | UnsetType = UNSET


class FeatureCaptureInput(Input, frozen=True, kw_only=True):
    """Feature capture: on or off, and retention in days. Omitted days are unchanged."""

    enabled: bool
    retention_days: Annotated[int, Meta(ge=FEATURE_CAPTURE_LEAST_DAYS, le=FEATURE_CAPTURE_MOST_DAYS)] | UnsetType = (
        UNSET
    )


class StoredCapture(Struct, frozen=True, kw_only=True):
    """A site's feature capture as stored; that of a site that never set it has these values."""

    enabled: bool = False
    retention_days: int = 30
    updated_ms: int | None = None
    updated_by: str | None = None


class CapturingSite(Struct, frozen=True, kw_only=True):
    """A site that captures features, or did: its number, and how long to keep them."""

    number: int
    enabled: bool
    retention_days: int


class StoredModel(Struct, frozen=True, kw_only=True):
    """A model that was installed; `file` is its JSON."""

    kind: ModelKind
    role: ModelRole
    file: str
    installed_ms: int
    installed_by: str

    @property
    def digest(self) -> str:
        """What names this file and no other, as an entity tag. Versions are free text."""
        return f'"{sha256(self.file.encode()).hexdigest()[:32]}"'


class FormerModel(Struct, frozen=True, kw_only=True):
    """A model that was active."""

    kind: ModelKind
    version: str
    file: str
    installed_ms: int
    installed_by: str
    retired_ms: int


class PromoteInput(Input, frozen=True, kw_only=True):
    """`acknowledge` promotes a candidate that would newly challenge or block many requests; the audit entry has it."""

    acknowledge: bool = False


class ModelVersion(Record, frozen=True, kw_only=True):
    """A model that rollback can activate. `retiredAt` is missing for the shipped one."""

    version: str
    installed_at: Moment
    installed_by: str
    retired_at: Moment | UnsetType = UNSET


class ModelVersions(Record, frozen=True, kw_only=True):
    """Targets of rollback, the last retired first, then the shipped model."""

    versions: list[ModelVersion]


class ModelSummary(Record, frozen=True, kw_only=True):
    """A model's summary; `features` is their number."""

    kind: ModelKind
    role: ModelRole
    version: str
    type: ModelType
    features: int
    installed_at: Moment
    installed_by: str
    metadata: dict[str, Any]
    # What `If-Match` of a promotion takes.
    digest: str


class ModelRoles(Record, frozen=True, kw_only=True):
    """The models of one kind; null if there is none."""

    active: ModelSummary | None
    candidate: ModelSummary | None
    previous: ModelSummary | None


class ModelList(Record, frozen=True, kw_only=True):
    """All models, by kind."""

    models: dict[ModelKind, ModelRoles]


class ClearedModel(Record, frozen=True, kw_only=True):
    """The version of the cleared candidate."""

    cleared: str


class ModelSwap(Record, frozen=True, kw_only=True):
    """The new and the previous active version."""

    kind: ModelKind
    active: ModelSummary
    previous: ModelSummary | None
    time: Moment
    actor: str


class WouldChange(Record, frozen=True, kw_only=True):
    """Number of decisions that the candidate would change, by direction."""

    total: int
    stricter: int
    looser: int
    # Some of them, the newest first.
    decisions: list[str]


class AskedRates(Record, frozen=True, kw_only=True):
    """Shares that each model scores at 0.9 or above, from which on the default rules challenge, with 95% intervals."""

    active_rate: float
    active_interval: list[float]
    candidate_rate: float
    candidate_interval: list[float]


class LabelRates(Record, frozen=True, kw_only=True):
    """Number of decisions with one label, and the shares that each model scores at 0.5 or above.

    Labels that the candidate was trained on, or that lack features which a model reads, are excluded and counted.
    """

    samples: int
    active_rate: float
    candidate_rate: float
    asked: AskedRates
    trained_on: int
    without_features: int


class CompareReport(Record, frozen=True, kw_only=True):
    """Candidate against active model on recent traffic."""

    kind: ModelKind
    active: ModelSummary | None
    candidate: ModelSummary
    from_: Moment = field(name="from")
    to: Moment
    samples: int
    agreement: float | None
    would_change: WouldChange
    per_label: dict[DecisionLabelValue, LabelRates]
