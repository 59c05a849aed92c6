"""Familiar agents: an agent whose signed request was let through sends another one within the same second.

Its clock, its key, what it covers, what the site's policy says and what signals and rules made of it is kept: until the
second ends, or a site, a model, a key or the threat data change. Every request still proves that it was signed, and is
counted. Whatever else differs goes the usual way (`check.py`), which answers the same; a test holds one to the other.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from msgspec import Struct

from agentgate.events.records import Pattern
from agentgate.http.connection.fast_functions import DatelessReply, HotReply, HotRequest
from agentgate.http.connection.head_reader import KnownHead
from agentgate.http.request_guard import is_usual_value
from agentgate.lib.clock import SECOND_MS
from agentgate.lib.decision_ids import encode_id
from agentgate.lib.enums import AgentVerdict
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE
from agentgate.protection.agents.policy_checker import AgentDesk, AgentRuling
from agentgate.protection.agents.signing.signer import Signer
from agentgate.protection.gateway.agent_requests import message_of
from agentgate.protection.gateway.cache_epoch import Footing
from agentgate.protection.gateway.cached_visitors import Settled
from agentgate.protection.gateway.fast_check import FamiliarCheck, Tools
from agentgate.protection.gateway.header_fingerprints import NETWORK_STEPS, VISITOR_STEPS, Glimpse
from agentgate.protection.gateway.original_request import Original
from agentgate.protection.gateway.pending_check import Visit
from agentgate.protection.gateway.receipts import MISSING, NOTHING, TOKEN_HEADER
from agentgate.protection.gateway.route_protection import Protection, Protections
from agentgate.protection.gateway.ruling import rule, unavailable
from agentgate.protection.signals.detectors.address import view_address
from agentgate.protection.signals.detectors.user_agent import view_user_agent
from agentgate.protection.signals.facts import Rates
from agentgate.protection.signals.rates import Counted
from agentgate.protection.sites.directory import SiteCaller

URL, ADDRESS, SIGNATURE = b"x-original-url", b"x-original-address", b"signature"
# Headers that are looked at whole, each time: a token counts once, and a clearance is somebody's.
NOT_HERE = frozenset((TOKEN_HEADER, b"cookie"))

# Bounds of what is remembered; then it is forgotten.
MOST_AGENTS = 1_024
MOST_GUESTS = 20_000
MOST_PAGES, LONGEST_PAGE = 8_192, 512
MOST_SETTLED = 8_192
LONGEST_VALUES = 2_048

# The place of a page, what is known of the address, and what signals and models can tell apart of the rates.
Key = tuple[Any, ...]


class Page(Struct, frozen=True, gc=False):
    """A URL of a site, and its protection."""

    origin: str
    target: str
    path: str
    protection: Protection
    # What rules and models know of it.
    place: tuple[str, str | None, bool, int]


class Guest(Struct, frozen=True, gc=False):
    """An address from which agents come to a site."""

    address: str
    visitor: int
    counted: Counted
    # What is known of the address.
    labels: tuple[str, ...]


class Known(Struct, frozen=True):
    """An agent of the present second, at one origin of a site, and whose server asks for it."""

    caller: SiteCaller
    method: str
    origin: str
    signer: Signer
    # How the proxy wants a yes to look.
    ok: bytes
    # By action: what the desk ruled, which is that nothing stands against it. What it rules is the policy's.
    rulings: dict[str | None, AgentRuling]
    # What was settled about requests of which signals read the same.
    settled: dict[Key, Settled]
    pages: dict[bytes, Page]
    guests: dict[bytes, Guest]


class _Asked(Struct, frozen=True, gc=False):
    """A request about which nothing is settled."""

    now_ms: int
    headers: dict[bytes, bytes]
    page: Page
    guest: Guest
    rates: Rates


class Lane:
    """Which of the values that change in requests with one head are the agent's, and who came with them."""

    __slots__ = ("_place", "_signature", "address", "agents", "pick", "seen", "url")

    def __init__(self, head: KnownHead) -> None:
        names = head.names
        self.url, self.address = names.index(URL), names.index(ADDRESS)
        # Where the signature stands among the values; with an agent that sends the same one again and again, nowhere.
        self._place = names.index(SIGNATURE) if SIGNATURE in names else None
        self._signature = head.fields.get(SIGNATURE, b"")
        own = [place for place, name in enumerate(names) if name not in (URL, ADDRESS, SIGNATURE)]
        self.pick: Callable[[Sequence[bytes]], Any] = itemgetter(*own)
        self.agents: dict[Any, Known] = {}
        # Who came once: most agents do not come twice in a second, and getting to know one takes time.
        self.seen: set[Any] = set()

    def signature_of(self, values: Sequence[bytes]) -> bytes:
        """Return the header Signature."""
        return self._signature if self._place is None else values[self._place]


