"""The outbox from message to mailbox, over a real mail server; and what operators read of it."""

import asyncio
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.moment import Moment
from agentgate.lib.settings.schema import Settings
from agentgate.people.outbox.jobs import BATCH, MOST_ATTEMPTS, MailDelivery, pause_ms
from agentgate.people.outbox.messages import MailMessage, Messenger, added_message, invite_message
from agentgate.people.outbox.smtp import read_mail_url
from agentgate.server.stores.open import open_stores
from tests.support.mail_server import MailServer, mail_server, wait_for
from tests.support.service import NOON_MS, RunningService, running_service

OUTBOX = "/v1/admin/outbox"
SECRET = "Kf83-hq_29XmZpLw0aQeRtYuIoPsDfGhJkLzXcVbNm1"
URL = f"https://gate.example/console/invite#{SECRET}"
LINKED = invite_message("ann@example.com", account_name="Acme", url=URL, link_digest=b"link")
# The service itself clears messages whose link does not exist: at its start, and when a test has moved the clock by ten
# minutes. This one has no link that it would look for.
INVITE = replace(LINKED, link_digest=None)


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


def messenger_of(service: RunningService) -> Messenger:
    return service.application.people.messenger


def post(service: RunningService, *messages: MailMessage) -> None:
    """Put messages into the outbox."""
    now = Moment(service.clock.now_ms())

    async def work(stores):
        for message in messages:
            await messenger_of(service).send(stores, now, message)

    service.run(service.application.stores.store.change(work))


def delivery_of(service: RunningService, url: str, *, store: Any = None) -> MailDelivery:
    return MailDelivery(
        server=read_mail_url(url),
        mail_from="gate@gate.example",
        store=store or service.application.stores.store,
        messenger=messenger_of(service),
        clock=service.clock,
    )


def deliver(service: RunningService, url: str) -> int:
    return service.run(delivery_of(service, url).deliver_due())


def listed(service: RunningService) -> list[dict[str, Any]]:
    reply = service.operator.get(OUTBOX)
    assert reply.status_code == 200, reply.text
    return reply.json()["items"]


@contextmanager
def service_with_mail(settings: Settings, url: str) -> Iterator[RunningService]:
    with running_service(replace(settings, smtp_url=url, public_base_url="https://gate.example")) as service:
        yield service


def test_an_invitation_reaches_its_mailbox(settings: Settings, mail: MailServer) -> None:
    with service_with_mail(settings, mail.url) as service:
        body = {"email": "Ann@Example.com", "customerName": "Acme"}
        made = service.operator.post("/v1/admin/accounts", json=body).json()
        received = wait_for(lambda: mail.received)[0]
        wait_for(lambda: listed(service)[0]["status"] == "sent")

    letter = received.letter
    assert (received.sender, received.recipients) == ("agentgate@gate.example", ("ann@example.com",))
    assert (letter["To"], letter["From"]) == ("ann@example.com", "AgentGate <agentgate@gate.example>")
    assert letter["Subject"] == "Your invitation to AgentGate"
    assert letter["Auto-Submitted"] == "auto-generated"
    assert re.fullmatch(r"<msg_[0-9a-f]{16}@gate\.example>", letter["Message-ID"])
    assert letter["Date"].datetime.timestamp() * 1000 == NOON_MS
    assert letter.get_content_type() == "multipart/alternative"
    text, html = (letter.get_body((kind,)).get_content() for kind in ("plain", "html"))
    assert made["inviteUrl"].startswith("https://gate.example/console/invite#")
    assert made["inviteUrl"] in text.splitlines()
    assert f'<a href="{made["inviteUrl"]}">{made["inviteUrl"]}</a>' in html
    assert len(mail.received) == 1


def test_a_letter_is_ascii_on_the_wire_whatever_it_shows(service: RunningService, mail: MailServer) -> None:
    post(service, added_message("ann@example.com", account_name="Söhne 漢字", url="https://gate.example/console/"))
    deliver(service, mail.url)

    letter = mail.received[0].letter
    assert letter.as_bytes().isascii()
    assert "Söhne 漢字" in letter.get_body(("plain",)).get_content()
    assert "Söhne 漢字" in letter.get_body(("html",)).get_content()


def test_a_server_that_is_down_is_tried_again(service: RunningService) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    post(service, INVITE)

    assert deliver(service, f"smtp://127.0.0.1:{port}") == 1
    waiting = listed(service)[0]
    assert (waiting["status"], waiting["attempts"]) == ("pending", 1)
    assert "Connect" in waiting["lastError"]

    with mail_server(port=port) as mail:
        assert deliver(service, mail.url) == 0  # not yet
        service.clock.advance(seconds=72)
        assert deliver(service, mail.url) == 1
    assert len(mail.received) == 1
    sent = listed(service)[0]
    assert (sent["status"], sent["attempts"], sent["sentAt"]) == ("sent", 2, Moment(service.clock.now_ms()).text())
    assert "lastError" not in sent


