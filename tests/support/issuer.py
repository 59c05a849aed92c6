"""An identity provider in a thread: its documents, its keys, and the ID token that a test has chosen."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from agentgate.lib import base64url

CLIENT, SECRET = "agentgate", "s/e c:ret"
SUBJECT = "248289761001"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def number(value: int) -> str:
    """Return a number as in a JWK."""
    return base64url.encode(value.to_bytes((value.bit_length() + 7) // 8 or 1))


def jwks() -> list[dict[str, str]]:
    """Return the three public keys, and two that no token may use."""
    rsa_numbers, ec_numbers = RSA.public_key().public_numbers(), EC.public_key().public_numbers()
    plain = {"kty": "RSA", "n": number(rsa_numbers.n), "e": number(rsa_numbers.e)}
    return [
        {**plain, "kid": "rsa", "use": "sig"},
        {**plain, "kid": "for-encryption", "use": "enc"},
        {"kty": "EC", "crv": "P-256", "kid": "ec", "x": number(ec_numbers.x), "y": number(ec_numbers.y)},
        {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": base64url.encode(ED.public_key().public_bytes_raw())},
        {"kty": "oct", "kid": "shared", "k": "c2VjcmV0"},
    ]


def signed(claims: dict[str, Any], *, alg: str = "RS256", kid: str | None = "rsa", key: Any = None) -> str:
    """Return a token. Without a key, it is signed with the key of the algorithm."""
    header = {"alg": alg, **({} if kid is None else {"kid": kid})}
    text = ".".join(base64url.encode(json.dumps(part).encode()) for part in (header, claims))
    return f"{text}.{base64url.encode(_signature(text.encode(), alg, key))}"


def _signature(text: bytes, alg: str, key: Any) -> bytes:
    if callable(key):
        made: bytes = key(text)
        return made
    if alg == "RS256":
        return (key or RSA).sign(text, padding.PKCS1v15(), SHA256())  # type: ignore[no-any-return]
    if alg == "ES256":
        pair = decode_dss_signature((key or EC).sign(text, ec.ECDSA(SHA256())))
        return b"".join(half.to_bytes(32) for half in pair)
    return (key or ED).sign(text)  # type: ignore[no-any-return]


class Issuer:
    """The documents that the provider returns, to be changed by a test, and the requests that it got."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.metadata: dict[str, Any] = {
            "issuer": url,
            "authorization_endpoint": f"{url}/authorize?tenant=1",
            "token_endpoint": f"{url}/token",
            "jwks_uri": f"{url}/jwks",
            "userinfo_endpoint": f"{url}/userinfo",
        }
        self.keys = jwks()
        self.token = ""
        self.userinfo: dict[str, Any] = {}
        self.asked: list[str] = []
        self.forms: list[dict[str, list[str]]] = []
        self.authorizations: list[str] = []

    def answer(self, path: str) -> Any:
        """Return a document."""
        self.asked.append(path)
        return {
            "/.well-known/openid-configuration": self.metadata,
            "/jwks": {"keys": self.keys},
            "/userinfo": self.userinfo,
            "/token": {"id_token": self.token, "access_token": "opaque", "token_type": "Bearer"},
        }[path]


@contextmanager
def running_issuer() -> Iterator[Issuer]:
    """Start a provider on any port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply()

        def do_POST(self) -> None:
            issuer.forms.append(parse_qs(self.rfile.read(int(self.headers["content-length"])).decode()))
            issuer.authorizations.append(self.headers.get("authorization", ""))
            self._reply()

        def _reply(self) -> None:
            body = json.dumps(issuer.answer(self.path)).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer = Issuer(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)
