"""An agent that signs its requests: `SigningAgent(...).headers(method, url, body=...)` gives what it sends along."""

import time
from collections.abc import Mapping
from typing import Any

from agentgate_tools.agent_simulator.sign import (
    COVERED,
    AgentSigningKey,
    SignatureTerms,
    content_digest,
    make_nonce,
    sign_request,
)

SEED = bytes(range(32))
WINDOW_S = 300
# Signed whenever they are sent.
SIGNED_HEADERS = ("content-digest", "crawler-exact-price", "crawler-max-price")


class SigningAgent:
    """An agent with one key. `jwks` is what its key set, or the policy of a site, lists for it."""

    def __init__(self, url: str = "https://agent.example", seed: bytes = SEED) -> None:
        self.url = url
        self.key = AgentSigningKey(seed)

    @property
    def keyid(self) -> str:
        return self.key.keyid

    @property
    def jwks(self) -> dict[str, Any]:
        return self.key.jwks

    def headers(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        **how: Any,
    ) -> dict[str, str]:
        """Return the given headers and the signature's headers. A body adds a covered Content-Digest.

        Options of the signature: `created` and `expires` in seconds; `nonce` (True: a new one; False: none; or the
        text); `cover`, the whole list of signed components instead of the usual one with digest and price offers;
        `form`, `tag`, `keyid`, `label` and `agent` as in SignatureTerms.
        """
        created_s = how.pop("created", None) or int(time.time())
        expires_s = how.pop("expires", None) or created_s + WINDOW_S
        nonce = how.pop("nonce", True)
        sent = {name.lower(): value for name, value in (headers or {}).items()}
        if body is not None:
            sent.setdefault("content-digest", content_digest(body))
        usual = (*COVERED, *(name for name in SIGNED_HEADERS if name in sent))
        terms = SignatureTerms(
            created_s=created_s,
            expires_s=expires_s,
            nonce=make_nonce() if nonce is True else nonce or None,
            cover=how.pop("cover", None) or usual,
            agent=how.pop("agent", self.url),
            **how,
        )
        return sign_request(self.key, method, url, headers=sent, terms=terms)
