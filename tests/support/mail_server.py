"""A real SMTP server for tests: keeps received messages, and can reject, be slow, or close the connection."""

import asyncio
import email
import email.policy
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

PASSWORD = "right pass/word"


@dataclass(frozen=True)
class Received:
    """One letter with its envelope."""

    sender: str
    recipients: tuple[str, ...]
    letter: EmailMessage
    encrypted: bool


@dataclass
class MailServer:
    """The messages that the server received, and its replies. `answer` gets the recipient and returns a line, or
    None to accept."""

    received: list[Received] = field(default_factory=list)
    answer: Callable[[str], str | None] = lambda _recipient: None
    # While this is cleared, the server takes its time over every letter.
    quick: threading.Event = field(default_factory=threading.Event)
    logins: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        """Return where it listens, as the settings want it."""
        return f"smtp://127.0.0.1:{self.port}"

    async def handle_RCPT(self, _server: Any, _session: Any, envelope: Any, address: str, options: Any) -> str:  # noqa: N802 - aiosmtpd's name
        """Accept or reject a recipient."""
        if refusal := self.answer(address):
            return refusal
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 OK"

    async def handle_DATA(self, _server: Any, session: Any, envelope: Any) -> str:  # noqa: N802 - likewise
        """Keep a letter."""
        # The server has a separate thread and event loop.
        assert self.quick.wait(timeout=30)
        letter = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert isinstance(letter, EmailMessage)
        self.received.append(Received(envelope.mail_from, tuple(envelope.rcpt_tos), letter, session.ssl is not None))
        return "250 OK"

    def authenticate(self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: LoginPassword) -> Any:
        """Accept any client that knows the password."""
        login, password = data.login.decode(), data.password.decode()
        self.logins.append((login, password))
        return AuthResult(success=password == PASSWORD, handled=False)


@contextmanager
def mail_server(*, port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[MailServer]:
    """Run a server on a free port, or on a given one. With a TLS context it offers STARTTLS."""
    server = MailServer()
    server.quick.set()
    options: dict[str, Any] = {"authenticator": server.authenticate, "auth_require_tls": False, "tls_context": tls}
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    opening = loop.create_server(lambda: SMTP(server, hostname="mail.test", loop=loop, **options), "127.0.0.1", port)
    listening = asyncio.run_coroutine_threadsafe(opening, loop).result(timeout=10)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(_end(listening), loop).result(timeout=10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()


async def _end(listening: asyncio.Server) -> None:
    listening.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def wait_for(condition: Callable[[], Any], *, timeout_s: float = 15.0) -> Any:
    """Return the condition's value once it is true."""
    waited = threading.Event()
    deadline_s = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline_s, "it did not happen in time"
        waited.wait(0.02)
    return value
