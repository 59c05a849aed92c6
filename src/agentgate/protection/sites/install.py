"""Whether a site's traffic has been seen yet."""

from agentgate.events.health_records import InstallStatus
from agentgate.lib.enums import InstallState
from agentgate.lib.moment import Moment
from agentgate.protection.sites.repositories.health import Sighting


def install_status(site_key: str, sighting: Sighting | None) -> InstallStatus:
    """Return a site's install status."""
    if sighting is None:
        return InstallStatus(site_key=site_key, status=InstallState.WAITING)
    return InstallStatus(
        site_key=site_key,
        status=InstallState.LIVE,
        first_seen_at=Moment(sighting.first_ms),
        last_seen_at=Moment(sighting.last_ms),
    )
