"""Handoffs and grants: wire records, the form that a person sends, and their tables in SQL.

Each step is one statement, so that two at the same time cannot both take it.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.lib.database import RecordTable, Repository
from agentgate.lib.enums import HandoffStatus
from agentgate.lib.limits import RECEIPT_CHARACTERS
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record


class HandoffRequest(Struct, frozen=True, kw_only=True):
    """The part of an agent's submission that a handoff needs."""

    submission_id: str
    # `sha-256=:…:` of the content, as the receipt will have it.
    content_digest: str
    # The decision that asked for a person.
    decision_id: str
    # Summarized for the person, and deleted once the person has decided.
    content: Any


class Handoff(Record, frozen=True, kw_only=True):
    """A handoff as the challenged agent gets it: where a person can approve, and where to poll its state."""

    id: str
    status: HandoffStatus
    url: str
    user_code: str
    poll_url: str
    # Seconds between two polls.
    interval: int
    expires_in: int
    expires_at: Moment
    site_key: str
    action: str


class HandoffAnswer(Record, frozen=True, kw_only=True):
    """State of a handoff. `receipt` is present after approval and does not change until it is redeemed."""

    id: str
    status: HandoffStatus
    expires_at: Moment
    interval: int | UnsetType = UNSET
    receipt: str | UnsetType = UNSET
    receipt_expires_at: Moment | UnsetType = UNSET


class ChoiceInput(Input, frozen=True, kw_only=True, rename={"token": "agentgate-token"}):
    """The form of the page. The token is from the browser check; `remember` pre-approves further uses."""

    choice: Literal["approve", "decline"]
    token: Annotated[str, Meta(max_length=RECEIPT_CHARACTERS)] = ""
    remember: Literal["on"] | UnsetType = UNSET
    uses: Annotated[str, Meta(pattern=r"^(?:[1-9][0-9]?|100)\Z")] = "1"
    hours: Annotated[str, Meta(pattern=r"^(?:1|24|168|720)\Z")] = "1"


class AgentGrant(Record, frozen=True, kw_only=True):
    """A pre-approval by a person: uses of one action, with one key, until a moment."""

    id: str
    agent: str
    key_id: str
    action: str
    uses: int
    uses_left: int
    created_at: Moment
    expires_at: Moment
    # The handoff at which it was given.
    handoff_id: str
    last_used_at: Moment | UnsetType = UNSET
    revoked_at: Moment | UnsetType = UNSET


class AgentGrantList(Record, frozen=True, kw_only=True):
    """A site's pre-approvals, newest first."""

    items: list[AgentGrant]


class StoredHandoff(Struct, frozen=True, kw_only=True):
    id: str
    # Identifies the request: while it is set, the same request finds this handoff.
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
    # JSON of the content's summary for the person; None once the handoff has ended.
    summary: str | None
    status: HandoffStatus = HandoffStatus.PENDING
    # The `jti` of its only receipt.
    receipt_id: str
    # When the last receipt becomes valid; None before the first.
    issued_ms: int | None = None
    created_ms: int
    expires_ms: int


class StoredGrant(Struct, frozen=True, kw_only=True):
    """A person's grant to an agent, as stored."""

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


_HANDOFFS = RecordTable("handoff", StoredHandoff)
_GRANTS = RecordTable("agent_grant", StoredGrant)
# Of two callers that take the last use of a grant, one retries with another grant. There are few.
LOOKS = 5
MOST_LISTED = 1_000