def test_a_temporary_rejection_is_tried_again_with_growing_pauses_and_then_given_up(
    service: RunningService, mail: MailServer
) -> None:
    mail.answer = lambda _recipient: "451 4.3.2 Try later"
    post(service, INVITE)
    pauses = []

    for _ in range(MOST_ATTEMPTS - 1):
        assert deliver(service, mail.url) == 1
        (waiting,) = service.run(service.application.stores.store.read.outbox.list_messages(1))
        assert (waiting.status, waiting.last_error) == ("pending", "451 4.3.2 Try later")
        pauses.append(waiting.next_attempt_ms - service.clock.now_ms())
        service.clock.advance(ms=pauses[-1] - 1)
        assert deliver(service, mail.url) == 0
        service.clock.advance(ms=1)
    assert deliver(service, mail.url) == 1

    given_up = listed(service)[0]
    assert (given_up["status"], given_up["attempts"]) == ("failed", MOST_ATTEMPTS)
    assert pauses == sorted(pauses)
    assert MINUTE_MS <= pauses[0] <= 2 * MINUTE_MS
    assert mail.received == []


def test_a_permanent_rejection_is_not_tried_again(service: RunningService, mail: MailServer) -> None:
    mail.answer = lambda recipient: "550 5.1.1 No such user" if recipient == "ann@example.com" else None
    post(service, INVITE, added_message("bob@example.com", account_name="Acme", url="https://gate.example/console/"))

    assert deliver(service, mail.url) == 2
    service.clock.advance(days=1)
    assert deliver(service, mail.url) == 0

    by_recipient = {message["to"]: message for message in listed(service)}
    failed = by_recipient["ann@example.com"]
    assert (failed["status"], failed["attempts"], failed["lastError"]) == ("failed", 1, "550 5.1.1 No such user")
    assert by_recipient["bob@example.com"]["status"] == "sent"


def test_a_slow_server_does_not_delay_requests(settings: Settings, mail: MailServer) -> None:
    mail.quick.clear()
    with service_with_mail(settings, mail.url) as service:
        post(service, INVITE)
        wait_for(lambda: listed(service)[0]["attempts"] == 1)
        for _ in range(5):
            assert service.operator.post("/v1/admin/sites", json={"name": "Shop"}).status_code == 201
        # The letter was under way all the time, and still is.
        assert mail.received == []
        mail.quick.set()
        wait_for(lambda: listed(service)[-1]["status"] == "sent")
    assert len(mail.received) == 1


def test_two_workers_deliver_each_message_once(settings: Settings, service: RunningService, mail: MailServer) -> None:
    addresses = [f"user{number}@example.com" for number in range(30)]
    post(service, *(replace(INVITE, to=address) for address in addresses))

    async def deliver_twice() -> int:
        other = await open_stores(settings, service.clock)
        try:
            workers = [delivery_of(service, mail.url), delivery_of(service, mail.url, store=other.store)]
            return sum(await asyncio.gather(*(worker.deliver_due() for worker in workers)))
        finally:
            await other.close()

    assert service.run(deliver_twice()) == 30
    assert sorted(received.recipients[0] for received in mail.received) == sorted(addresses)


def test_no_one_gets_a_letter_by_breaking_a_header(service: RunningService, mail: MailServer) -> None:
    post(
        service,
        replace(INVITE, to="ann@example.com\r\nBcc: eve@example.com"),
        replace(INVITE, to="ann@example.com, eve@example.com"),
        replace(INVITE, to="ann@example.com>\nRCPT TO:<eve@example.com"),
        replace(INVITE, to='"ann eve"@example.com'),
        replace(INVITE, subject="Hello\r\nBcc: eve@example.com"),
    )
    assert deliver(service, mail.url) == 5

    assert mail.received == []
    assert [message["status"] for message in listed(service)] == ["failed"] * 5


def test_a_text_cannot_end_the_letter_early(service: RunningService, mail: MailServer) -> None:
    text = "Hello\r\n.\r\nMAIL FROM:<eve@example.com>\r\n..\nend\n"
    post(service, replace(INVITE, text=text))
    deliver(service, mail.url)

    assert len(mail.received) == 1
    assert mail.received[0].letter.get_body(("plain",)).get_content().splitlines() == text.splitlines()


def test_without_a_mail_server_messages_wait_and_operators_can_read_them(service: RunningService) -> None:
    post(service, INVITE)

    (message,) = listed(service)

    assert message == {
        "id": message["id"],
        "to": "ann@example.com",
        "kind": "invite",
        "subject": INVITE.subject,
        "body": INVITE.text,
        "status": "pending",
        "attempts": 0,
        "createdAt": Moment(NOON_MS).text(),
    }
    assert URL in message["body"]


