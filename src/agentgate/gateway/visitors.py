"""Visitor: an address at one site, with its pseudonym, its rate windows and the clearance that it showed last."""

from agentgate.browser_check.tokens.clearance import LONGEST, ClearanceHolder
from agentgate.decision.rates.windows import NO_WINDOW, Counted
from agentgate.decision.signals.detectors.address import find_address
from agentgate.decision.threat_data.intel import Intel
from agentgate.decision.visitor import Visitors
from agentgate.gateway.receipts import CLEARED, CLEARED_PROGRAM, Receipts, Shown, cookies_of
from agentgate.gateway.request.original_request import read_address
from agentgate.gateway.site_snapshot import SiteSnapshot
from agentgate.sites.rules.evaluate import Traits

# In no header.
_NO_PAIR = b"\n"
# User-Agent and TLS fingerprint (JA4) of a request, and whether it is a program by its own name.
Browser = tuple[bytes | None, str | None, bool]
_NO_BROWSER: Browser = (None, None, False)
# Turns the number of an address into the number that its clearances are counted under.
_CLEARED = 0x9E37_79B9_7F4A_7C15


class Visitor(Counted, eq=False, gc=False, kw_only=True):
    """An address at one site. `Counted` holds its rate windows."""

    # In its one spelling.
    address: str
    labels: tuple[str, ...]
    # Results of the site's rules and lists on the address; None where no rule or list reads addresses.
    traits: Traits | None = None
    # The clearances of the last request, their origin, their state, and until when that holds. Not the whole `Cookie`
    # header, which other cookies make long and different on each page.
    clearances: tuple[bytes, ...] | None = None
    # With a single clearance instead: the cookie between its separators.
    pair: bytes = _NO_PAIR
    origin: str = ""
    shown: Shown | None = None
    until_ms: int = 0
    # The browser that showed them.
    browser: Browser = _NO_BROWSER
    # The count of requests with these cookies: all valid clearances of an address share one. None: the visitor's own
    # count. Not a reference to itself, with which an evicted visitor would remain.
    cleared: Counted | None = None

    def read_cookies(
        self, cookies: bytes, browser: Browser, *, site: SiteSnapshot, origin: str, receipts: Receipts, now_ms: int
    ) -> None:
        """Find the clearances in a `Cookie` header, and verify them unless the last request sent the same."""
        is_current = browser == self.browser and origin == self.origin and now_ms < self.until_ms
        if is_current:
            framed = b"; " + cookies + b";"
            # Not `in`, which tries to read a number first and fails.
            if framed.find(self.pair) >= 0 and framed.count(site.cookie_name) == 1:
                return
        clearances = cookies_of(cookies, site.cookie_name)
        if is_current and clearances == self.clearances:
            return
        user_agent, ja4, is_program = browser
        holder = ClearanceHolder(self.address, user_agent, ja4)
        self.shown, self.until_ms, valid = receipts.clearance(
            clearances, site=site.view, origin=origin, holder=holder, now_ms=now_ms
        )
        if valid is not None and is_program:
            self.shown, valid = CLEARED_PROGRAM, None
        self.cleared = None if valid is None else _count_clearances(self, valid, user_agent)
        self.clearances, self.pair, self.origin, self.browser = None, _NO_PAIR, origin, browser
        if len(user_agent or b"") + len(ja4 or "") > LONGEST:
            # So that long headers do not fill the cache.
            self.browser, self.until_ms = _NO_BROWSER, 0
        if len(clearances) == 1 and len(clearances[0]) <= LONGEST:
            self.pair = b"; %b=%b;" % (site.cookie_name, clearances[0])
        elif all(len(each) <= LONGEST for each in clearances):
            # Longer clearances are rejected unread, so that they do not fill the cache.
            self.clearances = clearances


def _count_clearances(visitor: Visitor, clearance_id: str, user_agent: bytes | None) -> Counted:
    return Counted(
        *(visitor.site, visitor.number ^ _CLEARED, visitor.address, NO_WINDOW),
        is_cleared=True,
        # A visitor gets a low clearance for waiting, without a check. It never raises the limit.
        clearance=hash(clearance_id) if visitor.shown is CLEARED else 0,
        clearance_id=clearance_id,
        user_agent=hash(user_agent),
    )


def read_visitor(site: SiteSnapshot, text: bytes | None, visitors: Visitors, intel: Intel) -> Visitor:
    address = read_address(text or b"")
    number = visitors.find(site.view.site_key, address)
    matcher = site.view.matcher
    traits = None if matcher is None else matcher.of_client(address, number)
    labels = find_address(address, intel).labels
    return Visitor(site.view.number, number, address, NO_WINDOW, address=address, labels=labels, traits=traits)
