"""Handoffs: a challenged agent asks a person. Opening, deciding, responding to polls, and redeeming the receipt.

Expired and redeemed are not stored states: the clock determines the first, the table of redeemed receipts the second.
"""

import hashlib
import json
import re
import secrets
import unicodedata
from enum import StrEnum
from typing import Any

from msgspec import UNSET

from agentgate.agents.handoff.repository import (
    GrantStore,
    Handoff,
    HandoffAnswer,
    HandoffRequest,
    HandoffStore,
    StoredGrant,
    StoredHandoff,
)
from agentgate.agents.identity import Identity
from agentgate.browser_check.tokens.receipts import Grant, ReceiptIssuer
from agentgate.browser_check.tokens.redeem import KEPT_MS
from agentgate.browser_check.tokens.repository import Redemption, RedemptionStore
from agentgate.lib.clock import HOUR_MS, SECOND_MS
from agentgate.lib.enums import HandoffStatus, ReceiptKind
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_agent_grant_id, new_handoff_id, new_receipt_id
from agentgate.lib.limits import AGENT_GRANT_HOURS, AGENT_GRANT_USES, HANDOFF_LIFETIME_S, HANDOFF_POLL_INTERVAL_S
from agentgate.lib.moment import Moment
from agentgate.sites.directory import SiteView

MOST_ENTRIES = 12
NAME_CHARACTERS = 60
VALUE_CHARACTERS = 300

SummaryLines = list[tuple[str, str]]


def summarize(content: Any) -> str:
    """Return the summary lines as JSON, stored until the person has decided."""
    members = list(content.items()) if isinstance(content, dict) else [("", content)]
    lines = [
        (_plain(str(name), NAME_CHARACTERS), _plain(_text(value), VALUE_CHARACTERS))
        for name, value in members[:MOST_ENTRIES]
    ]
    if len(members) > MOST_ENTRIES:
        lines.append(("", f"… +{len(members) - MOST_ENTRIES}"))
    return json.dumps(lines, ensure_ascii=False)


def read_summary(summary: str | None) -> SummaryLines:
    """Return the summary lines: names and values."""
    return [(name, value) for name, value in json.loads(summary)] if summary else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _plain(text: str, most: int) -> str:
    # Control and format characters could reverse or hide text: each is replaced by a space.
    kept = text[: most + 1]
    clean = "".join(" " if unicodedata.category(character)[0] == "C" else character for character in kept)
    short = " ".join(clean.split())
    return short if len(text) <= most else short[: most - 1] + "…"


def may_grant(site: SiteView, action: str) -> bool:
    """Return whether people may grant agents further uses of an action: only if the policy allows it explicitly."""
    terms = site.agent_policy.actions.get(action)
    return terms is not None and terms.handoff is True


LIFETIME_MS = HANDOFF_LIFETIME_S * SECOND_MS
HANDOFF_ID = re.compile(r"ho_[0-7][0-9a-hjkmnp-tv-z]{25}\Z", re.ASCII)
# Unambiguous consonants that spell no word (RFC 8628 6.1).
CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
CODE_LENGTH = 8


class HandoffRedemption(StrEnum):
    """Result of redeeming a handoff."""

    REDEEMED = "redeemed"
    # Unknown, another agent's, or for another request; callers cannot tell these apart.
    UNKNOWN = "unknown"
    PENDING = "pending"
    DECLINED = "declined"
    EXPIRED = "expired"
    # Another submission spent its receipt already.
    SPENT = "spent"