class HandoffStore(Repository):
    """Handoffs. Each step that may be taken once is one statement."""

    async def open_handoff(self, handoff: StoredHandoff) -> StoredHandoff:
        """Insert a handoff and return it, or return the pending one with the same request key."""
        await self._session.run(
            "UPDATE handoff SET request_key = NULL WHERE request_key = $1 AND expires_ms <= $2",
            handoff.request_key,
            handoff.created_ms,
        )
        await _HANDOFFS.add(self._session, handoff, "ON CONFLICT (request_key) DO NOTHING")
        # None if the other handoff released the key in between.
        return await _HANDOFFS.find(self._session, "request_key = $1", handoff.request_key) or handoff

    async def find_handoff(self, handoff_id: str) -> StoredHandoff | None:
        """Return a handoff in any state; None if there is none or it was deleted."""
        return await _HANDOFFS.find(self._session, "id = $1", handoff_id)

    async def release_request(self, handoff_id: str) -> None:
        """Release the request key, so that the same request gets a new handoff."""
        await self._session.run("UPDATE handoff SET request_key = NULL WHERE id = $1", handoff_id)

    async def decide_handoff(
        self, handoff_id: str, status: HandoffStatus, *, now_ms: int, expires_ms: int
    ) -> StoredHandoff | None:
        """Store the decision and delete the summary; None, and no change, if none is pending. One caller wins."""
        row = await self._session.one(
            f"""UPDATE handoff SET status = $2, expires_ms = $4, summary = NULL
                WHERE id = $1 AND status = 'pending' AND expires_ms > $3
                RETURNING {_HANDOFFS.columns}""",  # noqa: S608 - a constant
            handoff_id,
            status.value,
            now_ms,
            expires_ms,
        )
        return _HANDOFFS.read(row) if row else None

    async def issue_receipt(self, handoff_id: str, *, now_ms: int, over_ms: int) -> StoredHandoff | None:
        """Make the receipt valid from now on unless it was issued since `over_ms`; return the changed handoff."""
        await self._session.run(
            """UPDATE handoff SET issued_ms = $2
                WHERE id = $1 AND status = 'completed' AND (issued_ms IS NULL OR issued_ms <= $3)""",
            handoff_id,
            now_ms,
            over_ms,
        )
        return await self.find_handoff(handoff_id)

    async def delete_summaries(self, now_ms: int) -> int:
        """Delete the summaries of handoffs that expired undecided; return how many."""
        return await _HANDOFFS.change(self._session, "expires_ms <= $1 AND summary IS NOT NULL", now_ms, summary=None)

    async def delete_handoffs(self, before_ms: int, *, most: int) -> int:
        """Delete some rows that expired before a moment, the oldest first; return how many."""
        return await _HANDOFFS.delete_some(self._session, "expires_ms < $1 ORDER BY expires_ms", before_ms, most=most)


class GrantStore(Repository):
    async def add_grant(self, grant: StoredGrant) -> None:
        await _GRANTS.add(self._session, grant)

    async def use_grant(self, *, site: int, agent: str, keyid: str, action: str, now_ms: int) -> StoredGrant | None:
        """Take one use from the grant that ends first and return the changed grant; None without a usable grant."""
        for _ in range(LOOKS):
            found = await self._session.one(
                """SELECT id FROM agent_grant
                    WHERE site = $1 AND agent = $2 AND keyid = $3 AND action = $4
                        AND uses_left > 0 AND revoked_ms IS NULL AND expires_ms > $5
                    ORDER BY expires_ms, id LIMIT 1""",
                site,
                agent,
                keyid,
                action,
                now_ms,
            )
            if found is None:
                return None
            row = await self._session.one(
                f"""UPDATE agent_grant SET uses_left = uses_left - 1, last_used_ms = $2
                    WHERE id = $1 AND uses_left > 0 AND revoked_ms IS NULL AND expires_ms > $2
                    RETURNING {_GRANTS.columns}""",  # noqa: S608 - likewise
                found[0],
                now_ms,
            )
            if row is not None:
                return _GRANTS.read(row)
        return None

    async def list_grants(self, site: int) -> list[StoredGrant]:
        """Return a site's grants, the newest first."""
        return await _GRANTS.find_all(
            self._session, "site = $1 ORDER BY created_ms DESC, id LIMIT $2", site, MOST_LISTED
        )

    async def revoke_grant(self, site: int, grant_id: str, *, now_ms: int) -> bool | None:
        """End a grant; False when it was revoked before, None when the site has no such grant."""
        changed = await self._session.run(
            "UPDATE agent_grant SET revoked_ms = $3 WHERE site = $1 AND id = $2 AND revoked_ms IS NULL",
            site,
            grant_id,
            now_ms,
        )
        if changed:
            return True
        found = await self._session.one("SELECT id FROM agent_grant WHERE site = $1 AND id = $2", site, grant_id)
        return None if found is None else False

    async def delete_grants(self, before_ms: int, *, most: int) -> int:
        """Delete some rows that expired before a moment, the oldest first; return how many."""
        return await _GRANTS.delete_some(self._session, "expires_ms < $1 ORDER BY expires_ms", before_ms, most=most)
