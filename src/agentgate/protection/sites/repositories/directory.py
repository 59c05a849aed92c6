"""All sites at once, for the views that decide."""

from msgspec import Struct

from agentgate.lib.database import Repository
from agentgate.lib.enums import AccountStatus
from agentgate.protection.sites.records import Site
from agentgate.protection.sites.repositories.sites import SITE_COLUMNS, site_of


class DirectorySite(Struct, frozen=True, kw_only=True):
    """A site as stored, with what the directory needs beside it."""

    site: Site
    number: int
    account_status: AccountStatus
    captures_features: bool


class DirectorySecret(Struct, frozen=True, kw_only=True):
    """A credential that is not revoked, under what its secret leaves behind."""

    secret_digest: bytes
    credential_id: str
    site_id: str
    # None for one that was not rotated.
    expires_ms: int | None


class DirectoryStore(Repository):
    """All sites at once."""

    async def list_secrets(self) -> list[DirectorySecret]:
        """Return every credential that is not revoked, whether its overlap is over or not."""
        rows = await self._session.all(
            "SELECT secret_digest, id, site_id, expires_ms FROM credential WHERE revoked_ms IS NULL"
        )
        return [
            DirectorySecret(secret_digest=bytes(digest), credential_id=credential, site_id=site, expires_ms=expires_ms)
            for digest, credential, site, expires_ms in rows
        ]

    async def list_directory(self) -> list[DirectorySite]:
        """Return every site."""
        rows = await self._session.all(
            f"""SELECT {SITE_COLUMNS}, site.number, account.status, coalesce(feature_capture.enabled, 0)
                FROM site JOIN account ON account.id = site.account_id
                LEFT JOIN feature_capture ON feature_capture.site_id = site.id"""  # noqa: S608 - constants
        )
        return [
            DirectorySite(
                site=site_of(tuple(site)),
                number=number,
                account_status=AccountStatus(status),
                captures_features=bool(captures),
            )
            for *site, number, status, captures in rows
        ]
