"""observe over any request at all: labels of the catalog only, never an error, time in proportion to the size."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agentgate.decision.signals.facts import AgentFacts, Rates, RequestFacts
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import load_intel
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.lib.enums import AgentVerdict
from agentgate.sites.rules.labels import is_label
from tests.unit.decision.signals.requests import CHROME, PHONE, make_facts

INTEL = load_intel(None)

# Half characters too, which JSON can hold and UTF-8 cannot.
TEXTS = st.text(st.characters(), max_size=60)
USER_AGENTS = st.one_of(
    TEXTS, st.sampled_from([CHROME, PHONE, "curl/8", "GPTBot/1.0", "Mozilla/5.0 (", "Chrome/", "Version/ Safari/"])
)
NAMES = st.sampled_from(
    [
        "user-agent",
        "accept",
        "accept-language",
        "cookie",
        "sec-ch-ua",
        "sec-ch-ua-platform",
        "sec-fetch-site",
        "sec-fetch-mode",
        "sec-fetch-dest",
        "sec-fetch-user",
        "connection",
        "via",
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
SIGNAL_NAMES = ["webdriver", "automation", "headless", "userAgent", "renderer", "languages", "plugins", "screen"]
SIGNAL_NAMES += ["worker", "platform", "touchPoints", "patched", "timezone", "debugger", "permissions"]
PLACES = [
    "pointerMoves",
    "touches",
    "keys",
    "scrolls",
    "clicks",
    "untrusted",
    "durationMs",
    "straightness",
    "variation",
]
EVIDENCE = st.fixed_dictionaries(
    {},
    optional={
        "signals": ANYTHING | st.dictionaries(st.sampled_from(SIGNAL_NAMES), ANYTHING),
        "interaction": ANYTHING | st.dictionaries(st.sampled_from(PLACES), ANYTHING),
        "instrument": ANYTHING,
    },
)
FACTS = st.builds(
    RequestFacts,
    now_ms=st.integers(0, 2**40),
    method=TEXTS,
    target=TEXTS,
    address=st.one_of(TEXTS, st.ip_addresses().map(str)),
    headers=st.lists(st.tuples(NAMES, TEXTS) | st.tuples(st.just("user-agent"), USER_AGENTS), max_size=12).map(tuple),
    rates=st.builds(Rates, visitor=st.integers(0, 10_000), network=st.integers(0, 10_000)),
    agent=st.none()
    | st.builds(AgentFacts, verdict=st.sampled_from(AgentVerdict), purposes=st.lists(TEXTS, max_size=3).map(tuple)),
    receipt=st.lists(TEXTS | st.sampled_from(["valid", "clearance"]), max_size=3).map(tuple),
    evidence=st.none() | EVIDENCE,
    content=st.none() | st.text(st.characters(), max_size=400),
)


@settings(max_examples=150, deadline=None)
@given(FACTS)
def test_any_request_gets_sorted_labels_of_the_catalogue(facts):
    observation = observe(facts, INTEL)

    assert [label for label in observation.labels if not is_label(label)] == []
    assert list(observation.labels) == sorted(set(observation.labels))
    assert observation.numbers.keys() == NUMBERS.keys()


def test_every_name_in_the_lists_makes_a_label_of_the_catalogue():
    strange = [
        (token.text, label)
        for token in INTEL.tokens.tokens
        for label in observe(make_facts(user_agent=f"{token.text} 1.0"), INTEL).labels
        if not is_label(label)
    ]

    assert strange == []


def test_the_same_request_is_seen_the_same_the_second_time():
    facts = make_facts(
        user_agent="Mozilla/5.0 (compatible; GPTBot/1.3; +https://openai.com/gptbot)", address="159.65.1.2"
    )
    intel = load_intel(None)

    assert observe(facts, intel) == observe(facts, intel)


def test_the_metrics_count_what_they_name():
    headers = (("user-agent", "x"), ("accept-language", "de,en;q=0.5,fr"), ("cookie", "a=1; b=2"))
    numbers = observe(make_facts(headers=headers, target="/abc?d", content="see https://a.example"), INTEL).numbers

    assert numbers == {
        "header_count": 3,
        "ua_length": 1,
        "accept_language_count": 3,
        "cookie_count": 2,
        "target_length": 6,
        "rate_visitor": 1,
        "rate_network": 1,
        "content_length": 21,
        "content_links": 1,
    }


def test_the_remembered_results_stay_bounded():
    intel = load_intel(None)
    for number in range(10_000):
        observe(make_facts(user_agent=f"Mozilla/5.0 (A{number})", address=f"81.2.{number >> 8}.{number & 255}"), intel)

    assert len(intel.user_agents) <= 8_192
    assert len(intel.addresses) == 10_000


def seconds(facts):
    """Return the least CPU time of several measurements, each with empty caches."""
    times = []
    for _ in range(7):
        intel = replace(INTEL, user_agents=BoundedCache(1), addresses=BoundedCache(1))
        start = time.process_time()
        for _ in range(5):
            observe(facts, intel)
        times.append(time.process_time() - start)
    return min(times)


HOSTILE = [
    "x",
    "bot ",
    "(",
    "Chrome/",
    "mozilla ",
    "\u0130",
    "\ud800",
    "\x00",
    "googlebot gptbot ",
    "+http",
    "bo",
    "版本/",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_sixteen_kilobytes_of_anything_take_time_in_proportion(piece):
    text = (piece * 16_384)[:16_384]
    headers = tuple((name, text) for name in ("user-agent", "accept-language", "sec-ch-ua", "cookie"))
    small = tuple((name, value[:2_048]) for name, value in headers)

    large_s, small_s = seconds(make_facts(headers=headers)), seconds(make_facts(headers=small))

    # Eight times the text; twice that and a little more for a busy machine.
    assert large_s < 16 * small_s + 0.005


@pytest.mark.parametrize("piece", ["a", "A ", "http://", "<a ", "\u0430a", "\u200b", "word ", "buy viagra "])
def test_long_content_takes_time_in_proportion(piece):
    large_s = seconds(make_facts(content=(piece * 16_384)[:16_384]))
    small_s = seconds(make_facts(content=(piece * 16_384)[:2_048]))

    assert large_s < 16 * small_s + 0.005
