"""What operators read about the installation."""

from typing import Literal

from msgspec import UNSET, UnsetType

from agentgate.http.readiness.checks import ReadinessLevel
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record


class InstallationCheck(Record, frozen=True, kw_only=True):
    """One check of the readiness answer. Without a required one nothing is decided."""

    name: str
    ok: bool
    found: str


class WorkerCounts(Record, frozen=True, kw_only=True):
    """Worker processes: how many are set up on each machine, and how many are alive over all machines."""

    configured: int
    alive: int


class EventCounts(Record, frozen=True, kw_only=True):
    """Decision events of the answering worker since its start. Sent is stored, failed and waiting together."""

    sent: int
    stored: int
    failed: int
    waiting: int


class GatewayCounts(Record, frozen=True, kw_only=True):
    """Gateway checks of the answering worker since its start. `p95Ms` is the upper end of the histogram's bucket."""

    answered: int
    errors: int
    p95_ms: float | UnsetType = UNSET


class InstallationJob(Record, frozen=True, kw_only=True):
    """A timed job: how often it runs, how its last run ended, and until when a jump of the clock holds it."""

    name: str
    interval_seconds: int
    last_run_at: Moment | UnsetType = UNSET
    took_ms: int | UnsetType = UNSET
    failure: str | UnsetType = UNSET
    next_run_at: Moment | UnsetType = UNSET
    held_until: Moment | UnsetType = UNSET


class InstallationKey(Record, frozen=True, kw_only=True):
    """A key of the service, never its material. Only the current one makes new things; a retired one still verifies."""

    id: str
    purpose: str
    state: Literal["next", "current", "retired", "ended"]
    created_at: Moment
    active_at: Moment
    retired_at: Moment | UnsetType = UNSET


class ThreatList(Record, frozen=True, kw_only=True):
    """One source of threat data; without `importedAt` it is bundled with the program."""

    name: str
    kind: str
    entries: int
    refused: int
    imported_at: Moment | UnsetType = UNSET


class MailCounts(Record, frozen=True, kw_only=True):
    """The outbox. Without a mail server messages wait until somebody copies their links."""

    configured: bool
    pending: int
    failed: int
    last_error: str | UnsetType = UNSET


class InstallationState(Record, frozen=True, kw_only=True):
    """The state of the installation now."""

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
    """A setting in force. The value of a secret is never shown, only whether there is one."""

    name: str
    value: str
    source: str
    meaning: str


class InstallationSettings(Record, frozen=True, kw_only=True):
    """Every setting, in the order of their page."""

    items: list[InstallationSetting]
