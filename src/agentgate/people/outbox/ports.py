"""What the outbox asks of the durable store."""

from typing import Protocol

from agentgate.people.outbox.records import StoredMessage, UnsentCounts


class OutboxStore(Protocol):
    """Messages that were sent or are to be sent."""

    async def add_message(self, message: StoredMessage) -> None:
        """Keep a new message, in the transaction of what it tells of."""
        ...

    async def list_messages(self, limit: int) -> list[StoredMessage]:
        """Return the newest messages, newest first."""
        ...

    async def count_unsent(self) -> UnsentCounts:
        """Count the messages that wait or have failed, with the newest error."""
        ...

    async def has_due(self, now_ms: int) -> bool:
        """Say whether a pending message is due."""
        ...

    async def claim_due(self, now_ms: int, *, until_ms: int, limit: int) -> list[StoredMessage]:
        """Return pending messages that are due, and put their next attempt off so that nobody else takes them.

        The attempt counts from here on: a message whose delivery takes the process down must not do so for ever.
        """
        ...

    async def note_sent(self, message_id: str, now_ms: int) -> None:
        """Note that a message was delivered."""
        ...

    async def note_failure(self, message_id: str, error: str, *, next_attempt_ms: int | None) -> None:
        """Note a failed attempt; without a next one the message has failed for good."""
        ...

    async def clear_body_of_link(self, link_digest: bytes, *, used_ms: int | None = None) -> None:
        """Forget the body of the message that carries a link which is of no more use.

        Once the link was used, a message that was still waiting counts as sent: its recipient has it.
        """
        ...

    async def clear_bodies(self, created_before_ms: int) -> None:
        """Forget the bodies of messages made before a moment."""
        ...

    async def clear_dead_bodies(self, now_ms: int) -> int:
        """Forget the bodies of messages whose link is used, replaced or expired; return how many."""
        ...


class OutboxStores(Protocol):
    """The port that a unit of work needs to send a message."""

    @property
    def outbox(self) -> OutboxStore: ...
