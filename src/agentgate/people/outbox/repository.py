"""The outbox in SQL."""

from typing import Protocol

from agentgate.lib.database import RecordTable, Repository, Value
from agentgate.people.outbox.records import StoredMessage, UnsentCounts

_MESSAGES = RecordTable("outbox_message", StoredMessage)

# Without its body a message cannot be sent any more, so it does not stay pending.
_CLEAR = """UPDATE outbox_message SET body = NULL,
        last_error = CASE WHEN status = 'pending' THEN 'its content was of no more use' ELSE last_error END,
        status = CASE WHEN status = 'pending' THEN 'failed' ELSE status END
    WHERE body IS NOT NULL"""


# Someone waits for these: they are sent before all others. The statement has them as text, for the index.
URGENT = ("reset", "mfa_reset", "invite")
_URGENT = "('reset', 'mfa_reset', 'invite')"


class OutboxStore(Repository):
    """Messages that were sent or are to be sent."""

    async def add_message(self, message: StoredMessage) -> None:
        """Add a message, in the transaction of the change that it announces."""
        await _MESSAGES.add(self._session, message)

    async def list_messages(self, limit: int) -> list[StoredMessage]:
        """Return the newest messages, newest first."""
        rows = await self._session.all(f"{_MESSAGES.select} ORDER BY created_ms DESC, id DESC LIMIT $1", limit)
        return [_MESSAGES.read(row) for row in rows]

    async def count_unsent(self) -> UnsentCounts:
        """Count the messages that wait or have failed, with the newest error."""
        rows = await self._session.all(
            "SELECT status, count(*) FROM outbox_message WHERE status IN ('pending', 'failed') GROUP BY status"
        )
        counts: dict[str, int] = dict(rows)
        error = await self._session.one(
            """SELECT last_error FROM outbox_message WHERE status IN ('pending', 'failed') AND last_error IS NOT NULL
                ORDER BY created_ms DESC LIMIT 1"""
        )
        return UnsentCounts(
            pending=int(counts.get("pending", 0)),
            failed=int(counts.get("failed", 0)),
            last_error=error[0] if error else None,
        )

    async def has_due(self, now_ms: int) -> bool:
        return (
            await _MESSAGES.find(self._session, "status = 'pending' AND next_attempt_ms <= $1 LIMIT 1", now_ms)
            is not None
        )

    async def claim_due(self, now_ms: int, *, until_ms: int, limit: int) -> list[StoredMessage]:
        """Return pending messages that are due, urgent ones first, and postpone their next attempt.

        So no other worker takes them.

        The attempt counts from here on: a message whose delivery crashes the process must not do so indefinitely.
        """
        found: list[StoredMessage] = []
        for kinds in (f"AND kind IN {_URGENT}", ""):
            if len(found) == limit:
                break
            # The conditions are repeated intentionally: PostgreSQL checks the outer ones again once it has locked a
            # row. Without `coalesce`, SQLite would search with these and read all messages that are due.
            rows = await self._session.all(
                f"""UPDATE outbox_message SET next_attempt_ms = $2, attempts = attempts + 1
                    WHERE coalesce(status, '') = 'pending' AND coalesce(next_attempt_ms, 0) <= $1
                        AND id IN (SELECT id FROM outbox_message WHERE status = 'pending' {kinds}
                            AND next_attempt_ms <= $1 ORDER BY next_attempt_ms, id LIMIT $3)
                    RETURNING {_MESSAGES.columns}""",  # noqa: S608
                now_ms,
                until_ms,
                limit - len(found),
            )
            found += [_MESSAGES.read(row) for row in rows]
        return sorted(found, key=lambda message: (message.kind not in URGENT, message.created_ms, message.id))

    async def note_sent(self, message_id: str, now_ms: int) -> None:
        await _MESSAGES.change(self._session, "id = $1", message_id, status="sent", sent_ms=now_ms, last_error=None)

    async def note_failure(self, message_id: str, error: str, *, next_attempt_ms: int | None) -> None:
        """Note a failed attempt; without a next one the message has failed permanently."""
        next_step: dict[str, Value] = (
            {"status": "failed"} if next_attempt_ms is None else {"next_attempt_ms": next_attempt_ms}
        )
        is_pending = "id = $1 AND status = 'pending'"
        await _MESSAGES.change(self._session, is_pending, message_id, last_error=error, **next_step)

    async def delete_messages(self, before_ms: int, *, most: int) -> int:
        """Delete some messages from before a moment that do not wait for delivery; return how many."""
        return await _MESSAGES.delete_some(
            self._session, "created_ms < $1 AND status <> 'pending'", before_ms, most=most
        )

    async def clear_body_of_link(self, link_digest: bytes, *, used_ms: int | None = None) -> None:
        """Delete the body of the message that carries a link which has ended.

        Once the link was used, a message that was still waiting counts as sent: its recipient has it.
        """
        if used_ms is not None:
            carries = "link_digest = $1 AND status = 'pending'"
            await _MESSAGES.change(self._session, carries, link_digest, status="sent", sent_ms=used_ms, last_error=None)
        await self._session.run(f"{_CLEAR} AND link_digest = $1", link_digest)

    async def clear_bodies(self, created_before_ms: int) -> None:
        """Delete the bodies of messages made before a moment."""
        await self._session.run(f"{_CLEAR} AND created_ms < $1", created_before_ms)

    async def clear_dead_bodies(self, now_ms: int) -> int:
        """Delete the bodies of messages whose link is used, replaced or expired; return how many."""
        return await self._session.run(
            f"""{_CLEAR} AND link_digest IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM link
                    WHERE link.secret_digest = outbox_message.link_digest AND used_ms IS NULL AND expires_ms > $1)
                AND NOT EXISTS (SELECT 1 FROM invitation
                    WHERE invitation.secret_digest = outbox_message.link_digest AND expires_ms > $1)""",  # noqa: S608
            now_ms,
        )


class OutboxStores(Protocol):
    """The repository that a unit of work needs to send a message."""

    outbox: OutboxStore