def test_a_cleared_body_is_empty_and_the_message_is_not_sent(service: RunningService, mail: MailServer) -> None:
    post(service, LINKED)
    store = service.application.stores.store
    service.run(store.change(lambda stores: stores.outbox.clear_body_of_link(b"link")))

    assert deliver(service, mail.url) == 0
    assert (listed(service)[0]["body"], listed(service)[0]["status"]) == ("", "failed")


def test_a_message_is_unreadable_in_the_database(service: RunningService) -> None:
    post(service, INVITE)
    assert SECRET in listed(service)[0]["body"]

    if service.application.settings.database_url:
        rows = service.run(service.application.stores.databases["config"].all("SELECT * FROM outbox_message"))
        stored = repr(rows).encode()
    else:
        files = list(service.application.settings.data_dir.glob("config.db*"))
        stored = b"".join(file.read_bytes() for file in files)
    assert b"ann@example.com" in stored
    assert SECRET.encode() not in stored
    assert b"choose a password" not in stored


def test_a_body_moved_to_another_message_does_not_open(service: RunningService) -> None:
    post(service, INVITE, added_message("eve@example.com", account_name="Acme", url="https://gate.example/console/"))
    messages = service.run(service.application.stores.store.read.outbox.list_messages(10))
    stolen, mine = sorted(messages, key=lambda message: message.recipient)

    with pytest.raises(Exception, match="cannot be opened"):
        messenger_of(service).read_text(replace(mine, body=stolen.body))


def test_the_newest_messages_come_first_and_the_limit_holds(service: RunningService) -> None:
    for number in range(3):
        post(service, replace(INVITE, to=f"user{number}@example.com"))
        service.clock.advance(seconds=1)

    items = service.operator.get(OUTBOX, params={"limit": 2}).json()["items"]

    assert [message["to"] for message in items] == ["user2@example.com", "user1@example.com"]


def test_a_limit_out_of_bounds_is_rejected(service: RunningService) -> None:
    for limit in ("0", "501", "-1", "x", "1.0", ""):
        reply = service.operator.get(OUTBOX, params={"limit": limit})
        assert (reply.status_code, reply.json()["error"]) == (400, "invalid_limit"), limit


def test_only_operators_read_the_outbox(service: RunningService) -> None:
    reply = service.anonymous.get(OUTBOX)

    assert (reply.status_code, reply.json()["error"]) == (401, "unauthorized")
    assert service.public.get(OUTBOX).status_code == 404


def test_pauses_grow_from_a_minute_to_six_hours() -> None:
    pauses = [pause_ms(attempts, 1.0) // MINUTE_MS for attempts in range(1, MOST_ATTEMPTS)]

    assert pauses == [1, 3, 9, 27, 81, 243, 360]
    assert pause_ms(1, 0.8) == MINUTE_MS
    assert pause_ms(7, 1.2) == 360 * MINUTE_MS


def test_while_the_server_is_unavailable_one_message_at_a_time_tries_it(
    service: RunningService, mail: MailServer
) -> None:
    post(service, *(replace(INVITE, to=f"user{number}@example.com") for number in range(40)))
    away, back = delivery_of(service, "smtp://127.0.0.1:1"), delivery_of(service, mail.url)

    assert service.run(away.deliver_due()) == BATCH
    assert service.run(away.deliver_due()) == 0
    service.clock.advance(seconds=11)
    assert service.run(away.deliver_due()) == 1
    service.clock.advance(seconds=11)
    assert service.run(away.deliver_due()) == 0

    away.server = back.server
    service.clock.advance(seconds=10)
    assert service.run(away.deliver_due()) >= 40 - BATCH - 1
    service.clock.advance(hours=1)
    service.run(away.deliver_due())
    assert len(mail.received) == 40


def test_a_rejected_letter_does_not_stop_the_others(service: RunningService, mail: MailServer) -> None:
    mail.answer = lambda recipient: "450 later" if recipient.startswith("user") else None
    post(service, *(replace(INVITE, to=f"user{number}@example.com") for number in range(BATCH)))
    post(service, replace(INVITE, to="ann@example.com"))

    assert deliver(service, mail.url) == BATCH + 1
    assert [received.recipients for received in mail.received] == [("ann@example.com",)]


def test_a_reset_link_is_sent_before_earlier_messages(service: RunningService, mail: MailServer) -> None:
    post(service, *(replace(INVITE, kind="added", to=f"user{number}@example.com") for number in range(2 * BATCH)))
    service.clock.advance(seconds=1)
    post(service, replace(INVITE, kind="reset", to="ann@example.com"))

    async def claim_first(stores: Any) -> Any:
        now_ms = service.clock.now_ms()
        return await stores.outbox.claim_due(now_ms, until_ms=now_ms, limit=BATCH)

    first, *others = service.run(service.application.stores.store.change(claim_first))
    assert first.recipient == "ann@example.com"
    assert len(others) == BATCH - 1
    assert deliver(service, mail.url) == 2 * BATCH + 1
