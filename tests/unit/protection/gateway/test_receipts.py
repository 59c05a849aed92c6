"""A clearance that was seen before is worth what it would be worth to somebody who sees it for the first time."""

import random

import msgspec

from agentgate.lib.enums import ClearanceLevel
from agentgate.lib.visitor_ids import write_visitor
from agentgate.protection.gateway import receipts as remembering
from agentgate.protection.gateway.original_request import Original
from agentgate.protection.gateway.receipts import Receipts
from agentgate.protection.gateway.route_protection import CLOSED, OPEN, Protection
from agentgate.protection.sites import test_keys
from agentgate.protection.tokens.clearance import Clearances
from tests.unit.protection.tokens.made import KEYS, NOW_MS, key, keyring

HERE, THERE = "https://shop.example", "https://other.example"
ONE_SITE = next(iter(test_keys.testing_sites().values()))
SITES = tuple(msgspec.structs.replace(ONE_SITE, site_key=name) for name in ("site_aaaaaaaa", "site_bbbbbbbb"))
PROTECTIONS = (OPEN, CLOSED, Protection("/pay", "pay", required=True, clearance=False))
LIFETIME_S = 1_800


def reading(ring) -> Receipts:
    # Nothing here is spent.
    return Receipts(KEYS, Clearances(ring, LIFETIME_S), None, keyring=ring)


def look(receipts, cookies, *, origin=HERE, protection=CLOSED, **told):
    original = Original("GET", origin, "/", "/", "203.0.113.9")
    usual = {"site": SITES[0], "visitor": 1, "now_ms": NOW_MS}
    return receipts.look({b"cookie": cookies}, original, protection, **usual | told)


def cookie(ring, *, site=SITES[0], origin=HERE, visitor=1, level=ClearanceLevel.CHECKED, now_ms=NOW_MS) -> bytes:
    issued = Clearances(ring, LIFETIME_S).issue(
        site_key=site.site_key, origin=origin, visitor=write_visitor(visitor), level=level, now_ms=now_ms
    )
    return f"{issued.name}={issued.value}".encode()


def test_what_is_remembered_is_what_would_be_found_anew():
    chance, ring = random.Random(2), keyring()
    genuine = [
        cookie(ring, site=site, origin=origin, visitor=visitor, level=level)
        for site in SITES
        for origin in (HERE, THERE)
        for visitor in (1, 2)
        for level in (ClearanceLevel.LOW, ClearanceLevel.CHECKED)
    ]
    receipts, shown = reading(ring), set()
    for _ in range(2_000):
        parts = [b"session=1", *chance.sample(genuine, chance.choice((0, 1, 1, 1, 2))), b"theme=dark"]
        cookies = chance.choice((b"; ", b"; ", b";")).join(parts)
        cookies = cookies if chance.random() < 0.9 else cookies.replace(b"agc1.", b"agc1.A")
        told = {
            "site": chance.choice(SITES),
            "origin": chance.choice((HERE, THERE)),
            "visitor": chance.choice((1, 2)),
            "now_ms": NOW_MS + chance.choice((0, 1, LIFETIME_S * 1000 - 1, LIFETIME_S * 1000)),
            "protection": chance.choice(PROTECTIONS),
        }

        found = look(receipts, cookies, **told)

        assert found == look(reading(ring), cookies, **told)
        shown.add((found.states, found.reason))
    assert len(shown) > 8


def test_a_clearance_made_with_a_key_that_was_replaced_is_worth_nothing_at_once():
    ring = keyring()
    receipts, cookies = reading(ring), b"a=1; " + cookie(ring)
    assert look(receipts, cookies).reason is None

    ring.replace([key(b"n" * 32, purpose=purpose) for purpose in ("clearance", "receipt", "visitor")], NOW_MS)

    assert look(receipts, cookies).reason == "invalid_clearance"


def test_keys_that_are_read_anew_and_are_the_same_change_nothing():
    ring = keyring()
    receipts, cookies = reading(ring), b"a=1; " + cookie(ring)
    look(receipts, cookies)
    ring.replace([key(b"a" * 32, purpose=purpose) for purpose in ("clearance", "receipt", "visitor")], NOW_MS)

    assert look(receipts, cookies).reason is None
    assert receipts._cleared


def test_whoever_has_one_clearance_cannot_fill_the_memory_with_it(monkeypatch):
    monkeypatch.setattr(remembering, "MOST_REMEMBERED", 20)
    ring = keyring()
    receipts, genuine = reading(ring), cookie(ring)
    for number in range(100):
        assert look(receipts, b"a=%d; " % number + genuine).reason is None
        assert look(receipts, b"a=%d%s; " % (number, b"x" * 2_000) + genuine).reason is None

    assert 0 < len(receipts._cleared) <= 20
    assert all(len(cookies) <= remembering.LONGEST_COOKIES for cookies in receipts._cleared)
