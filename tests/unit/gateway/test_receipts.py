"""A clearance that a visitor showed before is worth what it would be worth when shown for the first time."""

import random

import msgspec

from agentgate.browser_check import testing_sites
from agentgate.browser_check.tokens.clearance import ClearanceHolder, Clearances
from agentgate.decision.rates.windows import NO_WINDOW
from agentgate.gateway.receipts import CLEARED, EXPIRED, MOST_CLEARANCES, Receipts, fit
from agentgate.gateway.request.original_request import Original
from agentgate.gateway.route_protection import OPEN, Protection
from agentgate.gateway.site_snapshot import SiteSnapshot
from agentgate.gateway.visitors import Visitor
from agentgate.lib.enums import ClearanceLevel
from tests.unit.browser_check.tokens.made import KEYS, NOW_MS, key, keyring

CLOSED = Protection("/members", "members", required=True, clearance=True)
HERE, THERE = "https://shop.example", "https://other.example"
ONE_SITE = next(iter(testing_sites.testing_sites().values()))
SITES = tuple(msgspec.structs.replace(ONE_SITE, site_key=name) for name in ("site_aaaaaaaa", "site_bbbbbbbb"))
PROTECTIONS = (OPEN, CLOSED, Protection("/pay", "pay", required=True, clearance=False))
LIFETIME_S = 1_800
CHROME, FIREFOX = b"Mozilla/5.0 Chrome/142.0.0.0", b"Mozilla/5.0 Firefox/140.0"


def reading(ring) -> Receipts:
    # Nothing here is spent.
    return Receipts(KEYS, Clearances(ring, LIFETIME_S), None, keyring=ring)


def inspect(receipts, cookies, *, origin=HERE, protection=CLOSED, **told):
    visitor, user_agent = told.pop("visitor", 1), told.pop("user_agent", CHROME)
    original = Original("GET", origin, "/", "/", address_of(visitor))
    usual = {"site": SITES[0], "now_ms": NOW_MS}
    return receipts.inspect({b"cookie": cookies, b"user-agent": user_agent}, original, protection, **usual | told)


def cookie(ring, *, site=SITES[0], origin=HERE, visitor=1, level=ClearanceLevel.CHECKED, now_ms=NOW_MS) -> bytes:
    issued = Clearances(ring, LIFETIME_S).issue(
        site_key=site.site_key,
        origin=origin,
        holder=ClearanceHolder(address_of(visitor), CHROME),
        level=level,
        now_ms=now_ms,
    )
    return f"{issued.name}={issued.value}".encode()


def snapshot_of(site):
    return SiteSnapshot(site, Clearances(keyring(), LIFETIME_S).cookie_name(site.site_key))


def new_visitor(number):
    address = address_of(number)
    return Visitor(1, number, address, NO_WINDOW, address=address, labels=())


def address_of(visitor):
    return f"203.0.{visitor}.9"


def test_a_clearance_opens_nothing_at_another_origin_or_for_another_visitor():
    ring = keyring()
    shown = cookie(ring)

    assert inspect(reading(ring), shown).reason is None
    assert inspect(reading(ring), shown, origin=THERE).reason == "origin_mismatch"
    assert inspect(reading(ring), shown, visitor=2).reason == "invalid_clearance"


def test_what_a_visitor_is_known_to_have_shown_is_what_would_be_found_again():
    chance, ring = random.Random(2), keyring()
    genuine = [
        cookie(ring, site=site, origin=origin, visitor=visitor, level=level)
        for site in SITES
        for origin in (HERE, THERE)
        for visitor in (1, 2)
        for level in (ClearanceLevel.LOW, ClearanceLevel.CHECKED)
    ]
    receipts, shown = reading(ring), set()
    visitors = {(site.site_key, number): new_visitor(number) for site in SITES for number in (1, 2)}
    sites = {site.site_key: snapshot_of(site) for site in SITES}
    for number in range(3_000):
        # Every other request shows one of the few receipts that were shown before, alone or with another.
        known = genuine[: 3 if number % 2 else None]
        parts = [b"session=1", *chance.sample(known, chance.choice((0, 1, 1, 1, 2))), b"theme=dark"]
        cookies = chance.choice((b"; ", b"; ", b";")).join(parts)
        cookies = cookies if chance.random() < 0.9 else cookies.replace(b"agc2.", b"agc2.A")
        site, origin, person = chance.choice(SITES), chance.choice((HERE, THERE)), chance.choice((1, 2))
        now_ms = NOW_MS + chance.choice((0, 1, LIFETIME_S * 1000 - 1, LIFETIME_S * 1000))
        visitor, protection = visitors[site.site_key, person], chance.choice(PROTECTIONS)
        user_agent = chance.choice((CHROME, CHROME, FIREFOX))
        visitor.read_cookies(
            cookies,
            (user_agent, None, False),
            site=sites[site.site_key],
            origin=origin,
            receipts=receipts,
            now_ms=now_ms,
        )
        anew = inspect(
            reading(ring),
            cookies,
            site=site,
            origin=origin,
            visitor=person,
            now_ms=now_ms,
            protection=protection,
            user_agent=user_agent,
        )
        found = fit(visitor.shown, protection)

        # A receipt found expired remains expired even if this test's clock goes back.
        assert found == anew or visitor.shown is EXPIRED
        shown.add((found.states, found.reason))
    assert len(shown) > 8


