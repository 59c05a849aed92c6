"""Notices in SQL: the choice of each member, and the last notices about a site."""

from collections.abc import Iterable
from typing import Protocol

import msgspec

from agentgate.gateway.appeals.repository import AppealStores
from agentgate.gateway.notices.records import NoticeKind, SiteState, Subscriber
from agentgate.lib.database import LockingRepository
from agentgate.lib.enums import AccountStatus, AppealState, UserStatus
from agentgate.sites.repository import SiteStores

_kinds = msgspec.json.Decoder(frozenset[NoticeKind])
_state = msgspec.json.Decoder(SiteState)
_NONE = "[]"


class NoticeStore(LockingRepository):
    """The choices of members, and the last notices about sites."""

    async def lock_notices(self, account_id: str) -> None:
        """Keep other units of work from sending notices of the account until this one is done."""
        await self._session.lock("notices", account_id)

    async def find_kinds(self, account_id: str, user_id: str) -> frozenset[NoticeKind]:
        """Return what a member wants."""
        row = await self._session.one(
            "SELECT notices FROM membership WHERE account_id = $1 AND user_id = $2", account_id, user_id
        )
        return _kinds.decode(row[0]) if row else frozenset()

    async def save_kinds(self, account_id: str, user_id: str, kinds: Iterable[NoticeKind], now_ms: int) -> None:
        """Save what a member wants; the first digest comes a week from now."""
        await self._session.run(
            "UPDATE membership SET notices = $3, digest_ms = $4 WHERE account_id = $1 AND user_id = $2",
            account_id,
            user_id,
            msgspec.json.encode(sorted(kinds)).decode(),
            now_ms,
        )

    async def save_digest(self, account_id: str, user_id: str, now_ms: int) -> None:
        """Note that a member got a digest."""
        await self._session.run(
            "UPDATE membership SET digest_ms = $3 WHERE account_id = $1 AND user_id = $2", account_id, user_id, now_ms
        )

    async def list_subscribers(self, account_id: str = "") -> list[Subscriber]:
        """Return the active members of active accounts (or of one) who want anything, by account."""
        rows = await self._session.all(
            f"""SELECT membership.account_id, users.id, users.email, membership.notices, membership.digest_ms
                FROM membership JOIN users ON users.id = membership.user_id
                    JOIN account ON account.id = membership.account_id
                WHERE membership.notices <> '{_NONE}' AND users.status = $1 AND account.status = $2
                    AND users.password_hash IS NOT NULL AND ($3 = '' OR membership.account_id = $3)
                ORDER BY membership.account_id, users.id""",  # noqa: S608 - a constant
            UserStatus.ACTIVE.value,
            AccountStatus.ACTIVE.value,
            account_id,
        )
        return [
            Subscriber(account_id=account, user_id=user, email=email, kinds=_kinds.decode(kinds), digest_ms=digest_ms)
            for account, user, email, kinds, digest_ms in rows
        ]

    async def find_state(self, site_id: str) -> SiteState:
        """Return the last notices about a site."""
        row = await self._session.one("SELECT state FROM site_notice WHERE site_id = $1", site_id)
        return _state.decode(row[0]) if row else SiteState()

    async def save_state(self, site_id: str, state: SiteState) -> None:
        """Save the last notices about a site, unless it was purged meanwhile."""
        await self._session.run(
            """INSERT INTO site_notice (site_id, state) SELECT id, $2 FROM site WHERE id = $1
                ON CONFLICT (site_id) DO UPDATE SET state = excluded.state""",
            site_id,
            msgspec.json.encode(state).decode(),
        )

    async def count_waiting(self, site_id: str, *, before_ms: int) -> int:
        """Return how many appeals of a site have been waiting since before a moment."""
        row = await self._session.one(
            "SELECT count(*) FROM appeal WHERE site_id = $1 AND state = $2 AND created_ms < $3",
            site_id,
            AppealState.WAITING.value,
            before_ms,
        )
        return int(row[0]) if row else 0


class NoticeStores(SiteStores, AppealStores, Protocol):
    """The repositories that a unit of work on notices uses."""

    notices: NoticeStore
