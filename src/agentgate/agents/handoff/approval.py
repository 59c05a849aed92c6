"""Both sides of a handoff: the agent polls its state, and a person reads the request and decides about it.

How the page looks is in `page.py`. For all agents except the one that received it, a handoff does not exist.
"""

from enum import Enum
from typing import NoReturn

import msgspec
from msgspec import UNSET, Struct, UnsetType

from agentgate.agents.admission import Admission
from agentgate.agents.handoff.handoffs import Handoffs, SummaryLines, is_of, may_grant, read_summary
from agentgate.agents.handoff.repository import ChoiceInput, HandoffAnswer, StoredGrant, StoredHandoff
from agentgate.browser_check.admission import OwnPage
from agentgate.browser_check.tokens.redeem import Demand, Redeemer
from agentgate.http.address import source_of
from agentgate.http.call import Call
from agentgate.http.guards import check_same_origin
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.database import Store
from agentgate.lib.enums import AgentVerdict, HandoffStatus
from agentgate.lib.errors import Refused
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.limits import (
    HANDOFF_PAGES_PER_MINUTE_PER_ADDRESS,
    HANDOFF_POLLS_PER_MINUTE_PER_ADDRESS,
)
from agentgate.lib.moment import Moment
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.sites.directory import SiteCaller, SiteDirectory, SiteView
from agentgate.sites.repository import SiteStores

POLLS = Window("handoff-poll-address", HANDOFF_POLLS_PER_MINUTE_PER_ADDRESS, MINUTE_MS)

PAGES = Window("handoff-page-address", HANDOFF_PAGES_PER_MINUTE_PER_ADDRESS, MINUTE_MS)
# The service's own page has no credential whose use could be noted.
_NO_CREDENTIAL = ""


class Phase(Enum):
    """State of the handoff as the page shows it, with the HTTP status."""

    ASKING = ("asking", 200)
    # The person did not pass the challenge, or not in time: the handoff is still pending.
    UNCHECKED = ("unchecked", 403)
    APPROVED = ("approved", 200)
    DECLINED = ("declined", 200)
    # A decision was stored before.
    DECIDED = ("decided", 410)
    EXPIRED = ("expired", 410)
    UNKNOWN = ("unknown", 404)

    @property
    def status(self) -> int:
        return self.value[1]


class Question(Struct, frozen=True, kw_only=True):
    """The request that the person decides about."""

    handoff_id: str
    agent: str
    # The site's name for the agent, if it has one.
    agent_name: str | None
    site_name: str
    origins: tuple[str, ...]
    action: str
    content: SummaryLines
    user_code: str
    expires_at: Moment
    may_grant: bool


class HandoffView(Struct, frozen=True, kw_only=True):
    """The content of the page."""

    phase: Phase
    question: Question | None = None
    grant: StoredGrant | None = None


_UNKNOWN = HandoffView(phase=Phase.UNKNOWN)


