"""Issuers of private tokens in SQL."""

from typing import Protocol

from msgspec import Struct, json

from agentgate.lib.clock import HOUR_MS
from agentgate.lib.database import RecordTable, Repository, places
from agentgate.lib.tasks.off_loop import off_loop
from agentgate.sites.private_tokens import directories_of
from agentgate.sites.records import SiteTokenIssuer

FAR_MS = HOUR_MS


class ListedTokenKey(Struct, frozen=True):
    """A key of an issuer's directory, and from when on it is used."""

    token_key: str
    not_before_ms: int = 0


class StoredIssuer(Struct, frozen=True, kw_only=True):
    """An issuer with its last good keys, and the result of the last attempt to read them."""

    name: str
    keys: tuple[ListedTokenKey, ...] = ()
    read_ms: int | None = None
    asked_ms: int = 0
    next_ms: int = 0
    problem: str = ""

    def is_due(self, now_ms: int) -> bool:
        """Return whether the directory should be read. A clock that was set back delays nothing."""
        return now_ms >= self.next_ms or now_ms < self.asked_ms - FAR_MS


_ISSUERS = RecordTable("token_issuer", StoredIssuer, json=("keys",))


class TokenIssuerStore(Repository):
    """The issuers that sites name without a key."""

    async def list_named(self) -> tuple[str, ...]:
        """Return the names of all issuers that sites name without a key."""
        rows = await self._session.all(
            "SELECT DISTINCT private_token_issuers FROM site WHERE private_token_issuers <> '[]'"
        )

        def read() -> tuple[str, ...]:
            decoded = (json.decode(text, type=list[SiteTokenIssuer]) for (text,) in rows)
            return tuple(sorted({name for entries in decoded for name in directories_of(entries)}))

        return await off_loop(len(rows), read)

    async def list_issuers(self) -> list[StoredIssuer]:
        return await _ISSUERS.find_all(self._session, "1 = 1 ORDER BY name")

    async def find_issuers(self, names: tuple[str, ...]) -> list[StoredIssuer]:
        """Return the issuers of these names, in their order; those that were never asked have no keys."""
        known = await _ISSUERS.find_all(self._session, f"name IN ({places(names)})", *names)
        found = {issuer.name: issuer for issuer in known}
        return [found.get(name) or StoredIssuer(name=name) for name in names]

    async def save_issuer(self, issuer: StoredIssuer) -> None:
        """Insert or replace an issuer."""
        await _ISSUERS.save(self._session, issuer, "name")

    async def delete_issuer(self, name: str) -> None:
        await self._session.run("DELETE FROM token_issuer WHERE name = $1", name)


class TokenIssuerStores(Protocol):
    """The repository that reads and saves issuers."""

    token_issuers: TokenIssuerStore
