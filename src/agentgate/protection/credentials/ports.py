"""What credentials ask of the durable store."""

from typing import Protocol

from agentgate.lib.configuration_version import ConfigurationStores
from agentgate.people.audit.ports import AuditStores
from agentgate.protection.credentials.records import Credential


class CredentialStore(Protocol):
    """The credentials of sites; secrets are here as digests only."""

    async def lock_site(self, site_id: str) -> None:
        """Keep other units of work from adding, rotating or revoking the site's credentials until this one is done."""
        ...

    async def add_credential(self, credential: Credential, secret_digest: bytes) -> None:
        """Keep a new credential."""
        ...

    async def find_credential(self, site_id: str, credential_id: str) -> Credential | None:
        """Return a site's credential; None when the site has none of this ID, whoever else may."""
        ...

    async def list_credentials(self, site_id: str) -> list[Credential]:
        """Return a site's credentials, newest first, revoked ones included."""
        ...

    async def save_end(self, credential: Credential) -> None:
        """Keep a credential's `expiresAt` and `revokedAt`."""
        ...

    async def note_use(self, credential_id: str, now_ms: int) -> None:
        """Note that a credential was used."""
        ...

    async def live_limit(self, site_id: str) -> int:
        """Return how many live credentials the site's account allows it; none once the account is deleted."""
        ...


class CredentialStores(AuditStores, ConfigurationStores, Protocol):
    """The ports that a unit of work on credentials uses."""

    @property
    def credentials(self) -> CredentialStore: ...
