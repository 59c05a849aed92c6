"""Heads: the same key always means the same head, and signals read nothing that a key does not hold."""

import random

from msgspec.structs import replace

from agentgate.http.connection.head import KEPT
from agentgate.lib.enums import AgentVerdict
from agentgate.protection.gateway.header_fingerprints import UNFIT, HeaderFingerprints, key_of
from agentgate.protection.gateway.header_layout import ADAPTERS, JA4, OF_CONNECTION, READ_VALUES, HeaderLayout
from agentgate.protection.gateway.route_protection import MethodClaims
from agentgate.protection.scoring.models import ModelDirectory
from agentgate.protection.signals.detectors import HEADER_SIGNALS, REQUEST_SIGNALS
from agentgate.protection.signals.detectors.user_agent import view_user_agent
from agentgate.protection.signals.facts import AgentFacts, Rates, RequestFacts
from agentgate.protection.signals.languages import language_form
from agentgate.protection.signals.observe import observe, observe_headers, observe_rest
from agentgate.protection.signals.request_class import class_of
from agentgate.protection.signals.signal_input import SignalInput
from agentgate.protection.threat_data.intel import load_intel
from agentgate.server.demo.traffic import CLIENTS

INTEL = load_intel(None)
ADAPTER = {
    b"host": b"gate.example",
    b"authorization": b"Bearer ags_x",
    b"x-original-method": b"GET",
    b"x-original-url": b"https://shop.example/",
    b"x-original-address": b"203.0.113.9",
}
# Few enough that the same headers come again.
SOME = CLIENTS[:: len(CLIENTS) // 12]
ADDRESSES = ("203.0.113.9", "10.0.0.1", "2001:db8::1", "127.0.0.1")
RECEIPTS = ((), ("missing",), ("clearance",), ("clearance", "clearance_low"), ("invalid",))
AGENTS = (
    None,
    None,
    AgentFacts(verdict=AgentVerdict.VERIFIED, agent="https://a.example", purposes=("search", "made_up")),
    AgentFacts(verdict=AgentVerdict.INVALID),
)
MORE = ((b"cookie", b"a=1"), (b"cookie", b"a=1; b=2"), (b"referer", b"https://x.example/"), (b"via", b"1.1 p"))
STRANGE = (
    (b"accept", b"*/*"),
    (b"sec-fetch-mode", b"cors"),
    (b"sec-fetch-user", b"?1"),
    (b"sec-ch-ua-mobile", b"?1"),
    (b"x-ja4", b"t13d"),
    (b"connection", b"close"),
    (b"x-http-method-override", b"POST"),
)


def some_fields(chance):
    visitor = {name.encode(): value.encode("latin-1") for name, value in chance.choice(SOME).headers}
    visitor.update(pair for pair in MORE + STRANGE if chance.random() < 0.3)
    return {**ADAPTER, b"x-original-method": chance.choice((b"GET", b"POST", b"BREW")), **visitor}


def some_facts(chance):
    fields = some_fields(chance)
    return RequestFacts(
        now_ms=1_700_000_000_000,
        method=fields[b"x-original-method"].decode(),
        target="/" + "x" * chance.randrange(50),
        address=chance.choice(ADDRESSES),
        headers=tuple(
            (name.decode(), value.decode("latin-1")) for name, value in fields.items() if not name.startswith(ADAPTERS)
        ),
        rates=Rates(visitor=chance.choice((1, 59, 60, 240)), network=chance.choice((1, 599, 600, 2400))),
        receipt=chance.choice(RECEIPTS),
        agent=chance.choice(AGENTS),
    )


def test_observing_in_two_steps_gives_what_observing_in_one_gives():
    chance = random.Random(4)
    for _ in range(3_000):
        facts = some_facts(chance)
        cookies = dict(facts.headers).get("cookie")
        observed = observe_headers(replace(facts, target="", address="", rates=Rates(9, 9)), INTEL)
        rest = observe_rest(
            observed, replace(facts, headers=()), INTEL, cookie_count=cookies.count(";") + 1 if cookies else 0
        )

        assert rest == observe(facts, INTEL)


def told_of(fingerprint):
    """Return all that checks read of a head."""
    return (
        fingerprint.kind,
        fingerprint.methods,
        fingerprint.has_secret,
        fingerprint.is_complete,
        fingerprint.is_plain,
        fingerprint.waits,
        fingerprint.needs_fields,
        fingerprint.signatures,
        fingerprint.is_counted,
    )


def test_one_key_is_one_head():
    chance, fingerprints, seen, shared = (
        random.Random(5),
        HeaderFingerprints(INTEL, ModelDirectory().view.reading),
        {},
        0,
    )
    for _ in range(4_000):
        fields = some_fields(chance)
        key, fingerprint = key_of(b"/v1/gateway/check", fields), fingerprints.read(b"/v1/gateway/check", fields)
        told = told_of(fingerprint)
        shared += key in seen

        assert seen.setdefault(key, told) == told
    assert shared > 500


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


class Barred:
    """Facts of which nothing may be asked but what is given."""

    def __init__(self, facts, allowed):
        self._facts, self._allowed = facts, allowed

    def __getattr__(self, name):
        assert name in self._allowed, f"a signal reads {name}"
        return getattr(self._facts, name)


def test_signals_read_no_value_that_a_key_does_not_hold():
    chance, read = random.Random(6), set()
    for _ in range(2_000):
        facts = some_facts(chance)
        headers = Noting(facts.headers)
        user_agent = view_user_agent(dict(facts.headers).get("user-agent"), INTEL)
        view = Barred(user_agent, {"labels", "engine", "major", "platform", "mobile", "device", "is_mail_program"})
        form = language_form(dict(facts.headers).get("accept-language"))
        request = SignalInput(Barred(facts, {"method", "headers", "ja4"}), INTEL, headers, tuple(headers), view, form)
        for signal in HEADER_SIGNALS:
            signal(request)
        class_of(facts.method, headers, is_browser=True)
        read |= headers.read

        # What is asked for each request anew looks at no header, and at nothing that a decision is not cached by.
        allowed = {"address", "rates", "receipt", "agent", "now_ms", "method", "target", "is_plain", "wanted"}
        request = SignalInput(Barred(facts, allowed), INTEL, None, None, user_agent, None)
        for signal in REQUEST_SIGNALS:
            signal(request)

    assert "accept" in read
    # By these, the User-Agent's view and the languages' form the labels of a header set are cached.
    assert {name.encode() for name in read} <= READ_VALUES
    assert READ_VALUES | {JA4, b"user-agent", b"accept-language"} == set(KEPT)
    assert not any(name.startswith(ADAPTERS) for name in KEPT if not name.endswith((b"-method", b"-ja4")))


def test_the_adapters_own_headers_say_nothing_about_the_visitor():
    fingerprints = HeaderFingerprints(INTEL, ModelDirectory().view.reading)
    fingerprint = fingerprints.read(b"/v1/gateway/check", {**ADAPTER, b"user-agent": b"curl/8", b"accept": b"*/*"})

    # The host is that of the service, and adapters send it all the same.
    assert fingerprint.observed.header_count == 3


def test_heads_of_one_kind_keep_their_own_figures():
    fingerprints = HeaderFingerprints(INTEL, ModelDirectory().view.reading)
    short, long = (
        fingerprints.read(b"/v1/gateway/check", {**ADAPTER, b"user-agent": b"SomeProgram/1." + b"0" * length})
        for length in (1, 30)
    )

    assert short.kind is long.kind
    assert long.observed.user_agent.length == short.observed.user_agent.length + 29


def test_names_tell_what_must_be_waited_for_or_read_again():
    fingerprints = HeaderFingerprints(INTEL, ModelDirectory().view.reading)

    def read(more):
        return fingerprints.read(b"/v1/gateway/check", {**ADAPTER, b"user-agent": b"x", **more})

    assert not read({}).needs_fields
    for name in (b"signature", b"signature-input", b"crawler-max-price", b"crawler-exact-price", b"x-agentgate-token"):
        assert read({name: b"x"}).waits
        assert read({name: b"x"}).needs_fields
    assert read({b"user-agent": b"GPTBot/1.2"}).waits
    assert read({b"x-agentgate-secret": b"x"}).needs_fields
    assert read({b"x-method-override": b"PUT"}).methods == MethodClaims("GET", (b"PUT",))
    incomplete = {name: value for name, value in ADAPTER.items() if name != b"x-original-url"}
    assert fingerprints.read(b"/", incomplete).needs_fields


def is_fit(target, fields):
    """Return whether a head may be answered without the parser."""
    return HeaderLayout(tuple(fields)).is_fit(target, tuple(fields.values()))


def test_what_says_something_about_the_connection_is_left_to_the_parser():
    assert is_fit(b"/v1/gateway/check", ADAPTER)
    for name in (
        b"connection",
        b"upgrade",
        b"transfer-encoding",
        b"content-length",
        b"expect",
        b"te",
        b"x_original_url",
    ):
        assert not is_fit(b"/v1/gateway/check", {**ADAPTER, name: b"1"})
    assert is_fit(b"/v1/gateway/check", {**ADAPTER, b"content-length": b"0"})
    assert not is_fit(b"/v1/gateway/check", {**ADAPTER, b"content-length": b"00"})
    assert not is_fit(b"/v1/gateway/check", {**ADAPTER, b"host": b"a/b"})
    assert not is_fit(b"/v1/gateway/check#", ADAPTER)
    assert not is_fit(b"/v1/gateway/check", {name: value for name, value in ADAPTER.items() if name != b"host"})


def test_a_name_that_comes_twice_is_left_to_the_parser():
    fingerprints = HeaderFingerprints(INTEL, ModelDirectory().view.reading)
    names, values = (*ADAPTER, b"Accept", b"accept"), [*ADAPTER.values(), b"a", b"b"]

    assert fingerprints.read_lines(b"/v1/gateway/check", names, values) is UNFIT
    assert fingerprints.read_lines(b"/v1/gateway/check", names[:-1], values[:-1]) is not UNFIT


def test_a_head_as_it_arrived_is_read_as_the_parser_reads_it():
    chance, fingerprints = random.Random(7), HeaderFingerprints(INTEL, ModelDirectory().view.reading)
    for _ in range(500):
        fields = some_fields(chance)
        arrived = fingerprints.read_lines(b"/v1/gateway/check", tuple(map(bytes.title, fields)), [*fields.values()])
        parsed = fingerprints.read(b"/v1/gateway/check", fields)

        is_fit = OF_CONNECTION.isdisjoint(fields)
        assert told_of(arrived) == told_of(parsed) if is_fit else arrived is UNFIT