def test_a_visitor_with_a_long_cookie_takes_no_more_memory_than_another():
    ring = keyring()
    name, _, value = cookie(ring).partition(b"=")
    site, visitor = snapshot_of(SITES[0]), new_visitor(1)

    for values in ((value,), (value, b"agc2." + b"A" * 8_000), (b"A" * 8_000,)):
        cookies = b"; ".join([b"other=" + b"x" * 8_000, *(name + b"=" + each for each in values)])
        visitor.read_cookies(
            cookies, (CHROME, None, False), site=site, origin=HERE, receipts=reading(ring), now_ms=NOW_MS
        )

        assert (visitor.shown is CLEARED) == (value in values)
        assert held_bytes(visitor) < 1_000


def test_a_visitor_with_a_long_user_agent_takes_no_more_memory_than_another():
    ring = keyring()
    site, visitor = snapshot_of(SITES[0]), new_visitor(1)

    for user_agent in (CHROME + b" " * 8_000, CHROME):
        visitor.read_cookies(
            cookie(ring), (user_agent, None, False), site=site, origin=HERE, receipts=reading(ring), now_ms=NOW_MS
        )

        assert (visitor.shown is CLEARED) == (user_agent == CHROME)
        assert held_bytes(visitor) < 1_000


def held_bytes(visitor):
    held = msgspec.structs.astuple(visitor)
    return len(msgspec.msgpack.encode([each for each in held if isinstance(each, bytes | str | tuple)]))


def test_a_clearance_made_with_a_key_that_was_replaced_is_worth_nothing_at_once():
    ring = keyring()
    receipts, cookies = reading(ring), b"a=1; " + cookie(ring)
    assert inspect(receipts, cookies).reason is None

    ring.replace([key(b"n" * 32, purpose=purpose) for purpose in ("clearance", "receipt", "visitor")], NOW_MS)

    assert inspect(receipts, cookies).reason == "invalid_clearance"


def test_a_bad_clearance_next_to_a_good_one_does_no_harm_wherever_it_is():
    ring = keyring()
    good, low = cookie(ring), cookie(ring, level=ClearanceLevel.LOW)
    bad = good[:-1] + (b"A" if good[-1:] != b"A" else b"B")
    others = [
        bad,
        cookie(ring, origin=THERE),
        cookie(ring, visitor=2),
        cookie(ring, now_ms=NOW_MS - 2 * LIFETIME_S * 1000),
    ]

    for other in (*others, low, b"; ".join([*others, low])):
        for cookies in (other + b"; " + good, good + b"; " + other, b"a=1; " + other + b"; b=2; " + good):
            assert inspect(reading(ring), cookies) == CLEARED


def test_what_counts_among_clearances_of_which_none_is_good_does_not_depend_on_their_order():
    ring = keyring()
    expired = cookie(ring, now_ms=NOW_MS - 2 * LIFETIME_S * 1000)
    bad = cookie(ring)[:-4] + b"AAAA"

    assert inspect(reading(ring), bad + b"; " + expired).reason == "expired_clearance"
    assert inspect(reading(ring), expired + b"; " + bad).reason == "expired_clearance"


def test_no_more_than_eight_clearances_are_inspected():
    ring = keyring()
    name, _, _ = cookie(ring).partition(b"=")
    bad = [name + b"=agc2." + str(number).encode() for number in range(MOST_CLEARANCES)]

    assert inspect(reading(ring), b"; ".join([*bad[1:], cookie(ring)])) == CLEARED
    assert inspect(reading(ring), b"; ".join([*bad, cookie(ring)])).reason == "invalid_clearance"
