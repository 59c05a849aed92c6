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

from time import perf_counter_ns

from agentgate.decision.rates.part_budget import MOST as MOST_PARTS, PER_PAGE
from agentgate.decision.rates.windows import BROWSERS_OF_A_LIMIT
from agentgate.decision.signals.facts import Rates
from agentgate.decision.signals.request_class import RequestClass
from agentgate.events import correlation as correlations
from agentgate.events.decision_ids import EPOCH_MS, TIME_SHIFT, encode_id
from agentgate.events.records import Repeated
from agentgate.gateway import check as python_check
from agentgate.gateway.header_fingerprints import UNFIT
from agentgate.gateway.pending_check import PendingCheck
from agentgate.gateway.rule_limits import COUNTED as COUNTED_PART, count_part, open_path
from agentgate.http.bearer_secret import bearer_secret
from agentgate.http.connection.head import GIVEN
from agentgate.lib.clock import MINUTE_MS
from agentgate.sites.rules.evaluate import NO_TRAITS

cdef extern from *:
    const char* AGENTGATE_BUILD

# Of the sources that this module was built from.
BUILD = AGENTGATE_BUILD.decode()

cdef enum:
    # As in head.GIVEN.
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
cdef long long NEAR = python_check.NEAR_LIMIT
cdef long long CROWD = BROWSERS_OF_A_LIMIT
cdef long long PARTS_OF_PAGE = PER_PAGE
cdef long long PARTS = MOST_PARTS
cdef Py_ssize_t LONGEST_REQUEST_ID = correlations._MOST_CHARACTERS
cdef object PAGE = RequestClass.PAGE
cdef object COUNTED = COUNTED_PART
cdef object NO_FIELDS = python_check._NO_FIELDS
cdef bytes DESCRIBED = python_check._DESCRIBED
cdef object with_own_figures = python_check._with_own_figures

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
    cdef bint _has_pages

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
        self._has_pages = self._rates._pages is not None

    def take(self, bytes data not None):
        """Check a request from its raw headers; return None if only the parser may read them."""
        cdef Scan found
        cdef object check = self._check, sites = self._sites
        cdef object snapshot, headers, caches, user_agent, languages, key, fingerprint, form, secret, caller, view
        cdef bytes agent_text, language_text
        cdef long long now_ms
        if not scan(<const unsigned char*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), &found):
            return None
        if not self._budget.is_refreshed:
            check._take_over()
        if found.given[DESCRIPTION].start != NULL and data.startswith(DESCRIBED) and not read_description(&found):
            return self._take_plainly(data)
        snapshot = check._snapshot
        key = PyBytes_FromStringAndSize(<const char*>found.key, found.key_length)
        headers = cached(snapshot.header_sets.young, key)
        if headers is None:
            headers = check._find_headers(key, data)
        if headers is UNFIT:
            return None
        caches = check._fingerprints
        agent, tongues = bytes_of(found.given[USER_AGENT]), bytes_of(found.given[LANGUAGES])
        user_agent = cached(caches.user_agents.young, agent)
        if user_agent is None:
            user_agent = caches.find_user_agent(agent)
        languages = cached(caches.languages.young, tongues)
        if languages is None:
            languages = caches.find_languages(tongues)
        fingerprint = cached(snapshot.fingerprints.young, (headers, user_agent, languages))
        if fingerprint is None:
            fingerprint = check._find_fingerprint(headers, agent, tongues)
        form = fingerprint.kind.form
        secret = bytes_of(found.given[SECRET])
        if secret is None and found.given[AUTHORIZATION].start != NULL and not form.respond:
            secret = bearer_secret(bytes_of(found.given[AUTHORIZATION]))
        if fingerprint.needs_fields or secret is None or not sites.is_fresh or self._budget.is_refusing:
            return self._take_plainly(data)
        now = self._now_ms()
        now_ms = now
        caller = self._find_caller(secret, now_ms=now)
        if caller is None or caller.site.broken or check._is_stale_now:
            return self._take_plainly(data)
        # From here on the request counts, so it never starts again.
        check._data = data
        self._event_log.note_call(caller, now)
        try:
            return self._judge(&found, snapshot, caller.site, fingerprint, agent, tongues, now, now_ms)
        except Exception as problem:
            return check._answer_undecided(form, caller.site, problem)

    cdef object _judge(self, Scan* found, object snapshot, object view, object fingerprint, object agent, object tongues, object now, long long now_ms):
        """Decide about a request whose caller and headers are known: `GatewayCheck._judge`."""
        cdef object check = self._check
        cdef object site, page, kind, visitor, counted, url, address, methods, shown = None, parts = COUNTED, traits = None
        cdef object key, made, started_ns, pending, visitor_rank, network_rank
        cdef object visitor_rate, network_rate
        cdef Py_ssize_t cookie_count = 0, at
        cdef CountedRates rates
        cdef long long decision
        cdef Span cookie = found.given[COOKIE]
        site = cached(snapshot.sites, view.number)
        if site is None or site.view is not view:
            site = snapshot.read_site(view, self._receipts.clearances)
        methods = fingerprint.methods
        url = bytes_of(found.given[URL])
        page = cached(snapshot.pages.young, (site, methods, url))
        if page is None:
            page = check._find_page(site, methods, url)
        address = bytes_of(found.given[ADDRESS])
        visitor = cached(snapshot.visitors.young, (site, address))
        if visitor is None:
            visitor = check._find_visitor(site, address)
        started_ns = perf_counter_ns()
        kind = page.kind
        counted = visitor
        if cookie.start != NULL:
            cookie_count = 1
            for at in range(cookie.length):
                cookie_count += cookie.start[at] == 59
            if not self._is_shown_again(cookie, visitor, site, kind, fingerprint, agent, now_ms):
                visitor.read_cookies(
                    bytes_of(cookie),
                    (agent, fingerprint.ja4, fingerprint.is_program),
                    site=site,
                    origin=kind.origin,
                    receipts=self._receipts,
                    now_ms=now,
                )
            shown = visitor.shown
            counted = visitor.cleared
            if counted is None:
                counted = visitor
        if fingerprint.is_counted:
            rates = self._count(counted, now, now_ms)
            visitor_rate, network_rate = rates.visitor, rates.network
            if rates.visitor >= NEAR and fingerprint.kind.request_class is PAGE:
                visitor_rate = self._count_page(counted, visitor_rate, now)
        else:
            visitor_rate, network_rate, parts = count_part(check._decider, fingerprint, page, counted, now)
        if kind.open_path is not None:
            page = open_path(check._decider, fingerprint, page, visitor, now)
            kind = page.kind
        visitor_rank = cached(snapshot.visitor_ranks, visitor_rate)
        if visitor_rank is None:
            visitor_rank = snapshot.visitor_ranks[visitor_rate]
        network_rank = cached(snapshot.network_ranks, network_rate)
        if network_rank is None:
            network_rank = snapshot.network_ranks[network_rate]
        if site.traits is not None:
            traits = check._read_traits(site.traits, (fingerprint, agent, tongues), page, visitor, NO_FIELDS)
        key = (
            kind,
            fingerprint.kind,
            snapshot.cookie_ranks[cookie_count],
            visitor.labels,
            shown,
            visitor_rank,
            network_rank,
            parts,
            traits,
        )
        made = cached(snapshot.decisions.young, key)
        if made is None:
            made = snapshot.decisions.promote(key)
        if made is None or view.captures_features:
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
            )
            made = check._decide(pending, key)
        if made.decided.limits:
            made = check._limited(made, key, visitor, counted, now)
        if made.earns:
            self._earn_parts(counted, fingerprint.tag, now, now_ms)
        if made.may_be_suggested or view.block_feed:
            check._noted.note(made, fingerprint, page.target, visitor, is_cleared=counted is not visitor, now_ms=now)
        decision = self._record(found, made.pattern, visitor.number, (perf_counter_ns() - started_ns) // 1000, now, now_ms)
        if made.is_whole:
            return made.start, with_id(made.middle, decision, made.end)
        return check._deny(made, decision, page, visitor, NO_FIELDS, now_ms=now)

    cdef bint _is_shown_again(self, Span cookie, object visitor, object site, object kind, object fingerprint, object agent, long long now_ms) except -1:
        """Return whether the visitor's last request had the same browser, origin and clearance: `read_cookies`."""
        cdef unsigned char framed[LONGEST + 8]
        cdef const unsigned char* rest = framed
        cdef const unsigned char* end
        cdef bytes pair, name
        cdef tuple browser = visitor.browser
        cdef Py_ssize_t count = 0, size
        if now_ms >= <long long>visitor.until_ms or browser[2] is not fingerprint.is_program:
            return False
        if agent != browser[0] or fingerprint.ja4 != browser[1] or kind.origin != visitor.origin:
            return False
        pair, name = visitor.pair, site.cookie_name
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
        if now_ms < <long long>rates._end_ms and counted.turn == rates._turns:
            window, network = counted.window, counted.network
            own = <long long>window.own + 1
            if network is not None:
                others = <long long>network.own + 1
            if own < <long long>window.ask_at and (network is None or others < <long long>network.ask_at):
                window.own = own
                found.visitor = found.network = self._rate(window, own, rest_ms)
                if network is not None:
                    network.own = others
                    found.network = self._rate(network, others, rest_ms)
                return found
        found.visitor, found.network = self._count_again(counted, now)
        return found

    cdef long long _rate(self, object window, long long own, long long rest_ms) except -1:
        cdef long long rate = own + <long long>window.others + <long long>window.before * rest_ms // MINUTE
        rate = rate * CROWD // <long long>window.crowd
        return rate if rate else 1

    cdef int _earn_parts(self, object counted, object tag, object now, long long now_ms) except -1:
        """Add to a budget that is current; else as Python does."""
        cdef object budget = counted.budget
        cdef long long left
        if self._has_pages or budget is None or counted.tag != tag or now_ms - <long long>budget.at_ms >= MINUTE:
            self._earn(counted, tag, now)
            return 0
        budget.page_ms = now
        left = budget.left
        if left < PARTS:
            budget.left = left + PARTS_OF_PAGE
        return 0

    cdef long long _record(self, Scan* found, object pattern, object visitor, object duration_us, object now, long long now_ms) except -1:
        """Record a decision like an earlier one: `GatewayEventLog.record_again`."""
        cdef object ids = self._ids, recorder = self._recorder, correlation = None, worker = ids._worker, event
        cdef list queue
        cdef Py_ssize_t before
        cdef long long decision = -1
        if found.given[REQUEST_ID].start != NULL or found.given[TRACE].start != NULL:
            correlation = correlation_of(found.given[REQUEST_ID], found.given[TRACE])
        if worker is not None:
            decision = ((now_ms - EPOCH) << SHIFT) | <long long>worker
        if decision > <long long>ids._last:
            ids._last = decision
        else:
            decision = ids.next_at(now)
        event = Repeated(decision, visitor, duration_us, pattern, correlation)
        queue = recorder._queue
        before = PyList_GET_SIZE(queue)
        if before >= <Py_ssize_t>recorder._room or before in recorder._wakes:
            recorder.put(event)
        else:
            recorder.sent += 1
            PyList_Append(queue, event)
        return decision
