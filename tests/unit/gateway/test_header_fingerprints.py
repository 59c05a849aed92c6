"""Heads: the same key always means the same head, and signals read nothing that a key does not hold."""

import random

from msgspec.structs import replace

from agentgate.decision.scoring.models import ModelDirectory
from agentgate.decision.signals.detectors import HEADER_SIGNALS, REQUEST_SIGNALS
from agentgate.decision.signals.detectors.user_agent import view_user_agent
from agentgate.decision.signals.facts import AgentFacts, Rates, RequestFacts
from agentgate.decision.signals.header_forms import accept_form, count_languages, language_form
from agentgate.decision.signals.observe import ObservedHeaders, labels_of_headers, observe, observe_rest
from agentgate.decision.signals.request_class import class_of
from agentgate.decision.signals.signal_input import SignalInput
from agentgate.decision.threat_data.intel import load_intel
from agentgate.gateway import header_fingerprints
from agentgate.gateway.header_fingerprints import UNFIT, HeaderFingerprints, key_of
from agentgate.gateway.header_layout import ADAPTERS, JA4, READ_VALUES, HeaderLayout
from agentgate.gateway.route_protection import MethodClaims
from agentgate.http.connection.head import OF_CONNECTION
from agentgate.http.connection.head_names import KEPT
from agentgate.lib.enums import AgentVerdict
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
        headers = dict(facts.headers)
        cookies, languages, agent = map(headers.get, ("cookie", "accept-language", "user-agent"))
        view = view_user_agent(agent, INTEL)
        others = replace(facts, target="", address="", rates=Rates(9, 9))
        labels = labels_of_headers(others, INTEL, view, language_form(languages))
        observed = ObservedHeaders(labels, view, len(headers), count_languages(languages), len(agent or ""))
        rest = observe_rest(
            observed, replace(facts, headers=()), INTEL, cookie_count=cookies.count(";") + 1 if cookies else 0
        )

        assert rest == observe(facts, INTEL)


def told_of(fingerprint):
    """Return all that checks read of a head."""
    return (
        fingerprint.kind,
        fingerprint.methods,
        fingerprint.is_complete,
        fingerprint.is_plain,
        fingerprint.waits,
        fingerprint.needs_fields,
        fingerprint.signatures,
        fingerprint.is_counted,
    )


def fingerprint_of(fingerprints, headers, fields):
    """Return the fingerprint of a header set with the User-Agent and the languages of these fields."""
    agent = fingerprints.find_user_agent(fields.get(b"user-agent"))
    return fingerprints.make((headers, agent, fingerprints.find_languages(fields.get(b"accept-language"))))


def read(fingerprints, fields, target=b"/v1/gateway/check"):
    """Return the fingerprint of a check that the parser read."""
    return fingerprint_of(fingerprints, fingerprints.read_fields(target, fields), fields)


def new_fingerprints():
    """Return fingerprints with nothing cached."""
    return HeaderFingerprints(INTEL, ModelDirectory().view.reading)


def test_one_key_is_one_head():
    chance, fingerprints, seen, shared = random.Random(5), new_fingerprints(), {}, 0
    for _ in range(4_000):
        fields = some_fields(chance)
        key = key_of(b"/v1/gateway/check", fields), fields.get(b"user-agent"), fields.get(b"accept-language")
        told = told_of(read(fingerprints, fields))
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
    """Facts that allow only the given attributes to be read."""

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
        view = Barred(
            user_agent, {"labels", "engine", "major", "platform", "mobile", "device", "is_mail_program", "is_plain"}
        )
        form = language_form(dict(facts.headers).get("accept-language"))
        request = SignalInput(Barred(facts, {"method", "headers", "ja4"}), INTEL, headers, tuple(headers), view, form)
        for signal in HEADER_SIGNALS:
            signal(request)
        class_of(facts.method, headers, is_browser=True)
        read |= headers.read

        # Signals that are computed again for each request read no header, and no value missing in the cache key.
        allowed = {
            "address",
            "rates",
            "receipt",
            "agent",
            "now_ms",
            "method",
            "target",
            "is_plain",
            "wanted",
            "is_foreign_host",
            # A setting of the site: decisions are cached for each site.
            "ai_use",
            "robots",
            "path",
            # A state of the site, in its view: a change of the load makes a new view, which has no decisions yet.
            "load",
            # In the key with the labels of the visitor.
            "has_opened_decoy",
        }
        request = SignalInput(Barred(facts, allowed), INTEL, None, None, user_agent, None)
        for signal in REQUEST_SIGNALS:
            signal(request)

    assert "accept" in read
    # By these, the User-Agent's view and the languages' form the labels of a header set are cached.
    assert {name.encode() for name in read} <= READ_VALUES
    assert READ_VALUES | {JA4} == set(KEPT)
    assert not any(name.startswith(ADAPTERS) for name in KEPT if not name.endswith((b"-method", b"-ja4")))


