"""Credentials of sites and of fleets in SQL."""

from typing import Protocol

from agentgate.lib.database import LockingRepository, RecordTable
from agentgate.lib.enums import UnknownHosts
from agentgate.people.audit.repository import AuditStores
from agentgate.people.installation.configuration_version import ConfigurationStores
from agentgate.sites.credentials.records import Credential, FleetCredential

_CREDENTIALS = RecordTable("credential", Credential)


class CredentialStore(LockingRepository):
    """The credentials of sites; secrets are here as digests only."""

    async def lock_site(self, site_id: str) -> None:
        """Keep other units of work from adding, rotating or revoking the site's credentials until this one is done."""
        await self._session.lock("credentials", site_id)

    async def add_credential(self, credential: Credential, secret_digest: bytes) -> None:
        await _CREDENTIALS.add(self._session, credential, secret_digest=secret_digest)

    async def find_credential(self, site_id: str, credential_id: str) -> Credential | None:
        """Return a site's credential; None if the site has none of this ID, even if another site has."""
        return await _CREDENTIALS.find(self._session, "site_id = $1 AND id = $2", site_id, credential_id)

    async def list_credentials(self, site_id: str) -> list[Credential]:
        """Return a site's credentials, newest first, revoked ones included."""
        return await _CREDENTIALS.find_all(self._session, "site_id = $1 ORDER BY created_ms DESC, id", site_id)

    async def save_end(self, credential: Credential) -> None:
        """Save a credential's `expiresAt` and `revokedAt`."""
        await _CREDENTIALS.update(self._session, credential, "expires_at", "revoked_at", key=("site_id", "id"))

    async def delete_ended(self, before_ms: int, *, most: int) -> int:
        """Delete some credentials that were revoked or expired before a moment; return how many."""
        return await _CREDENTIALS.delete_some(
            self._session, "revoked_ms < $1 OR (revoked_ms IS NULL AND expires_ms < $1)", before_ms, most=most
        )

    async def note_use(self, credential_id: str, now_ms: int) -> None:
        earlier = "id = $1 AND (last_used_ms IS NULL OR last_used_ms < $2)"
        await _CREDENTIALS.change(self._session, earlier, credential_id, now_ms, last_used_ms=now_ms)

    async def live_limit(self, site_id: str) -> int:
        """Return how many live credentials the site's account allows it; none once the account is deleted."""
        row = await self._session.one(
            """SELECT account.limit_credentials FROM account JOIN site ON site.account_id = account.id
                WHERE site.id = $1 AND account.status <> 'deleted'""",
            site_id,
        )
        return int(row[0]) if row else 0


class CredentialStores(AuditStores, ConfigurationStores, Protocol):
    """The repositories that a unit of work on credentials uses."""

    credentials: CredentialStore


_FLEETS = RecordTable("fleet_credential", FleetCredential)


class FleetCredentialStore(LockingRepository):
    """The fleet credentials of accounts; secrets are here as digests only."""

    async def lock_account(self, account_id: str) -> None:
        """Keep other units of work from adding or revoking the account's fleet credentials until this one is done."""
        await self._session.lock("fleet-credentials", account_id)

    async def add_fleet(self, credential: FleetCredential, secret_digest: bytes) -> None:
        await _FLEETS.add(self._session, credential, secret_digest=secret_digest)

    async def find_fleet(self, account_id: str, credential_id: str) -> FleetCredential | None:
        """Return an account's credential; None if it has none of this ID, even if another account has."""
        return await _FLEETS.find(self._session, "account_id = $1 AND id = $2", account_id, credential_id)

    async def list_fleets(self, account_id: str) -> list[FleetCredential]:
        """Return an account's credentials, newest first, revoked ones included."""
        return await _FLEETS.find_all(self._session, "account_id = $1 ORDER BY created_ms DESC, id", account_id)

    async def list_digests(self) -> dict[bytes, tuple[str, str, UnknownHosts]]:
        """Return account, ID and policy of all credentials that work, by their digest."""
        rows = await self._session.all(
            """SELECT secret_digest, account_id, fleet_credential.id, unknown_hosts
                FROM fleet_credential JOIN account ON account.id = account_id
                WHERE revoked_ms IS NULL AND account.status <> 'deleted'"""
        )
        return {bytes(digest): (account, each, UnknownHosts(unknown)) for digest, account, each, unknown in rows}

    async def save_end(self, credential: FleetCredential) -> None:
        """Save a credential's `revokedAt`."""
        await _FLEETS.update(self._session, credential, "revoked_at", key=("account_id", "id"))

    async def delete_ended(self, before_ms: int, *, most: int) -> int:
        """Delete some credentials that were revoked before a moment; return how many."""
        return await _FLEETS.delete_some(self._session, "revoked_ms < $1", before_ms, most=most)

    async def note_use(self, credential_id: str, now_ms: int) -> None:
        earlier = "id = $1 AND (last_used_ms IS NULL OR last_used_ms < $2)"
        await _FLEETS.change(self._session, earlier, credential_id, now_ms, last_used_ms=now_ms)


class FleetStores(Protocol):
    """The repository of fleet credentials."""

    fleets: FleetCredentialStore
