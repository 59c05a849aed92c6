"""The gateway check: one function from a proxy's request to the response, in the contract's order.

Credential, original request, client, rates, token or clearance, then the decision: a cached one, or a new one that is
then cached. Requests of agents and requests with tokens leave the function with everything found so far, because they
need I/O: to verify a signature, to redeem a token, to charge an agent (`waiting_check.py`). The request is counted and
an event recorded in every case, except if no site is known for the request.
"""

import re
from collections.abc import Awaitable, Mapping
from time import monotonic, perf_counter_ns

import structlog
from msgspec.structs import replace

from agentgate.agents.policy_checker import AgentPolicyChecker
from agentgate.decision.decider import Decider
from agentgate.decision.rates.windows import MOST_RESERVED, Counted
from agentgate.decision.signals.facts import VISITOR_HIGH, Rates
from agentgate.decision.signals.request_class import RequestClass
from agentgate.events.correlation import read_correlation
from agentgate.events.decision_ids import encode_id
from agentgate.events.records import CounterName
from agentgate.gateway.answers import Answers
from agentgate.gateway.decisions import CachedDecision, DecisionKey, ExceededKey, decide_check
from agentgate.gateway.denials import DenialWriter, SealedDenials
from agentgate.gateway.event_log import GatewayEventLog
from agentgate.gateway.header_fingerprints import (
    LONGEST_KEY,
    UNFIT,
    HeaderFingerprint,
    HeaderFingerprints,
    HeaderSet,
    HeaderSetKey,
    key_of,
    read_parts,
)
from agentgate.gateway.noted_requests import NotedRequests
from agentgate.gateway.pages import Pages, SitePage
from agentgate.gateway.pending_check import PendingCheck, original_of
from agentgate.gateway.receipts import Receipts, Shown, fit
from agentgate.gateway.request.described_request import (
    DENIAL,
    HOST,
    REQUEST_HEADER,
    CheckForm,
    as_specified,
    describe,
    read_form,
    secret_of,
)
from agentgate.gateway.request.fleet_requests import URL, UnknownHost, read_fleet_request, read_malformed
from agentgate.gateway.request.original_request import Malformed
from agentgate.gateway.route_protection import MethodClaims
from agentgate.gateway.rule_limits import COUNTED, LimitCounter, count_part, open_path, with_exceeded
from agentgate.gateway.site_snapshot import HeaderTraits, SiteSnapshot
from agentgate.gateway.snapshot import Snapshot, current_keys
from agentgate.gateway.undecided import UndecidedAnswers
from agentgate.gateway.visitors import Visitor, read_visitor
from agentgate.gateway.waiting_check import WaitingChecks
from agentgate.http.bearer_secret import bearer_secret
from agentgate.http.connection.fast_functions import HotRequest, Reply, Taker
from agentgate.http.connection.head import Cut, cut, lines, split, with_key
from agentgate.http.connection.loop_budget import LoopBudget
from agentgate.lib.clock import DAY_MS, Clock
from agentgate.lib.compiled import MODULES, is_stale, load_compiled
from agentgate.sites.credentials.fleets import FleetCaller
from agentgate.sites.directory import SiteCaller, SiteDirectory, SiteView
from agentgate.sites.rules.evaluate import NO_TRAITS, Traits

# When the configuration was not read for this long, the cached one is too old to decide by.
STALE_S = 15 * 60.0
# No longer URL is cached: visitors choose it.
LONGEST_URL = 512


_ORIGIN = re.compile(rb"https?://[a-z0-9.:\[\]-]+", re.ASCII)
_DESCRIBED = b"GET /v1/gateway/check?respond="
Fields = Mapping[bytes, bytes]
# From here on a navigation may be over the limit, with what the pages before it still load.
NEAR_LIMIT = VISITOR_HIGH - MOST_RESERVED

_NO_FIELDS: Fields = {}
_SEAL = b"\r\nx-service-denial: "