def test_the_adapters_own_headers_show_nothing_about_the_visitor():
    fingerprint = read(new_fingerprints(), {**ADAPTER, b"user-agent": b"curl/8", b"accept": b"*/*"})

    # The Host header names the service, and adapters send it in any case.
    assert fingerprint.observed.header_count == 3


def test_visitors_share_a_fingerprint_and_keep_the_metrics_that_are_captured():
    fingerprints = new_fingerprints()
    agents, languages = (b"SomeProgram/1.0", b"SomeProgram/1." + b"0" * 30), (b"de,en;q=0.5", b"fr,en;q=0.5,it;q=0.1")
    headers = fingerprints.read_fields(b"/", {**ADAPTER, b"user-agent": b"x", b"accept-language": b"x"})
    one, other = (
        fingerprint_of(fingerprints, headers, {b"user-agent": agent, b"accept-language": spoken})
        for agent, spoken in zip(agents, languages, strict=True)
    )
    captured = other.with_figures_of(agents[1], languages[1])

    assert one.kind is other.kind
    assert (captured.observed.user_agent_length, captured.observed.language_count) == (len(agents[1]), 3)
    assert told_of(captured) == told_of(other)


def test_only_what_is_read_of_user_agent_and_languages_tells_them_apart():
    fingerprints = new_fingerprints()

    assert fingerprints.find_languages(b"de-DE,en;q=0.9") is fingerprints.find_languages(b"fr-FR,pl;q=0.9")
    assert fingerprints.find_languages(b"de-DE,en;q=0.9") is not fingerprints.find_languages(b"de-DE, en;q=0.9")
    chrome = b"Mozilla/5.0 (X11; Linux x86_64) Chrome/120.0.%b Safari/537.36"
    one, other = (fingerprints.find_user_agent(chrome % build) for build in (b"6099.71", b"6098.5"))
    assert one.view is not None
    assert one.view == other.view
    assert fingerprints.find_user_agent(b"curl/8.1").view != one.view


def test_names_show_what_must_be_waited_for_or_read_again():
    fingerprints = new_fingerprints()

    def read_with(more):
        return read(fingerprints, {**ADAPTER, b"user-agent": b"x", **more})

    assert not read_with({}).needs_fields
    for name in (b"signature", b"signature-input", b"crawler-max-price", b"crawler-exact-price", b"x-agentgate-token"):
        assert read_with({name: b"x"}).waits
        assert read_with({name: b"x"}).needs_fields
    assert read_with({b"user-agent": b"GPTBot/1.2"}).waits
    assert read_with({b"x-method-override": b"PUT"}).methods == MethodClaims("GET", (b"PUT",))
    incomplete = {name: value for name, value in ADAPTER.items() if name != b"x-original-url"}
    assert read(fingerprints, incomplete).needs_fields


def is_fit(target, fields):
    """Return whether the fast path may handle a request without the parser."""
    return HeaderLayout(tuple(fields)).is_fit(target, tuple(fields.values()))


