"""One letter to one mail server. Which letters, when and how often again is in `jobs.py`."""

import asyncio
import contextlib
import re
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

import aiosmtplib
from msgspec import Struct

from agentgate.lib.telemetry.scrub import MASK, mask_text

SMTPS_PORT, SUBMISSION_PORT, RELAY_PORT = 465, 587, 25
COMMAND_S = 20.0
WHOLE_S = 60.0
GOODBYE_S = 2.0
REASON_CHARACTERS = 200

# Addresses that an envelope and a header can carry without quoting: no quotes, brackets, spaces or control characters.
_MAILBOX = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,253}\Z", re.ASCII)
_LINK = re.compile(r"https?://\S+", re.IGNORECASE)


class MailRefused(Exception):  # noqa: N818 - says what happened
    """The letter was not taken. `permanent`: trying again would change nothing. The reason is fit to be shown.

    `about_server`: the server would take no other letter either.
    """

    def __init__(self, reason: str, *, permanent: bool, about_server: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.permanent = permanent
        self.about_server = about_server


class MailServer(Struct, frozen=True, kw_only=True):
    """The server that accepts letters, and the credentials for it."""

    host: str
    port: int
    implicit_tls: bool
    username: str | None = None
    password: str | None = None

    @property
    def must_start_tls(self) -> bool | None:
        """Return whether STARTTLS must work: None takes it when it is offered.

        A password is never sent in the clear to another machine, whatever that machine offers.
        """
        if self.implicit_tls:
            return False
        return True if self.username is not None and not _is_loopback(self.host) else None

    def __repr__(self) -> str:
        """Write it without the password, because a representation ends up in logs and tracebacks."""
        return f"MailServer({self.host}:{self.port})"


class Letter(Struct, frozen=True, kw_only=True):
    """A letter for the server: the envelope's two addresses, and the content with its headers."""

    sender: str
    recipient: str
    content: bytes


def read_mail_url(url: str) -> MailServer:
    """Read `smtp://user:password@host:port` or `smtps://...`; the settings have checked its form."""
    parts = urlsplit(url)
    implicit_tls = parts.scheme == "smtps"
    usual_port = SMTPS_PORT if implicit_tls else SUBMISSION_PORT if parts.username else RELAY_PORT
    return MailServer(
        host=parts.hostname or "localhost",
        port=parts.port or usual_port,
        implicit_tls=implicit_tls,
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password or "") if parts.username else None,
    )


async def hand_in(server: MailServer, letter: Letter) -> None:
    """Return once the server has taken the letter; raise MailRefused when it has not."""
    if not _MAILBOX.match(letter.recipient):
        raise MailRefused("the recipient's address cannot be used", permanent=True)
    client = aiosmtplib.SMTP(
        hostname=server.host,
        port=server.port,
        username=server.username,
        password=server.password,
        # The library would look it up in DNS, and tell the mail server the machine's name.
        local_hostname=letter.sender.rpartition("@")[2],
        timeout=COMMAND_S,
        use_tls=server.implicit_tls,
        start_tls=server.must_start_tls,
    )
    try:
        async with asyncio.timeout(WHOLE_S):
            await client.connect()
            await client.sendmail(letter.sender, [letter.recipient], letter.content)
    except (aiosmtplib.SMTPException, OSError, ValueError) as error:
        raise _refusal(error, server) from None
    finally:
        # The letter has been taken or not; how the goodbye goes changes neither.
        with contextlib.suppress(aiosmtplib.SMTPException, OSError):
            await client.quit(timeout=GOODBYE_S)
        client.close()


def _refusal(error: Exception, server: MailServer) -> MailRefused:
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        error = error.recipients[0]
    if not isinstance(error, aiosmtplib.SMTPResponseException):
        # A later attempt cannot fix an address that does not fit an envelope, but an unavailable server may recover.
        is_address = type(error) is ValueError
        reason = _shown(f"{type(error).__name__}: {error}", server)
        return MailRefused(reason, permanent=is_address, about_server=not is_address)
    # Only a response about this letter is final. If the server rejects the password or greeting, the operator has to
    # fix it.
    about_letter = aiosmtplib.SMTPSenderRefused | aiosmtplib.SMTPRecipientRefused | aiosmtplib.SMTPDataError
    is_about_letter = isinstance(error, about_letter)
    permanent = is_about_letter and 500 <= error.code <= 599
    reason = _shown(f"{error.code} {error.message}", server)
    return MailRefused(reason, permanent=permanent, about_server=not is_about_letter)


def _shown(text: str, server: MailServer) -> str:
    """Return a reason that may be stored and shown: one short line without links, passwords or control characters."""
    # Filters like to quote the link they object to, and ours open doors.
    text = _LINK.sub("(link)", text)
    if server.password:
        text = text.replace(server.password, MASK)
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return mask_text(line)[:REASON_CHARACTERS]


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
