"""What is remembered of a head is what would be found anew, whatever changed since."""

import random

import pytest
from msgspec.structs import replace

from agentgate.lib.enums import AgentVerdict
from agentgate.protection.gateway.header_fingerprints import ADAPTERS, MOST_SHAPES, READ, Glimpse, Heads
from agentgate.protection.signals.detectors import SIGNALS
from agentgate.protection.signals.detectors.user_agent import view_user_agent
from agentgate.protection.signals.facts import AgentFacts, Rates
from agentgate.protection.signals.numbers import measure
from agentgate.protection.signals.observe import observe
from agentgate.protection.signals.signal_input import Look
from agentgate.protection.threat_data.intel import IntelDirectory
from agentgate.server.demo.traffic import CLIENTS

ADAPTER = {
    b"authorization": b"Bearer ags_x",
    b"x-original-method": b"GET",
    b"x-original-url": b"https://shop.example/",
    b"x-original-address": b"203.0.113.9",
}
ADDRESSES = ("203.0.113.9", "10.0.0.1", "2001:db8::1", "127.0.0.1", "nonsense")
RECEIPTS = ((), ("missing",), ("clearance",), ("clearance", "clearance_low"), ("invalid",))
AGENTS = (
    None,
    None,
    AgentFacts(verdict=AgentVerdict.VERIFIED, agent="https://a.example", purposes=("search", "made_up")),
    AgentFacts(verdict=AgentVerdict.VERIFIED, agent="https://b.example"),
    AgentFacts(verdict=AgentVerdict.INVALID),
)
MORE = ((b"cookie", b"a=1"), (b"cookie", b"a=1; b=2"), (b"referer", b"https://x.example/"), (b"via", b"1.1 p"))
STRANGE = ((b"accept", b"*/*"), (b"sec-fetch-mode", b"cors"), (b"sec-ch-ua-mobile", b"?1"), (b"x-ja4", b"t13d"))


def glimpse(heads, chance, headers):
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
        heads.shape_of(headers),
        chance.choice(AGENTS),
    )


def some_headers(chance):
    visitor = {name.encode(): value.encode("latin-1") for name, value in chance.choice(CLIENTS).headers}
    visitor.update(pair for pair in MORE + STRANGE if chance.random() < 0.3)
    return {**ADAPTER, **visitor}


def test_a_remembered_head_gives_what_it_would_give_anew():
    chance, intel = random.Random(4), IntelDirectory(None)
    heads = Heads(intel)
    for _ in range(6_000):
        seen = glimpse(heads, chance, some_headers(chance))

        assert heads.observe(seen) == observe(seen.facts(), intel.current)


def test_the_adapters_own_headers_say_nothing_about_the_visitor():
    heads, chance = Heads(IntelDirectory(None)), random.Random(1)
    seen = glimpse(heads, chance, {**ADAPTER, b"user-agent": b"curl/8", b"accept": b"*/*"})

    assert heads.observe(seen).numbers["header_count"] == 2
    assert [name for name, _ in seen.facts().headers] == ["user-agent", "accept"]


def test_what_a_signature_proved_is_not_remembered_for_who_did_not_sign():
    heads, chance = Heads(IntelDirectory(None)), random.Random(1)
    headers = {b"user-agent": b"curl/8", b"accept": b"*/*"}
    unsigned = replace(glimpse(heads, chance, headers), agent=None)
    assert "agent.verified" not in heads.observe(unsigned).labels

    facts = AgentFacts(verdict=AgentVerdict.VERIFIED, agent="https://agent.example")
    signed = replace(unsigned, agent=facts)
    assert "agent.verified" in heads.observe(signed).labels
    assert "agent.verified" not in heads.observe(unsigned).labels


@pytest.mark.parametrize("name", [b"x-%d", b"accept"])
def test_however_many_heads_there_are_only_so_many_are_remembered(name):
    heads, chance = Heads(IntelDirectory(None)), random.Random(1)
    for number in range(MOST_SHAPES + 50):
        key = name % number if b"%" in name else name
        heads.observe(glimpse(heads, chance, {b"user-agent": b"curl/8", b"b": b"c", key: b"%d" % number}))

    assert len(heads._shapes) <= MOST_SHAPES


class Noting(dict):
    """Headers that note whose values were read."""

    def __init__(self, pairs):
        super().__init__(pairs)
        self.read = set()

    def get(self, name, default=None):
        self.read.add(name)
        return super().get(name, default)

    def __getitem__(self, name):
        self.read.add(name)
        return super().__getitem__(name)


def test_signals_read_no_value_that_the_memory_does_not_go_by():
    chance, intel, read = random.Random(6), IntelDirectory(None).current, set()
    heads = Heads(IntelDirectory(None))
    for _ in range(2_000):
        facts = glimpse(heads, chance, some_headers(chance)).facts()
        headers = Noting(facts.headers)
        look = Look(facts, intel, headers, tuple(headers), view_user_agent(headers.get("user-agent"), intel))
        for signal in SIGNALS:
            signal(look)
        measure(look)
        read |= headers.read

    # How many cookies there are is counted anew.
    assert {name.encode() for name in read} <= READ | {b"cookie"}
    assert not any(name.startswith(ADAPTERS) for name in READ)


def test_names_alone_tell_who_may_be_an_agent_and_who_overrides_the_method():
    heads = Heads(IntelDirectory(None))
    plain = heads.shape_of({b"user-agent": b"x", b"accept": b"y"})
    assert not plain.is_signed
    assert not plain.has_override

    for name in (b"signature", b"signature-input", b"crawler-max-price", b"crawler-exact-price"):
        assert heads.shape_of({b"user-agent": b"x", name: b""}).is_signed
    for name in (b"x-http-method-override", b"x-http-method", b"x-method-override"):
        assert heads.shape_of({b"user-agent": b"x", name: b""}).has_override