class FamiliarAgents:
    """Answers for agents whose earlier request of the same second was let through."""

    def __init__(self, tools: Tools, desk: AgentDesk, times: FamiliarCheck) -> None:
        self._tools = tools
        self._desk = desk
        self._times = times
        self._clock = tools.clock
        self._journal = tools.journal
        self._protections = Protections()
        # Its own: each forgets when it is asked next.
        self._footing = Footing(tools.sites, tools.decider, tools.receipts.keyring)
        self._second = 0
        self.lanes: dict[KnownHead, Lane] = {}
        self._forget()

    def _forget(self) -> None:
        self._footing.renew()
        # What the models can tell apart of each figure.
        ranks_of = self._footing.models.reading.ranks_of
        self._lengths = ranks_of("target_length")
        self._visitors, self._networks = ranks_of("rate_visitor"), ranks_of("rate_network")
        self.lanes.clear()
        self._agent_count = self._guest_count = self._page_count = self._settled_count = 0
        self._guests: dict[int, dict[bytes, Guest]] = {}
        self._pages: dict[tuple[int, str], dict[bytes, Page]] = {}
        # By all that signals read of an agent's requests.
        self._settled: dict[tuple[Any, ...], dict[Key, Settled]] = {}

    def _refresh(self, now_ms: int) -> None:
        """Forget what is over."""
        if self._footing.has_changed():
            self._forget()
        if now_ms // SECOND_MS != self._second or self._agent_count >= MOST_AGENTS:
            self._second, self._agent_count = now_ms // SECOND_MS, 0
            self.lanes.clear()

    def answer(self, head: KnownHead, values: Sequence[bytes]) -> DatelessReply | HotReply | None:
        """Answer, or return None and have done nothing."""
        now_ms = self._clock.now_ms()
        self._refresh(now_ms)
        lane = self.lanes.get(head)
        agent = None if lane is None else lane.agents.get(lane.pick(values))
        if lane is None or agent is None or not self._tools.sites.is_settled or self._times.is_stale():
            return None
        url, address, caller = values[lane.url], values[lane.address], agent.caller
        page = agent.pages.get(url) or self._new_page(agent, url)
        guest = agent.guests.get(address) or self._new_guest(agent, address)
        signature = agent.signer.read(lane.signature_of(values))
        if page is None or guest is None or signature is None or page.origin != agent.origin:
            return None
        action = page.protection.action
        ruling = agent.rulings.get(action)
        if ruling is None or not caller.is_valid(now_ms):
            return None
        self._journal.note_call(caller, now_ms)
        if self._times.is_late():
            return self._tools.answers.write(unavailable(caller.site), None, ok=agent.ok)
        visitor_rate, network_rate = self._tools.decider.count_again(guest.counted, now_ms)
        is_signed = agent.signer.has_signed(page.target, signature)
        found = self._desk.rule_again(ruling, caller.site, action, is_signed=is_signed)
        started_ns = time.perf_counter_ns()
        key = (
            page.place,
            guest.labels,
            self._visitors[visitor_rate],
            self._networks[network_rate],
            bisect_right(VISITOR_STEPS, visitor_rate),
            bisect_right(NETWORK_STEPS, network_rate),
        )
        settled = agent.settled.get(key)
        if settled is None or found is not ruling or visitor_rate > GATEWAY_REQUESTS_PER_MINUTE:
            asked = _Asked(now_ms, head.fields_with(values), page, guest, Rates(visitor_rate, network_rate))
            visit = self._visit(agent, asked, found)
            return self._settle(agent, key if found is ruling else None, visit, found)
        duration_us = (time.perf_counter_ns() - started_ns) // 1000
        decision_id = self._journal.record_again(settled.pattern, guest.visitor, duration_us, now_ms)
        return settled.start, settled.written + encode_id(decision_id) + settled.end

    def _new_page(self, agent: Known, url: bytes) -> Page | None:
        """Return what is asked for, and remember it; None when the URL is none, or none that could be signed."""
        asked = self._tools.originals.read_url(url) if is_usual_value(url) and url.isascii() else None
        if asked is None:
            return None
        protection = self._protections.find(agent.caller.site, agent.method, asked[2])
        length = self._lengths[len(asked[1])]
        page = Page(*asked, protection, (protection.route, protection.action, protection.required, length))
        if len(url) <= LONGEST_PAGE:
            self._page_count += 1
            if self._page_count > MOST_PAGES:
                self._page_count = 0
                for pages in self._pages.values():
                    pages.clear()
            agent.pages[url] = page
        return page

    def _new_guest(self, agent: Known, address: bytes) -> Guest | None:
        """Return who comes from an address; None when it is none."""
        found = self._tools.originals.read_address(address) if is_usual_value(address) else ""
        if not found:
            return None
        site, decider = agent.caller.site, self._tools.decider
        visitor = decider.visitors.find(site.site_key, found)
        labels = view_address(found, decider.intel.current).labels
        guest = Guest(found, visitor, Counted(site.number, visitor, found), labels)
        self._guest_count += 1
        if self._guest_count > MOST_GUESTS:
            self._guest_count = 0
            for guests in self._guests.values():
                guests.clear()
        agent.guests[address] = guest
        return guest

    def _visit(self, agent: Known, asked: _Asked, found: AgentRuling) -> Visit:
        """Decide the usual way about a request of a familiar agent."""
        started_ns, heads, page, guest = time.perf_counter_ns(), self._tools.heads, asked.page, asked.guest
        site, protection = agent.caller.site, page.protection
        route, action = protection.route, protection.action
        shown = MISSING if protection.required else NOTHING
        original = Original(agent.method, page.origin, page.target, page.path, guest.address)
        glimpse = Glimpse(
            asked.now_ms,
            agent.method,
            page.target,
            guest.address,
            asked.headers,
            route,
            action,
            asked.rates,
            shown.states,
            heads.shape_of(asked.headers),
            found.facts,
        )
        decision = self._tools.decider.decide_observed(
            heads.observe(glimpse), site, route=route, action=action, started_ns=started_ns
        )
        return Visit(site, original, protection, shown, glimpse, guest.visitor, decision)

    def _settle(self, agent: Known, key: Key | None, visit: Visit, found: AgentRuling) -> HotReply:
        """Answer, and remember what such requests are answered; without a key, only answer."""
        answers, journal = self._tools.answers, self._journal
        ruling = rule(visit, found)
        status = answers.status_of(ruling)
        prepared = answers.prepare(ruling, ok=agent.ok)
        if key is not None and prepared is not None and visit.glimpse.rates.visitor <= GATEWAY_REQUESTS_PER_MINUTE:
            self._settled_count += 1
            if self._settled_count > MOST_SETTLED:
                self._settled_count = 0
                # Agents hold theirs, so these are emptied and not replaced.
                for settled in self._settled.values():
                    settled.clear()
            agent.settled[key] = Settled(*prepared, Pattern(journal.event_of(visit, ruling, status, 0)))
        return answers.write(ruling, journal.record(visit, ruling, status), ok=agent.ok)

    def meet(self, visit: Visit, caller: SiteCaller, request: HotRequest, ruling: AgentRuling) -> None:
        """Remember the agent of a request that went the usual way, if another one like it can go this way."""
        head, glimpse = request.known, visit.glimpse
        if head is None or ruling.identity.verdict is not AgentVerdict.VERIFIED:
            return
        self._refresh(glimpse.now_ms)
        if not self._can_recur(head, request, visit):
            return
        lane = self.lanes.get(head)
        if lane is None:
            lane = self.lanes[head] = Lane(head)
            self._agent_count += 1
        key, action = lane.pick(request.values), visit.protection.action
        if key not in lane.seen:
            lane.seen.add(key)
            self._agent_count += 1
            return
        message = message_of(glimpse.headers, visit.original)
        signer = self._desk.signer_of(message, visit.site, ruling, action=action, now_ms=glimpse.now_ms)
        if signer is None:
            return
        known = lane.agents.get(key)
        if known is None or known.origin != visit.original.origin:
            known = lane.agents[key] = self._known(visit, caller, head, signer)
        known.rulings[action] = ruling

    def _known(self, visit: Visit, caller: SiteCaller, head: KnownHead, signer: Signer) -> Known:
        glimpse, facts, site = visit.glimpse, visit.glimpse.agent, visit.site
        read = () if glimpse.shape.pick is None else glimpse.shape.pick(glimpse.headers)
        about = None if facts is None else (facts.agent, facts.purposes)
        ok = head.target[2]
        if len(self._settled) >= MOST_AGENTS:
            self._forget()
        return Known(
            caller,
            glimpse.method,
            visit.original.origin,
            signer,
            ok,
            {},
            self._settled.setdefault((glimpse.shape, ok, site.number, glimpse.method, read, about), {}),
            self._pages.setdefault((site.number, glimpse.method), {}),
            self._guests.setdefault(site.number, {}),
        )

    def _can_recur(self, head: KnownHead, request: HotRequest, visit: Visit) -> bool:
        """Say whether requests like this one can be told apart by the few values of its head that change."""
        shape, names = visit.glimpse.shape, head.names
        if (
            shape.pick is None
            or shape.has_override
            or visit.site.captures_features
            or URL not in names
            or ADDRESS not in names
            # There must be something to know an agent's server by, as a secret is.
            or {URL, ADDRESS, SIGNATURE}.issuperset(names)
            or not NOT_HERE.isdisjoint(head.fields)
            or sum(map(len, request.values)) > LONGEST_VALUES
        ):
            return False
        claims = view_user_agent(
            visit.glimpse.headers.get(b"user-agent", b"").decode("latin-1"), self._tools.decider.intel.current
        )
        # Whether a claimed search crawler is one is found out meanwhile.
        return not claims.search
