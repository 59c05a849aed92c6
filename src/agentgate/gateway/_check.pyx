# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""`GatewayCheck.take`, compiled: a check whose parts are cached, from the bytes of its headers to the response.

It holds no rule and no state. It reads and changes the same objects as the check in Python (caches, counts, budgets,
IDs), in the same order, and asks that check for each part that is not cached and for everything unusual.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.list cimport PyList_Append, PyList_GET_SIZE
from cpython.ref cimport PyObject
from libc.string cimport memchr, memcmp, memcpy

from agentgate.http.connection._head cimport LONGEST, Scan, Span, scan
from agentgate.lib._slots cimport Slot, get, put, slot_of

from time import perf_counter_ns

from agentgate.decision.rates.part_budget import MOST as MOST_PARTS, OPEN_MS, PER_PAGE, PartBudget
from agentgate.decision.rates.windows import BROWSERS_OF_A_LIMIT, Counted, RateWindows, _Window
from agentgate.decision.signals.facts import PartState, Rates
from agentgate.decision.signals.request_class import RequestClass
from agentgate.events import correlation as correlations
from agentgate.events.count_buffer import WaitingSum
from agentgate.events.decision_ids import _LAST_COUNT, EPOCH_MS, TIME_SHIFT, DecisionIds, encode_id
from agentgate.events.recorder import Recorder
from agentgate.events.records import Repeated
from agentgate.gateway import check as python_check
from agentgate.gateway.decisions import CachedDecision
from agentgate.gateway.event_log import GatewayEventLog
from agentgate.gateway.header_fingerprints import UNFIT, FingerprintKind, HeaderFingerprint
from agentgate.gateway.pages import PageKind, SitePage
from agentgate.gateway.pending_check import DecidedCheck, PendingCheck
from agentgate.gateway.request.described_request import CheckForm
from agentgate.gateway.rule_limits import COUNTED as COUNTED_PART, count_part, open_path
from agentgate.gateway.site_snapshot import SiteSnapshot
from agentgate.gateway.visitors import Visitor
from agentgate.http.bearer_secret import bearer_secret
from agentgate.http.connection.head_names import GIVEN
from agentgate.http.connection.loop_budget import LoopBudget
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.lib.clock import MINUTE_MS
from agentgate.sites.directory import SiteCaller, SiteView
from agentgate.sites.rules.evaluate import NO_TRAITS

cdef extern from *:
    const char* AGENTGATE_BUILD

# Of the sources that this module was built from.
BUILD = AGENTGATE_BUILD.decode()

cdef enum:
    # As in head_names.GIVEN.
    AUTHORIZATION = 0
    SECRET = 1
    URL = 2
    ADDRESS = 3
    DESCRIPTION = 4
    COOKIE = 5
    REQUEST_ID = 6
    TRACE = 7
    USER_AGENT = 8
    LANGUAGES = 9
    ID_LENGTH = 17
    TRACEPARENT_LENGTH = 55
    LONGEST_METHOD = 32

assert GIVEN[SECRET] == b"x-agentgate-secret" and GIVEN[DESCRIPTION] == b"x-agentgate-request"
assert GIVEN[COOKIE] == b"cookie" and GIVEN[USER_AGENT] == b"user-agent" and GIVEN[LANGUAGES] == b"accept-language"
assert len(encode_id(1)) == ID_LENGTH

cdef long long MINUTE = MINUTE_MS
cdef long long EPOCH = EPOCH_MS
cdef long long SHIFT = TIME_SHIFT
cdef long long LAST_COUNT = _LAST_COUNT
cdef long long NEAR = python_check.NEAR_LIMIT
cdef long long CROWD = BROWSERS_OF_A_LIMIT
cdef long long PARTS_OF_PAGE = PER_PAGE
cdef long long PARTS = MOST_PARTS
cdef long long OPEN = OPEN_MS
cdef Py_ssize_t LONGEST_REQUEST_ID = correlations._MOST_CHARACTERS
cdef object NAVIGATION = RequestClass.PAGE
cdef object COUNTED = COUNTED_PART
cdef object PAID = PartState.PAID
cdef object NO_FIELDS = python_check._NO_FIELDS
cdef bytes DESCRIBED = python_check._DESCRIBED
cdef object with_own_figures = python_check._with_own_figures