def test_what_shows_something_about_the_connection_is_left_to_the_parser():
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
    fingerprints = new_fingerprints()
    names, values = (*ADAPTER, b"Accept", b"accept"), [*ADAPTER.values(), b"a", b"b"]

    assert fingerprints.read_lines(b"/v1/gateway/check", names, values) is UNFIT
    assert fingerprints.read_lines(b"/v1/gateway/check", names[:-1], values[:-1]) is not UNFIT


def test_a_head_as_it_arrived_is_read_as_the_parser_reads_it():
    chance, fingerprints = random.Random(7), new_fingerprints()
    for _ in range(500):
        fields = some_fields(chance)
        arrived = fingerprints.read_lines(b"/v1/gateway/check", tuple(map(bytes.title, fields)), [*fields.values()])
        if not OF_CONNECTION.isdisjoint(fields):
            assert arrived is UNFIT
            continue
        assert told_of(fingerprint_of(fingerprints, arrived, fields)) == told_of(read(fingerprints, fields))


def test_user_agents_and_languages_of_any_number_are_bounded(monkeypatch):
    monkeypatch.setattr(header_fingerprints, "_USER_AGENTS", 3)
    monkeypatch.setattr(header_fingerprints, "_LANGUAGES", 3)
    fingerprints = new_fingerprints()
    for number in range(50):
        fingerprints.find_user_agent(b"Program%d" % number)
        fingerprints.find_languages(b"de;q=%d" % number)
    fingerprints.find_user_agent(b"x" * 5_000)
    fingerprints.find_languages(b"x" * 5_000)

    assert 3 <= len(fingerprints.user_agents) <= 6
    assert 3 <= len(fingerprints.languages) <= 6
    assert not any(len(value) > 1_024 for value in fingerprints.user_agents.young)
    assert not any(len(value) > 256 for value in fingerprints.languages.young)


def test_signals_read_nothing_of_accept_but_its_form():
    chance = random.Random(5)
    pieces = (
        *(
            "text/html",
            "application/xhtml+xml",
            "application/xml;q=0.9",
            "*/*",
            "*/*;q=0.8",
            "image/webp",
            "image/apng",
        ),
        *("image/", "text/css", "font/woff2", "application/font-woff", "audio/", "video/mp4", "application/json", " "),
        *("TEXT/HTML", "text/htm", "image", "\xe9", "", ";", "text/html;q=0.1", "application/signed-exchange;v=b3"),
    )
    views = [view_user_agent(dict(client.headers).get("user-agent"), INTEL) for client in SOME]
    told_apart = set()
    for _ in range(20_000):
        value = chance.choice(("", ",", ", ")).join(chance.choices(pieces, k=chance.randrange(6)))
        headers = dict(chance.choice(SOME).headers)
        for each in chance.sample(sorted(headers.keys() - {"user-agent"}), chance.randrange(3)):
            headers.pop(each)
        headers.setdefault("user-agent", "")
        view, method = chance.choice(views), chance.choice(("GET", "POST"))
        results = []
        for accept in (value, accept_form(value)):
            sent = {**headers, "accept": accept}
            facts = RequestFacts(now_ms=0, method=method, target="", address="", headers=tuple(sent.items()))
            labels = labels_of_headers(facts, INTEL, view, language_form(sent.get("accept-language")))
            results.append((labels, class_of(method, sent, is_browser=bool(view.engine))))
        assert results[0] == results[1], (value, headers)
        told_apart.add(results[0])
    assert len(told_apart) > 100


def test_endless_values_of_accept_have_labels_of_few():
    made = HeaderFingerprints(INTEL, ModelDirectory().view.reading)
    chance = random.Random(6)
    fields = {**ADAPTER, **{name.encode(): value.encode("latin-1") for name, value in SOME[0].headers}}
    for _ in range(500):
        sent = {**fields, b"accept": b"application/x-%d" % chance.randrange(10**9)}
        headers = made.read_fields(b"/v1/gateway/check", sent)
        made.make((headers, made.find_user_agent(sent.get(b"user-agent")), made.find_languages(None)))
    assert len(made._labels) == 1
