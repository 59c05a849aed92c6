"""Signing of requests as an agent does it (RFC 9421, Web Bot Auth), for the simulator and for tests.

Written apart from the verifier and sharing nothing with it, so that a mistake in one does not hide in the other.
"""

import base64
import hashlib
import secrets
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from urllib.parse import urlsplit

from msgspec import Struct

from agentgate.lib import base64url
from agentgate.lib.ed25519 import PrivateKey

TAG = "web-bot-auth"
COVERED = ("@method", "@authority", "@path", "@query", "signature-agent")
NONCE_BYTES = 32
SEED_BYTES = 32

_PORTS = {"https": 443, "http": 80}


class AgentForm(StrEnum):
    """How the header Signature-Agent is written, and how the signature covers it."""

    # "https://agent.example", covered as "signature-agent".
    STRING = "string"
    # sig1="https://agent.example", covered as "signature-agent";key="sig1".
    MEMBER = "member"
    # The same header, covered as "signature-agent".
    DICTIONARY = "dictionary"


class AgentSigningKey:
    """An Ed25519 key of an agent. The same seed gives the same key."""

    def __init__(self, seed: bytes) -> None:
        self._private = PrivateKey(seed)

    @classmethod
    def make(cls) -> "AgentSigningKey":
        """Return a new, unique key."""
        return cls(cls.new_seed())

    @staticmethod
    def new_seed() -> bytes:
        return secrets.token_bytes(SEED_BYTES)

    @cached_property
    def jwk(self) -> dict[str, str]:
        """The public key, as a key set lists it."""
        return {"kty": "OKP", "crv": "Ed25519", "x": base64url.encode(self._private.public.raw)}

    @cached_property
    def keyid(self) -> str:
        """The thumbprint of the key (RFC 7638)."""
        text = f'{{"crv":"Ed25519","kty":"OKP","x":"{self.jwk["x"]}"}}'
        return base64url.encode(hashlib.sha256(text.encode()).digest())

    @property
    def jwks(self) -> dict[str, list[dict[str, str]]]:
        """A key set with this key alone."""
        return {"keys": [{**self.jwk, "kid": self.keyid, "use": "sig"}]}

    def sign(self, message: bytes) -> bytes:
        return self._private.sign(message)


class SignatureTerms(Struct, frozen=True, kw_only=True):
    """How a request is signed. Values that are None are omitted, even required ones, to create invalid requests."""

    created_s: int | None
    expires_s: int | None
    agent: str | None = "https://agent.example"
    form: AgentForm = AgentForm.STRING
    cover: tuple[str, ...] = COVERED
    nonce: str | None = None
    tag: str | None = TAG
    # Else the thumbprint of the key that signs.
    keyid: str | None = None
    label: str = "sig1"

    def identifier(self, name: str) -> str:
        """Return the identifier of a component as the signature's input lists it."""
        if name == "signature-agent" and self.form is AgentForm.MEMBER:
            return f'"{name}";key="{self.label}"'
        return f'"{name}"'

    def agent_header(self) -> str | None:
        """Return the value of Signature-Agent."""
        if self.agent is None:
            return None
        return f'"{self.agent}"' if self.form is AgentForm.STRING else f'{self.label}="{self.agent}"'

    def parameters(self, keyid: str) -> str:
        """Return the signature's input: what is covered, and the parameters."""
        listed = {
            "created": self.created_s,
            "keyid": f'"{self.keyid or keyid}"',
            "alg": '"ed25519"',
            "expires": self.expires_s,
            "nonce": None if self.nonce is None else f'"{self.nonce}"',
            "tag": None if self.tag is None else f'"{self.tag}"',
        }
        covered = " ".join(map(self.identifier, self.cover))
        return f"({covered})" + "".join(f";{name}={value}" for name, value in listed.items() if value is not None)


def sign_request(
    key: AgentSigningKey, method: str, url: str, *, terms: SignatureTerms, headers: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the headers of a request with its signature, all names in small letters."""
    signed = {name.lower(): value.strip() for name, value in (headers or {}).items()}
    agent = terms.agent_header()
    if agent is not None:
        signed["signature-agent"] = agent
    parameters = terms.parameters(key.keyid)
    lines = [
        f"{terms.identifier(name)}: {_value(name, method, url, headers=signed, terms=terms)}" for name in terms.cover
    ]
    base = "\n".join([*lines, f'"@signature-params": {parameters}'])
    signature = base64.b64encode(key.sign(base.encode())).decode()
    return signed | {
        "signature-input": f"{terms.label}={parameters}",
        "signature": f"{terms.label}=:{signature}:",
    }


def content_digest(body: bytes) -> str:
    """Return the value of Content-Digest for a body (RFC 9530)."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


def make_nonce() -> str:
    """Return a nonce that was never used."""
    return base64.b64encode(secrets.token_bytes(NONCE_BYTES)).decode()


def _value(name: str, method: str, url: str, *, headers: Mapping[str, str], terms: SignatureTerms) -> str:
    if not name.startswith("@"):
        if name not in headers:
            raise ValueError(f"the request has no header {name}, so a signature cannot cover it")
        return f'"{terms.agent}"' if name == "signature-agent" and terms.form is AgentForm.MEMBER else headers[name]
    parts = urlsplit(url)
    host, port = (parts.hostname or "").lower(), parts.port
    target = (parts.path or "/") + (f"?{parts.query}" if "?" in url else "")
    authority = host if port in {None, _PORTS.get(parts.scheme)} else f"{host}:{port}"
    values = {
        "@method": method,
        "@scheme": parts.scheme,
        "@authority": authority,
        "@path": parts.path or "/",
        "@query": f"?{parts.query}",
        "@request-target": target,
        "@target-uri": f"{parts.scheme}://{authority}{target}",
    }
    if name not in values:
        raise ValueError(f"no component {name} can be signed here; use one of {', '.join(values)} and headers")
    return values[name]