# What a check reads and changes of the objects in Python.
cdef Slot YOUNG = slot_of(BoundedCache, "young")
cdef Slot BUDGET_IS_REFRESHED = slot_of(LoopBudget, "is_refreshed")
cdef Slot BUDGET_IS_REFUSING = slot_of(LoopBudget, "is_refusing")
cdef Slot FINGERPRINT_KIND = slot_of(HeaderFingerprint, "kind")
cdef Slot FINGERPRINT_METHODS = slot_of(HeaderFingerprint, "methods")
cdef Slot FINGERPRINT_JA4 = slot_of(HeaderFingerprint, "ja4")
cdef Slot FINGERPRINT_IS_PROGRAM = slot_of(HeaderFingerprint, "is_program")
cdef Slot FINGERPRINT_IS_COUNTED = slot_of(HeaderFingerprint, "is_counted")
cdef Slot FINGERPRINT_NEEDS_FIELDS = slot_of(HeaderFingerprint, "needs_fields")
cdef Slot FINGERPRINT_PROGRAM = slot_of(HeaderFingerprint, "program")
cdef Slot FINGERPRINT_TAG = slot_of(HeaderFingerprint, "tag")
cdef Slot KIND_FORM = slot_of(FingerprintKind, "form")
cdef Slot KIND_REQUEST_CLASS = slot_of(FingerprintKind, "request_class")
cdef Slot FORM_RESPOND = slot_of(CheckForm, "respond")
cdef Slot CALLER_SITE = slot_of(SiteCaller, "site")
cdef Slot VIEW_NUMBER = slot_of(SiteView, "number")
cdef Slot VIEW_BROKEN = slot_of(SiteView, "broken")
cdef Slot VIEW_CAPTURES_FEATURES = slot_of(SiteView, "captures_features")
cdef Slot VIEW_BLOCK_FEED = slot_of(SiteView, "block_feed")
cdef Slot SITE_VIEW = slot_of(SiteSnapshot, "view")
cdef Slot SITE_DECOYS = slot_of(SiteSnapshot, "decoys")
cdef Slot SITE_TRAITS = slot_of(SiteSnapshot, "traits")
cdef Slot SITE_COOKIE_NAME = slot_of(SiteSnapshot, "cookie_name")
cdef Slot PAGE_KIND = slot_of(SitePage, "kind")
cdef Slot PAGE_TARGET = slot_of(SitePage, "target")
cdef Slot PAGE_KIND_ORIGIN = slot_of(PageKind, "origin")
cdef Slot PAGE_KIND_IS_FILE = slot_of(PageKind, "is_file")
cdef Slot PAGE_KIND_OPEN_PATH = slot_of(PageKind, "open_path")
cdef Slot VISITOR_LABELS = slot_of(Visitor, "labels")
cdef Slot VISITOR_BROWSER = slot_of(Visitor, "browser")
cdef Slot VISITOR_UNTIL_MS = slot_of(Visitor, "until_ms")
cdef Slot VISITOR_ORIGIN = slot_of(Visitor, "origin")
cdef Slot VISITOR_PAIR = slot_of(Visitor, "pair")
cdef Slot VISITOR_SHOWN = slot_of(Visitor, "shown")
cdef Slot VISITOR_CLEARED = slot_of(Visitor, "cleared")
cdef Slot COUNTED_NUMBER = slot_of(Counted, "number")
cdef Slot COUNTED_TURN = slot_of(Counted, "turn")
cdef Slot COUNTED_WINDOW = slot_of(Counted, "window")
cdef Slot COUNTED_NETWORK = slot_of(Counted, "network")
cdef Slot COUNTED_BUDGET = slot_of(Counted, "budget")
cdef Slot COUNTED_TAG = slot_of(Counted, "tag")
cdef Slot WINDOW_OWN = slot_of(_Window, "own")
cdef Slot WINDOW_OTHERS = slot_of(_Window, "others")
cdef Slot WINDOW_BEFORE = slot_of(_Window, "before")
cdef Slot WINDOW_ASK_AT = slot_of(_Window, "ask_at")
cdef Slot WINDOW_CROWD = slot_of(_Window, "crowd")
cdef Slot WINDOW_FILES = slot_of(_Window, "files")
cdef Slot RATES_END_MS = slot_of(RateWindows, "_end_ms")
cdef Slot RATES_FILES = slot_of(RateWindows, "_files")
cdef Slot RATES_TURNS = slot_of(RateWindows, "_turns")
cdef Slot PARTS_AT_MS = slot_of(PartBudget, "at_ms")
cdef Slot PARTS_LEFT = slot_of(PartBudget, "left")
cdef Slot PARTS_PAGE_MS = slot_of(PartBudget, "page_ms")
cdef Slot DECISION_DECIDED = slot_of(CachedDecision, "decided")
cdef Slot DECISION_EARNS = slot_of(CachedDecision, "earns")
cdef Slot DECISION_MAY_BE_SUGGESTED = slot_of(CachedDecision, "may_be_suggested")
cdef Slot DECISION_PATTERN = slot_of(CachedDecision, "pattern")
cdef Slot DECISION_IS_WHOLE = slot_of(CachedDecision, "is_whole")
cdef Slot DECISION_START = slot_of(CachedDecision, "start")
cdef Slot DECISION_MIDDLE = slot_of(CachedDecision, "middle")
cdef Slot DECISION_END = slot_of(CachedDecision, "end")
cdef Slot DECIDED_LIMITS = slot_of(DecidedCheck, "limits")
cdef Slot IDS_WORKER = slot_of(DecisionIds, "_worker")
cdef Slot IDS_LAST = slot_of(DecisionIds, "_last")
cdef Slot LOG_CALLER = slot_of(GatewayEventLog, "_caller")
cdef Slot LOG_UNTIL_MS = slot_of(GatewayEventLog, "_until_ms")
cdef Slot LOG_CALLS = slot_of(GatewayEventLog, "_calls")
cdef Slot SUM_COUNTED = slot_of(WaitingSum, "counted")
cdef Slot RECORDER_ROOM = slot_of(Recorder, "_room")
cdef Slot RECORDER_SENT = slot_of(Recorder, "sent")

