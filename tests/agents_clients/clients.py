"""Requests signed by the libraries that agents really use, as (method, url, headers, body). Nothing is sent.

`sign_with_every_client` gives one request per client. `WELCOME` names the agents; of them, `COVERING_BODY` also sign
the body. `STRANGERS` sign by other protocols, in the same headers.
"""

import base64
import datetime as dt
import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import http_message_signatures
import pytest
import requests
import requests_http_signature
from bot_auth import BotAuth
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from agentgate.agents.signing.fields import digest_of
from agentgate_tools.agent_simulator.sign import AgentSigningKey

SEED = bytes(range(32))
WINDOW_S = 300
LONGEST_S = 60
PROGRAM = Path(__file__).parent / "sign.mjs"

NODE_COVERING_BODY = (
    "web-bot-auth",
    "http-message-sig, string",
    "http-message-sig, member",
    "http-message-signatures (npm), string",
    "http-message-signatures (npm), member",
)
PYTHON_COVERING_BODY = (
    "http-message-signatures (PyPI), string",
    "http-message-signatures (PyPI), member",
    "requests-http-signature",
)
COVERING_BODY = NODE_COVERING_BODY + PYTHON_COVERING_BODY
WELCOME = (*COVERING_BODY, "web-bot-auth, default components", "bot-auth", "bot-auth, without quotes")
STRANGERS = ("@interledger/http-signature-utils", "@hellocoop/httpsig")


class ClientRequest(NamedTuple):
    """A request that a client signed."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None


class Wanted(NamedTuple):
    """A request for a client to sign. The further headers are signed too, if the client supports it."""

    method: str
    url: str
    body: bytes | None = None
    headers: Mapping[str, str] = {}
    agent: str = "https://agent.example"
    seed: bytes = SEED


def sign_with_every_client(wanted: Wanted) -> dict[str, ClientRequest]:
    """Return a request per client, from Node.js and Python."""
    return sign_with_node(wanted) | sign_with_python(wanted)


def sign_with_node(wanted: Wanted) -> dict[str, ClientRequest]:
    """Return a request per client for Node.js. All are signed by one process, since starting it takes longest."""
    node = shutil.which("node")
    if node is None and not os.environ.get("REQUIRE_NODE"):
        pytest.skip("Node.js is not installed")
    key = AgentSigningKey(wanted.seed)
    created_s = int(time.time())
    order = {
        "method": wanted.method,
        "url": wanted.url,
        "body": None if wanted.body is None else wanted.body.decode(),
        "headers": dict(wanted.headers),
        "agent": wanted.agent,
        "created": created_s,
        "expires": created_s + WINDOW_S,
        "jwk": private_jwk(wanted.seed),
        "keyid": key.keyid,
    }
    done = subprocess.run(
        [node or "node", str(PROGRAM)],
        input=json.dumps(order).encode(),
        capture_output=True,
        check=False,
        timeout=LONGEST_S,
    )
    assert done.returncode == 0, done.stderr.decode()
    return {name: _request(wanted, headers) for name, headers in json.loads(done.stdout).items()}


def sign_with_python(wanted: Wanted) -> dict[str, ClientRequest]:
    """Return a request per client for Python."""
    quoted, member = f'"{wanted.agent}"', f'sig1="{wanted.agent}"'
    makers: dict[str, Callable[[], Mapping[str, str]]] = {
        "http-message-signatures (PyPI), string": lambda: _message_signatures(wanted, quoted, "signature-agent"),
        "http-message-signatures (PyPI), member": lambda: _message_signatures(
            wanted, member, '"signature-agent";key="sig1"'
        ),
        "requests-http-signature": lambda: _requests_http_signature(wanted, quoted),
        "bot-auth": lambda: _bot_auth(wanted, quoted),
        "bot-auth, without quotes": lambda: _bot_auth(wanted, wanted.agent),
    }
    return {name: _request(wanted, make()) for name, make in makers.items()}


def _message_signatures(wanted: Wanted, agent: str, agent_component: str) -> Mapping[str, str]:
    headers = {**wanted.headers, "signature-agent": agent}
    request = requests.Request(wanted.method, wanted.url, headers=headers, data=wanted.body).prepare()
    signer = http_message_signatures.HTTPMessageSigner(
        signature_algorithm=http_message_signatures.algorithms.ED25519,
        key_resolver=http_message_signatures.MappingKeyResolver(
            private_keys={_keyid(wanted): _pem(wanted.seed)}, public_keys={}
        ),
    )
    created = dt.datetime.now(dt.UTC)
    signer.sign(
        request,
        key_id=_keyid(wanted),
        created=created,
        expires=created + dt.timedelta(seconds=WINDOW_S),
        nonce=secrets.token_urlsafe(32),
        label="sig1",
        tag="web-bot-auth",
        covered_component_ids=("@method", "@authority", "@target-uri", *wanted.headers, agent_component),
        # It makes the digest, and covers it.
        body=wanted.body,
    )
    return request.headers


def _requests_http_signature(wanted: Wanted, agent: str) -> Mapping[str, str]:
    auth = requests_http_signature.HTTPSignatureAuth(
        signature_algorithm=requests_http_signature.algorithms.ED25519,
        key=_pem(wanted.seed),
        key_id=_keyid(wanted),
        covered_component_ids=("@method", "@authority", "@target-uri", "signature-agent", *wanted.headers),
        label="sig1",
        tag="web-bot-auth",
        use_nonce=True,
        expires_in=dt.timedelta(seconds=WINDOW_S),
    )
    # It makes the digest itself.
    headers = {**wanted.headers, "signature-agent": agent}
    return auth(requests.Request(wanted.method, wanted.url, headers=headers, data=wanted.body).prepare()).headers


def _bot_auth(wanted: Wanted, agent: str) -> Mapping[str, str]:
    """Return what bot-auth signs: host and agent only, whatever the method and the body are."""
    made = BotAuth([private_jwk(wanted.seed)], signAgent=agent).get_bot_signature_header(wanted.url)
    return _headers(wanted, agent) | made


def _request(wanted: Wanted, headers: Mapping[str, str]) -> ClientRequest:
    sent = {name.lower(): value for name, value in headers.items()}
    return ClientRequest(wanted.method, wanted.url, sent, wanted.body)


def _headers(wanted: Wanted, agent: str) -> dict[str, str]:
    digest = {} if wanted.body is None else {"content-digest": digest_of(wanted.body)}
    return {**wanted.headers, **digest, "signature-agent": agent}


def _keyid(wanted: Wanted) -> str:
    return AgentSigningKey(wanted.seed).keyid


def _pem(seed: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(seed).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def private_jwk(seed: bytes) -> dict[str, str]:
    """Return the key as clients keep it."""
    return {**AgentSigningKey(seed).jwk, "d": base64.urlsafe_b64encode(seed).rstrip(b"=").decode()}