class GatewayCheck:
    """Handles `GET /v1/gateway/check`."""

    def __init__(
        self,
        sites: SiteDirectory,
        *,
        decider: Decider,
        receipts: Receipts,
        event_log: GatewayEventLog,
        clock: Clock,
        policy_checker: AgentPolicyChecker | None = None,
    ) -> None:
        self._sites = sites
        self._decider = decider
        self._count = decider.count_again
        self._earn = decider.earn
        self._receipts = receipts
        self._event_log = event_log
        self._noted, self._decoys = NotedRequests(event_log), event_log.decoys
        self._clock = clock
        self._answers = Answers()
        self._undecided = UndecidedAnswers(self._answers)
        self._limits = LimitCounter(decider.is_over)
        self.denials = DenialWriter(self._answers, SealedDenials(receipts.keyring))
        self._waiting = WaitingChecks(
            policy_checker, receipts, event_log, answers=self._answers, denials=self.denials, decider=decider
        )
        self._generation = -1
        # Whether too much time has passed since the configuration could last be read; looked at in each turn.
        self._is_stale_now = False
        self._take(Snapshot(decider.intel.current, decider.models.view, receipts.keyring))
        # The event loop's budget. A check that waited too long for it is shed.
        self.budget = LoopBudget()
        self._refused_unseen = 0
        # How often something was worked out because it was not cached, by cache.
        self.misses = {"headers": 0, "fingerprints": 0, "pages": 0, "visitors": 0, "decisions": 0}
        # The head that is being checked, as it arrived.
        self._data = b""
        # Checks a request from its raw headers; returns None if only the parser may read them.
        self.take: Taker = _compiled_take(self) or self.take_plainly

    @property
    def shed(self) -> int:
        """Return the number of checks shed under load."""
        return self._refused_unseen + self._waiting.shed

    # From bytes, and from a request that the parser read.

    def take_plainly(self, data: bytes) -> Reply | Awaitable[Reply] | None:
        """Check a request from its raw headers, in Python."""
        found = cut(data)
        if found is None:
            return None
        if not self.budget.is_refreshed:
            self._take_over()
        if found[5] is not None and data.startswith(_DESCRIBED):
            described = as_specified(found)
            if described is None:
                return None
            found = described
        headers = self._snapshot.header_sets.young.get(found[0]) or self._find_headers(found[0], data)
        if headers is UNFIT:
            return None
        self._data = data
        fingerprint = self._find_fingerprint(headers, found[9], found[10])
        fields = self._split(fingerprint.kind.form) if fingerprint.needs_fields else _NO_FIELDS
        return self._check(fingerprint, found, fields)

    def __call__(self, request: HotRequest) -> Reply | Awaitable[Reply]:
        """Check a request that the parser read."""
        self._take_over()
        fields, form = request.headers, read_form(request.query)
        if form.is_described:
            try:
                fields = describe(fields, form, request.body)
            except Malformed as problem:
                return self._answer_malformed(fields, form, problem)
        target = request.path + b"?" + request.query if request.query else request.path
        key = key_of(target, fields)
        headers = self._snapshot.header_sets.get(key)
        if headers is None:
            is_cached = sum(len(value) for _, value in key) <= LONGEST_KEY
            headers = self._keep_headers(key, self._fingerprints.read_fields(target, fields, is_cached=is_cached))
        given = with_key(b"", fields)
        fingerprint = self._find_fingerprint(headers, given[9], given[10])
        return self._check(fingerprint, given, fields)

    def _answer_malformed(self, fields: Fields, form: CheckForm, problem: Malformed) -> Reply:
        secret = secret_of(fields, form)
        caller = None if secret is None else self._sites.find_caller(secret, now_ms=self._clock.now_ms())
        fleet = None if secret is None or caller is not None else self._sites.fleets.find_caller(secret)
        if fleet is not None and not self._is_stale_now:
            try:
                caller = read_malformed(self._sites, fleet, fields.get(REQUEST_HEADER)).caller
            except UnknownHost as unknown:
                return self._undecided.of_unknown_host(form, unknown)
        if caller is None:
            return self._undecided.of_unknown_caller(form, is_stale=self._is_stale_now)
        return self._undecided.of_malformed(form, caller.site, problem)

    # The check.

    def _check(self, fingerprint: HeaderFingerprint, given: Cut, fields: Fields) -> Reply | Awaitable[Reply]:
        """Check a request by the active configuration: the response to a change is sent once the change is active."""
        now_ms, form = self._clock.now_ms(), fingerprint.kind.form
        secret = given[2]
        if secret is None and given[1] is not None and not form.respond:
            secret = bearer_secret(given[1])
        caller = None if secret is None else self._sites.find_caller(secret, now_ms=now_ms)
        if caller is None:
            fleet = None if secret is None else self._sites.fleets.find_caller(secret)
            if fleet is not None and not self._is_stale_now:
                return self._check_in_fleet(fleet, fingerprint, given, fields, now_ms)
            self._note_unknown_secret(given[3], now_ms)
            return self._undecided.of_unknown_caller(form, is_stale=self._is_stale_now)
        return self._check_of(caller, fingerprint, given, fields, now_ms)

    def _check_in_fleet(
        self, fleet: FleetCaller, fingerprint: HeaderFingerprint, given: Cut, fields: Fields, now_ms: int
    ) -> Reply | Awaitable[Reply]:
        """Check a request of a hosting provider's proxy as the proxy of its site would have described it."""
        form = fingerprint.kind.form
        try:
            asked = read_fleet_request(self._sites, fleet, given[3] if given[3] is not None else fields.get(URL))
        except UnknownHost as problem:
            return self._undecided.of_unknown_host(form, problem)
        if fields or form.respond != DENIAL:
            fields = asked.rewrite(fields or self._split(form))
        return self._check_of(asked.caller, fingerprint, (*given[:3], asked.url, *given[4:]), fields, now_ms)

    def _check_of(
        self, caller: SiteCaller, fingerprint: HeaderFingerprint, given: Cut, fields: Fields, now_ms: int
    ) -> Reply | Awaitable[Reply]:
        form = fingerprint.kind.form
        self._event_log.note_call(caller, now_ms)
        if self.budget.is_refusing:
            self._refused_unseen += 1
            return self._undecided.of_unseen(form, caller.site)
        if caller.site.broken or self._is_stale_now:
            return self._undecided.of_unseen(form, caller.site)
        try:
            return self._judge(fingerprint, caller, given, fields, now_ms)
        except Exception as problem:  # noqa: BLE001 - an answer is due either way
            return self._answer_undecided(form, caller.site, problem)

    def _answer_undecided(self, form: CheckForm, site: SiteView, problem: Exception) -> Reply:
        """Return the response to a request that is malformed or could not be decided."""
        if isinstance(problem, Malformed):
            return self._undecided.of_malformed(form, site, problem)
        # After any error, enforce mode fails closed and monitor mode fails open.
        structlog.get_logger().error("a check could not be decided", site=site.site_key, exc_info=problem)
        return self._undecided.of_failed(form, site)

    def _note_unknown_secret(self, url: bytes | None, now_ms: int) -> None:
        """Count the check for the site of the described origin, whose health shows it."""
        match = _ORIGIN.match(url or b"")
        site = None if match is None else self._sites.find_by_origin(match[0].decode())
        if site is not None and not self._is_stale_now:
            self._event_log.count(site, CounterName.CREDENTIAL_UNKNOWN, now_ms)

    def _judge(
        self, fingerprint: HeaderFingerprint, caller: SiteCaller, given: Cut, fields: Fields, now_ms: int
    ) -> Reply | Awaitable[Reply]:
        snapshot, view = self._snapshot, caller.site
        site = snapshot.sites.get(view.number)
        if site is None or site.view is not view:
            site = snapshot.read_site(view, self._receipts.clearances)
        _, _, _, url, address, _, cookie, request_id, trace, _, _ = given
        methods, url, address = (fingerprint.methods, url, address) if fingerprint.is_complete else read_parts(fields)
        page = snapshot.pages.young.get((site, methods, url)) or self._find_page(site, methods, url)
        visitor = snapshot.visitors.young.get((site, address)) or self._find_visitor(site, address)
        started_ns = perf_counter_ns()
        # The clearance or token that the request shows.
        shown: Shown | None = None
        cookie_count, kind = 0, page.kind
        counted: Counted = visitor
        if cookie is not None:
            cookie_count = cookie.count(b";") + 1
            browser, receipts = (given[9], fingerprint.ja4, fingerprint.is_program), self._receipts
            visitor.read_cookies(cookie, browser, site=site, origin=kind.origin, receipts=receipts, now_ms=now_ms)
            shown, counted = visitor.shown, visitor.cleared or visitor
        # The rates: of pages, forms and calls, or of subresources.
        if fingerprint.is_counted:
            (visitor_rate, network_rate), parts = self._count(counted, now_ms), COUNTED
            is_near = visitor_rate >= NEAR_LIMIT and fingerprint.kind.request_class is RequestClass.PAGE
            visitor_rate = self._decider.count_page(counted, visitor_rate, now_ms) if is_near else visitor_rate
        else:
            visitor_rate, network_rate, parts = count_part(self._decider, fingerprint, page, counted, now_ms)
        if kind.open_path is not None:
            page = open_path(self._decider, fingerprint, page, visitor, now_ms)
            kind = page.kind
        labels = visitor.labels if not site.decoys else self._read_labels(page, fingerprint, visitor, fields, now_ms)
        key: DecisionKey = (
            kind,
            fingerprint.kind,
            snapshot.cookie_ranks[cookie_count],
            labels,
            shown,
            snapshot.visitor_ranks[visitor_rate],
            snapshot.network_ranks[network_rate],
            parts,
            None
            if site.traits is None
            else self._read_traits(site.traits, (fingerprint, *given[9:]), page, visitor, fields),
        )
        # The decision: a cached one, or one that is made now.
        cached = None if fingerprint.waits else snapshot.decisions.young.get(key) or snapshot.decisions.promote(key)
        if cached is None or view.captures_features:
            rates, traits = Rates(visitor_rate, network_rate, parts), key[-1] or NO_TRAITS
            own, has_opened = _with_own_figures(fingerprint, given, view), labels is not visitor.labels
            known = (view, own, page, visitor, counted, rates, shown, cookie_count)
            pending = PendingCheck(*known, now_ms, started_ns, fields, traits, has_opened)
            if fingerprint.waits:
                self.misses["decisions"] += 1
                return self._waiting.answer(pending, snapshot.views)
            cached = self._decide(pending, key)
        cached = self._limited(cached, key, visitor, counted, now_ms) if cached.decided.limits else cached
        if cached.earns:
            self._earn(counted, fingerprint.tag, now_ms)
        if cached.may_be_suggested or view.block_feed:
            self._noted.note(
                cached, fingerprint, page.target, visitor, is_cleared=counted is not visitor, now_ms=now_ms
            )
        duration_us, correlation = (perf_counter_ns() - started_ns) // 1000, read_correlation(request_id, trace)
        decision_id = self._event_log.record_again(cached.pattern, visitor.number, duration_us, now_ms, correlation)
        if cached.is_whole:
            return cached.start, cached.middle + encode_id(decision_id) + cached.end
        return self._deny(cached, decision_id, page, visitor, fields, now_ms=now_ms)

    def _deny(
        self, cached: CachedDecision, decision_id: int, page: SitePage, visitor: Visitor, fields: Fields, *, now_ms: int
    ) -> Reply | Awaitable[Reply]:
        """Return a denial that depends on more than the cached decision."""
        if cached.denial is not None:
            denial = replace(cached.denial, decision_id=decision_id)
            original = original_of(denial.method, page, visitor)
            sealed = self.denials.sealed.seal(denial, cached.decided.site, original, now_ms)
            return cached.start, b"".join((cached.middle, encode_id(decision_id), _SEAL, sealed, cached.end))
        form = cached.decided.pending.fingerprint.kind.form
        fields = fields or self._split(form)
        pending = replace(cached.decided.pending, page=page, visitor=visitor, now_ms=now_ms, fields=fields)
        return self.denials.write(cached.decided.ruling, decision_id, pending)

    def _limited(
        self, cached: CachedDecision, key: DecisionKey, visitor: Visitor, counted: Counted, now_ms: int
    ) -> CachedDecision:
        """Count the request against rates of the site's rules; return the decision with those that it exceeds."""
        over = self._limits.exceeded(cached.decided, visitor, counted, now_ms)
        if not over:
            return cached
        exceeded = (key, over)
        found = self._snapshot.decisions.get(exceeded)
        return found or self._decide(with_exceeded(cached.decided.pending, over), exceeded)

    def _decide(self, pending: PendingCheck, key: DecisionKey | ExceededKey) -> CachedDecision:
        """Decide, and cache the decision for requests with the same key."""
        snapshot = self._snapshot
        self.misses["decisions"] += 1
        routes = [(each, fit(pending.shown, each)) for each in pending.page.kind.protections]
        made = CachedDecision(decide_check(pending, routes, snapshot.views), self._answers, self._event_log)
        if pending.page.kind.is_foreign:
            host = pending.fields.get(HOST, b"").decode("latin-1")
            self._event_log.count(pending.site, CounterName.HOST_UNKNOWN, pending.now_ms, host)
        return snapshot.decisions.put(key, made) if pending.fingerprint.is_plain else made

    # Caches that are filled on a miss.

    def _read_labels(
        self, page: SitePage, fingerprint: HeaderFingerprint, visitor: Visitor, fields: Fields, now_ms: int
    ) -> tuple[str, ...]:
        """Return the labels of the address, and one if the client opened a decoy; only of sites that have some."""
        if page.kind.is_decoy:
            self._decoys.note(page.kind, fingerprint, visitor, fields or self._split(fingerprint.kind.form))
        return self._decoys.labels_of(visitor, fingerprint.tag, now_ms)

    def _read_traits(
        self,
        traits: HeaderTraits,
        key: tuple[HeaderFingerprint, bytes | None, bytes | None],
        page: SitePage,
        visitor: Visitor,
        fields: Fields,
    ) -> Traits:
        """Return what predicates and lists say; only of sites that have some."""
        of_headers = traits.find(key)
        if of_headers is None or traits.reads_each:
            # Raw headers are not split yet, unless something in them was read for another reason.
            fields = fields or self._split(key[0].kind.form)
        if of_headers is None:
            of_headers = traits.read(key, fields)
        return traits.combine(visitor.traits or NO_TRAITS, page.kind.traits, of_headers, fields)

    def _find_headers(self, key: bytes, data: bytes) -> HeaderSet:
        found = self._snapshot.header_sets.promote(key)
        if found is None:
            is_cached = len(key) <= LONGEST_KEY
            target = data[4 : data.index(b" ", 4)]
            headers = self._fingerprints.read_lines(target, *lines(data), is_cached=is_cached)
            if headers is not UNFIT and headers.form.is_described:
                fields = split(data) or _NO_FIELDS
                # A request that `as_specified` did not rewrite still has its description outside the key.
                is_rewritten = REQUEST_HEADER in fields and data.startswith(_DESCRIBED)
                read = self._fingerprints.read_described
                headers = read(target, fields, is_cached=is_cached) if is_rewritten else UNFIT
            found = self._keep_headers(key, headers)
        return found

    def _split(self, form: CheckForm) -> Fields:
        """Return the headers of the head that is being checked as it arrived."""
        fields = split(self._data) or _NO_FIELDS
        return describe(fields, form) if form.is_described else fields

    def _keep_headers(self, key: HeaderSetKey, headers: HeaderSet) -> HeaderSet:
        self.misses["headers"] += 1
        if headers is UNFIT or headers.is_cached:
            self._snapshot.header_sets.put(key, headers)
        return headers

    def _find_fingerprint(
        self, headers: HeaderSet, user_agent: bytes | None, languages: bytes | None
    ) -> HeaderFingerprint:
        caches, fingerprints = self._fingerprints, self._snapshot.fingerprints
        key = (
            headers,
            caches.user_agents.young.get(user_agent) or caches.find_user_agent(user_agent),
            caches.languages.young.get(languages) or caches.find_languages(languages),
        )
        found = fingerprints.young.get(key) or fingerprints.promote(key)
        if found is None:
            self.misses["fingerprints"] += 1
            found = caches.make(key)
            if headers.is_cached:
                fingerprints.put(key, found)
        return found

    def _find_page(self, site: SiteSnapshot, methods: MethodClaims, url: bytes | None) -> SitePage:
        pages, key = self._snapshot.pages, (site, methods, url)
        page = pages.promote(key)
        if page is None:
            self.misses["pages"] += 1
            page = self._pages.read(site, methods, url)
            if len(url or b"") <= LONGEST_URL:
                pages.put(key, page)
        return page

    def _find_visitor(self, site: SiteSnapshot, address: bytes | None) -> Visitor:
        visitors, key = self._snapshot.visitors, (site, address)
        visitor = visitors.promote(key)
        if visitor is None:
            self.misses["visitors"] += 1
            visitor = read_visitor(site, address, self._decider.visitors, self._snapshot.intel)
            visitors.put(key, visitor)
        return visitor

    # The snapshot.

    def _take_over(self) -> None:
        """Refresh the snapshot once per event-loop iteration."""
        self._refresh()
        self.budget.is_refreshed = True

    def _refresh(self) -> None:
        """Replace the snapshot if threat data, models, keys or the day are others by now."""
        self._is_stale_now = monotonic() - self._sites.looked_s > STALE_S
        decider, keyring, snapshot = self._decider, self._receipts.keyring, self._snapshot
        if decider.intel.current is not snapshot.intel or decider.models.view is not snapshot.models:
            self._take(Snapshot(decider.intel.current, decider.models.view, keyring))
        elif self._generation != keyring.generation:
            self._generation = keyring.generation
            if current_keys(keyring) != snapshot.keys:
                self._take(Snapshot(snapshot.intel, snapshot.models, keyring))
        self._snapshot.begin_day(self._clock.now_ms() // DAY_MS)

    def _take(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._fingerprints = HeaderFingerprints(snapshot.intel, snapshot.models.reading)
        self._pages = Pages(snapshot.models.reading)
        self._generation = self._receipts.keyring.generation


def _with_own_figures(fingerprint: HeaderFingerprint, given: Cut, site: SiteView) -> HeaderFingerprint:
    """Return a fingerprint with the values of this very request if the site captures features for training."""
    return fingerprint.with_figures_of(*given[9:]) if site.captures_features else fingerprint


def _compiled_take(check: GatewayCheck) -> Taker | None:
    """Return the compiled form of `take_plainly`; None where it was not built, or not of this code."""
    module = load_compiled("gateway._check")
    if module is None:
        stale = [name for name in MODULES if is_stale(name)]
        if stale:
            structlog.get_logger().warning("compiled modules of other code are not used: build again", modules=stale)
        return None
    take: Taker = module.CompiledCheck(check, check.take_plainly).take
    return take