cdef char DIGITS[33]
cdef bint IN_REQUEST_ID[256]
cdef bint IN_HEX[256]
memcpy(DIGITS, b"0123456789abcdefghjkmnpqrstvwxyz", 33)
for _byte in range(256):
    IN_REQUEST_ID[_byte] = bytes((_byte,)) in correlations._IN_REQUEST_IDS
    IN_HEX[_byte] = bytes((_byte,)) in b"0123456789abcdef"


cdef struct CountedRates:
    long long visitor
    long long network


cdef inline object bytes_of(Span span):
    """Return a value; None where the header did not come."""
    return None if span.start == NULL else PyBytes_FromStringAndSize(<const char*>span.start, span.length)


cdef inline object cached(object values, object key):
    """Return what a dictionary has under a key, or None."""
    cdef PyObject* found = PyDict_GetItemWithError(values, key)
    return None if found == NULL else <object>found


cdef const unsigned char* find(const unsigned char* text, Py_ssize_t length, const unsigned char* part, Py_ssize_t size) noexcept nogil:
    """Return where a part that is not empty begins in a text; NULL if it is not in it."""
    cdef const unsigned char* place
    while length >= size:
        place = <const unsigned char*>memchr(text, part[0], length - size + 1)
        if place == NULL:
            return NULL
        if memcmp(place, part, size) == 0:
            return place
        length -= place + 1 - text
        text = place + 1
    return NULL


