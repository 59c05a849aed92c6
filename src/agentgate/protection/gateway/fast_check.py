"""The check of a familiar visitor, and what it has in common with every other check: when there is no time for one.

It answers and records what the usual way (`check.py`) would; a test holds one against the other.
"""

import time
from collections.abc import Sequence

from msgspec import Struct

from agentgate.events.records import Pattern
from agentgate.http.connection.fast_functions import DatelessReply, HotReply, HotRequest
from agentgate.http.connection.head_reader import KnownHead
from agentgate.http.connection.loop_budget import Turn
from agentgate.lib.clock import Clock
from agentgate.lib.decision_ids import encode_id
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE
from agentgate.protection.decision.decider import Decider
from agentgate.protection.gateway.answers import Answers
from agentgate.protection.gateway.cache_epoch import Footing
from agentgate.protection.gateway.cached_visitors import Familiar, Familiars, Page, Settled, can_recur, shown_by
from agentgate.protection.gateway.event_log import Journal
from agentgate.protection.gateway.header_fingerprints import Glimpse, Headers, Heads
from agentgate.protection.gateway.original_request import Original, OriginalReader
from agentgate.protection.gateway.pending_check import Visit
from agentgate.protection.gateway.receipts import MISSING, NOTHING, Receipts
from agentgate.protection.gateway.ruling import rule, unavailable
from agentgate.protection.signals.detectors.user_agent import view_user_agent
from agentgate.protection.signals.facts import Rates
from agentgate.protection.signals.rates import Counted
from agentgate.protection.sites.directory import SiteCaller, SiteDirectory

# Without a look at the configuration for this long, what is known is too old to decide by.
STALE_S = 15 * 60.0


class Tools(Struct, frozen=True):
    """What the gateway checks with."""

    sites: SiteDirectory
    decider: Decider
    receipts: Receipts
    journal: Journal
    clock: Clock
    originals: OriginalReader
    heads: Heads
    answers: Answers


