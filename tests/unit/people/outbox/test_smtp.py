"""Sending mail by SMTP: authentication, encryption, and reports of a failure."""

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from agentgate.people.outbox.smtp import Letter, MailRefused, MailServer, hand_in, read_mail_url
from tests.support.mail_server import PASSWORD, mail_server

pytestmark = pytest.mark.anyio

LETTER = Letter(sender="gate@example.com", recipient="ann@example.com", content=b"Subject: Hello\r\n\r\nHello\r\n")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Write a key and a self-signed certificate for 127.0.0.1 to one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mail.test")])
    today = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    file = tmp_path / "mail.pem"
    file.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()) + made.public_bytes(pem)
    )
    return file


def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example", MailServer(host="mail.example", port=25, implicit_tls=False)),
        ("smtps://mail.example", MailServer(host="mail.example", port=465, implicit_tls=True)),
        (
            "smtp://me%40b:p%2Fw%3A@mail.example",
            MailServer(host="mail.example", port=587, implicit_tls=False, username="me@b", password="p/w:"),
        ),
        (
            "smtps://me:@[::1]:2465",
            MailServer(host="::1", port=2465, implicit_tls=True, username="me", password=""),
        ),
    ],
)
def test_a_mail_address_is_read_with_the_usual_ports(url: str, server: MailServer) -> None:
    assert read_mail_url(url) == server


@pytest.mark.parametrize(
    ("url", "must"),
    [
        ("smtp://mail.example", None),
        ("smtp://me:secret@mail.example", True),
        ("smtp://me:secret@127.0.0.1", None),
        ("smtp://me:secret@localhost", None),
        ("smtp://me:secret@[::1]", None),
        ("smtps://me:secret@mail.example", False),
    ],
)
def test_a_password_goes_to_other_machines_encrypted_only(url: str, must: bool | None) -> None:
    assert read_mail_url(url).must_start_tls is must


async def test_a_password_in_the_address_is_decoded_and_used() -> None:
    with mail_server() as server:
        await hand_in(read_mail_url(f"smtp://gate:right%20pass%2Fword@127.0.0.1:{server.port}"), LETTER)

    assert server.logins == [("gate", PASSWORD)]
    assert len(server.received) == 1


async def test_a_rejected_password_is_not_a_fault_of_the_letter_and_is_not_repeated() -> None:
    with mail_server() as server, pytest.raises(MailRefused) as caught:
        await hand_in(read_mail_url(f"smtp://gate:wrong-one@127.0.0.1:{server.port}"), LETTER)

    assert not caught.value.permanent
    assert caught.value.reason.startswith("535")
    assert "wrong-one" not in caught.value.reason
    assert server.received == []


async def test_encryption_is_used_when_it_is_offered(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    with mail_server(tls=server_context(certificate)) as server:
        await hand_in(read_mail_url(server.url), LETTER)

    assert [received.encrypted for received in server.received] == [True]


async def test_a_certificate_that_no_one_signed_is_rejected_and_tried_again_later(certificate: Path) -> None:
    with mail_server(tls=server_context(certificate)) as server, pytest.raises(MailRefused) as caught:
        await hand_in(read_mail_url(server.url), LETTER)

    assert not caught.value.permanent
    assert "certificate" in caught.value.reason.lower()
    assert server.received == []


async def test_a_letter_without_a_password_goes_unencrypted_where_no_encryption_is_offered() -> None:
    with mail_server() as server:
        await hand_in(read_mail_url(server.url), LETTER)

    assert [received.encrypted for received in server.received] == [False]


@pytest.mark.parametrize(
    ("answer", "permanent"),
    [("550 5.1.1 No such user", True), ("451 Try later", False), ("421 Going away", False), ("552 Too much", True)],
)
async def test_the_servers_respond_shows_whether_to_try_again(answer: str, permanent: bool) -> None:
    with mail_server() as server:
        server.answer = lambda _recipient: answer
        with pytest.raises(MailRefused) as caught:
            await hand_in(read_mail_url(server.url), LETTER)

    assert (caught.value.permanent, caught.value.reason) == (permanent, answer)


async def test_a_reason_is_one_short_line_without_links() -> None:
    with mail_server() as server:
        server.answer = lambda _recipient: "550 \x1b[31m spam https://gate.example/console/invite#S3CRET " + "x" * 400
        with pytest.raises(MailRefused) as caught:
            await hand_in(read_mail_url(server.url), LETTER)

    assert "S3CRET" not in caught.value.reason
    assert caught.value.reason.isprintable()
    assert len(caught.value.reason) <= 200


async def test_an_address_that_would_break_the_envelope_is_rejected_permanently() -> None:
    letter = Letter(sender="gate@example.com", recipient="ann@example.com>\r\nRCPT TO:<eve@example.com", content=b"x")

    with mail_server() as server, pytest.raises(MailRefused) as caught:
        await hand_in(read_mail_url(server.url), letter)

    assert caught.value.permanent
    assert server.received == []


def test_a_mail_server_does_not_show_its_password() -> None:
    assert "secret" not in repr(read_mail_url("smtp://me:secret@mail.example"))