class Handoffs:
    """Keeps handoffs, and the grants that people give at them.

    A grant is bound to agent, key, site and action: another key of the same agent has none of them. Each use of a grant
    is taken by one statement.
    """

    def __init__(
        self,
        store: HandoffStore,
        grants: GrantStore,
        *,
        redemptions: RedemptionStore,
        receipts: ReceiptIssuer,
        base_url: str,
    ) -> None:
        self._store = store
        self._grants = grants
        self._redemptions = redemptions
        self._receipts = receipts
        self._base_url = base_url

    async def open(
        self, *, site: SiteView, action: str, identity: Identity, request: HandoffRequest, now_ms: int
    ) -> Handoff:
        """Return the handoff of a verified agent's submission: the pending one for the same request, else a new one."""
        new = _new_handoff(site, action, identity, request, now_ms=now_ms)
        kept = await self._store.open_handoff(new)
        if kept.status is HandoffStatus.COMPLETED and await self._is_spent(site, kept):
            await self._store.release_request(kept.id)
            kept = await self._store.open_handoff(new)
        return self._shown(kept, site, now_ms)

    async def find(self, handoff_id: str) -> StoredHandoff | None:
        """Return a handoff, expired or not; None if there is none."""
        return await self._store.find_handoff(handoff_id) if HANDOFF_ID.match(handoff_id) else None

    async def decide(self, handoff_id: str, *, approved: bool, now_ms: int) -> StoredHandoff | None:
        """Store a person's decision; None if one was stored before, or if the handoff has expired.

        From then on the agent has as much time to hear of it as the person had to decide.
        """
        status = HandoffStatus.COMPLETED if approved else HandoffStatus.DECLINED
        return await self._store.decide_handoff(handoff_id, status, now_ms=now_ms, expires_ms=now_ms + LIFETIME_MS)

    async def answer(self, handoff: StoredHandoff, site: SiteView, *, now_ms: int) -> HandoffAnswer:
        """Return the state for the agent; raise `Refused` if the receipt was redeemed or the handoff has expired."""
        if handoff.status is HandoffStatus.COMPLETED and await self._is_spent(site, handoff):
            raise Refused("handoff_redeemed")
        if now_ms >= handoff.expires_ms:
            raise Refused("handoff_expired")
        if handoff.status is HandoffStatus.COMPLETED:
            return await self._completed(handoff, site, now_ms=now_ms)
        return HandoffAnswer(
            id=handoff.id,
            status=handoff.status,
            expires_at=Moment(handoff.expires_ms),
            interval=HANDOFF_POLL_INTERVAL_S if handoff.status is HandoffStatus.PENDING else UNSET,
        )

    async def redeem(
        self, handoff_id: str, identity: Identity, *, site: SiteView, request: HandoffRequest, action: str, now_ms: int
    ) -> HandoffRedemption:
        """Redeem the receipt of an approved handoff for the submission that it was made for.

        The same submission may redeem it again: an agent that does not know whether its first request arrived gets the
        same response.
        """
        handoff = await self.find(handoff_id)
        if handoff is None or not is_of(handoff, identity, site):
            return HandoffRedemption.UNKNOWN
        asked = (handoff.action, handoff.submission_id, handoff.content_digest)
        if asked != (action, request.submission_id, request.content_digest):
            return HandoffRedemption.UNKNOWN
        if handoff.status is not HandoffStatus.COMPLETED:
            return (
                HandoffRedemption.EXPIRED if now_ms >= handoff.expires_ms else HandoffRedemption(handoff.status.value)
            )
        mine = f"submit:{handoff.id}"
        earlier = await self._redemptions.find_redemption(site.id, handoff.receipt_id)
        if earlier is None:
            if now_ms >= handoff.expires_ms:
                return HandoffRedemption.EXPIRED
            spent = Redemption(request_id=mine)
            if await self._spend(site, handoff, spent):
                return HandoffRedemption.REDEEMED
            earlier = await self._redemptions.find_redemption(site.id, handoff.receipt_id)
        is_mine = earlier is not None and earlier.request_id == mine
        return HandoffRedemption.REDEEMED if is_mine else HandoffRedemption.SPENT

    async def give_grant(self, handoff: StoredHandoff, *, uses: int, hours: int, now_ms: int) -> StoredGrant:
        """Store the grant that a person gave at a handoff."""
        if not (1 <= uses <= AGENT_GRANT_USES and 1 <= hours <= AGENT_GRANT_HOURS):
            raise ValueError(f"a grant has 1 to {AGENT_GRANT_USES} uses within 1 to {AGENT_GRANT_HOURS} hours")
        grant = StoredGrant(
            id=new_agent_grant_id(),
            site=handoff.site,
            agent=handoff.agent,
            keyid=handoff.keyid,
            action=handoff.action,
            handoff_id=handoff.id,
            uses=uses,
            uses_left=uses,
            created_ms=now_ms,
            expires_ms=now_ms + hours * HOUR_MS,
        )
        await self._grants.add_grant(grant)
        return grant

    async def use_grant(self, site: SiteView, identity: Identity, *, action: str, now_ms: int) -> str | None:
        """Take one use of a verified agent's grant and return the grant's ID; None without a usable grant.

        If a policy no longer lets agents ask a person, their grants are not usable either.
        """
        agent, keyid = identity.agent, identity.keyid
        if agent is None or keyid is None or not may_grant(site, action):
            return None
        taken = await self._grants.use_grant(site=site.number, agent=agent, keyid=keyid, action=action, now_ms=now_ms)
        return None if taken is None else taken.id

    async def _completed(self, handoff: StoredHandoff, site: SiteView, *, now_ms: int) -> HandoffAnswer:
        # A receipt that expired unused is issued again under the same ID, so that only one can be spent.
        over_ms = now_ms - self._receipts.lifetime_ms
        issued = await self._store.issue_receipt(handoff.id, now_ms=now_ms, over_ms=over_ms)
        if issued is None or issued.issued_ms is None:
            raise Refused("handoff_expired")
        grant = Grant(
            site_key=site.site_key,
            kind=ReceiptKind.HANDOFF,
            action=handoff.action,
            subject=handoff.agent,
            decision_id=handoff.decision_id,
            keyid=handoff.keyid,
            submission_id=handoff.submission_id,
            content_digest=handoff.content_digest,
        )
        receipt = self._receipts.issue(grant, now_ms=issued.issued_ms, receipt_id=handoff.receipt_id)
        return HandoffAnswer(
            id=handoff.id,
            status=HandoffStatus.COMPLETED,
            expires_at=Moment(handoff.expires_ms),
            receipt=receipt.receipt,
            receipt_expires_at=receipt.expires_at,
        )

    async def _is_spent(self, site: SiteView, handoff: StoredHandoff) -> bool:
        return await self._redemptions.find_redemption(site.id, handoff.receipt_id) is not None

    async def _spend(self, site: SiteView, handoff: StoredHandoff, spent: Redemption) -> bool:
        kept_until_ms = handoff.expires_ms + self._receipts.lifetime_ms + KEPT_MS
        return await self._redemptions.spend(
            site.id, handoff.receipt_id, spent, issued_ms=handoff.created_ms, kept_until_ms=kept_until_ms
        )

    def _shown(self, handoff: StoredHandoff, site: SiteView, now_ms: int) -> Handoff:
        return Handoff(
            id=handoff.id,
            status=handoff.status,
            url=f"{self._base_url}/handoff/{handoff.id}",
            user_code=handoff.user_code,
            poll_url=f"{self._base_url}/v1/handoff/{handoff.id}",
            interval=HANDOFF_POLL_INTERVAL_S,
            expires_in=max(0, (handoff.expires_ms - now_ms) // SECOND_MS),
            expires_at=Moment(handoff.expires_ms),
            site_key=site.site_key,
            action=handoff.action,
        )


def is_of(handoff: StoredHandoff, identity: Identity, site: SiteView) -> bool:
    """Return whether a verified agent received this handoff, at this site."""
    return handoff.agent == identity.agent and handoff.site == site.number


def new_user_code() -> str:
    """Return a code that a person compares at a glance, such as `WDJB-MJHT`."""
    code = "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))
    return f"{code[:4]}-{code[4:]}"


def _new_handoff(
    site: SiteView, action: str, identity: Identity, request: HandoffRequest, *, now_ms: int
) -> StoredHandoff:
    agent, keyid = identity.agent, identity.keyid
    if agent is None or keyid is None:
        raise ValueError("only a verified agent gets a handoff")
    asked = (site.id, agent, action, request.submission_id, request.content_digest)
    return StoredHandoff(
        id=new_handoff_id(),
        # None of the parts can hold a line break, so no two requests have the same text.
        request_key=hashlib.sha256("\n".join(asked).encode()).digest(),
        site=site.number,
        agent=agent,
        keyid=keyid,
        action=action,
        submission_id=request.submission_id,
        content_digest=request.content_digest,
        decision_id=request.decision_id,
        user_code=new_user_code(),
        summary=summarize(request.content),
        receipt_id=new_receipt_id(),
        created_ms=now_ms,
        expires_ms=now_ms + LIFETIME_MS,
    )