class FamiliarCheck:
    """Answers for visitors who were met before."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._sites = tools.sites
        self._journal = tools.journal
        self._clock = tools.clock
        self._count_again = tools.decider.count_again
        self.turn = Turn()
        footing = Footing(tools.sites, tools.decider, tools.receipts.keyring)
        self._familiars = Familiars(footing, tools.originals)
        # Requests that were not looked at because there were too many.
        self.shed = 0

    def is_stale(self) -> bool:
        """Say whether too much time has passed since the configuration could last be read."""
        return time.monotonic() - self._sites.looked_s > STALE_S

    def is_late(self) -> bool:
        """Say whether the request in hand has waited for too long, and count it if so. It is asked once for each."""
        if not self.turn.is_refusing:
            return False
        self.shed += 1
        return True

    def _look(self) -> bool:
        """Forget what is over; False when nothing can be answered from memory now. Once in each turn of the loop."""
        if not self._sites.is_settled or self.is_stale():
            return False
        self._familiars.forget_what_is_over()
        self.turn.looked()
        return True

    def answer(self, head: KnownHead, values: Sequence[bytes]) -> DatelessReply | HotReply | None:
        """Answer, or return None and have done nothing."""
        familiars, turn = self._familiars, self.turn
        lane = familiars.lanes.get(head) if turn.has_looked or self._look() else None
        familiar = None if lane is None else lane.familiars.get(lane.pick(values))
        if lane is None or familiar is None:
            return None
        now_ms, url = self._clock.now_ms(), values[lane.url]
        page = familiar.scene.pages.get(url) or familiars.new_page(familiar, url)
        if page is None or not lane.are_usual(values):
            return None
        kind = page.kind
        if (kind is not familiar.kind or now_ms >= familiar.until_ms) and not familiars.turn_to(familiar, kind, now_ms):
            return None
        self._journal.note_call(familiar.caller, now_ms)
        if turn.is_refusing:
            self.shed += 1
            return self._tools.answers.write(unavailable(familiar.caller.site), None, ok=familiar.scene.ok)
        started_ns = time.perf_counter_ns()
        visitor_rate, network_rate = self._count_again(familiar.counted, now_ms)
        settled = familiar.outlook.get((familiars.visitor_ranks[visitor_rate], familiars.network_ranks[network_rate]))
        if settled is None or visitor_rate > GATEWAY_REQUESTS_PER_MINUTE:
            rates = Rates(visitor_rate, network_rate)
            return self._settle(
                familiar, self._visit(familiar, page, head.fields_with(values), rates=rates, now_ms=now_ms)
            )
        duration_us = (time.perf_counter_ns() - started_ns) // 1000
        decision_id = self._journal.record_again(settled.pattern, familiar.visitor, duration_us, now_ms)
        return settled.start, settled.written + encode_id(decision_id) + settled.end

    def _visit(self, familiar: Familiar, page: Page, headers: Headers, *, rates: Rates, now_ms: int) -> Visit:
        """Decide the usual way about a request of a familiar visitor."""
        started_ns, site, protection = time.perf_counter_ns(), familiar.caller.site, page.kind.protection
        shown = shown_by(familiar, page.kind, now_ms)
        assert shown is not None, "what is shown was found good a moment ago"
        route, action, heads = protection.route, protection.action, self._tools.heads
        original = Original(familiar.method, page.origin, page.target, page.path, familiar.address)
        glimpse = Glimpse(
            now_ms,
            original.method,
            original.target,
            original.address,
            headers,
            route,
            action,
            rates,
            shown.states,
            heads.shape_of(headers),
        )
        decision = self._tools.decider.decide_observed(
            heads.observe(glimpse), site, route=route, action=action, started_ns=started_ns
        )
        return Visit(site, original, protection, shown, glimpse, familiar.visitor, decision)

    def _settle(self, familiar: Familiar, visit: Visit) -> HotReply:
        """Answer, and remember what such requests are answered."""
        answers, journal, familiars, ok = self._tools.answers, self._journal, self._familiars, familiar.scene.ok
        ruling, rates = rule(visit, None), visit.glimpse.rates
        status = answers.status_of(ruling)
        prepared = answers.prepare(ruling, ok=ok)
        if prepared is not None and rates.visitor <= GATEWAY_REQUESTS_PER_MINUTE:
            pattern = Pattern(journal.event_of(visit, ruling, status, 0))
            ranks = familiars.visitor_ranks[rates.visitor], familiars.network_ranks[rates.network]
            familiars.settle(familiar.outlook, ranks, Settled(*prepared, pattern))
        return answers.write(ruling, journal.record(visit, ruling, status), ok=ok)

    def meet(self, visit: Visit, caller: SiteCaller, request: HotRequest) -> None:
        """Remember the visitor of a request that went the usual way, if another one like it can go this way."""
        head, glimpse, site = request.known, visit.glimpse, visit.site
        if head is None or site.captures_features or not can_recur(head, request.values, glimpse.shape):
            return
        headers, intel = glimpse.headers, self._tools.decider.intel.current
        claims = view_user_agent(headers.get(b"user-agent", b"").decode("latin-1"), intel)
        if visit.shown.token is not None or claims.search or claims.claimed_agent is not None:
            return
        cookies = headers.get(b"cookie")
        cleared = None if cookies is None else self._tools.receipts.cleared(cookies)
        if cleared is not None and (cleared.visitor, cleared.site_key) != (visit.visitor, site.site_key):
            return
        if cleared is None and visit.shown is not MISSING and visit.shown is not NOTHING:
            return
        familiar = Familiar(
            caller,
            glimpse.method,
            glimpse.address,
            visit.visitor,
            cleared,
            cookies.count(b";") + 1 if cookies else 0,
            Counted(site.number, visit.visitor, glimpse.address),
            self._familiars.scene_of(head, site, glimpse),
        )
        self._familiars.meet(head, request.values, familiar)
