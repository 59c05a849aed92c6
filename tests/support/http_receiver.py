"""A real HTTP server for tests that keeps the requests it receives. Over TLS, its certificate is from a separate
authority."""

import contextlib
import datetime as dt
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Received:
    """One request: headers by lower-case name."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Answering:
    """The server's response. With `hold_s` it responds late; with `hang_up` it closes the connection without a
    response."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    hold_s: float = 0.0
    hang_up: bool = False


@dataclass
class Receiver:
    """The requests that the server received, and its responses; it calls `answer` with each request."""

    received: list[Received] = field(default_factory=list)
    answer: Callable[[Received], Answering] = lambda _request: Answering()
    port: int = 0
    scheme: str = "http"
    closing: threading.Event = field(default_factory=threading.Event)

    def url(self, host: str = "localhost", path: str = "/hook") -> str:
        """Return where it listens, under a name."""
        return f"{self.scheme}://{host}:{self.port}{path}"


@contextlib.contextmanager
def receiver(certificate: Path | None = None) -> Iterator[Receiver]:
    """Run a server; with a certificate (and its key in the same file), over TLS."""
    state = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _take(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Received(self.command, self.path, headers, self.rfile.read(length))
            state.received.append(request)
            self.close_connection = True
            answer = state.answer(request)
            if answer.hold_s:
                state.closing.wait(answer.hold_s)
            if answer.hang_up:
                return
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            # A client that has read enough may have closed the connection.
            with contextlib.suppress(OSError):
                self.wfile.write(b"" if self.command == "HEAD" else answer.body)

        do_GET = do_HEAD = do_POST = _take  # noqa: N815 - the library's names

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """Say nothing: a client that leaves is part of some tests."""

    server = Server(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        state.scheme = "https"
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.closing.set()
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


def make_certificate(
    folder: Path, *names: str, from_now: dt.timedelta = dt.timedelta(), is_direct: bool = True
) -> tuple[Path, Path]:
    """Make an authority and a certificate for names; return the authority's file and the server's (with its key).

    `from_now` moves its time; without `is_direct`, an intermediate authority signs it that is in neither file.
    """
    authority_key, between_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    root, between, subject = map(_called, ("Test authority", "Test intermediate", names[0]))
    authority = _builder(root, root, authority_key.public_key()).add_extension(_SIGNS, critical=True)
    signer, signing_key = (root, authority_key) if is_direct else (between, between_key)
    server = _builder(subject, signer, server_key.public_key(), from_now=from_now)
    # Python 3.13 requires what standards require, such as a reference to the key that signed.
    for extension in (
        x509.SubjectAlternativeName(list(map(_name, names))),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()),
    ):
        server = server.add_extension(extension, critical=False)
    authority_path, server_path = folder / "authority.pem", folder / "server.pem"
    root_certificate = authority.sign(authority_key, hashes.SHA256())
    authority_path.write_bytes(root_certificate.public_bytes(serialization.Encoding.PEM))
    key = server_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    signed = server.sign(signing_key, hashes.SHA256())
    server_path.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + key)
    return authority_path, server_path


def _called(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


_SIGNS = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def _builder(subject: x509.Name, issuer: x509.Name, public_key: Any, *, from_now=dt.timedelta()) -> Any:
    now = dt.datetime.now(dt.UTC) + from_now
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=subject == issuer, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _name(name: str) -> Any:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
