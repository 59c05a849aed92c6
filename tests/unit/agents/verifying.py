"""What tests of signatures share: requests as the verifier gets them, and keys that are found at once."""

import asyncio
from collections.abc import Awaitable, Collection, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from agentgate.agents.identity import Identity, SignedMessage
from agentgate.agents.signing.key_sets import KeyFound, read_key, thumbprint
from agentgate.agents.signing.verify import AgentVerifier
from agentgate.sites.agent_policy import DEFAULT_POLICY, AgentPolicy, read_policy

AGENT = "https://agent.example"
DIRECTORY = f"{AGENT}/.well-known/http-message-signatures-directory"
LONGEST_S = 24 * 3600


class KnownKeys:
    """A key source that knows its keys from the start, and records the keys that were requested."""

    def __init__(self, keys: Mapping[str, Iterable[Mapping[str, Any]]], *, late: bool = False) -> None:
        self._keys = {
            (url, thumbprint(jwk)): KeyFound(read_key(jwk), purposes=("search",))
            for url, jwks in keys.items()
            for jwk in jwks
        }
        self._late = late
        self.asked: list[tuple[str, str]] = []

    def find(self, url: str, keyid: str, *, now_ms: int, hosts: Collection[str] = ()) -> KeyFound | Awaitable[KeyFound]:
        assert now_ms > 0
        self.asked.append((url, keyid))
        found = self._keys.get((url, keyid), KeyFound(None, "no such key"))
        return _later(found) if self._late else found


async def _later(found: KeyFound) -> KeyFound:
    await asyncio.sleep(0)
    return found


def message_of(method: str, url: str, headers: Mapping[str, str]) -> SignedMessage:
    """Return a request as the verifier gets it."""
    parts = urlsplit(url)
    return SignedMessage(
        method=method,
        scheme=parts.scheme,
        authority=parts.netloc,
        target=(parts.path or "/") + (f"?{parts.query}" if "?" in url else ""),
        headers={name.lower().encode(): value.encode("latin-1") for name, value in headers.items()},
    )


def policy_with(jwks: Mapping[str, Any], agent: str = AGENT) -> AgentPolicy:
    """Return a policy that allows an agent and lists its keys."""
    return read_policy({"agents": {agent: {"decision": "allow", "jwks": jwks}}})


def verify(
    verifier: AgentVerifier,
    message: SignedMessage,
    *,
    now_s: float,
    policy: AgentPolicy = DEFAULT_POLICY,
    longest_s: int = LONGEST_S,
) -> Identity:
    """Return who sent a request, whether that is known at once or not."""
    found = verifier.verify(message, policy=policy, now_ms=int(now_s * 1000), longest_s=longest_s)
    return found if isinstance(found, Identity) else asyncio.run(_wait(found))


async def _wait(found: Awaitable[Identity]) -> Identity:
    return await found
