"""A site's install status and integration health as they go over the wire."""

from typing import Any

from msgspec import UNSET, UnsetType, field

from agentgate.lib.enums import HealthCheck, HealthSeverity, InstallState
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record, SiteKey


class InstallStatus(Record, frozen=True, kw_only=True):
    """State of the site's traffic: `waiting` until its first decision, then `live`. `degraded`: events are unavailable,
    and the status is `waiting` because nothing is known.
    """

    site_key: SiteKey
    status: InstallState
    first_seen_at: Moment | UnsetType = UNSET
    last_seen_at: Moment | UnsetType = UNSET
    degraded: bool | UnsetType = UNSET


class FailedCheck(Record, frozen=True, kw_only=True):
    """A check that failed, with the numbers behind it."""

    check: HealthCheck
    severity: HealthSeverity
    message: str
    detail: dict[str, Any]


class SiteHealth(Record, frozen=True, kw_only=True):
    """The checks that failed in the time range, worst first; `status` is the worst status or `ok`.

    `degraded`: events are unavailable, and checks that need them are omitted.
    """

    site_key: SiteKey
    status: HealthSeverity
    from_: Moment = field(name="from")
    to: Moment
    checks: list[FailedCheck]
    degraded: bool | UnsetType = UNSET
