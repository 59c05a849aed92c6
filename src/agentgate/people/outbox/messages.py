"""Messages to people: their wording as text and HTML, and putting them into the outbox. `jobs.py` delivers them.

Send inside the unit of work that makes the change, so that a message exists exactly when the change does. Texts
are paragraphs with an empty line between; one that is an address of ours becomes a link. HTML loads nothing.
"""

import re
from collections.abc import Sequence
from html import escape

from msgspec import Struct

from agentgate.lib import limits
from agentgate.lib.enums import OutboxStatus
from agentgate.lib.ids import new_message_id
from agentgate.lib.keyring import Sealer
from agentgate.lib.moment import Moment
from agentgate.people.outbox.records import StoredMessage
from agentgate.people.outbox.repository import OutboxStores

# The inviting person chooses the account's name. Mail programs turn text that looks like an address into a link, so
# such a name would let any user send links to strangers in AgentGate's name.
_LINK_LIKE = re.compile(r"://|\w\.\w{2}|@")
_ADDRESS = re.compile(r"https?://\S+\Z")

_STYLE = "max-width: 36em; margin: 2em auto; padding: 0 1em; font: 16px/1.5 sans-serif; color: #1a1a1a"
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body style="{style}">
{paragraphs}
</body>
</html>
"""


class MailMessage(Struct, frozen=True, kw_only=True):
    """A message to one person. If it has a link, the link's digest shows when the text cannot be used any more."""

    kind: str
    to: str
    subject: str
    text: str
    link_digest: bytes | None = None


class Messenger:
    """Puts messages into the outbox, sealed, and reads them again."""

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer

    async def send(self, stores: OutboxStores, now: Moment, message: MailMessage) -> None:
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
                next_attempt_ms=now,
                created_ms=now,
            )
        )

    def read_text(self, message: StoredMessage) -> str:
        """Return the text of a stored message; empty once it was cleared."""
        return "" if message.body is None else self._sealer.open(message.body, sealing_context(message.id)).decode()


def invite_message(to: str, *, account_name: str, url: str, link_digest: bytes) -> MailMessage:
    """Invite a person. The text is the same whether or not the person has a password."""
    return _message(
        "invite",
        to,
        "Your invitation to AgentGate",
        f"you have been invited to {_account(account_name)} on AgentGate. To join, open this link:",
        url,
        "If you do not have an AgentGate password yet, choose one there. If you have one, sign in with it and accept"
        " the invitation on the accounts page.",
        f"The link works once, within {limits.INVITE_LINK_DAYS} days. If you did not expect this invitation, ignore"
        " this message: you join only if you accept.",
        link_digest=link_digest,
    )


def reset_message(to: str, *, url: str, link_digest: bytes) -> MailMessage:
    """Return a message with a link to choose a new password."""
    return _message(
        "reset",
        to,
        "Reset your AgentGate password",
        "we received a request to reset the password of your AgentGate user. To choose a new password, open this link:",
        url,
        f"The link works once, within {limits.PASSWORD_RESET_LINK_HOURS} hour. If you did not request this, ignore this"
        " message: your password does not change.",
        link_digest=link_digest,
    )


def added_message(to: str, *, account_name: str, url: str) -> MailMessage:
    """Return a message to a user with a password that they were added to an account."""
    return _message(
        "added",
        to,
        "You were added to an account on AgentGate",
        f"you were added to {_account(account_name)} on AgentGate. Sign in as usual and switch to it:",
        url,
        "If you do not want to be a member, you can leave the account on its members page.",
    )


def password_changed_message(to: str) -> MailMessage:
    """Return a message that the password was changed, in case the user did not change it."""
    return _message(
        "password_changed",
        to,
        "Your AgentGate password was changed",
        "the password of your AgentGate user was changed.",
        "If this was not you, reset your password on the sign-in page now and inform the operator of AgentGate.",
    )


def mfa_reset_message(to: str) -> MailMessage:
    """Return a message that an operator turned two-factor authentication off."""
    return _message(
        "mfa_reset",
        to,
        "Two-factor authentication was turned off",
        "an operator turned off two-factor authentication for your AgentGate user. You can now sign in with your"
        " password alone.",
        "If you requested this, set it up again soon. If you did not, inform the operator of AgentGate immediately.",
    )


def passkey_message(to: str, *, added: bool) -> MailMessage:
    """Return a message that a passkey was added or removed, in case the user did not do it."""
    done = "added to" if added else "removed from"
    return _message(
        "passkey",
        to,
        f"A passkey was {done} your AgentGate user",
        f"a passkey was {done} your AgentGate user.",
        "If this was not you, reset your password on the sign-in page, end the other sessions on the security page,"
        " and remove passkeys that you do not know.",
    )


def notice_message(to: str, *, subject: str, parts: Sequence[str], url: str) -> MailMessage:
    """Tell a member what changed at the sites of the account."""
    end = "You chose these notices in the account settings of the console, where you can turn them off."
    return _message("notice", to, subject, *parts, url, end)


def to_html(subject: str, text: str) -> str:
    """Return a text as an HTML page that is readable without its style and loads nothing."""
    paragraphs = "\n".join(f"<p>{_paragraph(part)}</p>" for part in text.strip().split("\n\n"))
    return _PAGE.format(title=escape(subject), style=_STYLE, paragraphs=paragraphs)


def sealing_context(message_id: str) -> str:
    """Return what the body of a message is sealed with besides, so that no other sealed text passes for it."""
    return f"outbox:{message_id}"


def _message(kind: str, to: str, subject: str, *paragraphs: str, link_digest: bytes | None = None) -> MailMessage:
    text = "\n\n".join(("Hello,", *paragraphs)) + "\n"
    return MailMessage(kind=kind, to=to, subject=subject, text=text, link_digest=link_digest)


def _paragraph(text: str) -> str:
    shown = escape(text)
    return f'<a href="{shown}">{shown}</a>' if _ADDRESS.match(text) else shown


def plain_name(name: str, otherwise: str) -> str:
    """Return a name that mail programs do not turn into a link, or another text."""
    shown = " ".join(name.split())
    return otherwise if not shown or _LINK_LIKE.search(shown) else shown


def _account(name: str) -> str:
    shown = plain_name(name, "")
    return f'the account "{shown}"' if shown else "an account"
