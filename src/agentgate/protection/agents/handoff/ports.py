"""What handoffs and grants ask of the durable store."""

from typing import Protocol

from msgspec import Struct

from agentgate.lib.enums import HandoffStatus


class StoredHandoff(Struct, frozen=True, kw_only=True):
    """A handoff as it is kept."""

    id: str
    # What makes the request one of its kind: as long as it stands there, asking again finds this handoff.
    request_key: bytes | None
    # The site's number.
    site: int
    agent: str
    keyid: str
    action: str
    submission_id: str
    content_digest: str
    decision_id: str
    user_code: str
    # JSON of what the person is shown of the content; None once nobody needs it any more.
    summary: str | None
    status: HandoffStatus = HandoffStatus.PENDING
    # The `jti` of the one receipt that it can lead to.
    receipt_id: str
    # From when on the receipt is good that was given last; None while none was.
    issued_ms: int | None = None
    created_ms: int
    expires_ms: int


class HandoffStore(Protocol):
    """Handoffs. Each step that may be taken once is one statement."""

    async def open_handoff(self, handoff: StoredHandoff) -> StoredHandoff:
        """Keep a new handoff and return it, or the one that stands under the same request key and is not over."""
        ...

    async def find_handoff(self, handoff_id: str) -> StoredHandoff | None:
        """Return a handoff in whatever state it is; None when there is none or it was forgotten."""
        ...

    async def release_request(self, handoff_id: str) -> None:
        """Let another handoff stand for the same request."""
        ...

    async def decide_handoff(
        self, handoff_id: str, status: HandoffStatus, *, now_ms: int, expires_ms: int
    ) -> StoredHandoff | None:
        """End the waiting and forget the summary; None, and no change, when it does not wait. Of many, one wins."""
        ...

    async def issue_receipt(self, handoff_id: str, *, now_ms: int, over_ms: int) -> StoredHandoff | None:
        """Let the receipt be good from now on unless it was given since `over_ms`; return the handoff after that."""
        ...

    async def forget_summaries(self, now_ms: int) -> int:
        """Forget what the contents of handoffs were that nobody decided in time; return how many."""
        ...

    async def forget_handoffs(self, before_ms: int, *, most: int) -> int:
        """Remove some of those that expired before a moment, the oldest first; return how many."""
        ...


class StoredGrant(Struct, frozen=True, kw_only=True):
    """What a person allowed an agent beforehand, as it is kept."""

    id: str
    site: int
    agent: str
    keyid: str
    action: str
    handoff_id: str
    uses: int
    uses_left: int
    created_ms: int
    expires_ms: int
    last_used_ms: int | None = None
    revoked_ms: int | None = None


class GrantStore(Protocol):
    """Grants to agents."""

    async def add_grant(self, grant: StoredGrant) -> None:
        """Keep a new grant."""
        ...

    async def use_grant(self, *, site: int, agent: str, keyid: str, action: str, now_ms: int) -> StoredGrant | None:
        """Take one use from the grant that ends first and return it after that; None when there is nothing to take."""
        ...

    async def list_grants(self, site: int) -> list[StoredGrant]:
        """Return a site's grants, the newest first."""
        ...

    async def revoke_grant(self, site: int, grant_id: str, *, now_ms: int) -> bool | None:
        """End a grant; False when it was revoked before, None when the site has no such grant."""
        ...

    async def forget_grants(self, before_ms: int, *, most: int) -> int:
        """Remove some of those that expired before a moment, the oldest first; return how many."""
        ...
