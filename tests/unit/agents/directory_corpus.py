"""URLs of key sets that a visitor may name to do harm, each with what its name resolves to.

`REFUSED` must never lead to a connection; `BEHAVING_BADLY` are public hosts that respond in harmful ways.
"""

import asyncio
import gzip
import itertools
import json

from agentgate_tools.agent_simulator.sign import AgentSigningKey
from tests.unit.agents.key_server import PIECE, PUBLIC, Peer, Serve

TEN_GIGABYTES = 10_000_000_000

_LITERALS = (
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[::127.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:a9fe:a9fe]",
    "[::ffff:0:127.0.0.1]",
    "[::ffff:93.184.215.14]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::93.184.215.14]",
    "[64:ff9b:1::a9fe:a9fe]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[2001:0:7f00:1::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[100::1]",
    "[fe80::1]",
    "[fe80::1%25eth0]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fec0::1]",
    "[ff02::1]",
)

# Names that the machine's own resolver would read as an address, and names that lie: each with its addresses.
_LYING = {
    "2130706433": ["127.0.0.1"],
    "127.1": ["127.0.0.1"],
    "0x7f000001": ["127.0.0.1"],
    "0177.0.0.1": ["127.0.0.1"],
    "017700000001": ["127.0.0.1"],
    "127.0.0.1.": ["127.0.0.1"],
    "localhost": ["127.0.0.1", "::1"],
    "localhost.": ["::1"],
    "metadata.google.internal": ["169.254.169.254"],
    "private.example": ["10.1.2.3"],
    "mixed.example": [PUBLIC, "10.1.2.3"],
    "mixed-last.example": [PUBLIC, PUBLIC, PUBLIC, PUBLIC, "127.0.0.1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "nat64.example": ["64:ff9b::a00:1"],
    "six-to-four.example": ["2002:c0a8:101::"],
    "teredo.example": ["2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    "multicast.example": ["224.0.0.251"],
    "scoped.example": ["fe80::1%eth0"],
    "nothing.example": [],
    "not-an-address.example": ["localhost"],
}

_FORMS = (
    "http://agent.example/keys",
    "ftp://agent.example/keys",
    "file:///etc/passwd",
    "gopher://agent.example:443/_x",
    "//agent.example/keys",
    "agent.example/keys",
    "https:agent.example",
    "https:///keys",
    "https://agent.example:80/keys",
    "https://agent.example:22/",
    "https://agent.example:8443/keys",
    "https://agent.example:0/",
    "https://agent.example:99999/",
    "https://agent.example:443a/",
    "https://user@agent.example/keys",
    "https://user:password@agent.example/keys",
    "https://agent.example@127.0.0.1/",
    "https://agent.example:443@10.0.0.1/",
    "https://agent.example\\@127.0.0.1/",
    "https://agent.example/#@127.0.0.1/",
    "https://agent.example\r\nHost: 127.0.0.1/",
    "https://agent.example /keys",
    "https://agent.example/\tkeys",
    "https://agent%2eexample/",
    "https://\uff11\uff12\uff17.\uff10.\uff10.\uff11/",
    "https://münchen.example/",
    "https://agent..example/",
    "https://-agent.example/",
    "https://[::1/",
    "https://agent.example/" + "a" * 3000,
    "",
)

REFUSED: dict[str, list[str]] = {
    **{f"https://{host}/keys": [PUBLIC] for host in _LITERALS},
    **{f"https://{host}/keys": found for host, found in _LYING.items()},
    **{url: [PUBLIC] for url in _FORMS},
}
ADDRESSES = _LYING


def _redirect(status: str, to: str) -> Serve:
    async def serve(peer: Peer) -> None:
        await peer.answer(b"", status=status, headers=f"Location: {to}\r\n")

    return serve


def _endless(head: str, piece: bytes = PIECE) -> Serve:
    async def serve(peer: Peer) -> None:
        await peer.send(head.encode())
        for _ in range(TEN_GIGABYTES // len(piece)):
            await peer.send(piece)

    return serve


def _drip(head: str, piece: bytes, pause_s: float) -> Serve:
    async def serve(peer: Peer) -> None:
        await peer.send(head.encode())
        for _ in itertools.count():
            await asyncio.sleep(pause_s)
            await peer.send(piece)

    return serve


def _says(body: bytes, headers: str = "", status: str = "200 OK") -> Serve:
    async def serve(peer: Peer) -> None:
        await peer.answer(body, status=status, headers=headers)

    return serve


async def _silence(_peer: Peer) -> None:
    await asyncio.sleep(60)


async def _hang_up(_peer: Peer) -> None:
    return


_OK = "HTTP/1.1 200 OK\r\n"
_KEYS = json.dumps(AgentSigningKey(b"k" * 32).jwks).encode()
_CHUNK = b"2000\r\n" + PIECE + b"\r\n"

# The response of each host.
BEHAVING_BADLY: dict[str, Serve] = {
    "redirect-301.bad.example": _redirect("301 Moved", "https://127.0.0.1/keys"),
    "redirect-302.bad.example": _redirect("302 Found", "http://169.254.169.254/latest/meta-data/"),
    "redirect-307.bad.example": _redirect("307 Temporary", "https://redirect-307.bad.example/keys"),
    "redirect-308.bad.example": _redirect("308 Permanent", "//[::1]/keys"),
    "ten-gigabytes.bad.example": _endless(f"{_OK}Content-Length: {TEN_GIGABYTES}\r\n\r\n"),
    "ten-gigabytes-chunked.bad.example": _endless(f"{_OK}Transfer-Encoding: chunked\r\n\r\n", _CHUNK),
    "ten-gigabytes-until-closed.bad.example": _endless(f"{_OK}\r\n"),
    "tiny-chunks.bad.example": _endless(f"{_OK}Transfer-Encoding: chunked\r\n\r\n", b"1;x=y\r\nx\r\n" * 200),
    "endless-head.bad.example": _endless(_OK, b"X-Header: value\r\n" * 100),
    "endless-continue.bad.example": _endless("", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "gzip-bomb.bad.example": _says(gzip.compress(b"[" * 40_000_000), "Content-Encoding: gzip\r\n"),
    "gzip-keys.bad.example": _says(gzip.compress(_KEYS), "Content-Encoding: gzip\r\n"),
    "deflate.bad.example": _says(_KEYS, "Content-Encoding: deflate\r\n"),
    "slow-drip.bad.example": _drip(f"{_OK}Content-Length: {TEN_GIGABYTES}\r\n\r\n", b" ", 0.2),
    "slow-head.bad.example": _drip(_OK, b"X: y\r\n", 0.2),
    "silence.bad.example": _silence,
    "hang-up.bad.example": _hang_up,
    "short.bad.example": _endless(f"{_OK}Content-Length: 5\r\nConnection: close\r\n\r\n", PIECE),
    "not-http.bad.example": _endless("SSH-2.0-OpenSSH_9\r\n"),
    "deep.bad.example": _says(b"[" * 60_000),
    "deep-object.bad.example": _says(b'{"keys":' * 7_000),
    "number.bad.example": _says(b'{"keys":[{"kty":"OKP","exp":' + b"9" * 50_000 + b"}]}"),
    "not-json.bad.example": _says(b"<html>keys</html>", "Content-Type: text/html\r\n"),
    "list.bad.example": _says(b"[1,2,3]"),
    "no-list.bad.example": _says(b'{"keys": {"a": 1}}'),
    "no-keys.bad.example": _says(b'{"keys": []}'),
    "odd-keys.bad.example": _says(b'{"keys": [null, 1, "x", [], {}, {"kty": 1}, {"kty": "OKP", "crv": "Ed25519"}]}'),
    "not-utf8.bad.example": _says(b'{"keys": "\xff\xfe"}'),
    "empty.bad.example": _says(b""),
    "no-content.bad.example": _says(b"", status="204 No Content"),
    "partial.bad.example": _says(_KEYS, status="206 Partial Content"),
    "missing.bad.example": _says(_KEYS, status="404 Not Found"),
    "away.bad.example": _says(_KEYS, status="500 Internal Server Error"),
}
