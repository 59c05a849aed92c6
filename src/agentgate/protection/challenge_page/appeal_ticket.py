"""Appeal tickets: what a refusal's page carries so that its reader, and nobody else, can appeal against it."""

from msgspec import Struct

from agentgate.lib.clock import HOUR_MS, SECOND_MS
from agentgate.lib.decision_ids import read_id
from agentgate.protection.challenge_page.proxied_call import ProxiedCall
from agentgate.protection.challenge_page.sealed_token import SealedTokens

KIND = "appeal"
# Nobody reads, decides and presses a button in less.
WAIT_MS = 2 * SECOND_MS
LIFETIME_MS = 6 * HOUR_MS
_DECISION_BYTES = 8


class Opened(Struct, frozen=True):
    """What a ticket says: against which decision, and where the person wanted to go."""

    decision: int
    return_url: str


class AppealTickets:
    """Seals and opens tickets. A ticket may be shown again: of each decision there is one appeal all the same."""

    def __init__(self, sealed_tokens: SealedTokens) -> None:
        self._sealed_tokens = sealed_tokens

    def give(self, proxied: ProxiedCall, decision_id: str, return_url: str, *, wait_ms: int = WAIT_MS) -> str | None:
        """Return a ticket for this visitor of this site; None for what is no decision."""
        decision = read_id(decision_id)
        if decision is None:
            return None
        now_ms = int(proxied.call.now)
        content = decision.to_bytes(_DECISION_BYTES, "big") + return_url.encode()
        return self._sealed_tokens.seal(
            KIND, content, proxied.holder, not_before_ms=now_ms + wait_ms, expires_ms=now_ms + LIFETIME_MS
        )

    def open(self, proxied: ProxiedCall, ticket: str) -> Opened | None:
        """Return what a ticket says; None when it is another visitor's, too new or too old."""
        found = self._sealed_tokens.open(KIND, ticket, proxied.holder, now_ms=int(proxied.call.now))
        if found is None:
            return None
        content = found.content
        return Opened(int.from_bytes(content[:_DECISION_BYTES], "big"), content[_DECISION_BYTES:].decode())
