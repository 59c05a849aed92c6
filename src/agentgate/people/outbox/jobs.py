"""Delivering messages of the outbox: claiming due ones, composing letters, retrying later; and clearing the outbox.

A worker claims a message before it sends it, so that only one of several workers delivers it. If that worker dies after
the server has accepted the message and before this is noted, the message is sent twice, under the same Message-ID.
"""

import asyncio
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP

import structlog

from agentgate.lib import limits
from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.tasks.job import Job
from agentgate.people.outbox.messages import Messenger, to_html
from agentgate.people.outbox.records import StoredMessage
from agentgate.people.outbox.repository import OutboxStores
from agentgate.people.outbox.smtp import Letter, MailRefused, MailServer, hand_in

BATCH = 10
# Longer than an attempt may take, so that no other worker takes a message that is on its way.
CLAIM_MS = 10 * MINUTE_MS
MOST_ATTEMPTS = 8
FIRST_PAUSE_MS = MINUTE_MS
LONGEST_PAUSE_MS = 6 * HOUR_MS
PAUSE_GROWTH = 3

# How long no message is tried after the server was unavailable: first, and at the most.
FIRST_CLOSED_MS, LONGEST_CLOSED_MS = 10 * SECOND_MS, 5 * MINUTE_MS

FROM_NAME = "AgentGate"
# Not every server takes bytes above 127.
_POLICY = SMTP.clone(cte_type="7bit")


@dataclass(kw_only=True)
class MailDelivery:
    """Hands messages in at one mail server. While that is unavailable, one message at a time tries it."""

    server: MailServer
    mail_from: str
    store: Store[OutboxStores]
    messenger: Messenger
    clock: Clock
    # Rounds in a row in which the server took nothing, and when the next one may begin.
    _failed_rounds: int = 0
    _closed_until_ms: int = 0

    async def deliver_due(self) -> int:
        """Try every message that is due, some at a time, while the server is available; return how many were tried."""
        tried = 0
        while self._is_open() and await self.store.read.outbox.has_due(self.clock.now_ms()):
            messages = await self._claim(BATCH if self._failed_rounds == 0 else 1)
            outcomes = await asyncio.gather(*map(self._deliver, messages), return_exceptions=True)
            failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
            if failures:
                raise failures[0]
            self._note_round(all(outcome is False for outcome in outcomes))
            tried += len(messages)
        return tried

    def _is_open(self) -> bool:
        # A clock that was put back must not close it for long.
        return not self.clock.now_ms() < self._closed_until_ms <= self.clock.now_ms() + LONGEST_CLOSED_MS

    def _note_round(self, is_unavailable: bool) -> None:  # noqa: FBT001 - one fact
        if not is_unavailable:
            self._failed_rounds = 0
            return
        pause_ms = min(FIRST_CLOSED_MS * 2**self._failed_rounds, LONGEST_CLOSED_MS)
        self._failed_rounds += 1
        self._closed_until_ms = self.clock.now_ms() + pause_ms
        structlog.get_logger().warning("mail server unavailable: deliveries are paused", pause_s=pause_ms // 1000)

    async def _claim(self, limit: int) -> list[StoredMessage]:
        now_ms = self.clock.now_ms()
        return await self.store.change(
            lambda stores: stores.outbox.claim_due(now_ms, until_ms=now_ms + CLAIM_MS, limit=limit)
        )

    async def _deliver(self, message: StoredMessage) -> bool:
        """Try a message; return whether the server is available."""
        log = structlog.get_logger().bind(message_id=message.id, kind=message.kind, attempt=message.attempts)
        try:
            await hand_in(self.server, self._letter(message))
        except MailRefused as refused:
            await self._note_failure(message, refused)
            log.warning("mail not delivered", error=refused.reason, permanent=refused.permanent)
            return not refused.about_server
        now_ms = self.clock.now_ms()
        await self.store.change(lambda stores: stores.outbox.note_sent(message.id, now_ms))
        log.info("mail delivered")
        return True

    async def _note_failure(self, message: StoredMessage, refused: MailRefused) -> None:
        next_attempt_ms = None
        if not refused.permanent and message.attempts < MOST_ATTEMPTS:
            jitter = random.uniform(0.8, 1.2)  # noqa: S311 - spreads attempts, protects nothing
            next_attempt_ms = self.clock.now_ms() + pause_ms(message.attempts, jitter)
        await self.store.change(
            lambda stores: stores.outbox.note_failure(message.id, refused.reason, next_attempt_ms=next_attempt_ms)
        )

    def _letter(self, message: StoredMessage) -> Letter:
        if message.attempts > MOST_ATTEMPTS:
            raise MailRefused("every attempt was interrupted", permanent=True)
        text = self.messenger.read_text(message)
        if not text:
            raise MailRefused("the message had expired", permanent=True)
        try:
            content = compose(message, text, mail_from=self.mail_from, now_ms=self.clock.now_ms())
        except (ValueError, MessageError):
            # An address or subject with a line break in it, say: it could say anything to the server.
            raise MailRefused("the headers cannot be written", permanent=True) from None
        return Letter(sender=self.mail_from, recipient=message.recipient, content=content)


def compose(message: StoredMessage, text: str, *, mail_from: str, now_ms: int) -> bytes:
    """Return the letter: headers, the text, and the same as HTML."""
    letter = EmailMessage(policy=_POLICY)
    letter["From"] = Address(FROM_NAME, addr_spec=mail_from)
    letter["To"] = Address(addr_spec=message.recipient)
    letter["Subject"] = message.subject
    letter["Date"] = datetime.fromtimestamp(now_ms // 1000, UTC)
    letter["Message-ID"] = f"<{message.id}@{mail_from.rpartition('@')[2]}>"
    # Keeps absence notes and mailing lists from sending a reply.
    letter["Auto-Submitted"] = "auto-generated"
    letter.set_content(text)
    letter.add_alternative(to_html(message.subject, text), subtype="html")
    return letter.as_bytes()


def pause_ms(attempts: int, jitter: float) -> int:
    """Return how long to wait after so many attempts: longer each time, and never in step with others."""
    pause: float = FIRST_PAUSE_MS * PAUSE_GROWTH ** (attempts - 1) * jitter
    return round(min(LONGEST_PAUSE_MS, max(FIRST_PAUSE_MS, pause)))


# A day longer than the longest link lives.
BODY_KEPT_MS = (limits.INVITE_LINK_DAYS + 1) * DAY_MS


def outbox_jobs(store: Store[OutboxStores], delivery: MailDelivery | None, clock: Clock) -> tuple[Job, ...]:
    """Return the jobs. Without a mail server, messages wait in the outbox."""
    clear = Job(name="clear-messages", interval_ms=10 * MINUTE_MS, work=lambda: clear_messages(store, clock))
    if delivery is None:
        return (clear,)
    return (Job(name="deliver-mail", interval_ms=0, work=delivery.deliver_due, guarded=False), clear)


async def clear_messages(store: Store[OutboxStores], clock: Clock) -> None:
    """Delete the bodies of messages whose link cannot be used any more."""
    now_ms = clock.now_ms()

    async def clear(stores: OutboxStores) -> None:
        await stores.outbox.clear_dead_bodies(now_ms)
        await stores.outbox.clear_bodies(now_ms - BODY_KEPT_MS)

    await store.change(clear)