cdef bint read_description(Scan* found) noexcept nogil:
    """Replace URL and address by the described ones, and add the method to the key, as `as_specified` does.

    False for a description that is not `METHOD ADDRESS URL` or `METHOD ADDRESS host=NAME URL` with the URL's name.
    """
    cdef const unsigned char* text = found.given[DESCRIPTION].start
    cdef const unsigned char* end = text + found.given[DESCRIPTION].length
    cdef const unsigned char* place
    cdef const unsigned char* name
    cdef Span parts[4]
    cdef Py_ssize_t count = 0, length
    while True:
        place = <const unsigned char*>memchr(text, 32, end - text)
        if place == NULL:
            place = end
        if count == 4 or place == text:
            return False
        parts[count].start = text
        parts[count].length = place - text
        count += 1
        if place == end:
            break
        text = place + 1
        if text == end:
            return False
    if count < 3 or parts[0].length > LONGEST_METHOD or found.key_length + parts[0].length + 1 > LONGEST:
        return False
    if count == 4:
        if parts[2].length < 6 or memcmp(parts[2].start, b"host=", 5) != 0:
            return False
        name = find(parts[3].start, parts[3].length, b"://", 3)
        if name == NULL:
            return False
        name += 3
        length = 0
        while name + length < parts[3].start + parts[3].length and name[length] != 47 and name[length] != 63:
            length += 1
        if length != parts[2].length - 5 or memcmp(name, parts[2].start + 5, length) != 0:
            return False
    found.given[URL] = parts[count - 1]
    found.given[ADDRESS] = parts[1]
    found.key[found.key_length] = 10
    memcpy(found.key + found.key_length + 1, parts[0].start, parts[0].length)
    found.key_length += 1 + parts[0].length
    return True


cdef bint is_trace(Span span) noexcept nogil:
    """Return whether a value is a `traceparent` as `TRACEPARENT` describes it."""
    cdef const unsigned char* text = span.start
    cdef Py_ssize_t at
    cdef bint is_named = False, has_parent = False
    if span.length != TRACEPARENT_LENGTH or memcmp(text, b"00-", 3) != 0 or text[35] != 45 or text[52] != 45:
        return False
    for at in range(3, 55):
        if at != 35 and at != 52 and not IN_HEX[text[at]]:
            return False
        if at < 35:
            is_named |= text[at] != 48
        elif 35 < at < 52:
            has_parent |= text[at] != 48
    return is_named and has_parent


cdef object correlation_of(Span request_id, Span trace):
    """Return the IDs, as `read_correlation` does."""
    cdef Py_ssize_t at
    cdef object traced = None
    if trace.start != NULL and is_trace(trace):
        traced = (<const char*>trace.start)[3:35].decode("ascii")
    if request_id.start == NULL or request_id.length > LONGEST_REQUEST_ID:
        return None if traced is None else (None, traced)
    for at in range(request_id.length):
        if not IN_REQUEST_ID[request_id.start[at]]:
            return None if traced is None else (None, traced)
    return (<const char*>request_id.start)[:request_id.length].decode("ascii"), traced


cdef bytes with_id(bytes middle, unsigned long long decision, bytes end):
    """Return the end of a response with the ID of its decision."""
    cdef Py_ssize_t length = PyBytes_GET_SIZE(middle), rest = PyBytes_GET_SIZE(end)
    cdef bytes made = PyBytes_FromStringAndSize(NULL, length + ID_LENGTH + rest)
    cdef char* text = PyBytes_AS_STRING(made)
    cdef int at
    memcpy(text, PyBytes_AS_STRING(middle), length)
    text += length
    memcpy(text, b"dec_", 4)
    for at in range(ID_LENGTH - 1, 3, -1):
        text[at] = DIGITS[decision & 31]
        decision >>= 5
    memcpy(text + ID_LENGTH, PyBytes_AS_STRING(end), rest)
    return made


