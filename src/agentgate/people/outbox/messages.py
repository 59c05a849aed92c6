"""Messages to people: what there is to say, and putting it into the outbox. Delivering is in `deliver.py`.

Send inside the unit of work that makes the change, so that a message exists exactly when what it tells of does.
"""

from msgspec import Struct

from agentgate.http.call import Call
from agentgate.lib.enums import OutboxStatus
from agentgate.lib.ids import new_message_id
from agentgate.lib.keyring import Sealer
from agentgate.people.outbox import texts
from agentgate.people.outbox.records import StoredMessage
from agentgate.people.outbox.repository import OutboxStores


class MailMessage(Struct, frozen=True, kw_only=True):
    """A message to one person. With a link in it, the link's digest says when the text is of no more use."""

    kind: str
    to: str
    subject: str
    text: str
    link_digest: bytes | None = None


class Messenger:
    """Puts messages into the outbox, sealed, and reads them again."""

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer

    async def send(self, stores: OutboxStores, call: Call, message: MailMessage) -> None:
        """Put a message into the outbox."""
        message_id = new_message_id()
        await stores.outbox.add_message(
            StoredMessage(
                id=message_id,
                recipient=message.to,
                kind=message.kind,
                subject=message.subject,
                body=self._sealer.seal(message.text.encode(), sealing_context(message_id)),
                link_digest=message.link_digest,
                status=OutboxStatus.PENDING,
                attempts=0,
                next_attempt_ms=call.now,
                created_ms=call.now,
            )
        )

    def read_text(self, message: StoredMessage) -> str:
        """Return the text of a stored message; empty once it was cleared."""
        return "" if message.body is None else self._sealer.open(message.body, sealing_context(message.id)).decode()


def invite_message(to: str, *, account_name: str, url: str, link_digest: bytes) -> MailMessage:
    """Invite somebody who has no password yet."""
    text = texts.invite(account_name, url)
    return MailMessage(kind="invite", to=to, subject=texts.INVITE_SUBJECT, text=text, link_digest=link_digest)


def reset_message(to: str, *, url: str, link_digest: bytes) -> MailMessage:
    """Let somebody choose a new password."""
    return MailMessage(kind="reset", to=to, subject=texts.RESET_SUBJECT, text=texts.reset(url), link_digest=link_digest)


def added_message(to: str, *, account_name: str, url: str) -> MailMessage:
    """Tell somebody who has a password that one more account is theirs to use."""
    return MailMessage(kind="added", to=to, subject=texts.ADDED_SUBJECT, text=texts.added(account_name, url))


def password_changed_message(to: str) -> MailMessage:
    """Tell somebody that the password was changed, in case it was not them."""
    return MailMessage(
        kind="password_changed", to=to, subject=texts.PASSWORD_CHANGED_SUBJECT, text=texts.password_changed()
    )


def mfa_reset_message(to: str) -> MailMessage:
    """Tell somebody that an operator turned two-factor authentication off."""
    return MailMessage(kind="mfa_reset", to=to, subject=texts.MFA_RESET_SUBJECT, text=texts.mfa_reset())


def sealing_context(message_id: str) -> str:
    """Return what the body of a message is sealed with besides, so that no other sealed text passes for it."""
    return f"outbox:{message_id}"