class Approvals:
    """Shows requests to people, takes their decisions, and tells the agents of them.

    To the browser check these are pages of the service itself (OwnPages): the key of a page is the ID of its handoff.
    """

    prefix = "ho_"

    def __init__(
        self,
        handoffs: Handoffs,
        sites: SiteDirectory,
        *,
        admission: Admission,
        redeemer: Redeemer,
        store: Store[SiteStores],
        limiter: Limiter,
    ) -> None:
        self._handoffs = handoffs
        self._sites = sites
        self._admission = admission
        self._redeemer = redeemer
        self._store = store
        self._limiter = limiter

    async def poll(self, call: Call, handoff_id: str) -> HandoffAnswer:
        """Return the state of a handoff to its agent. For every other caller the handoff is unknown."""
        if not await self._limiter.count(POLLS, source_of(call.request.address)):
            raise Refused("rate_limited")
        handoff, site = await self._find(handoff_id) or _refuse_unknown()
        identity = await self._admission.identify_caller(call, site) or _refuse_unknown()
        if identity.verdict is not AgentVerdict.VERIFIED or not is_of(handoff, identity, site):
            _refuse_unknown()
        # Last, so that failed guesses are not stored. A copied poll is rejected here as a replay.
        if not await self._admission.replays.is_new(identity, unsafe=False):
            _refuse_unknown()
        return await self._handoffs.answer(handoff, site, now_ms=call.now)

    async def find_page(self, key: str, *, now_ms: int) -> OwnPage | None:
        """Return the page of a handoff that waits for a person."""
        found = await self._find(key)
        return None if found is None or _over(found[0], now_ms) is not None else OwnPage(found[1], found[0].action)

    async def show(self, call: Call, handoff_id: str) -> HandoffView:
        """Return the page's content for a person who opens it."""
        await self._limiter.require(PAGES, source_of(call.request.address))
        found = await self._find(handoff_id)
        if found is None:
            return _UNKNOWN
        handoff, site = found
        over = _over(handoff, call.now)
        return over or HandoffView(phase=Phase.ASKING, question=await self._question(handoff, site))

    async def decide(self, call: Call, handoff_id: str, body: ChoiceInput) -> HandoffView:
        """Store a person's decision. It needs a token of a check that was passed on this very page."""
        check_same_origin(call.request)
        await self._limiter.require(PAGES, source_of(call.request.address))
        found = await self._find(handoff_id)
        if found is None:
            return _UNKNOWN
        handoff, site = found
        over = _over(handoff, call.now)
        if over is not None:
            return over
        if not await self._has_passed(call, handoff, site, body.token):
            return HandoffView(phase=Phase.UNCHECKED, question=await self._question(handoff, site))
        approved = body.choice == "approve"
        decided = await self._handoffs.decide(handoff.id, approved=approved, now_ms=call.now)
        if decided is None:
            now = await self._handoffs.find(handoff.id)
            return (now and _over(now, call.now)) or _UNKNOWN
        call.log["handoff"] = decided.status.value
        if not approved:
            return HandoffView(phase=Phase.DECLINED)
        return HandoffView(phase=Phase.APPROVED, grant=await self._remember(call, decided, site, body))

    async def _find(self, handoff_id: str) -> tuple[StoredHandoff, SiteView] | None:
        handoff = await self._handoffs.find(handoff_id)
        site = None if handoff is None else self._sites.find_by_number(handoff.site)
        if handoff is None or site is None or site.disabled:
            return None
        return handoff, site

    async def _question(self, handoff: StoredHandoff, site: SiteView) -> Question:
        stored = await self._store.read.sites.find_site(site.site_key, account_id=None)
        entry = site.agent_policy.entry_for(handoff.agent)
        return Question(
            handoff_id=handoff.id,
            agent=handoff.agent,
            agent_name=None if entry is None or isinstance(entry.name, UnsetType) else entry.name,
            site_name=site.site_key if stored is None else stored.name,
            origins=tuple(sorted(site.origins)),
            action=handoff.action,
            content=read_summary(handoff.summary),
            user_code=handoff.user_code,
            expires_at=Moment(handoff.expires_ms),
            may_grant=may_grant(site, handoff.action),
        )

    async def _has_passed(self, call: Call, handoff: StoredHandoff, site: SiteView, token: str) -> bool:
        """Spend the check's token. It names the page it was given to, so it is good for no other handoff."""
        if not token:
            return False
        page = SiteCaller(msgspec.structs.replace(site, site_key=handoff.id), _NO_CREDENTIAL)
        try:
            demand = Demand(token=token, action=handoff.action, remote_address=call.request.address, is_seen=True)
            await self._redeemer.redeem(page, demand, now_ms=call.now)
        except Refused:
            return False
        return True

    async def _remember(
        self, call: Call, handoff: StoredHandoff, site: SiteView, body: ChoiceInput
    ) -> StoredGrant | None:
        if body.remember is UNSET or not may_grant(site, handoff.action):
            return None
        grant = await self._handoffs.give_grant(handoff, uses=int(body.uses), hours=int(body.hours), now_ms=call.now)
        subject = Subject(account_id=site.account_id, site_id=site.id, target=grant.id)
        detail = {
            "agent": grant.agent,
            "keyId": grant.keyid,
            "action": grant.action,
            "uses": grant.uses,
            "expiresAt": Moment(grant.expires_ms).text(),
            "handoffId": grant.handoff_id,
        }
        await self._store.change(lambda stores: record(stores, call, Action.AGENT_GRANT_CREATE, subject, detail))
        return grant


def _refuse_unknown() -> NoReturn:
    raise Refused("not_found")


def _over(handoff: StoredHandoff, now_ms: int) -> HandoffView | None:
    if handoff.status is not HandoffStatus.PENDING:
        return HandoffView(phase=Phase.DECIDED)
    return HandoffView(phase=Phase.EXPIRED) if now_ms >= handoff.expires_ms else None
