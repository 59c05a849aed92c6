"""What is remembered of a head is what would be found anew, whatever changed since."""

import random

import pytest

from agentgate.core.enums import AgentVerdict
from agentgate.demo_traffic import CLIENTS
from agentgate.detect.facts import AgentFacts, Rates
from agentgate.detect.intel import IntelDirectory
from agentgate.detect.observe import observe
from agentgate.gateway.heads import MOST_SHAPES, Glimpse, Heads

ADAPTER = {
    b"authorization": b"Bearer ags_x",
    b"x-original-method": b"GET",
    b"x-original-url": b"https://shop.example/",
    b"x-original-address": b"203.0.113.9",
}
ADDRESSES = ("203.0.113.9", "10.0.0.1", "2001:db8::1", "127.0.0.1", "nonsense")
RECEIPTS = ((), ("missing",), ("clearance",), ("clearance", "clearance_low"), ("invalid",))
MORE = ((b"cookie", b"a=1"), (b"cookie", b"a=1; b=2"), (b"referer", b"https://x.example/"), (b"via", b"1.1 p"))
STRANGE = ((b"accept", b"*/*"), (b"sec-fetch-mode", b"cors"), (b"sec-ch-ua-mobile", b"?1"), (b"x-ja4", b"t13d"))


def glimpse(chance, headers):
    return Glimpse(
        1_700_000_000_000,
        chance.choice(("GET", "POST", "BREW")),
        "/" + "x" * chance.randrange(50),
        chance.choice(ADDRESSES),
        headers,
        "/login",
        "login",
        Rates(visitor=chance.choice((1, 59, 60, 239, 240)), network=chance.choice((1, 599, 600, 2399, 2400))),
        chance.choice(RECEIPTS),
    )


def some_headers(chance):
    visitor = {name.encode(): value.encode("latin-1") for name, value in chance.choice(CLIENTS).headers}
    visitor.update(pair for pair in MORE + STRANGE if chance.random() < 0.3)
    return {**ADAPTER, **visitor}


def test_a_remembered_head_gives_what_it_would_give_anew():
    chance, intel = random.Random(4), IntelDirectory(None)
    heads = Heads(intel)
    for _ in range(6_000):
        seen = glimpse(chance, some_headers(chance))

        assert heads.observe(seen) == observe(seen.facts(), intel.current)


def test_the_adapters_own_headers_say_nothing_about_the_visitor():
    heads, chance = Heads(IntelDirectory(None)), random.Random(1)
    seen = glimpse(chance, {**ADAPTER, b"user-agent": b"curl/8", b"accept": b"*/*"})

    assert heads.observe(seen).numbers["header_count"] == 2
    assert [name for name, _ in seen.facts().headers] == ["user-agent", "accept"]


def test_a_verified_agent_is_observed_anew():
    heads, chance = Heads(IntelDirectory(None)), random.Random(1)
    headers = {b"user-agent": b"curl/8", b"accept": b"*/*"}
    unsigned = glimpse(chance, headers)
    assert "agent.verified" not in heads.observe(unsigned).labels

    facts = AgentFacts(verdict=AgentVerdict.VERIFIED, agent="https://agent.example")
    signed = Glimpse(*(getattr(unsigned, name) for name in unsigned.__struct_fields__[:-1]), facts)
    assert "agent.verified" in heads.observe(signed).labels
    assert "agent.verified" not in heads.observe(unsigned).labels


@pytest.mark.parametrize("name", [b"x-%d", b"accept"])
def test_however_many_heads_there_are_only_so_many_are_remembered(name):
    heads, chance = Heads(IntelDirectory(None)), random.Random(1)
    for number in range(MOST_SHAPES + 50):
        key = name % number if b"%" in name else name
        heads.observe(glimpse(chance, {b"user-agent": b"curl/8", b"b": b"c", key: b"%d" % number}))

    assert len(heads._shapes) <= MOST_SHAPES