cdef class CompiledCheck:
    """Takes the requests of one `GatewayCheck`."""

    cdef object _check, _sites, _find_caller, _event_log, _now_ms, _rates, _count_again, _count_page, _earn, _ids
    cdef object _recorder, _receipts, _budget, _take_plainly
    cdef list _queue
    cdef dict _wakes
    cdef bint _has_pages
    # The snapshot of the last check, and its parts, which it never replaces.
    cdef object _snapshot, _header_sets, _fingerprints, _user_agents, _languages, _pages, _visitors, _decisions
    cdef object _site_snapshots, _cookie_ranks, _visitor_ranks, _network_ranks

    def __init__(self, check, take):
        self._check = check
        # The check in Python, from the beginning.
        self._take_plainly = take
        self._sites = check._sites
        self._find_caller = check._sites.find_caller
        self._event_log = check._event_log
        self._receipts = check._receipts
        self._now_ms = check._clock.now_ms
        self._budget = check.budget
        self._rates = check._decider._rates
        self._count_again = check._count
        self._count_page = check._decider.count_page
        self._earn = check._earn
        self._ids = check._event_log._ids
        self._recorder = check._event_log._recorder
        self._queue, self._wakes = self._recorder._queue, self._recorder._wakes
        self._has_pages = self._rates._pages is not None

    cdef int _read_snapshot(self, object snapshot) except -1:
        self._header_sets, self._fingerprints = snapshot.header_sets, snapshot.fingerprints
        self._user_agents, self._languages = self._check._fingerprints.user_agents, self._check._fingerprints.languages
        self._pages, self._visitors, self._decisions = snapshot.pages, snapshot.visitors, snapshot.decisions
        self._site_snapshots, self._cookie_ranks = snapshot.sites, snapshot.cookie_ranks
        self._visitor_ranks, self._network_ranks = snapshot.visitor_ranks, snapshot.network_ranks
        self._snapshot = snapshot
        return 0

    def take(self, bytes data not None):
        """Check a request from its raw headers; return None if only the parser may read them."""
        cdef Scan found
        cdef object check = self._check, sites = self._sites
        cdef object snapshot, headers, agent, tongues, user_agent, languages, key, fingerprint, form, secret, caller, view
        cdef long long now_ms
        if not scan(<const unsigned char*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), &found):
            return None
        if not get(self._budget, BUDGET_IS_REFRESHED):
            check._take_over()
        if found.given[DESCRIPTION].start != NULL and data.startswith(DESCRIBED) and not read_description(&found):
            return self._take_plainly(data)
        snapshot = check._snapshot
        if snapshot is not self._snapshot:
            self._read_snapshot(snapshot)
        key = PyBytes_FromStringAndSize(<const char*>found.key, found.key_length)
        headers = cached(get(self._header_sets, YOUNG), key)
        if headers is None:
            headers = check._find_headers(key, data)
        if headers is UNFIT:
            return None
        agent, tongues = bytes_of(found.given[USER_AGENT]), bytes_of(found.given[LANGUAGES])
        user_agent = cached(get(self._user_agents, YOUNG), agent)
        if user_agent is None:
            user_agent = check._fingerprints.find_user_agent(agent)
        languages = cached(get(self._languages, YOUNG), tongues)
        if languages is None:
            languages = check._fingerprints.find_languages(tongues)
        fingerprint = cached(get(self._fingerprints, YOUNG), (headers, user_agent, languages))
        if fingerprint is None:
            fingerprint = check._find_fingerprint(headers, agent, tongues)
        form = get(get(fingerprint, FINGERPRINT_KIND), KIND_FORM)
        secret = bytes_of(found.given[SECRET])
        if secret is None and found.given[AUTHORIZATION].start != NULL and not get(form, FORM_RESPOND):
            secret = bearer_secret(bytes_of(found.given[AUTHORIZATION]))
        if get(fingerprint, FINGERPRINT_NEEDS_FIELDS) or secret is None or get(self._budget, BUDGET_IS_REFUSING):
            return self._take_plainly(data)
        now = self._now_ms()
        now_ms = now
        caller = self._find_caller(secret, now_ms=now)
        if caller is None or check._is_stale_now:
            return self._take_plainly(data)
        view = get(caller, CALLER_SITE)
        if get(view, VIEW_BROKEN):
            return self._take_plainly(data)
        # From here on the request counts, so it never starts again.
        check._data = data
        self._note_call(caller, now, now_ms)
        try:
            return self._judge(&found, view, fingerprint, agent, tongues, now, now_ms)
        except Exception as problem:
            return check._answer_undecided(form, view, problem)

    cdef int _note_call(self, object caller, object now, long long now_ms) except -1:
        """Add to a count of the same caller that is waiting; else as Python does: `GatewayEventLog.note_call`."""
        cdef object event_log = self._event_log, calls
        cdef long long counted
        if caller is get(event_log, LOG_CALLER) and now_ms < <long long>get(event_log, LOG_UNTIL_MS):
            calls = get(event_log, LOG_CALLS)
            counted = get(calls, SUM_COUNTED)
            if counted:
                put(calls, SUM_COUNTED, counted + 1)
                return 0
        event_log.note_call(caller, now)
        return 0

    cdef object _judge(self, Scan* found, object view, object fingerprint, object agent, object tongues, object now, long long now_ms):
        """Decide about a request whose caller and headers are known: `GatewayCheck._judge`."""
        cdef object check = self._check
        cdef object site, page, kind, visitor, counted, url, address, methods, shown = None, parts = COUNTED, traits
        cdef object key, made, started_ns, pending, visitor_rank, network_rank, labels
        cdef object visitor_rate, network_rate
        cdef Py_ssize_t cookie_count = 0, at
        cdef CountedRates rates
        cdef long long decision
        cdef Span cookie = found.given[COOKIE]
        site = cached(self._site_snapshots, get(view, VIEW_NUMBER))
        if site is None or get(site, SITE_VIEW) is not view:
            site = self._snapshot.read_site(view, self._receipts.clearances)
        methods = get(fingerprint, FINGERPRINT_METHODS)
        url = bytes_of(found.given[URL])
        page = cached(get(self._pages, YOUNG), (site, methods, url))
        if page is None:
            page = check._find_page(site, methods, url)
        address = bytes_of(found.given[ADDRESS])
        visitor = cached(get(self._visitors, YOUNG), (site, address))
        if visitor is None:
            visitor = check._find_visitor(site, address)
        started_ns = perf_counter_ns()
        kind = get(page, PAGE_KIND)
        counted = visitor
        if cookie.start != NULL:
            cookie_count = 1
            for at in range(cookie.length):
                cookie_count += cookie.start[at] == 59
            if not self._is_shown_again(cookie, visitor, site, kind, fingerprint, agent, now_ms):
                visitor.read_cookies(
                    bytes_of(cookie),
                    (agent, get(fingerprint, FINGERPRINT_JA4), get(fingerprint, FINGERPRINT_IS_PROGRAM)),
                    site=site,
                    origin=get(kind, PAGE_KIND_ORIGIN),
                    receipts=self._receipts,
                    now_ms=now,
                )
            shown = get(visitor, VISITOR_SHOWN)
            counted = get(visitor, VISITOR_CLEARED)
            if counted is None:
                counted = visitor
        if get(fingerprint, FINGERPRINT_IS_COUNTED):
            rates = self._count(counted, now, now_ms)
            visitor_rate, network_rate = rates.visitor, rates.network
            if rates.visitor >= NEAR and get(get(fingerprint, FINGERPRINT_KIND), KIND_REQUEST_CLASS) is NAVIGATION:
                visitor_rate = self._count_page(counted, visitor_rate, now)
        elif get(kind, PAGE_KIND_IS_FILE) and self._count_file(fingerprint, counted, now_ms, &rates):
            visitor_rate, network_rate, parts = rates.visitor, rates.network, PAID
        else:
            visitor_rate, network_rate, parts = count_part(check._decider, fingerprint, page, counted, now)
        if get(kind, PAGE_KIND_OPEN_PATH) is not None:
            page = open_path(check._decider, fingerprint, page, visitor, now)
            kind = get(page, PAGE_KIND)
        visitor_rank = cached(self._visitor_ranks, visitor_rate)
        if visitor_rank is None:
            visitor_rank = self._visitor_ranks[visitor_rate]
        network_rank = cached(self._network_ranks, network_rate)
        if network_rank is None:
            network_rank = self._network_ranks[network_rate]
        traits = get(site, SITE_TRAITS)
        if traits is not None:
            traits = check._read_traits(traits, (fingerprint, agent, tongues), page, visitor, NO_FIELDS)
        labels = get(visitor, VISITOR_LABELS)
        if get(site, SITE_DECOYS):
            labels = check._read_labels(page, fingerprint, visitor, NO_FIELDS, now)
        key = (
            kind,
            get(fingerprint, FINGERPRINT_KIND),
            self._cookie_ranks[cookie_count],
            labels,
            shown,
            visitor_rank,
            network_rank,
            parts,
            traits,
        )
        made = cached(get(self._decisions, YOUNG), key)
        if made is None:
            made = self._decisions.promote(key)
        if made is None or get(view, VIEW_CAPTURES_FEATURES):
            given = (None, None, None, None, None, None, None, None, None, agent, tongues)
            pending = PendingCheck(
                view,
                with_own_figures(fingerprint, given, view),
                page,
                visitor,
                counted,
                Rates(visitor_rate, network_rate, parts),
                shown,
                cookie_count,
                now,
                started_ns,
                NO_FIELDS,
                traits or NO_TRAITS,
                labels is not get(visitor, VISITOR_LABELS),
            )
            made = check._decide(pending, key)
        if get(get(made, DECISION_DECIDED), DECIDED_LIMITS):
            made = check._limited(made, key, visitor, counted, now)
        if get(made, DECISION_EARNS):
            self._earn_parts(counted, get(fingerprint, FINGERPRINT_TAG), now, now_ms)
        if get(made, DECISION_MAY_BE_SUGGESTED) or get(view, VIEW_BLOCK_FEED):
            check._noted.note(made, fingerprint, page.target, visitor, is_cleared=counted is not visitor, now_ms=now)
        decision = self._record(found, get(made, DECISION_PATTERN), get(visitor, COUNTED_NUMBER), (perf_counter_ns() - started_ns) // 1000, now, now_ms)
        if get(made, DECISION_IS_WHOLE):
            return get(made, DECISION_START), with_id(get(made, DECISION_MIDDLE), decision, get(made, DECISION_END))
        return check._deny(made, decision, page, visitor, NO_FIELDS, now_ms=now)

    cdef bint _is_shown_again(self, Span cookie, object visitor, object site, object kind, object fingerprint, object agent, long long now_ms) except -1:
        """Return whether the visitor's last request had the same browser, origin and clearance: `read_cookies`."""
        cdef unsigned char framed[LONGEST + 8]
        cdef const unsigned char* rest = framed
        cdef const unsigned char* end
        cdef bytes pair, name
        cdef tuple browser = get(visitor, VISITOR_BROWSER)
        cdef Py_ssize_t count = 0, size
        if now_ms >= <long long>get(visitor, VISITOR_UNTIL_MS) or browser[2] is not get(fingerprint, FINGERPRINT_IS_PROGRAM):
            return False
        if agent != browser[0] or get(fingerprint, FINGERPRINT_JA4) != browser[1] or get(kind, PAGE_KIND_ORIGIN) != get(visitor, VISITOR_ORIGIN):
            return False
        pair, name = get(visitor, VISITOR_PAIR), get(site, SITE_COOKIE_NAME)
        size = PyBytes_GET_SIZE(name)
        if cookie.length > LONGEST or not PyBytes_GET_SIZE(pair) or not size:
            return False
        memcpy(framed, b"; ", 2)
        memcpy(framed + 2, cookie.start, cookie.length)
        framed[cookie.length + 2] = 59
        end = framed + cookie.length + 3
        if find(framed, end - rest, <const unsigned char*>PyBytes_AS_STRING(pair), PyBytes_GET_SIZE(pair)) == NULL:
            return False
        while True:
            rest = find(rest, end - rest, <const unsigned char*>PyBytes_AS_STRING(name), size)
            if rest == NULL:
                return count == 1
            rest += size
            count += 1

    cdef CountedRates _count(self, object counted, object now, long long now_ms) except *:
        """Count a request in windows that are current and need nothing of other workers; else as Python does."""
        cdef CountedRates found
        cdef object rates = self._rates, window, network
        cdef long long own, others = 0, rest_ms = MINUTE - now_ms % MINUTE
        if now_ms < <long long>get(rates, RATES_END_MS) and <long long>get(counted, COUNTED_TURN) == <long long>get(rates, RATES_TURNS):
            window, network = get(counted, COUNTED_WINDOW), get(counted, COUNTED_NETWORK)
            own = <long long>get(window, WINDOW_OWN) + 1
            if network is not None:
                others = <long long>get(network, WINDOW_OWN) + 1
            if own < <long long>get(window, WINDOW_ASK_AT) and (network is None or others < <long long>get(network, WINDOW_ASK_AT)):
                put(window, WINDOW_OWN, own)
                found.visitor = found.network = self._rate(window, own, rest_ms)
                if network is not None:
                    put(network, WINDOW_OWN, others)
                    found.network = self._rate(network, others, rest_ms)
                return found
        found.visitor, found.network = self._count_again(counted, now)
        return found

    cdef bint _count_file(self, object fingerprint, object counted, long long now_ms, CountedRates* found) except -1:
        """Count a file of an open page in current windows, as `count_file` does; False leaves it to Python.

        Of requests that are not simply counted, only those of named programs may be no subresources.
        """
        cdef object rates = self._rates, budget = get(counted, COUNTED_BUDGET), window, network
        cdef long long files, page_ms, rest_ms = MINUTE - now_ms % MINUTE
        if budget is None or get(counted, COUNTED_TAG) != get(fingerprint, FINGERPRINT_TAG) or get(fingerprint, FINGERPRINT_PROGRAM) is not None:
            return False
        if now_ms >= <long long>get(rates, RATES_END_MS) or <long long>get(counted, COUNTED_TURN) != <long long>get(rates, RATES_TURNS):
            return False
        page_ms = get(budget, PARTS_PAGE_MS)
        window, network = get(counted, COUNTED_WINDOW), get(counted, COUNTED_NETWORK)
        files = <long long>get(window, WINDOW_FILES) + 1
        if page_ms <= 0 or now_ms - page_ms >= OPEN or files > <long long>get(rates, RATES_FILES) * <long long>get(window, WINDOW_CROWD) // CROWD:
            return False
        put(window, WINDOW_FILES, files)
        found.visitor = found.network = self._rate(window, get(window, WINDOW_OWN), rest_ms)
        if network is not None:
            found.network = self._rate(network, get(network, WINDOW_OWN), rest_ms)
        return True

    cdef long long _rate(self, object window, long long own, long long rest_ms) except -1:
        cdef long long rate = own + <long long>get(window, WINDOW_OTHERS) + <long long>get(window, WINDOW_BEFORE) * rest_ms // MINUTE
        rate = rate * CROWD // <long long>get(window, WINDOW_CROWD)
        return rate if rate else 1

    cdef int _earn_parts(self, object counted, object tag, object now, long long now_ms) except -1:
        """Add to a budget that is current; else as Python does."""
        cdef object budget = get(counted, COUNTED_BUDGET)
        cdef long long left
        if self._has_pages or budget is None or get(counted, COUNTED_TAG) != tag or now_ms - <long long>get(budget, PARTS_AT_MS) >= MINUTE:
            self._earn(counted, tag, now)
            return 0
        put(budget, PARTS_PAGE_MS, now)
        left = get(budget, PARTS_LEFT)
        if left < PARTS:
            put(budget, PARTS_LEFT, left + PARTS_OF_PAGE)
        return 0

    cdef long long _record(self, Scan* found, object pattern, object visitor, object duration_us, object now, long long now_ms) except -1:
        """Record a decision like an earlier one: `GatewayEventLog.record_again`."""
        cdef object ids = self._ids, recorder = self._recorder, correlation = None, worker = get(ids, IDS_WORKER), event
        cdef list queue
        cdef Py_ssize_t before
        cdef long long decision = -1, last = get(ids, IDS_LAST)
        if found.given[REQUEST_ID].start != NULL or found.given[TRACE].start != NULL:
            correlation = correlation_of(found.given[REQUEST_ID], found.given[TRACE])
        if worker is not None:
            decision = ((now_ms - EPOCH) << SHIFT) | <long long>worker
            if decision <= last:
                # Another one of the same millisecond, while there is room for it.
                decision = last + 1 if last & LAST_COUNT != LAST_COUNT else -1
        if decision < 0:
            decision = ids.next_at(now)
        else:
            put(ids, IDS_LAST, decision)
        event = Repeated(decision, visitor, duration_us, pattern, correlation)
        queue = self._queue
        before = PyList_GET_SIZE(queue)
        if before >= <Py_ssize_t>get(recorder, RECORDER_ROOM) or before in self._wakes:
            recorder.put(event)
        else:
            put(recorder, RECORDER_SENT, <long long>get(recorder, RECORDER_SENT) + 1)
            PyList_Append(queue, event)
        return decision
