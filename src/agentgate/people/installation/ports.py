"""What the installation's page asks of the program around it."""

from typing import Protocol

from agentgate.lib.keyring import KeyStores
from agentgate.people.audit.repository import AuditStores
from agentgate.people.installation.records import InstallationSettings, InstallationState


class InstallationReader(Protocol):
    """Knows the stores, jobs, keys and settings of this process."""

    async def report(self, now_ms: int) -> InstallationState:
        """Return the state of the installation."""
        ...

    def settings(self) -> InstallationSettings:
        """Return the settings in force, secrets hidden."""
        ...


class KeyRotationStores(KeyStores, AuditStores, Protocol):
    """The ports that rotating a key uses."""
