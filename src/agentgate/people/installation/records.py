"""What operators read about the installation."""

from typing import Literal

from msgspec import UNSET, UnsetType

from agentgate.http.readiness.checks import ReadinessLevel
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record


class InstallationCheck(Record, frozen=True, kw_only=True):
    """One check of readiness. If a required check fails, AgentGate cannot decide."""

    name: str
    ok: bool
    found: str


class WorkerCounts(Record, frozen=True, kw_only=True):
    """Worker processes: the configured number per machine and the active number on all machines."""

    configured: int
    alive: int


class EventCounts(Record, frozen=True, kw_only=True):
    """Decision events of the responding worker since its start. Sent is the total of stored, failed and waiting."""

    sent: int
    stored: int
    failed: int
    waiting: int


class GatewayCounts(Record, frozen=True, kw_only=True):
    """Gateway checks of the responding worker since its start. `p95Ms` is the upper end of the histogram's bucket."""

    answered: int
    errors: int
    p95_ms: float | UnsetType = UNSET


class InstallationJob(Record, frozen=True, kw_only=True):
    """A scheduled job: interval, result of its last run, and the end of a delay after a clock jump."""

    name: str
    interval_seconds: int
    last_run_at: Moment | UnsetType = UNSET
    took_ms: int | UnsetType = UNSET
    failure: str | UnsetType = UNSET
    next_run_at: Moment | UnsetType = UNSET
    held_until: Moment | UnsetType = UNSET


class InstallationKey(Record, frozen=True, kw_only=True):
    """A key without its material. Only the current key signs and encrypts; a retired key still verifies and
    decrypts."""

    id: str
    purpose: str
    state: Literal["next", "current", "retired", "ended"]
    created_at: Moment
    active_at: Moment
    retired_at: Moment | UnsetType = UNSET


class ThreatList(Record, frozen=True, kw_only=True):
    """One source of threat data; `importedAt` is absent for bundled data."""

    name: str
    kind: str
    entries: int
    refused: int
    imported_at: Moment | UnsetType = UNSET


class MailCounts(Record, frozen=True, kw_only=True):
    """The outbox. Without a mail server, an operator must copy the links of messages."""

    configured: bool
    pending: int
    failed: int
    last_error: str | UnsetType = UNSET


class InstallationState(Record, frozen=True, kw_only=True):
    """The current state of the installation."""

    version: str
    time: Moment
    started_at: Moment
    status: ReadinessLevel
    checks: list[InstallationCheck]
    workers: WorkerCounts
    events: EventCounts
    gateway: GatewayCounts
    jobs: list[InstallationJob]
    keys: list[InstallationKey]
    threat_lists: list[ThreatList]
    mail: MailCounts


class InstallationSetting(Record, frozen=True, kw_only=True):
    """An effective setting. The value of a secret is hidden; only its presence is shown."""

    name: str
    value: str
    source: str
    meaning: str


class InstallationSettings(Record, frozen=True, kw_only=True):
    """All settings, in the order of the settings page."""

    items: list[InstallationSetting]
